// How far apart two results are.
#pragma once

#include <cmath>
#include <cstdint>

#include "tcnum/format.hpp"

namespace tcnum {

/// The finite results of a format and its infinities in ascending order, numbered: two that follow each other are one
/// apart.
inline double rank_of(const Format& f, std::uint64_t code) {
  const std::uint64_t sign = std::uint64_t{1} << (f.storage_bits - 1);
  if (!f.floating) {
    const double value = static_cast<double>(code & f.code_mask());
    return f.has_sign && (code & sign) != 0 ? value - std::ldexp(1, f.storage_bits) : value;
  }
  const double size = static_cast<double>((code & ~sign & f.code_mask()) >> f.padding_bits);
  return f.has_sign && (code & sign) != 0 ? -size : size;
}

inline bool is_finite(const Format& f, std::uint64_t code) { return !f.floating || decode(f, code).is_finite(); }

/// What a difference of results comes to, over all that differ and are finite.
class UlpsApart {
 public:
  void add(const Format& f, std::uint64_t x, std::uint64_t y) {
    if (!is_finite(f, x) || !is_finite(f, y)) return;
    const double ulps = std::fabs(rank_of(f, x) - rank_of(f, y));
    ++count_;
    sum_ += ulps;
    if (ulps > most_) most_ = ulps;
  }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double most() const { return most_; }

 private:
  std::uint64_t count_ = 0;
  double sum_ = 0, most_ = 0;
};

}  // namespace tcnum
