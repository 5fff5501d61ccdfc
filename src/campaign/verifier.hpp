// Verifiers: each result of a stream's problems compared with a datapath's, wherever the two come from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/questions/stream.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// What came of some tiles of a stream.
struct StreamOutcome {
  std::uint64_t digest = 0;             ///< of the oracle's results
  std::uint64_t mismatches = 0;         ///< results that are not the datapath's
  std::vector<std::uint64_t> examples;  ///< indices in the stream of some of them
};

/// Compares an instruction with a datapath, tile by tile of a stream.
class StreamVerifier {
 public:
  virtual ~StreamVerifier() = default;

  virtual StreamOutcome verify(Distribution distribution, std::uint64_t seed, std::uint64_t first_tile,
                               std::uint64_t count) = 0;
  /// What answers: see Oracle.
  virtual OracleKind kind() const = 0;
  virtual std::string device() const = 0;
  virtual std::map<std::string, std::string> provenance() const = 0;
};

/// All on the GPU of that number: operands are made, answered and compared with the CUDA emulator there. Throws
/// UnavailableError as make_gpu_oracle() does, and if the CUDA emulator cannot hold the datapath.
std::unique_ptr<StreamVerifier> make_gpu_stream_verifier(const Instruction& instruction, const Datapath& datapath,
                                                         int device = 0);
/// Whether make_gpu_stream_verifier() takes it, given a GPU that has the instruction.
bool stream_runs_on_gpu(const Datapath& datapath);
/// Operands and emulation on the CPU, on `threads` threads; any oracle. Without one the datapath answers for itself,
/// which gives its digests.
std::unique_ptr<StreamVerifier> make_cpu_stream_verifier(const Instruction& instruction, const Datapath& datapath,
                                                         std::unique_ptr<Oracle> oracle, unsigned threads);

}  // namespace tcnum
