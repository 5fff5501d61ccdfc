#include "campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "emu/parallel.hpp"
#include "io/json.hpp"
#include "src/files/json_fields.hpp"
#include "src/questions/stream/digest.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr const char* kSchema = "tcnum.checkpoint/1";
constexpr const char* kChecksum = "checksum";
constexpr std::uint64_t kChunks = 16;  // of a stream, unless the user says otherwise

std::uint64_t divide_up(std::uint64_t x, std::uint64_t by) { return (x + by - 1) / by; }

/// A power of two of tiles, so that chunks of other counts begin where these do.
std::uint64_t usual_chunk(std::uint64_t tiles) {
  std::uint64_t chunk = 1;
  while (chunk * kChunks < tiles) chunk *= 2;
  return chunk;
}

/// whole · part / parts, rounded down, for part ≤ parts.
std::uint64_t part_of(std::uint64_t whole, std::uint64_t part, std::uint64_t parts) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(whole) * part / parts);
}

nlohmann::ordered_json task_json(const StreamTask& task) {
  nlohmann::ordered_json json = {{"instruction", task.instruction->name()},
                                 {"distribution", name(task.distribution)},
                                 {"seed", task.seed},
                                 {"first", task.first},
                                 {"count", task.count},
                                 {"chunk", task.chunk}};
  json["chunks"] = nlohmann::ordered_json::array();
  for (const auto& chunk : task.chunks) {
    if (chunk)
      json["chunks"].push_back({{"digest", fmt::format("{:#018x}", chunk->digest)}, {"mismatches", chunk->mismatches}});
    else
      json["chunks"].push_back(nullptr);
  }
  return json;
}

/// The digest that a stream would have whose results are the text's bytes.
std::uint64_t checksum_of(std::string_view text) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) sum += stream::hash_of(i, static_cast<unsigned char>(text[i]));
  return sum;
}

}  // namespace

std::uint64_t StreamTask::done() const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) total += chunks[i] ? count_of(i) : 0;
  return total;
}

std::uint64_t StreamTask::mismatches() const {
  std::uint64_t total = 0;
  for (const auto& done : chunks) total += done ? done->mismatches : 0;
  return total;
}

