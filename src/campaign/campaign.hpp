// Campaigns: streams of dot problems put through an instruction, each result compared with a datapath's, and remembered
// by digests that a machine without the hardware can check.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distribution.hpp"
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
  virtual std::string kind() const = 0;
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

/// Some consecutive problems of one stream, and the digests of the hardware's results, one for each `chunk` of them
/// (the last may be of fewer).
struct CampaignRecord {
  std::string instruction;
  Distribution distribution = Distribution::narrow;
  std::uint64_t seed = 0, first = 0, count = 0, chunk = 0;
  std::vector<std::uint64_t> digests;
  std::string device, driver, cuda, date;
};

/// vectors/ARCH/campaigns.json. Reading throws InputError naming the file, the field and what would be right.
std::vector<CampaignRecord> read_campaigns(const std::string& path);
/// As text, for whoever writes the file. Records come in order: instruction, distribution, seed, first, device.
std::string campaigns_text(std::vector<CampaignRecord> records);

}  // namespace tcnum
