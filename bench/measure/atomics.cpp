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

struct Space {
  const char* name;
  AtomicSpace space;
};
constexpr auto kSpaces = std::to_array<Space>(
    {{"shared", AtomicSpace::shared}, {"cluster", AtomicSpace::cluster}, {"global", AtomicSpace::global}});

[[noreturn]] void fail(const AtomicWork& work, std::size_t word, std::uint32_t found, std::uint32_t given,
                       const std::string& expected) {
  throw WrongResult(
      fmt::format("{}: word {} is {} and {} was given; expected {}", work.operation, word, found, given, expected));
}

/// The block whose words a block's threads reach.
std::size_t target_of(const AtomicWork& work, std::size_t block) {
  return work.space == AtomicSpace::cluster ? block ^ 1 : block;
}

void check_chains(const AtomicWork& work, const AtomicTimes& times) {
  const Operation& op = named(kOperations, work.operation);
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
        fmt::format("{}: results of {} threads; expected {}", work.operation, times.words.size(), threads));
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
  const Operation& op = named(kOperations, work.operation);
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

void measure_atomics(const Row& row) {
  constexpr double kWarp = 32;
  const Operation& op = named(kOperations, row.record.subject);
  AtomicWork work;
  work.operation = row.record.subject;
  work.space = named(kSpaces, row.record.text("space")).space;
  work.same_address = row.record.text("address") == "same";
  if (work.space == AtomicSpace::cluster) require_clusters(row, 2);
  std::size_t blocks = 0;
  const auto sample = [&](const AtomicWork& each) {
    return sample_until(row.settings.stop, [&] {
      const AtomicTimes times = row.device.atomics(each, kLaunches);
      check_atomics(each, times);
      blocks = times.blocks;
      return summarise(times.cycles).mean;
    });
  };
  if (op.gives) {
    AtomicWork chain = work;
    chain.chained = true;
    chain.threads = 32;
    chain.steps = kChainSteps;
    row.record.set("latency_cycles", summarise(sample(chain)).median / kChainSteps);
  }
  work.threads = kThreads;
  work.steps = kSteps;
  std::vector<double> cycles = sample(work);
  for (double& c : cycles) c /= kSteps * kThreads / kWarp;
  const Summary s = summarise(cycles);
  row.record.set("interval_cycles", s.median);
  row.record.set("interval_p5_cycles", s.p5);
  row.record.set("interval_p95_cycles", s.p95);
  put_samples(row.record, s);
  row.record.set("results_per_clock", kWarp / s.median);
  row.record.set("device_results_per_clock", kWarp / s.median * static_cast<double>(blocks));
  row.record.set("checked", std::string("every word, and what was given"));
  row.record.series.push_back({"sample_interval_cycles", std::move(cycles)});
}

}  // namespace

Measurement atomics_measurement() {
  return {.name = "atomics",
          .meaning = "atomics on shared memory, a cluster neighbour's, and global memory: latency and throughput",
          .axes = {{"space", "memory", names_in(kSpaces)},
                   {"address", "one for all threads, or each its own", {"same", "own"}}},
          .subjects = of_nvidia(names_in(kOperations)),
          .measure_row = measure_atomics};
}

}  // namespace tcnum::bench
