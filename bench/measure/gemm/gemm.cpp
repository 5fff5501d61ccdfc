#include "gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <thread>

#include "bench/measure/operands.hpp"
#include "shapes.hpp"
#include "src/questions/random_numbers.hpp"
#include "tcnum/error.hpp"
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

std::vector<std::byte> gemm_codes(FormatId id, std::uint64_t seed) {
  constexpr std::uint32_t kSeries = 2;
  Codes codes(format(id).storage_bytes(), kGemmCodes);
  for (std::size_t i = 0; i < kGemmCodes; ++i) {
    codes.set(i, uniform_code(format(id), RandomNumbers(seed, kSeries, i).next64()));
  }
  const std::span<const std::byte> bytes = codes.bytes();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::size_t> some_lines(std::size_t all, RandomNumbers& random) {
  constexpr std::size_t kLines = 16;
  std::vector<std::size_t> lines = {0, all - 1};
  while (lines.size() < kLines) lines.push_back(random.next64() % all);
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

namespace {

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

void check_product(GemmDevice& device, const GemmWork& work, const GemmTimes& times, std::span<const std::byte> codes,
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

/// Some launches behind each other take about so long; then the device rests, so that what it draws on average lets it
/// keep its clock.
constexpr double kBurstSeconds = 2e-3;
constexpr std::chrono::duration<double> kRest(6e-3);
constexpr std::size_t kSamples = 5;
constexpr unsigned kMostLaunches = 64;
/// Single calls are shorter than bursts, and there are more samples of them.
constexpr unsigned kSingleCalls = 11;

struct Point {
  double microseconds, spread_percent, clock_mhz;
  std::optional<LibraryAlgorithm> algorithm;
};

/// Attributes of the library's algorithms, as it numbers them.
struct AlgorithmSeries {
  const char* name;
  int LibraryAlgorithm::*attribute;
};
constexpr auto kAlgorithmSeries = std::to_array<AlgorithmSeries>({{"algorithm_id", &LibraryAlgorithm::id},
                                                                  {"tile_id", &LibraryAlgorithm::tile},
                                                                  {"cluster_id", &LibraryAlgorithm::cluster},
                                                                  {"split_k", &LibraryAlgorithm::split_k}});

class GemmMeasurement final : public Measurement {
 public:
  explicit GemmMeasurement(Calls calls) : calls_(calls) {}
  std::string name() const override { return calls_ == Calls::single ? "single gemm" : "gemm"; }
  std::string meaning() const override {
    return calls_ == Calls::single
               ? "the same matrix products, one call at a time on a device that has rested, operands in DRAM"
               : "matrix products by a warp-specialised persistent kernel of wgmma and TMA, by its tiles, and by "
                 "cuBLASLt";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = [] {
      const std::vector<std::string> sets = {std::string(kFitShapes), std::string(kDeepSeekShapes),
                                             std::string(kRandomShapes), std::string(kUnseenShapes),
                                             std::string(kSmallShapes)};
      std::vector<std::string> kernels;
      for (const GemmTile& tile : gemm_tiles()) kernels.push_back(tile_name(tile));
      kernels.emplace_back(kLibraryName);
      return std::vector<Axis>{
          {"shapes", "which products", sets, {std::string(kFitShapes), std::string(kDeepSeekShapes)}},
          {"kernel", "tile of our kernel, / blocks of a cluster; or the library", kernels, kernels}};
    }();
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    if (arch != ArchId::sm_90) return names;
    for (const GemmFormats& formats : kGemmFormats) names.push_back(subject_of(formats, calls_));
    return names;
  }

  bool by_default(const std::string&) const override { return calls_ != Calls::single; }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      const GemmFormats& formats = *find_gemm_formats(subject);
      GemmDevice* const products = device.products();
      std::vector<std::byte> codes;
      const std::vector<std::string> sets =
          settings.shapes.empty() ? selection.at("shapes") : std::vector{std::string(kOwnShapes)};
      for (const std::string& set : sets) {
        for (const std::string& kernel : selection.at("kernel")) {
          Record record{name(), subject, {{"shapes", set}, {"kernel", kernel}}, {}, {}, "", ""};
          if (set != kOwnShapes && settings.has(record)) continue;  // a record does not say which those were
          if (!settings.go_on(fmt::format("{} {} {}", subject, set, kernel))) return;
          if (products == nullptr) {
            record.waived = "this device or build does not time matrix products";
          } else {
            if (codes.empty()) {
              codes = gemm_codes(formats.operands, settings.seed);
              products->load(codes);
            }
            measure_into(record, [&] { measure_set(*products, formats, codes, set, kernel, settings, record); });
          }
          add(std::move(record));
        }
      }
    }
  }

 private:
  void measure_set(GemmDevice& device, const GemmFormats& formats, std::span<const std::byte> codes,
                   const std::string& set, const std::string& kernel, const Settings& settings, Record& record) const {
    const GemmTile* const tile = find_tile(kernel);
    Record::Series ms{"m", {}}, ns{"n", {}}, ks{"k", {}}, times{"microseconds", {}}, spreads{"spread_percent", {}},
        clocks{"clock_mhz", {}};
    std::vector<Record::Series> attributes;
    for (const AlgorithmSeries& each : kAlgorithmSeries) attributes.push_back({each.name, {}});
    std::vector<double> tera, known_clocks;
    for (const GemmShape& shape : set == kOwnShapes ? settings.shapes : gemm_shapes(set)) {
      if (!settings.go_on(fmt::format("{} {} {}", record.subject, set, kernel))) break;
      GemmWork work{formats, shape, tile == nullptr ? std::nullopt : std::optional(*tile), 1};
      Point point;
      try {
        point = measure_shape(device, work, codes, settings);
      } catch (const UnavailableError& error) {
        record.waived = error.what();
        return;
      }
      ms.numbers.push_back(static_cast<double>(shape.m));
      ns.numbers.push_back(static_cast<double>(shape.n));
      ks.numbers.push_back(static_cast<double>(shape.k));
      times.numbers.push_back(point.microseconds);
      spreads.numbers.push_back(point.spread_percent);
      if (point.clock_mhz > 0) known_clocks.push_back(point.clock_mhz);
      clocks.numbers.push_back(point.clock_mhz);
      for (std::size_t i = 0; point.algorithm && i < attributes.size(); ++i) {
        attributes[i].numbers.push_back((*point.algorithm).*kAlgorithmSeries[i].attribute);
      }
      tera.push_back(shape.operations() * 1e-6 / point.microseconds);
    }
    if (times.numbers.empty()) {
      record.waived = "interrupted";
      return;
    }
    record.set("products", static_cast<std::int64_t>(times.numbers.size()));
    record.set("tera_ops_median", summarise(tera).median);
    record.set("tera_ops_max", summarise(tera).max);
    record.set("spread_percent", summarise(spreads.numbers).median);
    if (!known_clocks.empty()) record.set("clock_mhz", summarise(known_clocks).median);
    record.set("checked", std::string(tile == nullptr ? "no" : "up to 256 elements of each"));
    for (Record::Series* series : {&ms, &ns, &ks, &times, &spreads}) record.series.push_back(std::move(*series));
    if (tile != nullptr) {
      record.series.push_back(std::move(clocks));
    } else {
      std::ranges::move(attributes, std::back_inserter(record.series));
    }
  }

  /// What was sampled, and the last call's times.
  struct Samples {
    std::vector<double> microseconds, clocks;
    GemmTimes last;
  };

  Point measure_shape(GemmDevice& device, GemmWork work, std::span<const std::byte> codes,
                      const Settings& settings) const {
    const auto check = [&](const GemmTimes& times) {
      if (work.tile) check_product(device, work, times, codes, settings.seed, settings.threads);
    };
    const GemmTimes first = device.multiply(work);
    check(first);
    Samples samples = calls_ == Calls::single ? sample_single_calls(device, work) : sample_bursts(device, work);
    check(samples.last);
    const Summary s = summarise(std::move(samples.microseconds));
    return {s.median, s.spread_percent(), samples.clocks.empty() ? 0 : summarise(std::move(samples.clocks)).median,
            first.algorithm};
  }

  static Samples sample_single_calls(GemmDevice& device, GemmWork& work) {
    work.launches = kSingleCalls;
    work.rest_seconds = kRest.count();
    Samples samples;
    samples.last = device.multiply(work);
    for (const double seconds : samples.last.single_seconds) samples.microseconds.push_back(seconds * 1e6);
    if (samples.last.clock_mhz > 0) samples.clocks = {samples.last.clock_mhz};
    return samples;
  }

  static Samples sample_bursts(GemmDevice& device, GemmWork& work) {
    work.launches = 2;
    const double about = device.multiply(work).seconds;
    work.launches = static_cast<unsigned>(std::clamp(std::ceil(kBurstSeconds / about), 2.0, double{kMostLaunches}));
    Samples samples;
    for (std::size_t i = 0; i < kSamples; ++i) {
      std::this_thread::sleep_for(kRest);
      samples.last = device.multiply(work);
      samples.microseconds.push_back(samples.last.seconds * 1e6);
      if (samples.last.clock_mhz > 0) samples.clocks.push_back(samples.last.clock_mhz);
    }
    return samples;
  }

  Calls calls_;
};

}  // namespace

const Measurement& gemm_measurement(Calls calls) {
  static const GemmMeasurement in_bursts(Calls::in_bursts), single(Calls::single);
  return calls == Calls::single ? single : in_bursts;
}

}  // namespace tcnum::bench