std::vector<StreamTask> plan(const CampaignPlan& plan) {
  const auto random = static_cast<std::uint64_t>(
      std::ranges::count_if(plan.distributions, [](Distribution d) { return !is_sweep(d); }));
  std::vector<StreamTask> tasks;
  std::uint64_t all_chunks = 0;
  for (const Instruction* in : plan.instructions) {
    const std::uint64_t tile = stream_shape(*in).problems();
    for (const Distribution distribution : plan.distributions) {
      std::uint64_t tiles = 0;
      if (!is_sweep(distribution)) {
        tiles = divide_up(divide_up(plan.count, random), tile);
      } else if (const auto size = sweep_size(*in, distribution, plan.seed)) {
        tiles = *size / tile;
      } else {
        continue;
      }
      const std::uint64_t chunk = plan.chunk ? divide_up(*plan.chunk, tile) : usual_chunk(tiles);
      const std::uint64_t chunks = divide_up(tiles, chunk);
      const std::uint64_t from = part_of(chunks, plan.shard - 1, plan.shards) * chunk;
      const std::uint64_t to = std::min(tiles, part_of(chunks, plan.shard, plan.shards) * chunk);
      if (from >= to) continue;
      all_chunks += divide_up(to - from, chunk);
      if (all_chunks > kMostChunks) {
        throw InputError(
            fmt::format("--chunk: makes more than {} chunks; expected larger ones, or --shard", kMostChunks));
      }
      StreamTask task{in, distribution, plan.seed, from * tile, (to - from) * tile, chunk * tile, {}};
      task.chunks.resize(divide_up(to - from, chunk));
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

Campaign::Campaign(std::vector<StreamTask> tasks) : tasks_(std::move(tasks)), examples_(tasks_.size()) {}

void Campaign::set_identity(const nlohmann::ordered_json& identity) { identity_ = identity.dump(); }

std::string sealed_checkpoint(const nlohmann::ordered_json& content) {
  std::string text = content.dump();
  const std::uint64_t checksum = checksum_of(text);
  text.pop_back();  // the brace that ends the object
  return fmt::format("{},\"{}\":\"{:#018x}\"}}\n", text, kChecksum, checksum);
}

std::string Campaign::checkpoint() const {
  nlohmann::ordered_json json = {{"schema", kSchema}, {"run", nlohmann::ordered_json::parse(identity_)}};
  json["streams"] = nlohmann::ordered_json::array();
  for (const StreamTask& task : tasks_) json["streams"].push_back(task_json(task));
  json["disagreements"] = nlohmann::ordered_json::array();
  for (const Disagreement& each : disagreements()) {
    json["disagreements"].push_back({{"instruction", each.instruction->name()},
                                     {"distribution", name(each.distribution)},
                                     {"seed", each.seed},
                                     {"index", each.index}});
  }
  return sealed_checkpoint(json);
}

namespace {

using Json = nlohmann::ordered_json;

/// Throws unless the checkpoint has the checksum that its other members have, which it loses.
void unseal(Json& checkpoint, const std::string& path) {
  constexpr std::string_view kRight = "expected the file as tcnum left it, or another one, from the beginning";
  const JsonFields file(checkpoint, path);
  if (!checkpoint.contains(kChecksum)) {
    file.fail(kChecksum, fmt::format("is missing, as in checkpoints of older versions: what is not there cannot vouch "
                                     "for the rest; {}",
                                     kRight));
  }
  const std::uint64_t said = file.bits(file.any(kChecksum), kChecksum);
  checkpoint.erase(kChecksum);
  const std::uint64_t found = checksum_of(checkpoint.dump());
  if (said != found) {
    file.fail(kChecksum, fmt::format("{:#018x}, but the rest of the file has {:#018x}: it was changed or damaged; {}",
                                     said, found, kRight));
  }
}

[[noreturn]] void fail_other_run(const JsonFields& file, const std::string& field) {
  file.fail(field, "is of another run; expected what it was begun with, or another file");
}

/// What a checkpoint has done of a stream.
std::vector<std::optional<ChunkResult>> read_chunks(const Json& json, const StreamTask& task, const JsonFields& file,
                                                    const std::string& where) {
  const JsonFields fields(json, fmt::format("{}: {}", file.where(), where));
  const auto& chunks = fields.array("chunks");
  const bool same = fields.text("instruction") == task.instruction->name() &&
                    fields.text("distribution") == name(task.distribution) && fields.whole("seed") == task.seed &&
                    fields.whole("first") == task.first && fields.whole("count") == task.count &&
                    fields.whole("chunk") == task.chunk && chunks.size() == task.chunks.size();
  if (!same) fail_other_run(file, where);
  std::vector<std::optional<ChunkResult>> done(chunks.size());
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c].is_null()) continue;
    const JsonFields chunk(chunks[c], fmt::format("{}: {}.chunks[{}]", file.where(), where, c));
    done[c] = ChunkResult{chunk.bits(chunk.any("digest"), "digest"), chunk.whole("mismatches")};
    if (done[c]->mismatches > task.count_of(c)) {
      chunk.fail("mismatches", fmt::format("{}; expected at most {}, the problems of the chunk", done[c]->mismatches,
                                           task.count_of(c)));
    }
  }
  return done;
}

/// A disagreement of a checkpoint: its stream's number among the tasks, and its index there; throws unless one of them
/// has it.
std::pair<std::size_t, std::uint64_t> read_disagreement(const JsonFields& fields,
                                                        const std::vector<StreamTask>& tasks) {
  const std::string instruction = fields.text("instruction"), distribution = fields.text("distribution");
  const std::uint64_t seed = fields.whole("seed"), index = fields.whole("index");
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const StreamTask& task = tasks[t];
    if (task.instruction->name() != instruction || name(task.distribution) != distribution || task.seed != seed)
      continue;
    if (index < task.first || index - task.first >= task.count) {
      fields.fail("index", fmt::format("{}; expected from {} to {}, as the run has them", index, task.first,
                                       task.first + task.count - 1));
    }
    return {t, index};
  }
  fields.fail("distribution",
              fmt::format("{} of {} with seed {} is no stream of the run", distribution, instruction, seed));
}

}  // namespace

