#include "campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "src/files/json_fields.hpp"

namespace tcnum {
namespace {

constexpr const char* kSchema = "tcnum.checkpoint/1";
constexpr std::uint64_t kChunks = 16;  // of a stream, unless the user says otherwise

std::uint64_t divide_up(std::uint64_t x, std::uint64_t by) { return (x + by - 1) / by; }

/// A power of two of tiles, so that chunks of other counts begin where these do.
std::uint64_t usual_chunk(std::uint64_t tiles) {
  std::uint64_t chunk = 1;
  while (chunk * kChunks < tiles) chunk *= 2;
  return chunk;
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
      const std::uint64_t from = chunks * (plan.shard - 1) / plan.shards * chunk;
      const std::uint64_t to = std::min(tiles, chunks * plan.shard / plan.shards * chunk);
      if (from >= to) continue;
      StreamTask task{in, distribution, plan.seed, from * tile, (to - from) * tile, chunk * tile, {}};
      task.chunks.resize(divide_up(to - from, chunk));
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

void Campaign::set_identity(const nlohmann::ordered_json& identity) { identity_ = identity.dump(); }

std::string Campaign::checkpoint() const {
  nlohmann::ordered_json json = {{"schema", kSchema}, {"run", nlohmann::ordered_json::parse(identity_)}};
  json["streams"] = nlohmann::ordered_json::array();
  for (const StreamTask& task : tasks_) json["streams"].push_back(task_json(task));
  json["disagreements"] = nlohmann::ordered_json::array();
  for (const Disagreement& each : disagreements_) {
    json["disagreements"].push_back({{"instruction", each.instruction->name()},
                                     {"distribution", name(each.distribution)},
                                     {"seed", each.seed},
                                     {"index", each.index}});
  }
  return json.dump() + "\n";
}

void Campaign::resume(const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  const nlohmann::ordered_json json = read_json_file(path, kSchema);
  const JsonFields file(json, path);
  const auto other_run = [&](const std::string& field) {
    file.fail(field, "is of another run; right would be the options that it was begun with, or another file");
  };
  if (file.any("run").dump() != identity_) other_run("run");
  const auto& streams = file.array("streams");
  if (streams.size() != tasks_.size()) other_run("streams");
  std::vector<StreamTask> tasks = tasks_;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string where = fmt::format("streams[{}]", i);
    const JsonFields fields(streams[i], path + ": " + where);
    StreamTask& task = tasks[i];
    const auto& chunks = fields.array("chunks");
    const bool same = fields.text("instruction") == task.instruction->name() &&
                      fields.text("distribution") == name(task.distribution) && fields.whole("seed") == task.seed &&
                      fields.whole("first") == task.first && fields.whole("count") == task.count &&
                      fields.whole("chunk") == task.chunk && chunks.size() == task.chunks.size();
    if (!same) other_run(where);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      if (chunks[c].is_null()) continue;
      const JsonFields chunk(chunks[c], fmt::format("{}: {}.chunks[{}]", path, where, c));
      task.chunks[c] = ChunkResult{chunk.bits(chunk.any("digest"), "digest"), chunk.whole("mismatches")};
    }
  }
  std::vector<Disagreement> disagreements;
  for (const auto& each : file.array("disagreements")) {
    const JsonFields fields(each, path + ": disagreements");
    const Instruction* in = find_instruction(fields.text("instruction"));
    const auto distribution = find_distribution(fields.text("distribution"));
    if (in == nullptr || !distribution) other_run("disagreements");
    disagreements.push_back({in, *distribution, fields.whole("seed"), fields.whole("index")});
  }
  tasks_ = std::move(tasks);
  disagreements_ = std::move(disagreements);
}

void Campaign::run(const MakeVerifier& make, std::size_t workers, const std::atomic<bool>& stop,
                   const std::function<void()>& progress) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t task_number = 0, chunk_number = 0;  // the next to look at
  const auto next = [&]() -> std::optional<std::pair<std::size_t, std::size_t>> {
    const std::lock_guard lock(mutex);
    while (!failure && !stop && task_number < tasks_.size()) {
      if (chunk_number >= tasks_[task_number].chunks.size()) {
        ++task_number;
        chunk_number = 0;
        continue;
      }
      const std::size_t chunk = chunk_number++;
      if (!tasks_[task_number].chunks[chunk]) return std::pair(task_number, chunk);
    }
    return std::nullopt;
  };
  const auto work = [&](std::size_t worker) {
    try {
      std::unique_ptr<StreamVerifier> verifier;
      const Instruction* verified = nullptr;
      while (const auto left = next()) {
        StreamTask& task = tasks_[left->first];
        if (verified != task.instruction) {
          verifier = make(*task.instruction, worker);
          verified = task.instruction;
        }
        const std::uint64_t tile = stream_shape(*task.instruction).problems(), count = task.count_of(left->second);
        const StreamOutcome outcome =
            verifier->verify(task.distribution, task.seed, task.first_of(left->second) / tile, count / tile);
        const std::lock_guard lock(mutex);
        task.chunks[left->second] = ChunkResult{outcome.digest, outcome.mismatches};
        done_now_ += count;
        multiply_adds_now_ += static_cast<double>(count) * task.instruction->products();
        for (const std::uint64_t index : outcome.examples) {
          const auto so_far = std::ranges::count(disagreements_, task.instruction, &Disagreement::instruction);
          if (so_far < static_cast<std::ptrdiff_t>(kMostDisagreements)) {
            disagreements_.push_back({task.instruction, task.distribution, task.seed, index});
          }
        }
        progress();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 1; i < workers; ++i) pool.emplace_back(work, i);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tcnum
