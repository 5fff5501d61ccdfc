// The lanes of panels' vectors: numbers, their bits as integers, and their first 16 bits.
// Compiled once for each CPU, as kernels.cpp is, which includes this.
#if defined(TCNUM_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_LANES_INL
#undef TCNUM_LANES_INL
#else
#define TCNUM_LANES_INL
#endif

#include <hwy/highway.h>

#include <limits>
#include <type_traits>

#include "operands.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

/// What floating-point numbers of the lanes are made of.
template <class T>
struct Lane {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  static constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  static constexpr Bits kExponent = ~Bits{0} >> 1 >> kFraction << kFraction;
  /// 2^e.
  static constexpr Bits power_of_two(int e) { return static_cast<Bits>(e + kBias) << kFraction; }
  /// So much is added to the exponent of a power of two to have the 1.5 · 2^kFraction units of its last kept bit, so
  /// many bits below it, that a sum begins with.
  static constexpr Bits grid(int fraction_bits) {
    return (static_cast<Bits>(kFraction - fraction_bits) << kFraction) + (Bits{1} << (kFraction - 1));
  }
};

template <class T>
using D = hn::CappedTag<T, kColumns>;
template <class T>
using V = hn::Vec<D<T>>;
/// Vectors of unsigned integers as wide as doubles, and as floats.
template <class T>
using DU = hn::RebindToUnsigned<D<T>>;
template <class T>
using VU = hn::Vec<DU<T>>;
template <class T>
inline constexpr std::size_t kLanes = hn::MaxLanes(D<T>());
/// Vectors of words, which are as many as floats, and of signed ones.
using DW = hn::CappedTag<Word, kColumns>;
using VW = hn::Vec<DW>;
using DSW = hn::RebindToSigned<DW>;
inline constexpr std::size_t kWords = hn::MaxLanes(DW());
/// Vectors of the first halves of words.
using DT = hn::CappedTag<Top, kColumns>;
using VT = hn::Vec<DT>;
inline constexpr std::size_t kTops = hn::MaxLanes(DT());
/// So many vectors of numbers have as many lanes as one of their tops.
template <class T>
inline constexpr std::size_t kToTops = sizeof(T) / sizeof(Top);

template <class T>
HWY_INLINE V<T> from_bits(typename Lane<T>::Bits bits) {
  return hn::BitCast(D<T>(), hn::Set(DU<T>(), bits));
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
