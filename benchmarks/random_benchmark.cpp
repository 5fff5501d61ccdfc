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

#include "emu/cpu/matrix_product.hpp"
#include "evaluator_name.hpp"
#include "fma_rate.hpp"
#include "io/replacement_file.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tests/reference/any_datapath.hpp"
#include "tests/reference/variations.hpp"

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
/// Rows and columns that the exact emulator evaluates.
constexpr std::size_t kExactSide = 8;

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

/// Numbers of a bell curve around 0, of which fp64 has all bits.
Codes ordinary_codes(FormatId id, std::size_t count, std::mt19937_64& random) {
  constexpr int kBits = 53;
  constexpr double kIntegers = 30;
  const Format& f = format(id);
  Codes codes(f.storage_bytes(), count);
  std::normal_distribution<double> normal(0, f.floating ? 1 : kIntegers);
  for (std::size_t i = 0; i < count; ++i) {
    int exponent = 0;
    const double x = normal(random), fraction = std::frexp(std::abs(x), &exponent);
    const bool negative = x < 0 && f.has_sign;
    const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, kBits));
    codes.set(i, encode(f, negative, significand, exponent - kBits, false, Rounding::nearest_even));
  }
  return codes;
}

/// Scales around 1, as those of numbers that are about as large as their blocks' others.
Codes ordinary_scales(FormatId id, std::size_t count, std::mt19937_64& random) {
  const Format& f = format(id);
  Codes codes(f.storage_bytes(), count);
  for (std::size_t i = 0; i < count; ++i)
    codes.set(i, (static_cast<std::uint64_t>(f.bias - 2) << f.fraction_bits) + random() % 5);
  return codes;
}

struct Operands {
  ProductShape shape;
  std::size_t scale_blocks = 0;  ///< along k
  Codes a, b, a_scales, b_scales;
};

Operands operands_of(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  std::mt19937_64 random(1);
  Operands of;
  // Where c is not what results are there is one link alone.
  const std::size_t links = n.c.format == n.result ? (kProducts + depth - 1) / depth : 1;
  std::size_t side = kSide;
  while (side * side * links * depth < kSide * kSide * kProducts) side *= 2;
  of.shape = {side, side, links * depth};
  of.a = ordinary_codes(n.a.format, side * of.shape.k, random);
  of.b = ordinary_codes(n.b.format, of.shape.k * side, random);
  if (n.scales) {
    of.scale_blocks = of.shape.k / static_cast<std::size_t>(n.scales->block_k);
    of.a_scales = ordinary_scales(n.scales->format, side * of.scale_blocks, random);
    of.b_scales = ordinary_scales(n.scales->format, of.scale_blocks * side, random);
  }
  return of;
}

MatrixCodes<const std::byte> codes_in(const Codes& codes, std::size_t columns) {
  return codes_from(codes.bytes().data(), columns);
}

/// The first rows and columns by the exact emulator, link after link.
Codes exact_corner(const Datapath& datapath, const Operands& of) {
  const Numerics& n = datapath.numerics;
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  Tiles tile = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, kExactSide, kExactSide, depth);
  const auto copy = [](const Codes& from, std::size_t columns, std::size_t i, std::size_t j, std::size_t rows,
                       std::size_t count, Codes& to) {
    for (std::size_t at = 0; at < rows * count; ++at) to.set(at, from[(i + at / count) * columns + j + at % count]);
  };
  for (std::size_t k = 0; k < of.shape.k; k += depth) {
    if (k > 0) std::swap(tile.c, tile.d);
    copy(of.a, of.shape.k, 0, k, kExactSide, depth, tile.a);
    copy(of.b, of.shape.n, k, 0, depth, kExactSide, tile.b);
    if (n.scales) {
      tile.scale_block = n.scales->block_k;
      const auto block_k = static_cast<std::size_t>(n.scales->block_k), blocks = depth / block_k;
      tile.sa = tile.sb = Codes(format(n.scales->format).storage_bytes(), kExactSide * blocks);
      copy(of.a_scales, of.scale_blocks, 0, k / block_k, kExactSide, blocks, tile.sa);
      copy(of.b_scales, of.shape.n, k / block_k, 0, blocks, kExactSide, tile.sb);
    }
    emulate_exact(datapath, tile);
  }
  return tile.d;
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
  const Operands of = operands_of(datapath);
  const Numerics& n = datapath.numerics;
  const MatrixProduct product(datapath, {n.a.format, n.b.format, n.c.format, n.result});
  const std::size_t m = of.shape.m, columns = of.shape.n, k = of.shape.k;
  Codes d(format(n.result).storage_bytes(), m * columns), exact;
  BlockScales scales;
  if (n.scales) scales = {codes_in(of.a_scales, of.scale_blocks), codes_in(of.b_scales, columns)};
  double best = HUGE_VAL, best_exact = HUGE_VAL, all = 0;
  for (int run = 0; run < kLeastRuns || all < kSeconds; ++run) {
    double start = cpu_seconds();
    product.multiply(of.shape, codes_in(of.a, k), codes_in(of.b, columns), {}, codes_from(d.bytes().data(), columns), 1,
                     scales);
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
  if (!options.json.empty()) {
    ReplacementFile file(options.json);
    file.write(nlohmann::ordered_json{{"schema", "tcnum.benchmark/1"}, {"rows", rows}}.dump(2) + "\n");
    file.commit();
  }
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
