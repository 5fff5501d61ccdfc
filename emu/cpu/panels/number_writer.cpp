// Compiled once for each CPU by Highway.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/number_writer.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include "number_writer.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using WriteD = hn::ScalableTag<double>;
using WriteU = hn::RebindToUnsigned<WriteD>;

/// Codes may lie anywhere, as unaligned vectors may.
template <class Code>
HWY_INLINE void store_narrow(hn::Vec<WriteU> codes, std::byte* to) {
  const hn::Rebind<Code, WriteU> narrow;
  if constexpr (sizeof(Code) == 8)
    hn::StoreU(codes, narrow, reinterpret_cast<Code*>(to));
  else
    hn::StoreU(hn::TruncateTo(narrow, codes), narrow, reinterpret_cast<Code*>(to));
}

/// A vector of numbers; false, and nothing written, if there are NaNs among them that have their own codes.
template <class Code>
HWY_INLINE bool write_vector(const NumberWriter& how, const double* numbers, std::byte* to) {
  const WriteD d;
  const WriteU du;
  const auto number = hn::LoadU(d, numbers);
  const auto nan = hn::RebindMask(du, hn::IsNaN(number));
  if (!how.nan_code && !hn::AllFalse(du, nan)) return false;
  if (how.is_integer) {
    const auto integer = hn::BitCast(du, hn::ConvertTo(hn::RebindToSigned<WriteD>(), number));
    store_narrow<Code>(hn::And(integer, hn::Set(du, how.code_mask)), to);
    return true;
  }
  const auto magnitude = hn::Abs(number);
  const auto is_negative = hn::Ne(hn::BitCast(du, magnitude), hn::BitCast(du, number));
  const auto sign = hn::IfThenElseZero(is_negative, hn::Set(du, how.sign));
  const auto shifted = hn::BitCast(du, hn::Mul(magnitude, hn::Set(d, how.unit)));
  const auto finite = hn::ShiftLeftSame(hn::ShiftRightSame(shifted, how.down), how.padding);
  const auto is_infinite = hn::Eq(hn::BitCast(du, magnitude), hn::Set(du, NumberWriter::kInfinity));
  const auto code = hn::Or(sign, hn::IfThenElse(is_infinite, hn::Set(du, how.infinity), finite));
  store_narrow<Code>(hn::IfThenElse(nan, hn::Set(du, how.nan_code.value_or(0)), code), to);
  return true;
}

template <class Code>
void write_codes(const NumberWriter& how, const double* numbers, std::size_t count, std::byte* codes) {
  const std::size_t lanes = hn::Lanes(WriteD());
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t here = count - i < lanes ? count - i : lanes;
    if (here == lanes && write_vector<Code>(how, numbers + i, codes + i * sizeof(Code))) continue;
    for (std::size_t j = i; j < i + here; ++j) how.put(how.code(numbers[j]), codes, j);
  }
}

void write_any(const NumberWriter& how, const double* numbers, std::size_t count, std::byte* codes) {
  switch (how.bytes) {
    case 1:
      return write_codes<std::uint8_t>(how, numbers, count, codes);
    case 2:
      return write_codes<std::uint16_t>(how, numbers, count, codes);
    case 4:
      return write_codes<std::uint32_t>(how, numbers, count, codes);
    default:
      return write_codes<std::uint64_t>(how, numbers, count, codes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(write_any);

NumberWriter::NumberWriter(FormatId id, std::optional<std::uint64_t> code_of_nans) : nan_code(code_of_nans) {
  const Format& f = format(id);
  bytes = static_cast<std::size_t>(f.storage_bytes());
  is_integer = !f.floating;
  is_fp64 = id == FormatId::fp64;
  code_mask = f.code_mask();
  sign = std::uint64_t{1} << (f.storage_bits - 1);
  padding = f.padding_bits;
  down = kFraction - f.fraction_bits;
  infinity = f.first_non_finite() << f.padding_bits;
  unit = std::bit_cast<double>(static_cast<std::uint64_t>(f.bias) << kFraction);
}

void NumberWriter::write(const double* numbers, std::size_t count, std::byte* codes, std::size_t stride) const {
  if (stride == 1) return HWY_DYNAMIC_DISPATCH(write_any)(*this, numbers, count, codes);
  constexpr std::size_t kAtOnce = 64, kMostBytes = 8;
  std::byte side_by_side[kAtOnce * kMostBytes];
  for (std::size_t i = 0; i < count; i += kAtOnce) {
    const std::size_t here = count - i < kAtOnce ? count - i : kAtOnce;
    HWY_DYNAMIC_DISPATCH(write_any)(*this, numbers + i, here, side_by_side);
    for (std::size_t j = 0; j < here; ++j)
      std::memcpy(codes + (i + j) * stride * bytes, side_by_side + j * bytes, bytes);
  }
}

}  // namespace tcnum::panels
#endif
