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

/// The fp32 code rounded to one that is tf32's, whose last bits are zeros; `nan` of a NaN. A carry makes the next
/// binade's code, or infinity's.
inline std::uint32_t to_tf32(std::uint32_t code, Rounding rounding, std::uint32_t nan) {
  constexpr int kCut = format(FormatId::fp32).fraction_bits - format(FormatId::tf32).fraction_bits;
  constexpr std::uint32_t kBelow = (1u << kCut) - 1, kSign = 1u << 31;
  constexpr std::uint32_t kInfinity = 0x7f80'0000;  // of fp32
  if ((code & ~kSign) > kInfinity) return nan;
  std::uint32_t more = 0;  // what brings the code to the one above where it is to be rounded there
  if (rounding == Rounding::nearest_even) more = kBelow / 2 + (code >> kCut & 1);
  if (rounding == Rounding::nearest_away) more = kBelow / 2 + 1;
  if (rounding == ((code & kSign) != 0 ? Rounding::down : Rounding::up)) more = kBelow;
  return (code + more) & ~kBelow;
}

/// An operand as the instruction takes it: the user's codes, or a copy with other ones.
class ConvertedOperand {
 public:
  ConvertedOperand(const MatrixView& view, const std::optional<Rounding>& convert, std::uint64_t nan, unsigned threads)
      : codes_(codes_of(view)) {
    if (!convert) return;
    copy(view, FormatId::fp32, threads, [&](std::uint64_t code) {
      return to_tf32(static_cast<std::uint32_t>(code), *convert, static_cast<std::uint32_t>(nan));
    });
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
