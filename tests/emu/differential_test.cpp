// Random datapaths, as users may write them in JSON, on random operands: the fast emulator against the exact one on
// all, the exact one against a second implementation (tests/reference) on some.
//
//   differential_test [--count 1e8] [--seed N] [--threads N]
//
// The table that it prints is in docs/verification.md, of a long run. What is compared depends on count and seed alone.
// Labels: sanitized speed
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "difference.hpp"
#include "edge_tiles.hpp"
#include "emu/cpu/cpu_emulator.hpp"
#include "emu/cpu/panels/product.hpp"
#include "labels.hpp"
#include "reference/any_datapath.hpp"
#include "reference/reference.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"

namespace tcnum::differential_test {
namespace {

struct Request {
  /// Dot products, at least, that the fast emulator does not leave to the exact one.
  double count = test::kAddressesAreWatched ? 1e4 : test::takes_all() ? 3e5 : 1e5;
  std::uint64_t seed = 1;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};
Request request;

/// Nodes that the fast emulator leaves to the exact one; then the two have little to disagree about.
std::size_t left_to_exact(const Datapath& datapath) {
  std::size_t nodes = 0;
  for (const EvaluatorAnswer& answer : evaluators_of(datapath)) {
    if (answer.processor == Processor::cpu && answer.name == "exact") nodes += answer.nodes;
  }
  return nodes;
}

struct Batch {
  Datapath datapath;
  Tiles tiles;
};

/// The batch of that number: a datapath, and operands at its edges, anywhere, or of any bits.
Batch draw_batch(std::uint64_t number) {
  const auto draw = rc::gen::exec([] {
    const bool any = test::seldom(8);
    Datapath drawn = test::datapath_of_any_kind();
    while (!any && left_to_exact(drawn) > 0) drawn = test::datapath_of_any_kind();
    Batch batch{datapath_from_json(to_json(drawn)), {}};
    const int k = batch.datapath.tree.k;
    // About as much work for each datapath, in tiles that are evaluated in panels, side by side, and one by one.
    const bool wide = test::seldom(3);
    const auto rows = static_cast<std::size_t>(wide ? test::between(8, 16) : test::between(1, 8));
    const auto columns = static_cast<std::size_t>(wide ? test::between(32, 70) : test::between(1, 40));
    const std::size_t count = 1 + static_cast<std::size_t>(4096 / std::max(k, 8)) / (rows * columns);
    const int kind = test::between(0, 4);
    const auto bits = *rc::gen::arbitrary<std::uint64_t>();
    if (kind < 2) {
      batch.tiles = test::edge_tiles(batch.datapath, count, rows, columns, bits);
    } else {
      batch.tiles = test::random_tiles(batch.datapath, count, rows, columns);
    }
    if (kind == 4) {
      std::mt19937_64 random(bits);
      Tiles& tiles = batch.tiles;
      for (Codes* codes : {&tiles.a, &tiles.b, &tiles.c, &tiles.sa, &tiles.sb}) {
        for (std::size_t i = 0; i < codes->size(); ++i) codes->set(i, random());
      }
    }
    return batch;
  });
  constexpr int kSize = 100;  // RapidCheck's, which draws for one thread at a time
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return draw(rc::Random(request.seed * 0x9e3779b97f4a7c15 + number), kSize).value();
}

constexpr std::array kClasses = {"zero", "subnormal", "normal", "infinite", "NaN"};

struct Totals {
  std::uint64_t datapaths = 0, results = 0, left = 0, products = 0, by_reference = 0, nodes = 0, longest = 0;
  std::array<std::uint64_t, kClasses.size()> of_class{};
  std::map<std::string, std::uint64_t, std::less<>> nodes_of;  ///< by evaluator
  std::vector<std::string> differences;

