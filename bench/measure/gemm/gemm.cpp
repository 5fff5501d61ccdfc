#include "gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <thread>

#include "bench/measure/measurements.hpp"
#include "bench/measure/operands.hpp"
#include "src/questions/random_numbers.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum::bench {

std::string tile_name(const GemmTile& tile) {
  std::string name = fmt::format("{}x{}", tile.rows, tile.columns);
  if (tile.cluster() > 1) name += fmt::format("/{}x{}", tile.cluster_rows, tile.cluster_columns);
  return name;
}

const GemmTile* find_tile(std::string_view name) {
  const auto found = std::ranges::find(gemm_tiles(), name, tile_name);
  return found == gemm_tiles().end() ? nullptr : &*found;
}

namespace {

std::string subject_of(const GemmFormats& formats, Calls calls) {
  return fmt::format("{}.{}.{}", calls == Calls::single ? "single" : "gemm", format(formats.operands).name,
                     format(formats.results).name);
}

}  // namespace

std::string gemm_subject(const GemmFormats& formats) { return subject_of(formats, Calls::in_bursts); }

const GemmFormats* find_gemm_formats(std::string_view subject) {
  const auto found = std::ranges::find_if(kGemmFormats, [&](const GemmFormats& formats) {
    return subject == subject_of(formats, Calls::in_bursts) || subject == subject_of(formats, Calls::single);
  });
  return found == kGemmFormats.end() ? nullptr : &*found;
}

std::vector<std::optional<TimedProduct>> timed_products(const Record& record) {
  constexpr double kMostSize = 1 << 24, kLeastMicroseconds = 1e-3, kMostMicroseconds = 1e12;
  const auto is_size = [](double x) { return x >= 1 && x <= kMostSize && x == std::floor(x); };
  std::vector<std::optional<TimedProduct>> products;
  for (std::size_t i = 0;; ++i) {
    const auto m = record.number("m", i), n = record.number("n", i), k = record.number("k", i),
               us = record.number("microseconds", i);
    if (!m || !n || !k || !us) return products;
    products.emplace_back();
    if (!is_size(*m) || !is_size(*n) || !is_size(*k) || !(*us >= kLeastMicroseconds && *us <= kMostMicroseconds)) {
      continue;
    }
    const GemmShape shape{static_cast<std::size_t>(*m), static_cast<std::size_t>(*n), static_cast<std::size_t>(*k)};
    products.back() = {shape, *us, record.number("clock_mhz", i).value_or(0)};
  }
}

std::vector<std::byte> gemm_codes(FormatId id, std::uint64_t seed) {
  constexpr std::uint32_t kSeries = 2;
  Codes codes(format(id).storage_bytes(), kGemmCodes);
  for (std::size_t i = 0; i < kGemmCodes; ++i) {
    codes.set(i, uniform_code(format(id), RandomNumbers(seed, kSeries, i).next64()));
  }
  const std::span<const std::byte> bytes = codes.bytes();
  return {bytes.begin(), bytes.end()};
}

