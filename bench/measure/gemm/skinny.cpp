#include "skinny.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "bench/measure/memory/memory.hpp"
#include "gemm.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum::bench {
namespace {

constexpr std::array<FormatId, 2> kFormats = {FormatId::fp64, FormatId::fp32};

/// Bytes of each operand: from what a launch costs to what the memory gives.
constexpr std::array<std::size_t, 7> kOperandBytes = {std::size_t{1} << 18, std::size_t{1} << 20, std::size_t{1} << 22,
                                                      std::size_t{1} << 24, std::size_t{1} << 26, std::size_t{1} << 28,
                                                      kSkinnyBytes};
/// What takes longer is not tried with more rows: all would take minutes.
constexpr double kMostSeconds = 0.05;

std::string subject_of(FormatId id) { return fmt::format("skinny.{}", format(id).name); }

void check(TimingDevice& device, const SkinnyWork& work, const SkinnyTimes& times, const SkinnySums& sums) {
  const std::vector<double> given = device.skinny_results();
  const std::vector<std::int64_t> expected = sums.of(times.first_row, work.k);
  if (given.size() != expected.size()) {
    throw WrongResult(fmt::format("{} results; expected {}", given.size(), expected.size()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (given[i] == static_cast<double>(expected[i])) continue;
    throw WrongResult(fmt::format("element {}, {} of the product of {} rows of {} is {}; expected {}", i / work.n,
                                  i % work.n, work.k, work.n, given[i], expected[i]));
  }
}

/// Microseconds of a product, as often as it is timed.
Summary time(TimingDevice& device, SkinnyWork work, const SkinnySums& sums, std::string& algorithm) {
  const SkinnyTimes first = device.multiply_skinny(work);
  check(device, work, first, sums);
  algorithm = first.algorithm;
  work.launches = launches_of_burst(device.multiply_skinny(work).seconds, 1);
  std::vector<double> samples;
  for (std::size_t i = 0; i < kBurstSamples; ++i) {
    const SkinnyTimes times = device.multiply_skinny(work);
    samples.push_back(times.seconds * 1e6);
    if (i + 1 == kBurstSamples) check(device, work, times, sums);
  }
  return summarise(std::move(samples));
}

void measure_sizes(const Row& row) {
  SkinnyWork work{*std::ranges::find(kFormats, row.record.subject, subject_of), row.number("n"), 0,
                  row.record.text("by") == kLibraryName, 1};
  auto& all_sums = row.shared<std::map<std::pair<FormatId, std::size_t>, SkinnySums>>();
  const SkinnySums& sums = all_sums.try_emplace({work.format, work.n}, work.format, work.n).first->second;
  Points sweep{"sweep_k", "sweep_microseconds", "sweep_giga_bytes_per_second"};
  const double row_bytes = 2 * static_cast<double>(work.n) * static_cast<double>(bytes_of(work.format));
  Summary last;
  std::string algorithm;
  for (const std::size_t bytes : kOperandBytes) {
    work.k = bytes / (work.n * bytes_of(work.format));
    if (!row.go_on(fmt::format("n={} k={}", work.n, work.k))) break;
    try {
      last = time(row.device, work, sums, algorithm);
    } catch (const UnavailableError&) {
      if (sweep.empty()) throw;
      break;  // the library does not take as many rows
    }
    sweep.add(work.k, last.median, row_bytes * static_cast<double>(work.k) / last.median * 1e-3);
    if (last.median > kMostSeconds * 1e6) break;
  }
  Record& record = row.record;
  sweep.put(record);
  const double k = sweep[0].back(), rate = sweep[2].back(), n = static_cast<double>(work.n);
  record.set("k", static_cast<std::int64_t>(k));
  record.set("microseconds", last.median);
  record.set("giga_bytes_per_second", rate);
  record.set("giga_flops", 2 * n * n * k / last.median * 1e-3);
  put_share_of_pins(row, rate * 1e9);
  record.set("spread_percent", last.spread_percent());
  if (!algorithm.empty()) record.set("algorithm", algorithm);
}

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

Measurement skinny_measurement() {
  std::vector<std::string> subjects, sizes;
  for (const FormatId id : kFormats) subjects.push_back(subject_of(id));
  for (const std::size_t n : kSkinnySizes) sizes.push_back(std::to_string(n));
  return {.name = "skinny",
          .meaning =
              "D = Aᵀ · B, A and B of n columns and k rows, over k: by a kernel that splits k over all SMs, and "
              "by cuBLASLt",
          .axes = {{"n", "columns of A and of B", std::move(sizes)},
                   {"by", "our kernel or the library", {"split", std::string(kLibraryName)}}},
          .subjects = of_nvidia(std::move(subjects)),
          .measure_row = measure_sizes};
}

}  // namespace tcnum::bench