  void add(const Totals& other) {
    datapaths += other.datapaths;
    results += other.results;
    left += other.left;
    products += other.products;
    by_reference += other.by_reference;
    nodes += other.nodes;
    longest = std::max(longest, other.longest);
    for (std::size_t i = 0; i < of_class.size(); ++i) of_class[i] += other.of_class[i];
    for (const auto& [evaluator, count] : other.nodes_of) nodes_of[evaluator] += count;
    differences.insert(differences.end(), other.differences.begin(), other.differences.end());
  }
};

Totals compare(const Batch& batch) {
  constexpr std::size_t kBetweenReferences = 997, kLongestReference = 64;  // of products, with which it takes long
  constexpr std::size_t kBetweenSingles = 29;
  const Datapath& d = batch.datapath;
  Totals totals;
  Tiles fast = batch.tiles, exact = batch.tiles;
  Emulator(d).run(fast);
  emulate_exact(d, exact);
  totals.datapaths = 1;
  totals.results = exact.d.size();
  if (left_to_exact(d) > 0) totals.left = exact.d.size();
  totals.longest = exact.k;
  totals.products = exact.d.size() * exact.k;
  totals.nodes = d.tree.nodes.size();
  constexpr std::size_t kLeastRows = 8, kLeastColumns = 32;  // of tiles that panels take
  bool in_panels = false;
  for (const EvaluatorAnswer& answer : evaluators_of(d)) {
    if (answer.processor != Processor::cpu) continue;
    const bool panels = answer.name.ends_with("panels");
    const bool takes = panels ? exact.m >= kLeastRows && exact.n >= kLeastColumns : !in_panels;
    in_panels |= panels && takes && answer.nodes > 0;
    totals.nodes_of[std::string(answer.name)] += takes ? answer.nodes : 0;
  }
  const CpuEmulator emulator(d);
  const DecodedTiles decoded(batch.tiles, d.numerics.a, d.numerics.b, d.numerics.c);
  for (std::size_t i = 0; i < exact.d.size(); ++i) {
    ++totals.of_class[static_cast<std::size_t>(decode(format(d.numerics.result), exact.d[i]).number_class)];
    if (fast.d[i] != exact.d[i])
      totals.differences.push_back(test::difference(d, problem_at(exact, i), "fast, exact", fast.d[i], exact.d[i]));
    if (i % kBetweenSingles != 0) continue;
    // Alone, and traced, as the fit asks for it.
    unsigned consulted = 0;
    const std::size_t per_tile = exact.m * exact.n, t = i / per_tile, row = i % per_tile / exact.n,
                      column = i % exact.n;
    for (const std::uint64_t single :
         {emulator.dot(decoded, t, row, column),
          emulator.dot(decoded, t, row, column, d.numerics.units[0].zero_exponent.value, consulted)}) {
      if (single != exact.d[i])
        totals.differences.push_back(test::difference(d, problem_at(exact, i), "alone, exact", single, exact.d[i]));
    }
  }
  if (exact.k > kLongestReference) return totals;
  for (std::size_t i = 0; i < exact.d.size(); i += kBetweenReferences) {
    const Problem at = problem_at(exact, i);
    reference::Tally unused;
    const std::uint64_t expected = reference::dot(d, at.a, at.b, at.c, at.sa, at.sb, unused);
    ++totals.by_reference;
    if (exact.d[i] != expected)
      totals.differences.push_back(test::difference(d, at, "exact, reference", exact.d[i], expected));
  }
  return totals;
}

/// All batches up to the first that brings the count to what was asked for.
Totals compare_all() {
  constexpr std::uint64_t kRound = 64;  // batches that are done whole, so that threads do not matter
  Totals totals;
  for (std::uint64_t first = 0;
       static_cast<double>(totals.results - totals.left) < request.count && totals.differences.empty();
       first += kRound) {
    std::atomic<std::uint64_t> next = first;
    std::mutex mutex;
    const auto work = [&] {
      for (std::uint64_t number; (number = next++) < first + kRound;) {
        const Totals some = compare(draw_batch(number));
        const std::lock_guard lock(mutex);
        totals.add(some);
      }
    };
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < request.threads; ++i) pool.emplace_back(work);
    work();
  }
  return totals;
}

/// "12,345,678".
std::string grouped(std::uint64_t x) {
  std::string text = fmt::to_string(x);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string table(const Totals& totals) {
  std::string text = fmt::format(
      "datapaths          {:>15}  random, of up to {} products, each read back from its JSON (seed {})\n"
      "nodes              {:>15}\n",
      grouped(totals.datapaths), totals.longest, request.seed, grouped(totals.nodes));
  for (const auto& [evaluator, count] : totals.nodes_of)
    text += fmt::format("  {:<16} {:>15}\n", evaluator, grouped(count));
  text += fmt::format("dot products       {:>15}  of {} products\n", grouped(totals.results), grouped(totals.products));
  for (std::size_t i = 0; i < kClasses.size(); ++i)
    text += fmt::format("  {:<16} {:>15}\n", kClasses[i], grouped(totals.of_class[i]));
  return text + fmt::format(
                    "fast, exact        {:>15}  compared\n"
                    "exact, reference   {:>15}  compared\n"
                    "differences        {:>15}\n",
                    grouped(totals.results), grouped(totals.by_reference), grouped(totals.differences.size()));
}

TEST(Differential, FastIsExactAndExactIsReference) {
  const Totals totals = compare_all();
  std::fputs(table(totals).c_str(), stdout);
  for (std::size_t i = 0; i < std::min<std::size_t>(totals.differences.size(), 3); ++i)
    ADD_FAILURE() << totals.differences[i];
  EXPECT_EQ(totals.differences.size(), 0u);
  EXPECT_GE(static_cast<double>(totals.results - totals.left), request.count);
  EXPECT_GT(totals.by_reference, 0u);
  for (std::size_t i = 0; i < kClasses.size(); ++i) EXPECT_GT(totals.of_class[i], 0u) << kClasses[i];
  if (test::kAddressesAreWatched) return;  // so few results reach few evaluators
  for (const auto& [evaluator, count] : totals.nodes_of) {
    if (!panels::are_here() && evaluator.ends_with("panels")) continue;
    EXPECT_GT(count, 0u) << evaluator;
  }
}

/// What was worked out for one datapath's numerics must not outlive them.
RC_GTEST_PROP(CpuEmulator, KeepsNothingOfEarlierNumerics, ()) {
  const Datapath integers = test::random_chain_of_integers();
  Datapath doubles = test::random_fma_chain();
  doubles.tree = integers.tree;
  CpuEmulator emulator(doubles);
  emulator.set_numerics(integers.numerics);
  Tiles fast = test::random_tiles(integers, 2, 2, 2), exact = fast;
  emulator.run(fast);
  emulate_exact(integers, exact);
  RC_ASSERT(fast.d == exact.d);
}

/// The option's number; the program ends if there is none.
double number_after(int argc, char** argv, int i) {
  const std::string_view text = i + 1 < argc ? argv[i + 1] : "";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number < 1e15) return number;
  std::fprintf(stderr, "differential_test: %s: expected a number, 1 or more\n", argv[i]);
  std::exit(2);
}

}  // namespace
}  // namespace tcnum::differential_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const double number = tcnum::differential_test::number_after(argc, argv, i);
    if (option == "--count") {
      tcnum::differential_test::request.count = number;
    } else if (option == "--seed") {
      tcnum::differential_test::request.seed = static_cast<std::uint64_t>(number);
    } else if (option == "--threads") {
      tcnum::differential_test::request.threads = static_cast<unsigned>(number);
    } else {
      std::fprintf(stderr, "differential_test: %s: expected --count, --seed or --threads\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
