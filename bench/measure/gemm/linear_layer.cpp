#include "linear_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <thread>

#include "casts.hpp"
#include "emu/parallel.hpp"
#include "gemm.hpp"
#include "src/questions/random_numbers.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum::bench {
namespace {

/// A tensor that is cast, and what it is cast to.
struct CastPair {
  LinearTensor from, to;
  std::string_view name;
  float CastNumbers::*number;
};
constexpr std::array<CastPair, 3> kCasts = {
    {{LinearTensor::input, LinearTensor::cast_input, "input", &CastNumbers::input},
     {LinearTensor::weight, LinearTensor::cast_weight, "weight", &CastNumbers::weight},
     {LinearTensor::output, LinearTensor::cast_output, "output", &CastNumbers::output}}};

std::size_t elements_of(const LinearShape& s, LinearTensor from) {
  if (from == LinearTensor::input) return s.tokens * s.inputs;
  return (from == LinearTensor::weight ? s.inputs : s.tokens) * s.outputs;
}

std::uint16_t code_at(std::span<const std::byte> codes, std::size_t i) {
  std::uint16_t code = 0;
  std::memcpy(&code, codes.data() + i * sizeof(code), sizeof(code));
  return code;
}

/// Every code of one cast, and the largest magnitude.
void check_cast(TimingDevice& device, const CastPair& pair, const LinearWork& work, const CastNumbers& amax,
                unsigned threads) {
  constexpr std::size_t kPiece = std::size_t{1} << 26, kPart = std::size_t{1} << 20;  // read, and compared, at a time
  constexpr std::uint16_t kMagnitude = 0x7fff;
  const CastTable table(work.scales.*pair.number);
  const std::size_t all = elements_of(work.shape, pair.from);
  std::uint16_t largest = 0;
  for (std::size_t first = 0; first < all; first += kPiece) {
    const std::size_t count = std::min(kPiece, all - first);
    const std::vector<std::byte> from = device.codes(pair.from, first, count), to = device.codes(pair.to, first, count);
    std::vector<std::uint16_t> part_largest((count + kPart - 1) / kPart);
    in_parallel(part_largest.size(), threads, [&](std::size_t part) {
      std::uint16_t here = 0;
      for (std::size_t i = part * kPart; i < std::min(count, (part + 1) * kPart); ++i) {
        const std::uint16_t code = code_at(from, i);
        here = std::max<std::uint16_t>(here, code & kMagnitude);
        if (static_cast<std::uint8_t>(to[i]) == table[code]) continue;
        throw WrongResult(fmt::format("cast of the {}: element {}, 0x{:04x} times {}, is 0x{:02x}; expected 0x{:02x}",
                                      pair.name, first + i, code, work.scales.*pair.number,
                                      static_cast<std::uint8_t>(to[i]), table[code]));
      }
      part_largest[part] = here;
    });
    largest = std::max(largest, std::ranges::max(part_largest));
  }
  const float right = number_of_bf16(largest), given = amax.*pair.number;
  if (std::bit_cast<std::uint32_t>(given) != std::bit_cast<std::uint32_t>(right)) {
    throw WrongResult(
        fmt::format("cast of the {}: the largest magnitude is said to be {}; it is {}", pair.name, given, right));
  }
}

void check_casts(TimingDevice& device, const LinearWork& work, const CastNumbers& amax, unsigned threads) {
  if (!work.cast) return;
  for (const CastPair& pair : kCasts) {
    if (pair.from != LinearTensor::output || work.cast_output) check_cast(device, pair, work, amax, threads);
  }
}

/// These rows of a tensor.
Matrix rows_of(TimingDevice& device, LinearTensor tensor, FormatId id, std::span<const std::size_t> rows,
               std::size_t columns) {
  Matrix matrix(id, rows.size(), columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::byte> row = device.codes(tensor, rows[i] * columns, columns);
    std::ranges::copy(row, matrix.bytes().begin() + static_cast<std::ptrdiff_t>(i * row.size()));
  }
  return matrix;
}

/// Compares the elements where some rows and columns meet with the emulator's, and all of them with the exact sums:
/// what the library may do otherwise than its usual plan changes last bits, a wrong element much more.
void check_output(TimingDevice& device, const LinearFormat& f, const LinearWork& work, const Settings& settings,
                  LinearTiming& timing) {
  constexpr std::uint32_t kSeries = 4;
  const LinearShape& s = work.shape;
  RandomNumbers random(settings.seed, kSeries, s.tokens * 31 + s.outputs * 17 + s.inputs);
  const std::vector<std::size_t> rows = some_lines(s.tokens, random), columns = some_lines(s.outputs, random);
  const Matrix x = rows_of(device, f.cast() ? LinearTensor::cast_input : LinearTensor::input, f.product, rows,
                           s.inputs),
               w = rows_of(device, f.cast() ? LinearTensor::cast_weight : LinearTensor::weight, f.product, columns,
                           s.inputs),
               whole_rows = rows_of(device, LinearTensor::output, f.loaded, rows, s.outputs);
  const double unscale = f.cast() ? 1 / (double{work.scales.input} * work.scales.weight) : 1;
  const MatrixView wt(w.bytes(), s.inputs, columns.size(), format(f.product).name, Layout::column_major);
  const GemmPlan plan = named_plan(f.cast() ? "nvjet-fp8" : "nvjet", f.product, f.loaded);
  const Matrix emulated = gemm(plan, x, wt, {.alpha = unscale}, {.threads = settings.threads});

  Matrix given(f.loaded, rows.size(), columns.size());
  const std::vector<double> xs = x.to_doubles(), ws = w.to_doubles();
  std::vector<double> exact;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      given.set(i, j, whole_rows(i, columns[j]));
      timing.equal += given(i, j) == emulated(i, j);
      double sum = 0;
      for (std::size_t k = 0; k < s.inputs; ++k) sum += xs[i * s.inputs + k] * ws[j * s.inputs + k];
      exact.push_back(sum * unscale);
    }
  }
  timing.checked += exact.size();

  // Of fp8 the tensor cores keep 13 bits of a sum. The emulator's worst element of 1024 is off by 1 % of their usual
  // size after 1024 products, and by 3 % after 22016. An element that is another's is off by √2 of that size.
  constexpr double kMostError = 0.1;
  const std::vector<double> found = given.to_doubles();
  double squares = 0, worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(found[i] - exact[i]);
    worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    squares += exact[i] * exact[i];
  }
  const double usual = std::sqrt(squares / static_cast<double>(exact.size()));
  if (worst > kMostError * usual) {
    throw WrongResult(
        fmt::format("{} × {} × {}: an element of the output is off by {:.3g} from the exact sum; expected "
                    "{:.3g} at most",
                    s.tokens, s.outputs, s.inputs, worst, kMostError * usual));
  }
}

