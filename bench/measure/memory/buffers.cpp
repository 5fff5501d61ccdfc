#include "buffers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string_view>
#include <utility>

#include "emu/parallel.hpp"
#include "src/questions/random_numbers.hpp"

namespace tcnum::bench {
namespace {

/// A purpose of its own (src/questions/random_numbers.hpp).
constexpr std::uint32_t kCycleSeries = 500;

/// Uniform in 0 … end − 1, by multiplication: off by less than one in 2^32 / end.
std::size_t below(std::uint32_t random, std::size_t end) {
  return static_cast<std::size_t>((std::uint64_t{random} * end) >> 32);
}

struct StreamRow {
  std::string_view name;
  double bytes;                              ///< of an element: read and written
  std::uint64_t (*result)(std::uint64_t i);  ///< its bits
};
double x(std::uint64_t i) { return stream_element(0, i); }
double y(std::uint64_t i) { return stream_element(1, i); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
constexpr std::size_t kWarp = 32;
constexpr auto kStreams = std::to_array<StreamRow>({
    {"init", 8, [](std::uint64_t) { return bits(kStreamFactor); }},
    {"read", 8 + 8.0 / kWarp,
     [](std::uint64_t i) {
       std::uint64_t all = 0;
       for (std::uint64_t lane = 0; lane < kWarp; ++lane) all ^= bits(x(kWarp * i + lane));
       return all;
     }},
    {"scale", 16, [](std::uint64_t i) { return bits(kStreamFactor * x(i)); }},
    {"triad", 24, [](std::uint64_t i) { return bits(x(i) + kStreamFactor * y(i)); }},
    {"3pt", 16, [](std::uint64_t i) { return bits(x(i) + x(i + 1) + x(i + 2)); }},
    {"5pt", 16, [](std::uint64_t i) { return bits(x(i) + x(i + 1) + x(i + 2) + x(i + 3) + x(i + 4)); }},
});

const StreamRow& row_of(std::string_view kernel) { return *std::ranges::find(kStreams, kernel, &StreamRow::name); }

}  // namespace

std::vector<std::uint64_t> random_cycle(std::size_t bytes, std::size_t piece_bytes, std::uint64_t seed,
                                        std::uint64_t n) {
  RandomNumbers random(seed, kCycleSeries, n);
  std::vector<std::uint64_t> next(bytes / piece_bytes), order;
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  for (std::size_t i = next.size(); i-- > 1;) std::swap(next[i], next[below(random.next(), i)]);
  const std::size_t lines = piece_bytes / kLineBytes;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    order.push_back(at * piece_bytes + (lines > 1 ? below(random.next(), lines) * kLineBytes : 0));
    at = next[at];
  }
  return order;
}

std::uint64_t expected_checksum(const StreamWork& work, unsigned threads) {
  constexpr std::uint64_t kPart = 1 << 16;
  const StreamRow& row = row_of(work.kernel);
  const std::uint64_t results = work.kernel == "read" ? work.elements / kWarp : work.elements;
  std::vector<std::uint64_t> sums((results + kPart - 1) / kPart);
  in_parallel(sums.size(), threads, [&](std::size_t part) {
    const std::uint64_t end = std::min(results, (part + 1) * kPart);
    for (std::uint64_t i = part * kPart; i < end; ++i) {
      sums[part] += row.result(i) * (2 * i + 1);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

double stream_bytes(const std::string& kernel) { return row_of(kernel).bytes; }

}  // namespace tcnum::bench
