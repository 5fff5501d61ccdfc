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
  static constexpr int kUsualSign = 60;  ///< percent of terms that have a problem's sign

  BoundaryDraft(const Instruction& instruction, const Boundaries& where, RandomNumbers numbers);

  /// Any place of a product.
  std::size_t place() { return static_cast<std::size_t>(random.between(0, in.products() - 1)); }
  int pick(const std::vector<int>& from) {
    return from[static_cast<std::size_t>(random.between(0, static_cast<int>(from.size()) - 1))];
  }
  int boundary();
  /// An exponent at a boundary or a little beside it.
  int near_a_boundary();
  /// An exponent of a term where the largest is about `base`: that, or a little below, at another boundary, or below by
  /// such a distance as matters.
  int term_exponent(int base);

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

/// Block by block, a few terms, and one that is worked out so that it takes the sum to a multiple of a power of two, or
/// as close to that as a product can: there cuts and roundings go one way or the other by the last bits of the terms.
void put_solved_terms(BoundaryDraft& draft, bool negative, int base);

}  // namespace tcnum
