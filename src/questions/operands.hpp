// Operands: named families of random and structured dot problems, the same on every machine for the same seed, and the
// battery of crafted probes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Random numbers that are a function of (seed, stream, index) only: Philox4x32-10, as Random123 has it.
class RandomNumbers {
 public:
  RandomNumbers(std::uint64_t seed, std::uint32_t stream, std::uint64_t index)
      : seed_(seed), stream_(stream), index_(index) {}
  std::uint32_t next();
  std::uint64_t next64() { return (static_cast<std::uint64_t>(next()) << 32) | next(); }
  /// Uniform in low … high, both included.
  int between(int low, int high);
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint64_t index_;
  std::uint32_t block_ = 0;
  std::array<std::uint32_t, 4> buffer_{};
  int left_ = 0;
};

/// Of integers: narrow and wide by the number of bits; tiny: −1, 0, 1; huge: at the ends of the ranges; edges: the sum
/// passes an end of the accumulator's range on the way; signed_zeros: all products zero; specials: patterns of bits.
enum class Family : std::uint8_t {
  narrow,        ///< normal numbers, exponents within a few of each other
  wide,          ///< normal numbers, exponents anywhere
  cancellation,  ///< large products that nearly cancel
  uniform_bits,  ///< every code alike
  tiny,          ///< around the smallest results: subnormals, underflow
  huge,          ///< around the largest results: overflow
  sparse,        ///< few nonzero terms at related exponents
  edges,         ///< a few terms one quantum, half a quantum, far below a quantum apart, near the smallest result
  signed_zeros,  ///< zeros of both signs, with and without other terms
  specials,      ///< infinities and NaNs among ordinary numbers
  gaussian,      ///< normally distributed values
};
inline constexpr std::size_t kFamilies = 11;
std::string_view name(Family family);

/// The problem with that index of a family.
Problem make_problem(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t index);

/// `count` tiles of m × n whose rows, columns and accumulators come from one family.
Tiles make_family_tiles(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n);

/// Where two datapaths may begin to differ: exponents (of a floor, of the smallest result, …), and distances in bits
/// (of a cut below the alignment, of a rounding below the leading bit, …).
struct Boundaries {
  std::vector<int> exponents;
  std::vector<int> focus;  ///< those that matter most, as likely as all others together
  std::vector<int> distances;
  std::vector<int> cuts;  ///< those of the distances at which terms are cut
  /// For each datapath, which products are summed together, first to last; none: all of them.
  std::vector<std::vector<std::vector<int>>> blocks;
};

/// `count` tiles of problems of a few terms with exponents at the boundaries or at such a distance from each other; of
/// integers, of problems whose sums pass an end of the range on the way, wherever the boundaries are.
Tiles make_boundary_tiles(const Instruction& instruction, const Boundaries& boundaries, std::uint64_t seed,
                          std::uint64_t first, std::size_t count, std::size_t m, std::size_t n);

/// A crafted problem and what it is for.
struct Probe {
  std::string name;
  Problem problem;
};

/// The crafted probes of an instruction: width, rounding, carries, normalisation, block size, subnormals, zeros,
/// overflow, infinities and NaNs, after the published studies (docs/battery.md has the sources).
std::vector<Probe> battery(const Instruction& instruction);

/// Puts problems on the diagonals of tiles of 8 × 8: problem p is element (p % 8, p % 8) of tile p / 8. The elements
/// off the diagonal are problems too: row i of one with column j of another, and the accumulator of a third.
Tiles pack(const Instruction& instruction, std::span<const Problem> problems);
inline constexpr std::size_t kPackSide = 8;

/// Products that are exact powers of two times small significands, where the formats allow.
class ProductMaker {
 public:
  explicit ProductMaker(const Instruction& instruction);
  int lowest() const { return lowest_; }    ///< exponent of the smallest product of normal powers of two
  int highest() const { return highest_; }  ///< of the largest
  int lowest_subnormal() const { return lowest_subnormal_; }
  /// Sets a[k]·b[k] = ±2^exponent; the exponent must lie in lowest_subnormal() … highest().
  void put(Problem& problem, int k, bool negative, int exponent) const;
  /// Sets c = ±2^exponent, rounded into the format's range.
  std::uint64_t accumulator(bool negative, int exponent) const;

 private:
  const Instruction* instruction_;
  int lowest_, highest_, lowest_subnormal_;
};

/// All zeros (+0).
Problem zero_problem(const Instruction& instruction);

}  // namespace tcnum
