#include "tcnum/emulator.hpp"

#include "emu/cpu/cpu_emulator.hpp"

namespace tcnum {

Emulator::Emulator(const Datapath& datapath) : cpu_(std::make_shared<const CpuEmulator>(datapath)) {}

void Emulator::run(Tiles& tiles, unsigned threads) const { cpu_->run(tiles, threads); }

}  // namespace tcnum
