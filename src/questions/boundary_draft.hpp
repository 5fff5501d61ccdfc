// A boundary problem of floating-point numbers while it is being made up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "boundaries.hpp"
#include "random_numbers.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// All zeros (+0) at first.
struct BoundaryDraft {
  BoundaryDraft(const Instruction& instruction, const Boundaries& where, RandomNumbers numbers);

  /// Any place of a product.
  std::size_t place() { return static_cast<std::size_t>(random.between(0, in.products() - 1)); }
  int pick(const std::vector<int>& from) {
    return from[static_cast<std::size_t>(random.between(0, static_cast<int>(from.size()) - 1))];
  }
  int boundary();
  /// An exponent at a boundary or a little beside it.
  int near_a_boundary();
  /// An exponent below `base` by such a distance as matters, or a little more or less.
  int at_a_distance(int base);

  /// ± a number with that exponent, with few bits set or many; subnormal if need be.
  std::uint64_t number(const Format& format, bool negative, int exponent);
  /// Sets a[k]·b[k] to ± such numbers whose exponents add up to that.
  void put(std::size_t k, bool negative, int exponent);

  const Instruction& in;
  const Boundaries& boundaries;
  const Format &a, &b, &c;
  RandomNumbers random;
  Problem problem;
  std::vector<std::vector<int>> blocks;  ///< of one of the datapaths
  /// Of block scales: the problem will be multiplied by 2^this, so that boundaries lie so much lower until then.
  int scale_exponent = 0;
  /// Whether significands are large: all of them, and so many percent as large as can be. 0: any significand.
  int largest_percent = 0;
};

/// Zeros: of one sign or of both, and some whose other operand is a large or a small number.
void put_background(BoundaryDraft& draft);
/// One to four terms, rarely more, each at a boundary or at a distance from `base`.
void put_few_terms(BoundaryDraft& draft, bool negative, int base);
/// The terms of one block, or of all, as large as that exponent allows, or nearly: a sum has the most bits it can have.
void put_full_blocks(BoundaryDraft& draft, bool negative, int base);
/// Block by block, a few terms, and one that is worked out so that it takes the sum to a multiple of a power of two, or
/// as close to that as a product can: there cuts and roundings go one way or the other by the last bits of the terms.
void put_solved_terms(BoundaryDraft& draft, bool negative, int base);

}  // namespace tcnum
