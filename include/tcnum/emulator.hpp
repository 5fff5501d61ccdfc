// The fast emulator: the same bits as emulate_exact(), in machine integers.
#pragma once

#include <memory>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

class CpuEmulator;

/// Evaluates one datapath. It never changes once it is made: copies are cheap, and several threads may use one.
class Emulator {
 public:
  explicit Emulator(const Datapath& datapath);

  /// Fills tiles.d, on `threads` threads.
  void run(Tiles& tiles, unsigned threads = 1) const;

 private:
  std::shared_ptr<const CpuEmulator> cpu_;
};

}  // namespace tcnum
