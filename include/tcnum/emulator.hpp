// The fast emulator: the same bits as emulate_exact(), in machine integers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

class CpuEmulator;

/// Evaluates one datapath. It never changes once it is made: copies are cheap, and several threads may use one.
class Emulator {
 public:
  /// Throws InputError if the datapath is not valid (validate()).
  explicit Emulator(const Datapath& datapath);

  /// Fills tiles.d, on `threads` threads. Throws InputError, and changes nothing, if the tiles are sparse (gather() in
  /// sparse_tiles.hpp makes dense ones), are not of the datapath's k, formats and scale blocks, or have fewer or more
  /// codes than their count, m and n say.
  void run(Tiles& tiles, unsigned threads = 1) const;

 private:
  std::shared_ptr<const CpuEmulator> cpu_;
};

enum class Processor : std::uint8_t { cpu, gpu };

/// What one of the emulators' evaluators (docs/emulators.md) has to do with a datapath.
struct EvaluatorAnswer {
  Processor processor = Processor::cpu;
  std::string_view name, does;
  std::size_t nodes = 0;     ///< of the datapath's tree that it evaluates
  std::string_view why_not;  ///< why it cannot take them all: a clause of which the datapath is "it"; empty if it can
};

/// All evaluators of the CPU and then all of the GPU, in the order in which they are asked: the first that can take a
/// datapath, or a node of it, does. Throws InputError if the datapath is not valid.
std::vector<EvaluatorAnswer> evaluators_of(const Datapath& datapath);

}  // namespace tcnum
