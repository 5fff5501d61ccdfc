// Streams on the CPU.
#include <algorithm>
#include <mutex>

#include "emu/parallel.hpp"
#include "tcnum/emulator.hpp"
#include "verifier.hpp"

namespace tcnum {
namespace {

class CpuStreamVerifier final : public StreamVerifier {
 public:
  CpuStreamVerifier(const Instruction& in, const Datapath& datapath, std::unique_ptr<Oracle> oracle, unsigned threads)
      : in_(in), emulator_(datapath), oracle_(std::move(oracle)), threads_(threads) {}

  StreamOutcome verify(Distribution distribution, std::uint64_t seed, std::uint64_t first_tile,
                       std::uint64_t count) override {
    StreamOutcome total;
    std::mutex mutex;
    in_parallel((count + kBatch - 1) / kBatch, threads_, [&](std::size_t batch) {
      const std::uint64_t done = batch * kBatch, first = first_tile + done;
      Tiles tiles = make_stream_tiles(in_, distribution, seed, first, std::min(kBatch, count - done));
      const StreamOutcome part = compare(tiles, first * stream_shape(in_).problems(), mutex);
      const std::lock_guard lock(mutex);
      total.digest += part.digest;
      total.mismatches += part.mismatches;
      if (part.examples.empty()) return;
      total.examples.insert(total.examples.end(), part.examples.begin(), part.examples.end());
      std::ranges::sort(total.examples);  // the first ones, whichever thread is the fastest
      if (total.examples.size() > kMostExamples) total.examples.resize(kMostExamples);
    });
    return total;
  }

  OracleKind kind() const override { return oracle_ ? oracle_->kind() : OracleKind::datapath; }
  std::string device() const override { return oracle_ ? oracle_->device() : ""; }
  std::map<std::string, std::string> provenance() const override {
    return oracle_ ? oracle_->provenance() : std::map<std::string, std::string>{};
  }

 private:
  static constexpr std::uint64_t kBatch = 8;  // tiles
  static constexpr std::size_t kMostExamples = 16;

  StreamOutcome compare(Tiles& tiles, std::uint64_t first_index, std::mutex& mutex) {
    if (!oracle_) {
      emulator_.run(tiles);
      return {digest(tiles, first_index), 0, {}};
    }
    Tiles expected = tiles;
    emulator_.run(expected);
    {
      const std::lock_guard lock(mutex);  // an oracle answers one thread at a time
      oracle_->answer(tiles);
    }
    StreamOutcome outcome{digest(tiles, first_index), 0, {}};
    if (tiles.d == expected.d) return outcome;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (tiles.d[i] == expected.d[i]) continue;
      ++outcome.mismatches;
      if (outcome.examples.size() < kMostExamples) outcome.examples.push_back(first_index + i);
    }
    return outcome;
  }

  Instruction in_;
  Emulator emulator_;
  std::unique_ptr<Oracle> oracle_;
  unsigned threads_;
};

}  // namespace

std::unique_ptr<StreamVerifier> make_cpu_stream_verifier(const Instruction& instruction, const Datapath& datapath,
                                                         std::unique_ptr<Oracle> oracle, unsigned threads) {
  return std::make_unique<CpuStreamVerifier>(instruction, datapath, std::move(oracle), threads);
}

}  // namespace tcnum