CastNumbers scales_for(const CastNumbers& amax) {
  return {scale_for(amax.input), scale_for(amax.weight), scale_for(amax.output)};
}

}  // namespace

LinearTiming time_linear(TimingDevice& device, const LinearFormat& format, const LinearShape& shape, bool cast_output,
                         const Settings& settings) {
  LinearTiming timing;
  LinearWork work;
  work.shape = shape;
  work.cast = format.cast();
  work.cast_output = work.cast && cast_output;
  if (work.cast) work.scales = scales_for(device.linear(work).amax);
  const LinearTimes first = device.linear(work);
  timing.algorithm = first.algorithm;
  timing.amax = first.amax;
  timing.scales = work.scales;

  work.launches = 2;
  work.launches = launches_of_burst(device.linear(work).seconds);
  std::vector<double> samples;
  std::array<std::vector<double>, kLinearSteps> step_samples;
  for (std::size_t i = 0; i < kBurstSamples; ++i) {
    std::this_thread::sleep_for(kRest);
    work.each_step = true;
    const LinearTimes steps = device.linear(work);
    for (std::size_t step = 0; step < kLinearSteps; ++step)
      step_samples[step].push_back(steps.step_seconds[step] * 1e6);
    std::this_thread::sleep_for(kRest);
    work.each_step = false;
    const LinearTimes whole = device.linear(work);
    samples.push_back(whole.seconds * 1e6);
    if (i + 1 < kBurstSamples) continue;
    check_casts(device, work, whole.amax, settings.threads);
    check_output(device, format, work, settings, timing);
  }
  for (std::size_t step = 0; step < kLinearSteps; ++step) {
    timing.step_microseconds[step] = median_of(std::move(step_samples[step]));
  }
  const Summary s = summarise(std::move(samples));
  timing.microseconds = s.median;
  timing.spread_percent = s.spread_percent();
  return timing;
}

std::vector<std::byte> every_bf16() {
  constexpr std::size_t kCodes = 1 << 16;
  std::vector<std::byte> codes(kCodes * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < kCodes; ++i) {
    const auto code = static_cast<std::uint16_t>(i);
    std::memcpy(&codes[i * sizeof(code)], &code, sizeof(code));
  }
  return codes;
}

void check_every_cast(TimingDevice& device, const Settings& settings) {
  // Powers of two, one that rounds, one with which most numbers are too large, one that makes subnormal products.
  constexpr std::array<float, 4> kScales = {1, 0.3F, 1e30F, 0x1p-120F};
  LinearWork work;
  work.shape = {256, 256, 256};
  work.cast = true;
  for (const float scale : kScales) {
    work.scales = {scale, scale, 1};
    const LinearTimes times = device.linear(work);
    check_casts(device, work, times.amax, settings.threads);
  }
}

}  // namespace tcnum::bench