namespace {

/// So many of `all` rows or columns, the first and the last among them, in ascending order, none twice.
std::vector<std::size_t> some_lines(std::size_t all, RandomNumbers& random) {
  constexpr std::size_t kLines = 16;
  std::vector<std::size_t> lines = {0, all - 1};
  while (lines.size() < kLines) lines.push_back(random.next64() % all);
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

/// These lines of a matrix whose elements along k lie beside each other.
Matrix gathered(std::span<const std::byte> codes, FormatId id, std::size_t first, std::span<const std::size_t> lines,
                std::size_t k) {
  Matrix matrix(id, lines.size(), k);
  const std::size_t bytes = bytes_of(id);
  std::byte* to = matrix.bytes().data();
  for (const std::size_t line : lines) {
    for (std::size_t i = 0; i < k; ++i, to += bytes) {
      std::memcpy(to, codes.data() + (first + line * k + i) % kGemmCodes * bytes, bytes);
    }
  }
  return matrix;
}

}  // namespace

void check_product(TimingDevice& device, const GemmWork& work, const GemmTimes& times, std::span<const std::byte> codes,
                   std::uint64_t seed, unsigned threads) {
  constexpr std::uint32_t kSeries = 3;
  RandomNumbers random(seed, kSeries, work.shape.m * 31 + work.shape.n * 17 + work.shape.k);
  const std::vector<std::size_t> rows = some_lines(work.shape.m, random), columns = some_lines(work.shape.n, random);
  const Matrix a = gathered(codes, work.formats.operands, times.a_first, rows, work.shape.k),
               b = gathered(codes, work.formats.operands, times.b_first, columns, work.shape.k);
  const GemmPlan plan = named_plan(bytes_of(work.formats.operands) == 1 ? "nvjet-fp8" : "nvjet", work.formats.operands,
                                   work.formats.results);
  const MatrixView by_columns(b.bytes(), work.shape.k, columns.size(), format(work.formats.operands).name,
                              Layout::column_major);
  const Matrix right = gemm(plan, a, by_columns, {}, {.threads = threads});
  const std::vector<std::byte> found = device.results(rows, columns);
  const MatrixView d(found, rows.size(), columns.size(), format(work.formats.results).name);
  const Matrix given(d);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (given(i, j) == right(i, j)) continue;
      throw WrongResult(fmt::format("{} × {} × {}: element {}, {} is 0x{:04x}; the emulator says 0x{:04x}",
                                    work.shape.m, work.shape.n, work.shape.k, rows[i], columns[j], given(i, j),
                                    right(i, j)));
    }
  }
}

namespace {

/// Some launches behind each other make a burst; then the device rests, so that what it draws on average lets it keep
/// its clock.
constexpr std::chrono::duration<double> kRest(6e-3);
constexpr std::size_t kBurstSamples = 5;
/// Single calls are shorter than bursts, and there are more samples of them.
constexpr unsigned kSingleCalls = 11;

/// Attributes of the library's algorithms, as it numbers them.
struct AlgorithmSeries {
  const char* name;
  int LibraryAlgorithm::*attribute;
};
constexpr auto kAlgorithmSeries = std::to_array<AlgorithmSeries>({{"algorithm_id", &LibraryAlgorithm::id},
                                                                  {"tile_id", &LibraryAlgorithm::tile},
                                                                  {"cluster_id", &LibraryAlgorithm::cluster},
                                                                  {"split_k", &LibraryAlgorithm::split_k}});

/// What was sampled, and the last call's times.
struct Samples {
  std::vector<double> microseconds, clocks;
  GemmTimes last;
};

Samples sample_single_calls(TimingDevice& device, GemmWork& work) {
  work.launches = kSingleCalls;
  work.rest_seconds = kRest.count();
  Samples samples;
  samples.last = device.multiply(work);
  for (const double seconds : samples.last.single_seconds) samples.microseconds.push_back(seconds * 1e6);
  if (samples.last.clock_mhz > 0) samples.clocks = {samples.last.clock_mhz};
  return samples;
}

Samples sample_bursts(TimingDevice& device, GemmWork& work) {
  constexpr double kBurstSeconds = 2e-3, kLeastLaunches = 2, kMostLaunches = 64;
  work.launches = static_cast<unsigned>(kLeastLaunches);
  const double launches = std::ceil(kBurstSeconds / device.multiply(work).seconds);
  work.launches = static_cast<unsigned>(std::clamp(launches, kLeastLaunches, kMostLaunches));
  Samples samples;
  for (std::size_t i = 0; i < kBurstSamples; ++i) {
    std::this_thread::sleep_for(kRest);
    samples.last = device.multiply(work);
    samples.microseconds.push_back(samples.last.seconds * 1e6);
    if (samples.last.clock_mhz > 0) samples.clocks.push_back(samples.last.clock_mhz);
  }
  return samples;
}

/// The codes that the device has.
struct LoadedCodes {
  std::string subject;
  std::vector<std::byte> codes;
};

void measure_products(const Row& row, Calls calls) {
  const std::string set = row.record.text("shapes"), kernel = row.record.text("kernel");
  const GemmFormats& formats = *find_gemm_formats(row.record.subject);
  auto& loaded = row.shared<LoadedCodes>();
  if (loaded.subject != row.record.subject) {
    loaded = {row.record.subject, gemm_codes(formats.operands, row.settings.seed)};
    row.device.load_codes(loaded.codes);
  }
  const GemmTile* const tile = find_tile(kernel);
  Points products{"m", "n", "k", "microseconds", "spread_percent"};
  std::vector<Record::Series> attributes;
  for (const AlgorithmSeries& each : kAlgorithmSeries) attributes.push_back({each.name, {}});
  std::vector<double> tera, clocks, known_clocks;
  for (const GemmShape& shape : set == kOwnShapes ? row.settings.shapes : gemm_shapes(set)) {
    if (!row.go_on(set + " " + kernel)) break;
    GemmWork work{formats, shape, tile == nullptr ? std::nullopt : std::optional(*tile), 1};
    const auto check = [&](const GemmTimes& times) {
      if (tile == nullptr) return;
      check_product(row.device, work, times, loaded.codes, row.settings.seed, row.settings.threads);
    };
    const GemmTimes first = row.device.multiply(work);
    check(first);
    const Samples samples =
        calls == Calls::single ? sample_single_calls(row.device, work) : sample_bursts(row.device, work);
    check(samples.last);
    const Summary s = summarise(samples.microseconds);
    products.add(shape.m, shape.n, shape.k, s.median, s.spread_percent());
    clocks.push_back(samples.clocks.empty() ? 0 : median_of(samples.clocks));
    if (clocks.back() > 0) known_clocks.push_back(clocks.back());
    for (std::size_t i = 0; first.algorithm && i < attributes.size(); ++i) {
      attributes[i].numbers.push_back((*first.algorithm).*kAlgorithmSeries[i].attribute);
    }
    tera.push_back(shape.operations() * 1e-6 / s.median);
  }
  Record& record = row.record;
  products.put(record);
  record.set("products", static_cast<std::int64_t>(tera.size()));
  record.set("tera_ops_median", median_of(tera));
  record.set("tera_ops_max", std::ranges::max(tera));
  record.set("spread_percent", median_of(products[4]));
  if (!known_clocks.empty()) record.set("clock_mhz", median_of(known_clocks));
  record.set("checked", std::string(tile == nullptr ? "no" : "up to 256 elements of each"));
  if (tile != nullptr) {
    record.series.push_back({"clock_mhz", std::move(clocks)});
  } else {
    std::ranges::move(attributes, std::back_inserter(record.series));
  }
}

}  // namespace

