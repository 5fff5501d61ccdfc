// Datapaths as users may write them in JSON, random ones or such as differ in one rule from one of the catalogue's:
// products on one core, beside the exact emulator on some of the same elements in the same run, whose results have to
// be the same. The ratio is what counts.
#include <fmt/format.h>
#include <rapidcheck.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fma_rate.hpp"
#include "tests/reference/any_datapath.hpp"
#include "tests/reference/variations.hpp"
#include "timed_product.hpp"

namespace tcnum {
namespace {

struct Options {
  std::uint64_t count = 400, seed = 1;
  std::optional<std::uint64_t> only;
  bool near_catalogue = false;
  std::string json;
};

/// So many times as fast as the exact emulator counts as fast.
constexpr double kWanted = 100;
/// Rows and columns of D, a whole number of panels, and products along k: enough for what is done once to cost nothing.
constexpr std::size_t kSide = 64, kProducts = 256;
/// The datapath of that number, the same in every run.
Datapath draw(std::uint64_t seed, std::uint64_t number) {
  constexpr int kSize = 100;  // RapidCheck's
  const auto any = rc::gen::exec([] { return test::datapath_of_any_kind(); });
  return any(rc::Random(seed * 0x9e3779b97f4a7c15 + number), kSize).value();
}

/// Where they are drawn from.
class Source {
 public:
  explicit Source(const Options& options) : seed_(options.seed), near_catalogue_(options.near_catalogue) {
    if (!near_catalogue_) return;
    variations_ = test::variations_of_catalogue();
    std::ranges::shuffle(variations_, std::mt19937_64(seed_));
  }
  /// How many there are of the catalogue's; as many as are asked for of others.
  std::uint64_t most() const { return near_catalogue_ ? variations_.size() : ~std::uint64_t{0}; }
  test::Variation at(std::uint64_t number) const {
    if (near_catalogue_) return variations_.at(number);
    return {fmt::format("random datapath {} of seed {}", number, seed_), draw(seed_, number)};
  }

 private:
  std::uint64_t seed_;
  bool near_catalogue_;
  std::vector<test::Variation> variations_;
};

ProductOperands operands_of(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  // Where c is not what results are there is one link alone.
  const std::size_t links = n.c.format == n.result ? (kProducts + depth - 1) / depth : 1;
  std::size_t side = kSide;
  while (side * side * links * depth < kSide * kSide * kProducts) side *= 2;
  return {datapath, {side, side, links * depth}};
}

struct Timed {
  Datapath datapath;
  std::string_view evaluator;
  std::size_t size = 0;
  double rate = 0, exact_rate = 0;  ///< multiply-accumulates a second
  double numbers = 0;               ///< part of the results that are neither zeros nor infinities nor NaNs
  bool agrees = true;
  double ratio() const { return rate / exact_rate; }
};

double part_of_numbers(FormatId id, const Codes& codes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Decoded x = decode(format(id), codes[i]);
    count += x.is_finite() && x.number_class != NumberClass::zero ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(codes.size());
}

Timed time_one(Datapath datapath) {
  constexpr int kLeastRuns = 3;
  constexpr double kSeconds = 0.03;  // of runs of the fast one, at least
  const ProductOperands of = operands_of(datapath);
  const Numerics& n = datapath.numerics;
  const MatrixProduct product(datapath, {n.a.format, n.b.format, n.c.format, n.result});
  const std::size_t m = of.shape.m, columns = of.shape.n, k = of.shape.k;
  Codes d(format(n.result).storage_bytes(), m * columns), exact;
  double best = HUGE_VAL, best_exact = HUGE_VAL, all = 0;
  for (int run = 0; run < kLeastRuns || all < kSeconds; ++run) {
    double start = cpu_seconds();
    product.multiply(of.shape, codes_of(of.a), codes_of(of.b), {}, codes_from(d.bytes().data(), columns), 1,
                     of.scales());
    double seconds = cpu_seconds() - start;
    if (seconds > 0) best = std::min(best, seconds);  // the clock may stand still meanwhile
    all += seconds;
    // In turn, so that both see the same clocks and neighbours.
    if (run >= kLeastRuns) continue;
    start = cpu_seconds();
    exact = exact_corner(datapath, of);
    best_exact = std::min(best_exact, cpu_seconds() - start);
  }
  const auto macs = [&](std::size_t side) { return static_cast<double>(side * side * k); };
  Timed timed{std::move(datapath), {}, m, macs(m) / best, macs(kExactSide) / best_exact};
  timed.numbers = part_of_numbers(n.result, d);
  timed.evaluator = evaluator_of(timed.datapath, Processor::cpu);
  for (std::size_t i = 0; i < exact.size(); ++i)
    timed.agrees = timed.agrees && exact[i] == d[i / kExactSide * columns + i % kExactSide];
  return timed;
}

void print_table(const std::vector<Timed>& all) {
  constexpr double kSome = 0.01;
  std::map<std::string_view, std::vector<double>> ratios;
  for (const Timed& each : all) {
    ratios[each.evaluator].push_back(each.ratio());
    ratios["all"].push_back(each.ratio());
    // Others, which overflow or vanish throughout, nobody writes on purpose.
    if (each.numbers >= kSome) ratios["all with numbers"].push_back(each.ratio());
  }
  fmt::print("{:<18}{:>11}{:>9}{:>9}{:>20}{:>12}\n", "", "datapaths", "least", "median", "100 times or more",
             "20 to 100");
  for (auto& [evaluator, of] : ratios) {
    constexpr double kLittle = 20;  // where most is left to slower evaluators
    std::ranges::sort(of);
    const auto fast = std::ranges::count_if(of, [](double x) { return x >= kWanted; });
    const auto between = std::ranges::count_if(of, [](double x) { return x >= kLittle && x < kWanted; });
    fmt::print("{:<18}{:>11}{:>9.0f}{:>9.0f}{:>20}{:>12}\n", evaluator, of.size(), of.front(), of[of.size() / 2], fast,
               between);
  }
}

int run(const Options& options) {
  std::vector<Timed> all;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::size_t different = 0;
  const Source source(options);
  if (options.only && *options.only >= source.most()) {
    fmt::print(stderr, "--only {}: there are {} variations, from 0 on\n", *options.only, source.most());
    return 2;
  }
  const std::uint64_t count = options.only ? 1 : std::min(options.count, source.most());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto [name, datapath] = source.at(options.only.value_or(i));
    const Timed& timed = all.emplace_back(time_one(datapath));
    if (!timed.agrees) {
      ++different;
      fmt::print("{}: not the exact emulator's results: {}\n", name, to_json(timed.datapath).dump());
    }
    rows.push_back({{"name", fmt::format("{}, {}", name, timed.evaluator)},
                    {"datapath", to_json(timed.datapath).dump()},
                    {"size", timed.size},
                    {"macs_per_second", timed.rate},
                    {"ratio_to_exact", timed.ratio()}});
  }
  fmt::print("How many times as fast as the exact emulator, on one core (seed {})\n\n", options.seed);
  print_table(all);
  write_rows(options.json, rows);
  return different > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tcnum

int main(int argc, char** argv) {
  tcnum::Options options;
  CLI::App app("Products by random datapaths, or by variations of known ones, on one core, beside the exact emulator");
  app.add_flag("--near-catalogue", options.near_catalogue, "those that differ in one rule from one of the catalogue's");
  app.add_option("--count", options.count, "datapaths")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "that they are drawn with");
  app.add_option("--only", options.only, "the one of this number alone");
  app.add_option("--json", options.json, "write one row for each there");
  CLI11_PARSE(app, argc, argv);
  return tcnum::run(options);
}
