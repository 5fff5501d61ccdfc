// Campaigns: streams cut into chunks, of which each is put through an instruction once, whatever interrupts the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/questions/stream.hpp"
#include "verifier.hpp"

namespace tcnum {

/// One chunk that was done.
struct ChunkResult {
  std::uint64_t digest = 0, mismatches = 0;
  friend bool operator==(const ChunkResult&, const ChunkResult&) = default;
};

/// Consecutive problems of one instruction and distribution.
struct StreamTask {
  const Instruction* instruction = nullptr;
  Distribution distribution = Distribution::narrow;
  std::uint64_t seed = 0, first = 0, count = 0, chunk = 0;  ///< in problems, all whole tiles
  std::vector<std::optional<ChunkResult>> chunks;

  std::uint64_t first_of(std::size_t number) const { return first + number * chunk; }
  std::uint64_t count_of(std::size_t number) const { return std::min(chunk, count - number * chunk); }
  std::uint64_t done() const;        ///< problems in chunks that are done
  std::uint64_t mismatches() const;  ///< of them
};

/// A chunk of a campaign: the stream's number among its tasks, and the chunk's in it.
struct ChunkNumber {
  std::size_t stream = 0, chunk = 0;
  friend auto operator<=>(const ChunkNumber&, const ChunkNumber&) = default;
};

struct Disagreement {
  const Instruction* instruction;
  Distribution distribution;
  std::uint64_t seed, index;
  friend bool operator==(const Disagreement&, const Disagreement&) = default;
};

struct CampaignPlan {
  std::vector<const Instruction*> instructions;
  std::vector<Distribution> distributions;
  std::uint64_t seed = 1;
  std::uint64_t count = 0;              ///< of each instruction, over all random distributions; sweeps are whole
  std::optional<std::uint64_t> chunk;   ///< problems, rounded up to whole tiles; none: 16 chunks a stream
  std::uint64_t shard = 1, shards = 1;  ///< this one of so many parts of every stream
};
/// So many chunks are at most in a campaign, so that its checkpoint can be read again.
inline constexpr std::uint64_t kMostChunks = 500'000;
/// Sweeps that an instruction does not have are left out, and so are streams of which the shard has no chunk. Throws
/// InputError if there are too many chunks.
std::vector<StreamTask> plan(const CampaignPlan& plan);

/// A checkpoint as the text of its file: with the checksum of all the rest, which resume() looks for. It tells damage
/// and changes, but not those of somebody who works it out again.
std::string sealed_checkpoint(const nlohmann::ordered_json& content);

/// Does a chunk of a stream of the verifier's instruction.
StreamOutcome verify_chunk(StreamVerifier& verifier, const StreamTask& task, std::size_t chunk);

/// Makes what verifies an instruction, for worker 0, 1, …; each worker is a thread.
using MakeVerifier = std::function<std::unique_ptr<StreamVerifier>(const Instruction&, std::size_t worker)>;
/// Does chunks of the tasks on several threads, until `stopped`. Calls `done` after each chunk, from one thread at a
/// time. Throws what a worker or `done` throws; the other workers end after their chunk at hand then.
void verify_chunks(const std::vector<StreamTask>& tasks, const std::vector<ChunkNumber>& chunks,
                   const MakeVerifier& make, std::size_t workers, const std::function<bool()>& stopped,
                   const std::function<void(ChunkNumber, const StreamOutcome&)>& done);

class Campaign {
 public:
  explicit Campaign(std::vector<StreamTask> tasks);

  /// What identifies the run beside its tasks (the datapaths, the architecture), for its checkpoint.
  void set_identity(const nlohmann::ordered_json& identity);
  /// Takes over what a checkpoint has done; throws InputError if it is not one of this run, or was changed.
  void resume(const std::string& path);
  /// The checkpoint at this moment.
  std::string checkpoint() const;

  /// The chunks that are not done, in the order of the streams.
  std::vector<ChunkNumber> unfinished() const;
  /// Keeps the outcome of an unfinished chunk. Threads may do so one at a time.
  void finish(ChunkNumber number, const StreamOutcome& outcome);

  /// Does the unfinished chunks, until `stop`. Calls `progress` after each chunk, from one thread at a time.
  void run(const MakeVerifier& make, std::size_t workers, const std::atomic<bool>& stop,
           const std::function<void()>& progress);

  const std::vector<StreamTask>& tasks() const { return tasks_; }
  /// Of each instruction the first few, in the order of its streams, whoever found them and when; the chunks have how
  /// many there are.
  std::vector<Disagreement> disagreements() const;
  std::uint64_t done_now() const { return done_now_; }  ///< problems that this process has kept the outcomes of
  double multiply_adds_now() const { return multiply_adds_now_; }
  std::uint64_t mismatches_now() const { return mismatches_now_; }

 private:
  static constexpr std::size_t kMostDisagreements = 16;  ///< of each instruction

  void keep_example(std::size_t stream, std::uint64_t index);

  std::vector<StreamTask> tasks_;
  std::vector<std::set<std::uint64_t>> examples_;  ///< of each task: indices of disagreements
  std::string identity_ = "{}";
  std::uint64_t done_now_ = 0, mismatches_now_ = 0;
  double multiply_adds_now_ = 0;
};

}  // namespace tcnum
