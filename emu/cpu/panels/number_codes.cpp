// Compiled once for each CPU by Highway.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/number_codes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include "number_codes.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using CodesD = hn::ScalableTag<double>;
using CodesU = hn::RebindToUnsigned<CodesD>;

/// Codes may lie anywhere, as unaligned vectors may.
template <class Code>
HWY_INLINE hn::Vec<CodesU> load_wide(const std::byte* codes) {
  const hn::Rebind<Code, CodesU> narrow;
  const auto loaded = hn::LoadU(narrow, reinterpret_cast<const Code*>(codes));
  if constexpr (sizeof(Code) == 8)
    return loaded;
  else if constexpr (sizeof(Code) == 4)
    return hn::PromoteTo(CodesU(), loaded);
  else
    return hn::PromoteTo(CodesU(), hn::PromoteTo(hn::Rebind<std::uint32_t, CodesU>(), loaded));
}

/// Of magnitudes, which have no sign bit.
HWY_INLINE hn::Mask<CodesU> at_least(hn::Vec<CodesU> magnitude, std::uint64_t least) {
  const hn::RebindToSigned<CodesD> di;
  const auto below = hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, static_cast<std::int64_t>(least)));
  return hn::RebindMask(CodesU(), hn::Not(below));
}

HWY_INLINE void store(hn::Vec<CodesD> numbers, double* to) { hn::StoreU(numbers, CodesD(), to); }
HWY_INLINE void store(hn::Vec<CodesD> numbers, float* to) {
  const hn::Rebind<float, CodesD> narrow;
  hn::StoreU(hn::DemoteTo(narrow, numbers), narrow, to);
}

/// A vector of codes without specials among them; false, and nothing read, if there are some.
template <class Code, class T>
HWY_INLINE bool read_vector(const NumberReader<T>& how, const std::byte* codes, T* to) {
  const CodesD d;
  const CodesU du;
  const auto loaded = hn::And(load_wide<Code>(codes), hn::Set(du, how.code_mask));
  if (how.is_integer) {
    const auto beside = hn::Or(hn::Xor(loaded, hn::Set(du, how.sign)), hn::BitCast(du, hn::Set(d, 0x1p52)));
    const auto number = hn::Sub(hn::BitCast(d, beside), hn::Set(d, how.integer_zero));
    const auto is_zero = hn::RebindMask(d, hn::Eq(loaded, hn::Zero(du)));  // −0 where the machine rounds down
    store(hn::IfThenZeroElse(is_zero, number), to);
    return true;
  }
  const auto sign = hn::And(loaded, hn::Set(du, how.sign));
  const auto magnitude = hn::ShiftRightSame(hn::AndNot(hn::Set(du, how.sign), loaded), how.padding);
  auto special = at_least(magnitude, how.first_special);
  if (how.zero_is_nan) special = hn::Or(special, hn::Eq(loaded, hn::Set(du, how.sign)));
  if (!hn::AllFalse(du, special)) return false;
  const auto kept = hn::IfThenElseZero(at_least(magnitude, how.smallest), magnitude);
  const auto number = hn::Mul(hn::BitCast(d, hn::ShiftLeftSame(kept, how.up)), hn::Set(d, how.unit));
  const auto top = hn::IfThenElseZero(hn::Ne(sign, hn::Zero(du)), hn::Set(du, std::uint64_t{1} << 63));
  store(hn::Or(number, hn::BitCast(d, top)), to);
  return true;
}

template <class Code, class T>
void read_codes(const NumberReader<T>& how, const std::byte* codes, std::size_t count, T* to) {
  const std::size_t lanes = hn::Lanes(CodesD());
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t here = count - i < lanes ? count - i : lanes;
    if (here == lanes && read_vector<Code>(how, codes + i * sizeof(Code), to + i)) continue;
    for (std::size_t j = i; j < i + here; ++j) {
      Code code;
      std::memcpy(&code, codes + j * sizeof(Code), sizeof(Code));
      const BitsOf<T> bits = how(code);
      std::memcpy(to + j, &bits, sizeof(bits));  // a floating-point register may make a NaN quiet
    }
  }
}

