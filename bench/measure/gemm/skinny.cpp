#include "skinny.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "bench/device/memory_timing.hpp"
#include "bench/measure/memory/memory.hpp"
#include "gemm.hpp"
#include "tcnum/error.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum::bench {
namespace {

constexpr std::array<FormatId, 2> kFormats = {FormatId::fp64, FormatId::fp32};
constexpr std::string_view kOurs = "split";

/// Bytes of each operand: from what a launch costs to what the memory gives.
constexpr std::array<std::size_t, 7> kOperandBytes = {std::size_t{1} << 18, std::size_t{1} << 20, std::size_t{1} << 22,
                                                      std::size_t{1} << 24, std::size_t{1} << 26, std::size_t{1} << 28,
                                                      kSkinnyBytes};
/// Some launches behind each other take about so long.
constexpr double kBurstSeconds = 2e-3;
constexpr std::size_t kSamples = 5;
constexpr unsigned kMostLaunches = 64;
/// What takes longer is not tried with more rows: all would take minutes.
constexpr double kMostSeconds = 0.05;

std::string subject_of(FormatId id) { return fmt::format("skinny.{}", format(id).name); }

class SkinnyMeasurement final : public Measurement {
 public:
  std::string name() const override { return "skinny"; }
  std::string meaning() const override {
    return "D = Aᵀ · B, A and B of n columns and k rows, over k: by a kernel that splits k over all SMs, and by "
           "cuBLASLt";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = [] {
      std::vector<std::string> sizes;
      for (const std::size_t n : kSkinnySizes) sizes.push_back(std::to_string(n));
      const std::vector<std::string> ways = {std::string(kOurs), std::string(kLibraryName)};
      return std::vector<Axis>{{"n", "columns of A and of B", sizes, sizes},
                               {"by", "our kernel or the library", ways, ways}};
    }();
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const FormatId id : kFormats) names.push_back(subject_of(id));
    return if_nvidia(arch, std::move(names));
  }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      const FormatId id = *std::ranges::find(kFormats, subject, subject_of);
      for (const std::string& size : selection.at("n")) {
        const SkinnySums sums(id, std::stoul(size));
        for (const std::string& by : selection.at("by")) {
          Record record{name(), subject, {{"n", std::int64_t{std::stol(size)}}, {"by", by}}, {}, {}, "", ""};
          if (settings.has(record)) continue;
          if (!settings.go_on(fmt::format("{} n={} {}", subject, size, by))) return;
          if (device.skinny_products() == nullptr) {
            record.waived = "this device or build does not time tall and skinny products";
          } else {
            measure_into(record, [&] {
              measure_sizes(device, {id, std::stoul(size), 0, by == kLibraryName, 1}, sums, settings, record);
            });
          }
          add(std::move(record));
        }
      }
    }
  }

 private:
  static void check(SkinnyDevice& device, const SkinnyWork& work, const SkinnyTimes& times, const SkinnySums& sums) {
    const std::vector<double> given = device.results();
    const std::vector<std::int64_t> right = sums.of(times.first_row, work.k);
    if (given.size() != right.size()) {
      throw WrongResult(fmt::format("{} results; right would be {}", given.size(), right.size()));
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (given[i] == static_cast<double>(right[i])) continue;
      throw WrongResult(fmt::format("element {}, {} of the product of {} rows of {} is {}; right would be {}",
                                    i / work.n, i % work.n, work.k, work.n, given[i], right[i]));
    }
  }

  /// Microseconds of a product, as often as it is timed.
  static Summary time(SkinnyDevice& device, SkinnyWork work, const SkinnySums& sums, std::string& algorithm) {
    const SkinnyTimes first = device.multiply(work);
    check(device, work, first, sums);
    algorithm = first.algorithm;
    const double about = device.multiply(work).seconds;
    work.launches = static_cast<unsigned>(std::clamp(std::ceil(kBurstSeconds / about), 1.0, double{kMostLaunches}));
    std::vector<double> samples;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const SkinnyTimes times = device.multiply(work);
      samples.push_back(times.seconds * 1e6);
      if (i + 1 == kSamples) check(device, work, times, sums);
    }
    return summarise(std::move(samples));
  }

  static void measure_sizes(TimingDevice& device, SkinnyWork work, const SkinnySums& sums, const Settings& settings,
                            Record& record) {
    Record::Series rows{"sweep_k", {}}, times{"sweep_microseconds", {}}, rates{"sweep_giga_bytes_per_second", {}};
    const double row_bytes = 2 * static_cast<double>(work.n) * static_cast<double>(bytes_of(work.format));
    Summary last;
    std::string algorithm;
    for (const std::size_t bytes : kOperandBytes) {
      work.k = bytes / (work.n * bytes_of(work.format));
      if (!settings.go_on(fmt::format("{} n={} k={}", record.subject, work.n, work.k))) break;
      try {
        last = time(*device.skinny_products(), work, sums, algorithm);
      } catch (const UnavailableError& error) {
        if (rows.numbers.empty()) {
          record.waived = error.what();
          return;
        }
        break;  // the library does not take as many rows
      }
      const auto k = static_cast<double>(work.k);
      rows.numbers.push_back(k);
      times.numbers.push_back(last.median);
      rates.numbers.push_back(row_bytes * k / last.median * 1e-3);
      if (last.median > kMostSeconds * 1e6) break;
    }
    if (rows.numbers.empty()) {
      record.waived = "interrupted";
      return;
    }
    const double k = rows.numbers.back(), rate = rates.numbers.back(), n = static_cast<double>(work.n);
    record.set("k", static_cast<std::int64_t>(k));
    record.set("microseconds", last.median);
    record.set("giga_bytes_per_second", rate);
    record.set("giga_flops", 2 * n * n * k / last.median * 1e-3);
    if (device.memory() != nullptr) {
      const auto pins = device.memory()->memory_facts().dram_bytes_per_second;
      if (pins) record.set("percent_of_pins", rate * 1e9 / *pins * 100);
    }
    record.set("spread_percent", last.spread_percent());
    if (!algorithm.empty()) record.set("algorithm", algorithm);
    for (Record::Series* series : {&rows, &times, &rates}) record.series.push_back(std::move(*series));
  }
};

}  // namespace

