// Atomics: latency of one thread's chain, and throughput of all threads on one address and on their own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "sync.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kThreads = 1024, kSteps = 64, kChainSteps = 128, kLaunches = 2;

/// What a word must be and what its threads must have been given in all, after so many operations.
struct Outcome {
  std::uint32_t word = 0, given = 0;
};

enum class Known : std::uint8_t {
  both,   ///< the word, and what was given
  sum,    ///< the word and what was given, added up: exchanges keep all values
  equal,  ///< that they are the same: how often a value was swapped, by whichever threads
};

struct Operation {
  const char* name;
  bool gives;
  Known alone, together;  ///< of an address that one thread has, and that all have
  /// Of `count` operations by a thread or by several; null of exchanges.
  Outcome (*outcome)(std::uint64_t count);
  /// One more link of a chain: what it does to the word, and gives.
  std::uint32_t (*link)(std::uint32_t& word, std::uint32_t operand);
};

std::uint32_t bits_of(std::uint64_t count) { return std::bit_cast<std::uint32_t>(static_cast<float>(count)); }

constexpr auto kOperations = std::to_array<Operation>({
    {"add.u32", true, Known::both, Known::both,
     [](std::uint64_t count) {
       // Each number below the last is given once, to whomever.
       const std::uint64_t pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
       return Outcome{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(pairs)};
     },
     [](std::uint32_t& word, std::uint32_t operand) {
       const std::uint32_t old = word;
       word += operand;
       return old;
     }},
    {"red.add.u32", false, Known::both, Known::both,
     [](std::uint64_t count) {
       return Outcome{static_cast<std::uint32_t>(count), 0};
     },
     nullptr},
    {"add.f32", true, Known::both, Known::both,
     [](std::uint64_t count) {
       std::uint32_t given = 0;
       for (std::uint64_t i = 0; i < count; ++i) given += bits_of(i);
       return Outcome{bits_of(count), given};
     },
     [](std::uint32_t& word, std::uint32_t operand) {
       const std::uint32_t old = word;
       word = std::bit_cast<std::uint32_t>(std::bit_cast<float>(word) + std::bit_cast<float>(operand));
       return old;
     }},
    {"exch.b32", true, Known::sum, Known::sum, nullptr,
     [](std::uint32_t& word, std::uint32_t operand) { return std::exchange(word, operand); }},
    {"cas.b32", true, Known::both, Known::equal,
     [](std::uint64_t count) {
       return Outcome{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count)};
     },
     [](std::uint32_t& word, std::uint32_t) { return word; }},  // swaps a word for the same
});

const Operation& operation_of(const std::string& name) {
  return *std::ranges::find_if(kOperations, [&](const Operation& o) { return o.name == name; });
}

[[noreturn]] void fail(const AtomicWork& work, std::size_t word, std::uint32_t found, std::uint32_t given,
                       const std::string& right) {
  throw WrongResult(
      fmt::format("{}: word {} is {} and {} was given; right would be {}", work.operation, word, found, given, right));
}

/// The block whose words a block's threads reach.
std::size_t target_of(const AtomicWork& work, std::size_t block) {
  return work.space == AtomicSpace::cluster ? block ^ 1 : block;
}

void check_chains(const AtomicWork& work, const AtomicTimes& times) {
  const Operation& op = operation_of(work.operation);
  std::uint32_t word = 0, x = chain_start(work.operation == "add.f32");
  for (unsigned s = 0; s < work.steps; ++s) x = op.link(word, x);
  for (std::size_t block = 0; block < times.blocks; ++block) {
    const std::size_t at = target_of(work, block) * work.threads;
    const std::uint32_t given = times.given[block * work.threads];
    if (times.words[at] != word || given != x) {
      fail(work, at, times.words[at], given, fmt::format("{} and {}", word, x));
    }
  }
}

/// Threads that share a word, and what they got.
struct Share {
  std::uint64_t threads = 0;
  std::uint32_t given = 0, tags = 0;
};

}  // namespace

