#include "tcnum/emulator.hpp"

#include "emu/check_tiles.hpp"
#include "emu/cpu/cpu_emulator.hpp"

namespace tcnum {

Emulator::Emulator(const Datapath& datapath) {
  validate(datapath);
  cpu_ = std::make_shared<const CpuEmulator>(datapath);
}

void Emulator::run(Tiles& tiles, unsigned threads) const {
  check_tiles(cpu_->numerics(), cpu_->tree().k, tiles);
  cpu_->run(tiles, threads);
}

}  // namespace tcnum