void Campaign::resume(const std::string& where) {
  Json json = read_json_file(where, kSchema);
  unseal(json, where);
  const JsonFields file(json, where);
  const Json identity = Json::parse(identity_);
  const JsonFields run(file.any("run"), where + ": run");
  for (const auto& [key, value] : identity.items()) {
    // In whatever order the keys are.
    if (nlohmann::json(run.any(key.c_str())) != nlohmann::json(value)) fail_other_run(file, "run." + key);
  }
  const auto& streams = file.array("streams");
  if (streams.size() != tasks_.size()) fail_other_run(file, "streams");
  std::vector<StreamTask> tasks = tasks_;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].chunks = read_chunks(streams[i], tasks[i], file, fmt::format("streams[{}]", i));

  std::vector<std::set<std::uint64_t>> examples(tasks.size());
  const auto& all = file.array("disagreements");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const JsonFields fields(all[i], fmt::format("{}: disagreements[{}]", where, i));
    const auto [stream, index] = read_disagreement(fields, tasks);
    examples[stream].insert(index);
  }
  tasks_ = std::move(tasks);
  examples_ = std::move(examples);
}

std::vector<Disagreement> Campaign::disagreements() const {
  std::vector<Disagreement> all;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    for (const std::uint64_t index : examples_[t])
      all.push_back({tasks_[t].instruction, tasks_[t].distribution, tasks_[t].seed, index});
  }
  return all;
}

void Campaign::keep_example(std::size_t stream, std::uint64_t index) {
  examples_[stream].insert(index);
  // An instruction's streams follow each other.
  const Instruction* const in = tasks_[stream].instruction;
  std::size_t first = stream, last = stream, kept = 0;
  while (first > 0 && tasks_[first - 1].instruction == in) --first;
  while (last + 1 < tasks_.size() && tasks_[last + 1].instruction == in) ++last;
  for (std::size_t t = first; t <= last; ++t) kept += examples_[t].size();
  if (kept <= kMostDisagreements) return;
  while (examples_[last].empty()) --last;
  examples_[last].erase(std::prev(examples_[last].end()));
}

std::vector<ChunkNumber> Campaign::unfinished() const {
  std::vector<ChunkNumber> all;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    for (std::size_t c = 0; c < tasks_[t].chunks.size(); ++c) {
      if (!tasks_[t].chunks[c]) all.push_back({t, c});
    }
  }
  return all;
}

void Campaign::finish(ChunkNumber number, const StreamOutcome& outcome) {
  StreamTask& task = tasks_.at(number.stream);
  task.chunks.at(number.chunk) = ChunkResult{outcome.digest, outcome.mismatches};
  const std::uint64_t count = task.count_of(number.chunk);
  done_now_ += count;
  mismatches_now_ += outcome.mismatches;
  multiply_adds_now_ += static_cast<double>(count) * task.instruction->products();
  for (const std::uint64_t index : outcome.examples) keep_example(number.stream, index);
}

StreamOutcome verify_chunk(StreamVerifier& verifier, const StreamTask& task, std::size_t chunk) {
  const std::uint64_t tile = stream_shape(*task.instruction).problems();
  return verifier.verify(task.distribution, task.seed, task.first_of(chunk) / tile, task.count_of(chunk) / tile);
}

void verify_chunks(const std::vector<StreamTask>& tasks, const std::vector<ChunkNumber>& chunks,
                   const MakeVerifier& make, std::size_t workers, const std::function<bool()>& stopped,
                   const std::function<void(ChunkNumber, const StreamOutcome&)>& done) {
  std::mutex mutex;
  std::size_t next_chunk = 0;
  std::exception_ptr failure;
  const auto next = [&]() -> std::optional<ChunkNumber> {
    const std::lock_guard lock(mutex);
    if (failure || stopped() || next_chunk == chunks.size()) return std::nullopt;
    return chunks[next_chunk++];
  };
  const auto work = [&](std::size_t worker) {
    try {
      std::unique_ptr<StreamVerifier> verifier;
      const Instruction* verified = nullptr;
      while (const auto number = next()) {
        const StreamTask& task = tasks[number->stream];
        if (verified != task.instruction) {
          verifier = make(*task.instruction, worker);
          verified = task.instruction;
        }
        const StreamOutcome outcome = verify_chunk(*verifier, task, number->chunk);
        const std::lock_guard lock(mutex);
        done(*number, outcome);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    const std::vector<std::jthread> others = threads_of(1, workers, work);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

void Campaign::run(const MakeVerifier& make, std::size_t workers, const std::atomic<bool>& stop,
                   const std::function<void()>& progress) {
  verify_chunks(
      tasks_, unfinished(), make, workers, [&] { return stop.load(); },
      [&](ChunkNumber number, const StreamOutcome& outcome) {
        finish(number, outcome);
        progress();
      });
}

}  // namespace tcnum