void check_atomics(const AtomicWork& work, const AtomicTimes& times) {
  const std::size_t threads = times.blocks * work.threads;
  if (threads == 0 || times.words.size() != threads || times.given.size() != threads) {
    throw WrongResult(
        fmt::format("{}: results of {} threads; right would be {}", work.operation, times.words.size(), threads));
  }
  if (work.chained) return check_chains(work, times);
  std::vector<Share> shares(threads);  // by word
  for (std::size_t block = 0; block < times.blocks; ++block) {
    for (std::size_t t = 0; t < work.threads; ++t) {
      const bool one_for_all = work.same_address && work.space == AtomicSpace::global;
      const std::size_t first = one_for_all ? 0 : target_of(work, block) * work.threads,
                        thread = block * work.threads + t;
      Share& share = shares[first + (work.same_address ? 0 : t)];
      ++share.threads;
      share.given += times.given[thread];
      for (unsigned s = 0; s < work.steps; ++s) share.tags += exchange_tag(thread, s, work.steps);
    }
  }
  const Operation& op = operation_of(work.operation);
  // As many threads share each word that any has.
  const auto first = std::ranges::find_if(shares, [](const Share& s) { return s.threads != 0; });
  const Outcome counted = op.outcome == nullptr ? Outcome{} : op.outcome(first->threads * work.steps);
  for (std::size_t i = 0; i < threads; ++i) {
    const Share& share = shares[i];
    if (share.threads == 0) continue;
    const std::uint32_t word = times.words[i];
    switch (share.threads == 1 ? op.alone : op.together) {
      case Known::both:
        if (word != counted.word || share.given != counted.given) {
          fail(work, i, word, share.given, fmt::format("{} and {}", counted.word, counted.given));
        }
        break;
      case Known::sum:
        if (word + share.given != share.tags) fail(work, i, word, share.given, fmt::format("{} in all", share.tags));
        break;
      case Known::equal:
        if (word != share.given || word == 0) fail(work, i, word, share.given, "the same, and not 0");
        break;
    }
  }
}

namespace {

class AtomicsMeasurement final : public Measurement {
 public:
  std::string name() const override { return "atomics"; }
  std::string meaning() const override {
    return "atomics on shared memory, a cluster neighbour's, and global memory: latency and throughput";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"space", "memory", {"shared", "cluster", "global"}, {"shared", "cluster", "global"}},
        {"address", "one for all threads, or each its own", {"same", "own"}, {"same", "own"}}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    if (!tcnum::arch(arch).name.starts_with("sm_")) return names;
    for (const Operation& op : kOperations) names.emplace_back(op.name);
    return names;
  }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      for (const std::string& space : selection.at("space")) {
        for (const std::string& address : selection.at("address")) {
          Record record{name(), subject, {{"space", space}, {"address", address}}, {}, {}, "", ""};
          if (settings.has(record)) continue;
          if (!settings.go_on(fmt::format("{}, {}, {}", subject, space, address))) return;
          SyncDevice* const sync = device.sync();
          if (sync == nullptr) {
            record.waived = "this device or build does not time atomics";
          } else if (space == "cluster" && sync->most_cluster_blocks() < 2) {
            record.waived = "this device has no clusters";
          } else {
            measure_into(record, [&] { measure_one(*sync, settings.stop, record); });
          }
          add(std::move(record));
        }
      }
    }
  }

 private:
  static void measure_one(SyncDevice& device, const StopRule& stop, Record& record) {
    const std::string space = record.text("space");
    AtomicWork work;
    work.operation = record.subject;
    work.space = space == "shared"    ? AtomicSpace::shared
                 : space == "cluster" ? AtomicSpace::cluster
                                      : AtomicSpace::global;
    work.same_address = record.text("address") == "same";
    std::size_t blocks = 0;
    const auto sample = [&](const AtomicWork& each) {
      return sample_until(stop, [&] {
        const AtomicTimes times = device.atomics(each, kLaunches);
        check_atomics(each, times);
        blocks = times.blocks;
        return summarise(times.cycles).mean;
      });
    };
    if (operation_of(work.operation).gives) {
      AtomicWork chain = work;
      chain.chained = true;
      chain.threads = 32;
      chain.steps = kChainSteps;
      record.set("latency_cycles", summarise(sample(chain)).median / kChainSteps);
    }
    work.threads = kThreads;
    work.steps = kSteps;
    std::vector<double> cycles = sample(work);
    for (double& c : cycles) c /= double{kSteps} * kThreads / 32;  // warps
    const Summary s = summarise(cycles);
    record.set("interval_cycles", s.median);
    record.set("interval_p5_cycles", s.p5);
    record.set("interval_p95_cycles", s.p95);
    record.set("spread_percent", s.spread_percent());
    record.set("samples", static_cast<std::int64_t>(s.count));
    record.set("results_per_clock", 32 / s.median);
    record.set("device_results_per_clock", 32 / s.median * static_cast<double>(blocks));
    record.set("checked", std::string("every word, and what was given"));
    record.series.push_back({"sample_interval_cycles", std::move(cycles)});
  }
};

}  // namespace

const Measurement& atomics_measurement() {
  static const AtomicsMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