template <class T>
void read_any(const NumberReader<T>& how, const std::byte* codes, std::size_t count, T* to) {
  switch (how.bytes) {
    case 1:
      return read_codes<std::uint8_t>(how, codes, count, to);
    case 2:
      return read_codes<std::uint16_t>(how, codes, count, to);
    case 4:
      return read_codes<std::uint32_t>(how, codes, count, to);
    default:
      return read_codes<std::uint64_t>(how, codes, count, to);
  }
}
void read_floats(const NumberReader<float>& how, const std::byte* codes, std::size_t count, float* to) {
  read_any(how, codes, count, to);
}
void read_doubles(const NumberReader<double>& how, const std::byte* codes, std::size_t count, double* to) {
  read_any(how, codes, count, to);
}

template <class Code>
HWY_INLINE void store_narrow(hn::Vec<CodesU> codes, std::byte* to) {
  const hn::Rebind<Code, CodesU> narrow;
  if constexpr (sizeof(Code) == 8)
    hn::StoreU(codes, narrow, reinterpret_cast<Code*>(to));
  else
    hn::StoreU(hn::TruncateTo(narrow, codes), narrow, reinterpret_cast<Code*>(to));
}

/// A vector of numbers; false, and nothing written, if there are NaNs among them that have their own codes.
template <class Code>
HWY_INLINE bool write_vector(const NumberWriter& how, const double* numbers, std::byte* to) {
  const CodesD d;
  const CodesU du;
  const auto number = hn::LoadU(d, numbers);
  const auto nan = hn::RebindMask(du, hn::IsNaN(number));
  if (!how.nan_code && !hn::AllFalse(du, nan)) return false;
  if (how.is_integer) {
    const auto integer = hn::BitCast(du, hn::ConvertTo(hn::RebindToSigned<CodesD>(), number));
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
  const std::size_t lanes = hn::Lanes(CodesD());
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

HWY_EXPORT(read_floats);
HWY_EXPORT(read_doubles);
HWY_EXPORT(write_any);

template <class T>
NumberReader<T>::NumberReader(const OperandRule& rule, const NanBits<T>& nan_operands) : nan(nan_operands) {
  const Format& f = format(rule.format);
  bytes = static_cast<std::size_t>(f.storage_bytes());
  code_mask = f.code_mask();
  sign = f.has_sign ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
  is_integer = !f.floating;
  integer_zero = 0x1p52 + static_cast<double>(sign);
  padding = f.padding_bits;
  up = kFraction - f.fraction_bits;
  smallest = rule.subnormals == Subnormals::flushed ? std::uint64_t{1} << f.fraction_bits : 0;
  first_special = f.first_non_finite();
  has_infinity = f.has_infinity();
  zero_is_nan = f.non_finite == NonFinite::nan_negative_zero;
  unit = std::bit_cast<double>(static_cast<std::uint64_t>(kBias + kBias - f.bias) << kFraction);
}

template <class T>
void NumberReader<T>::read(const std::byte* codes, std::size_t stride, std::size_t count, T* to) const {
  const auto read_some = [&](const std::byte* from, std::size_t some, T* some_to) {
    if constexpr (sizeof(T) == 4)
      HWY_DYNAMIC_DISPATCH(read_floats)(*this, from, some, some_to);
    else
      HWY_DYNAMIC_DISPATCH(read_doubles)(*this, from, some, some_to);
  };
  if (stride == 1) return read_some(codes, count, to);
  constexpr std::size_t kAtOnce = 64, kMostBytes = 8;
  std::byte side_by_side[kAtOnce * kMostBytes];
  for (std::size_t i = 0; i < count; i += kAtOnce) {
    const std::size_t here = count - i < kAtOnce ? count - i : kAtOnce;
    for (std::size_t j = 0; j < here; ++j)
      std::memcpy(side_by_side + j * bytes, codes + (i + j) * stride * bytes, bytes);
    read_some(side_by_side, here, to + i);
  }
}

template struct NumberReader<float>;
template struct NumberReader<double>;

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
