// Operands as a plan's instruction takes them: the user's codes, or a copy with others.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "emu/machine_rounding.hpp"
#include "emu/parallel.hpp"
#include "performer.hpp"
#include "sums.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

/// Rounds fp32 codes to those that are tf32's, whose last bits are zeros. A carry makes the next binade's code, or
/// infinity's.
class ToTf32 {
 public:
  ToTf32(Rounding rounding, std::uint64_t nan)
      : rounding_(rounding),
        nan_(static_cast<std::uint32_t>(nan)),
        cut_(format(FormatId::fp32).fraction_bits - format(FormatId::tf32).fraction_bits),
        infinity_(static_cast<std::uint32_t>(infinity_code(format(FormatId::fp32), false))) {}

  std::uint32_t operator()(std::uint32_t code) const {
    if ((code & kMagnitude) > infinity_) return nan_;
    const std::uint32_t below = (1u << cut_) - 1;
    return (code + more(code, below)) & ~below;
  }

 private:
  static constexpr std::uint32_t kMagnitude = 0x7fffffff;

  /// What brings a code to the one above where it is to be rounded there; `below`: the bits that are cut.
  std::uint32_t more(std::uint32_t code, std::uint32_t below) const {
    const bool negative = (code & ~kMagnitude) != 0;
    switch (rounding_) {
      case Rounding::nearest_even:
        return below / 2 + (code >> cut_ & 1);
      case Rounding::nearest_away:
        return below / 2 + 1;
      case Rounding::up:
        return negative ? 0 : below;
      case Rounding::down:
        return negative ? below : 0;
      default:
        return 0;
    }
  }

  Rounding rounding_;
  std::uint32_t nan_;
  int cut_;
  std::uint32_t infinity_;
};

/// An operand as the instruction takes it: the user's codes, or a copy with other ones.
class ConvertedOperand {
 public:
  ConvertedOperand(const MatrixView& view, const std::optional<Rounding>& convert, std::uint64_t nan, unsigned threads)
      : codes_(codes_of(view)) {
    if (!convert) return;
    const ToTf32 rounded(*convert, nan);
    copy(view, FormatId::fp32, threads, [&](std::uint64_t code) { return rounded(static_cast<std::uint32_t>(code)); });
  }
  /// Each element times `factor`, rounded to fp32 or fp64, which it becomes.
  ConvertedOperand(const MatrixView& view, FormatId to, double factor, unsigned threads) : codes_(codes_of(view)) {
    const Format& from = format(view.format());
    copy(view, to, threads, [&](std::uint64_t code) -> std::uint64_t {
      const double x = number_of(from, code);
      if (to == FormatId::fp64) return std::bit_cast<std::uint64_t>(factor * x);
      return std::bit_cast<std::uint32_t>(static_cast<float>(factor) * static_cast<float>(x));
    });
  }
  /// The matrix that begins at that element.
  MatrixCodes<const std::byte> from(std::size_t row, std::size_t column, FormatId id) const {
    return part_from(codes_, row, column, bytes_of(id));
  }

 private:
  template <class Convert>
  void copy(const MatrixView& view, FormatId to, unsigned threads, const Convert& converted) {
    const std::size_t bytes = bytes_of(view.format());
    const auto codes = codes_from(view.bytes().data(), 1);  // in the order of the view's layout
    copy_ = Codes(format(to).storage_bytes(), view.rows() * view.columns());
    constexpr std::size_t kAtOnce = std::size_t{1} << 16;
    const std::size_t count = copy_.size(), pieces = (count + kAtOnce - 1) / kAtOnce;
    in_parallel(pieces, threads, [&](std::size_t piece) {
      const PlainArithmetic plain;
      const std::size_t end = std::min(count, (piece + 1) * kAtOnce);
      for (std::size_t i = piece * kAtOnce; i < end; ++i) copy_.set(i, converted(code_at(codes, i, 0, bytes)));
    });
    codes_.codes = std::as_const(copy_).bytes().data();
  }

  MatrixCodes<const std::byte> codes_;
  Codes copy_;
};

}  // namespace tcnum
