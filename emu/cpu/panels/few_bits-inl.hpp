// How many of a few bits are set, as a table of bytes tells: signs of few products.
// Compiled once for each CPU, as the kernels that include this are.
#if defined(TCNUM_FEW_BITS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_FEW_BITS_INL
#undef TCNUM_FEW_BITS_INL
#else
#define TCNUM_FEW_BITS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kFewBits = 4;
/// A table pays where no instruction counts bits.
inline constexpr bool kLooksFewBitsUp = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;

/// Of each byte, whose other bits are zero.
template <class D>
HWY_INLINE hn::Vec<D> few_bits_set(D d, hn::Vec<D> x) {
  const hn::Repartition<std::uint8_t, D> d8;
  HWY_ALIGN static constexpr std::uint8_t kBitsSet[1 << kFewBits] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  return hn::BitCast(d, hn::TableLookupBytes(hn::LoadDup128(d8, kBitsSet), hn::BitCast(d8, x)));
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
