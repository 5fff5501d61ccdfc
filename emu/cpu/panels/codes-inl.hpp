// Codes of c and of results, as numbers and back.
// Compiled once for each CPU, as kernels.cpp is, which includes this.
#if defined(TCNUM_CODES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_CODES_INL
#undef TCNUM_CODES_INL
#else
#define TCNUM_CODES_INL
#endif

#include <bit>
#include <cstring>

#include "lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// How codes of fp32 and fp16 are turned into doubles and back.
struct NumberFields {
  explicit NumberFields(const Format& f)
      : shift(Lane<double>::kFraction - f.fraction_bits),
        up(std::bit_cast<double>(Lane<double>::power_of_two(Lane<double>::kBias - f.bias))),
        down(std::bit_cast<double>(Lane<double>::power_of_two(f.bias - Lane<double>::kBias))),
        sign(std::uint64_t{1} << (f.storage_bits - 1)),
        infinity(f.first_non_finite()) {}
  int shift;
  double up, down;
  std::uint64_t sign, infinity;
};

template <class Code>
void read_numbers(const NumberFields& fields, const std::byte* codes, std::size_t stride, std::size_t count,
                  float* to) {
  const NumberFields f = fields;
  for (std::size_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, codes + i * stride * sizeof(Code), sizeof(Code));
    const std::uint64_t magnitude = code & (f.sign - 1), sign = (code & f.sign) != 0 ? Lane<double>::kSign : 0;
    const auto finite = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude << f.shift) * f.up);
    const std::uint64_t special = magnitude == f.infinity ? Lane<double>::kExponent : ~std::uint64_t{0} >> 1;
    // −0 is worth +0, and an ordinary sum would take it for less.
    to[i] = static_cast<float>(std::bit_cast<double>((magnitude >= f.infinity ? special : finite) | sign) + 0.0);
  }
}

template <class Code>
void write_numbers(const NumberFields& fields, std::uint64_t nan, const float* from, std::size_t count,
                   std::byte* codes, std::size_t stride) {
  const NumberFields f = fields;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(double{from[i]}), magnitude = bits & ~Lane<double>::kSign;
    const std::uint64_t finite = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) * f.down) >> f.shift;
    const std::uint64_t sign = magnitude != bits ? f.sign : 0;
    const std::uint64_t number = (magnitude == Lane<double>::kExponent ? f.infinity : finite) | sign;
    const auto code = static_cast<Code>(magnitude > Lane<double>::kExponent ? nan : number);
    std::memcpy(codes + i * stride * sizeof(Code), &code, sizeof(Code));
  }
}

void read(FormatId id, const std::byte* codes, std::size_t stride, std::size_t count, float* to) {
  const Format& f = format(id);
  const NumberFields fields(f);
  if (f.storage_bytes() == 2) return read_numbers<std::uint16_t>(fields, codes, stride, count, to);
  read_numbers<std::uint32_t>(fields, codes, stride, count, to);
}

void write(FormatId id, std::uint64_t nan, const float* from, std::size_t count, std::byte* codes, std::size_t stride) {
  const Format& f = format(id);
  const NumberFields fields(f);
  if (f.storage_bytes() == 2) return write_numbers<std::uint16_t>(fields, nan, from, count, codes, stride);
  write_numbers<std::uint32_t>(fields, nan, from, count, codes, stride);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
