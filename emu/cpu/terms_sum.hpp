// Exact sums of finite terms of up to 128 bits, each cut where its unit says.
#pragma once

#include <algorithm>

#include "emu/terms.hpp"

namespace tcnum {

/// Exponent of a value's lowest bit that is set.
inline int lowest_bit(const Value128& v) {
  const auto low = static_cast<std::uint64_t>(v.magnitude);
  return v.lsb +
         (low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<std::uint64_t>(v.magnitude >> 64)));
}

/// All terms are cut at a finite number of bits.
inline Rounded<uint128> sum_of_cut_terms(const Unit& unit, int first_bits, const Value128* terms, std::size_t count,
                                         int alignment) {
  const int lsb = alignment - std::max(unit.fraction_bits, first_bits);
  int128 sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Value128& v = terms[i];
    if (v.magnitude == 0) continue;
    const int q = alignment - (i == 0 ? first_bits : unit.fraction_bits);
    uint128 kept =
        v.lsb >= q ? v.magnitude << (v.lsb - q) : round_right(v.magnitude, q - v.lsb, v.negative, unit.align_rounding);
    kept <<= q - lsb;
    sum += v.negative ? -static_cast<int128>(kept) : static_cast<int128>(kept);
  }
  return signed_sum(sum, lsb);
}

/// The sum of a unit's finite terms, each cut as the unit says; changes the terms.
inline Rounded<uint128> cut_and_add(const Unit& unit, Value128* terms, std::size_t count, int alignment) {
  const int first_bits = unit.first_fraction_bits.value_or(unit.fraction_bits);
  if (unit.fraction_bits != kExact && first_bits != kExact) {
    return sum_of_cut_terms(unit, first_bits, terms, count, alignment);
  }
  // Exact, but for a first term that is cut, or a cut of all but the first.
  for (std::size_t i = 0; i < count; ++i) cut(unit, alignment, i == 0, terms[i]);
  constexpr int kMostSpan = 50000;  // descriptions have exponents up to ±20000 (emu/datapath_json.cpp)
  return sum_exactly<kMostSpan>([&](const auto& visit) {
    for (std::size_t i = 0; i < count; ++i) {
      if (terms[i].magnitude != 0) visit(terms[i]);
    }
  });
}

}  // namespace tcnum