SkinnySums::SkinnySums(FormatId id, std::size_t n) : n_(n), sums_(n * n) {
  most_ = std::int64_t{1} << (format(id).fraction_bits + 1);
  for (std::size_t row = 0; row < kSkinnyPeriod; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      a_.push_back(skinny_element(id, 0, n, row, column));
      b_.push_back(skinny_element(id, 1, n, row, column));
    }
  }
  std::vector<std::int64_t> magnitudes(n * n);
  for (std::size_t row = 0; row < kSkinnyPeriod; ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t product = a_[row * n + i] * b_[row * n + j];
        sums_[i * n + j] += product;
        magnitudes[i * n + j] += std::abs(product);
      }
    }
  }
  largest_magnitude_ = std::ranges::max(magnitudes);
}

std::vector<std::int64_t> SkinnySums::of(std::size_t first_row, std::size_t k) const {
  const auto periods = static_cast<std::int64_t>(k / kSkinnyPeriod);
  if ((periods + 1) * largest_magnitude_ > most_) {
    throw std::logic_error(fmt::format("sums of {} products may be rounded", k));
  }
  std::vector<std::int64_t> sums;
  for (const std::int64_t sum : sums_) sums.push_back(periods * sum);
  for (std::size_t r = 0; r < k % kSkinnyPeriod; ++r) {
    const std::size_t row = (first_row + r) % kSkinnyPeriod;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) sums[i * n_ + j] += a_[row * n_ + i] * b_[row * n_ + j];
    }
  }
  return sums;
}

const Measurement& skinny_measurement() {
  static const SkinnyMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
