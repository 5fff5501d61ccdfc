// Streams: endless sequences of dot problems, operands by the trillion, the same bits on a GPU as on a CPU.
//
// A stream is a function of an instruction, a distribution and a seed. It is cut into tiles of `m` rows and `n`
// columns; element (i, j) of tile t is problem (t · m + i) · n + j. Every code is a function of (seed, distribution,
// tile, operand, place) alone, by counter-based random numbers (Philox4x32-10, as Random123 has it), so any part of the
// stream can be made anywhere, in any order. What makes a problem interesting (which products are large, which cancel,
// at which distance) is drawn once for a tile, so that all of its problems are; significands, signs and small exponents
// are drawn for each element. A fit asks single problems instead, of which each has such a draw of its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What the problems are like, as kDistributionTexts says it. The random distributions never end; docs/verification.md
/// has a table of them. The sweeps are exhaustive: their places say where the operands go that vary, all others are +0.
enum class Distribution : std::uint8_t {
  narrow,
  wide,
  cancellation,
  uniform_bits,
  tiny,
  huge,
  sparse,
  edges,
  signed_zeros,
  specials,
  gaussian,
  product_pairs,            ///< 8-bit operands: all pairs of products at places seed % k and seed / k % k, with c = +0
  product_and_accumulator,  ///< 8-bit operands and 16-bit c: all products at place seed % k with every c
  operand_pairs,            ///< 16-bit operands: all products at place seed % k, with c = the code seed / k
};

struct DistributionText {
  std::string_view name;
  std::string_view sentence;
};
/// In the order of Distribution.
inline constexpr std::array<DistributionText, 14> kDistributionTexts = {{
    {"narrow", "Exponents within a few of each other; of integers, a few bits."},
    {"wide", "Exponents anywhere; of integers, any number of bits."},
    {"cancellation", "Large products that cancel, over a rest far below them."},
    {"uniform_bits", "Every finite code alike."},
    {"tiny", "Around the smallest results: subnormals, underflow; of integers, -1, 0 and 1."},
    {"huge", "Around the largest results: overflow; of integers, the ends of the ranges."},
    {"sparse", "One to four products that are not zero, at related exponents."},
    {"edges", "A few terms at the smallest result and far below it; of integers, sums that pass the range's end."},
    {"signed_zeros", "Zeros of both signs, with and without other terms."},
    {"specials", "Infinities and NaNs among narrow operands; of integers, patterns of bits."},
    {"gaussian", "Normally distributed."},
    {"product_pairs", "A sweep: all pairs of two products of 8-bit operands, at places that the seed chooses."},
    {"product_and_accumulator", "A sweep: all products of 8-bit operands with every 16-bit c."},
    {"operand_pairs", "A sweep: all products of 16-bit operands, with a c that the seed chooses."},
}};
inline constexpr std::size_t kDistributions = kDistributionTexts.size();
inline constexpr std::size_t kRandomDistributions = 11;  ///< the others are sweeps
inline constexpr auto kAllRandom = [] {
  std::array<Distribution, kRandomDistributions> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Distribution>(i);
  return all;
}();
constexpr bool is_sweep(Distribution distribution) {
  return static_cast<std::size_t>(distribution) >= kRandomDistributions;
}
std::string_view name(Distribution distribution);
/// All of them, the random ones first.
std::vector<std::string_view> distribution_names();
std::optional<Distribution> find_distribution(std::string_view text);

/// What a stream's tiles look like: 64 rows, as many columns as N goes into, at least 64, and a dot problem's products.
struct StreamShape {
  int m, n, k;
  constexpr std::uint64_t problems() const { return static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(n); }
};
constexpr StreamShape stream_shape(const Instruction& in) {
  constexpr int kRows = 64, kColumns = 64;
  return {kRows, (kColumns + in.n - 1) / in.n * in.n, in.products()};
}

/// How many problems there are of a sweep; nothing if the instruction's formats or N do not suit it. Random
/// distributions never end.
std::optional<std::uint64_t> sweep_size(const Instruction& instruction, Distribution distribution, std::uint64_t seed);

/// Tiles first … first + count − 1 of a stream, with d all zero.
Tiles make_stream_tiles(const Instruction& instruction, Distribution distribution, std::uint64_t seed,
                        std::uint64_t first, std::size_t count);

/// The problem with that index of a random distribution: a function of all four arguments, the same on every machine.
Problem make_problem(const Instruction& instruction, Distribution distribution, std::uint64_t seed,
                     std::uint64_t index);
/// Tiles first … first + count − 1 of m × n, whose rows, columns and accumulators are those of such problems, as
/// tiles_of() has them.
Tiles make_random_tiles(const Instruction& instruction, Distribution distribution, std::uint64_t seed,
                        std::uint64_t first, std::size_t count, std::size_t m, std::size_t n);

/// What the results of some problems of a stream are remembered by: the sum, modulo 2⁶⁴, of a hash of each problem's
/// index in the stream and its result, so that digests of parts add up to that of the whole, in any order. The hash:
/// x = (index · 0x9e3779b97f4a7c15) xor the result's code; x · 0xff51afd7ed558ccd; x xor x / 2³²; x ·
/// 0xc4ceb9fe1a85ec53; x xor x / 2³².
std::uint64_t digest(const Tiles& tiles, std::uint64_t first_index);
/// The same of results alone.
std::uint64_t digest(const Codes& results, std::uint64_t first_index);

}  // namespace tcnum