Measurement gemm_measurement(Calls calls) {
  const bool single = calls == Calls::single;
  std::vector<std::string> kernels;
  for (const GemmTile& tile : gemm_tiles()) kernels.push_back(tile_name(tile));
  kernels.emplace_back(kLibraryName);
  const auto names = [](const auto&... sets) { return std::vector<std::string>{std::string(sets)...}; };
  return {
      .name = std::string(gemm_measurement_name(calls)),
      .meaning = single ? "the same matrix products, one call at a time on a device that has rested, operands in DRAM"
                        : "matrix products by a warp-specialised persistent kernel of wgmma and TMA, by its tiles, and "
                          "by cuBLASLt",
      .axes = {{"shapes", "which products",
                names(kFitShapes, kDeepSeekShapes, kRandomShapes, kUnseenShapes, kSmallShapes),
                names(kFitShapes, kDeepSeekShapes)},
               {"kernel", "tile of our kernel, / blocks of a cluster; or the library", kernels}},
      .subjects =
          [calls](ArchId arch) {
            std::vector<std::string> subjects;
            if (arch != ArchId::sm_90) return subjects;
            for (const GemmFormats& formats : kGemmFormats) subjects.push_back(subject_of(formats, calls));
            return subjects;
          },
      .measure_row = [calls](const Row& row) { measure_products(row, calls); },
      .by_default = [single](const std::string&) { return !single; }};
}

std::vector<Measurement> product_measurements() {
  return {gemm_measurement(Calls::in_bursts), gemm_measurement(Calls::single)};
}

}  // namespace tcnum::bench
