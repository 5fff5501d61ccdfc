// A problem of floating-point numbers while it is being made up.
#pragma once

#include <cstddef>

#include "numbers.hpp"
#include "packing.hpp"

namespace tcnum {

/// All zeros at first. What is drawn has a random sign, and exponents come before signs.
struct FloatDraft {
  FloatDraft(const Instruction& instruction, RandomNumbers numbers)
      : in(instruction),
        a(format(in.a)),
        b(format(in.b)),
        c(format(in.c)),
        d(format(in.d)),
        random(numbers),
        problem(zero_problem(in)) {}

  std::size_t products() const { return problem.a.size(); }
  /// Any place of a product.
  std::size_t place() { return static_cast<std::size_t>(random.between(0, in.products() - 1)); }

  std::uint64_t number(const Format& f, int exponent) {
    const bool negative = random.coin();
    return draw_number(f, random, negative, exponent);
  }
  std::uint64_t small_number(const Format& f, int exponent) {
    const bool negative = random.coin();
    return draw_small_number(f, random, negative, exponent);
  }
  std::uint64_t zero(const Format& f) { return zero_code(f, random.coin()); }

  void put_product(std::size_t k, int exponent) { put_product(k, random.coin(), exponent); }
  void put_product(std::size_t k, bool negative, int exponent) {
    draw_product(in, problem, k, random, negative, exponent);
  }
  void put_product_anywhere(int exponent) {
    const bool negative = random.coin();
    const std::size_t k = place();
    put_product(k, negative, exponent);
  }

  const Instruction& in;
  const Format &a, &b, &c, &d;
  RandomNumbers random;
  Problem problem;
};

}  // namespace tcnum
