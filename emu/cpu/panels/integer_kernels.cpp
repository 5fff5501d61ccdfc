// Compiled once for each CPU by Highway; x86's own multiplication of pairs keeps each pair in its lane.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/integer_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "integer_kernels.hpp"

#undef TCNUM_HAS_PAIRS
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define TCNUM_HAS_PAIRS 1
#else
#define TCNUM_HAS_PAIRS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_PAIRS

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<std::int32_t>;
using V32 = hn::Vec<D32>;
inline constexpr std::size_t kIntegerLanes = hn::MaxLanes(D32());
/// With those of all rows they are what registers hold.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kIntegerVectors = 2;
#else
inline constexpr std::size_t kIntegerVectors = 4;
#endif
inline constexpr std::size_t kIntegerChunk = kIntegerVectors * kIntegerLanes;

/// sum + the products of a pair.
HWY_INLINE V32 multiply_add_pair(V32 a, V32 b, V32 sum) {
#if HWY_TARGET == HWY_AVX3_DL
  // One instruction, of which Highway makes two. All CPUs of this target have it (AVX512_VNNI), but the options that
  // Highway compiles it with do not name it, so that its intrinsic is not to be had.
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "vm"(b.raw));
  return sum;
#else
  const hn::Repartition<std::int16_t, D32> d16;
  V32 none = sum;  // where others than x86 put half of the products
  return hn::ReorderWidenMulAccumulate(D32(), hn::BitCast(d16, a), hn::BitCast(d16, b), sum, none);
#endif
}

/// x + y, clamped.
HWY_INLINE V32 add_clamped(V32 x, V32 y) {
  const D32 d;
  const V32 sum = hn::Add(x, y);
  const auto overflows = hn::Lt(hn::And(hn::Xor(x, sum), hn::Xor(y, sum)), hn::Zero(d));
  // Both are of one sign then, which is the clamped sum's.
  const V32 limit = hn::Xor(hn::BroadcastSignBit(x), hn::Set(d, std::numeric_limits<std::int32_t>::max()));
  return hn::IfThenElse(overflows, limit, sum);
}

void add_sums(const IntegerWork& w) {
  static_assert(kIntegerRows == 4);
  const D32 d;
  for (std::size_t column = 0; column < kColumns; column += kIntegerChunk) {
    std::size_t pair = 0;
    for (std::size_t number = 0; number < w.count; ++number) {
      V32 sum[kIntegerRows][kIntegerVectors];
      for (std::size_t r = 0; r < kIntegerRows; ++r) {
        for (std::size_t v = 0; v < kIntegerVectors; ++v) sum[r][v] = hn::Zero(d);
      }
      const std::int32_t *a0 = w.a[0], *a1 = w.a[1], *a2 = w.a[2], *a3 = w.a[3];
      for (const std::size_t end = w.sums[number]; pair < end; ++pair) {
        const std::int32_t* const b = w.b + pair * kColumns + column;
        const V32 of_a0 = hn::Set(d, a0[pair]), of_a1 = hn::Set(d, a1[pair]);
        const V32 of_a2 = hn::Set(d, a2[pair]), of_a3 = hn::Set(d, a3[pair]);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kIntegerVectors; ++v) {
          const V32 of_b = hn::Load(d, b + v * kIntegerLanes);
          sum[0][v] = multiply_add_pair(of_a0, of_b, sum[0][v]);
          sum[1][v] = multiply_add_pair(of_a1, of_b, sum[1][v]);
          sum[2][v] = multiply_add_pair(of_a2, of_b, sum[2][v]);
          sum[3][v] = multiply_add_pair(of_a3, of_b, sum[3][v]);
        }
      }
      for (std::size_t r = 0; r < kIntegerRows; ++r) {
        for (std::size_t v = 0; v < kIntegerVectors; ++v) {
          std::int32_t* const at = w.results[r] + column + v * kIntegerLanes;
          const V32 before = hn::Load(d, at);
          hn::Store(w.wraps ? hn::Add(before, sum[r][v]) : add_clamped(before, sum[r][v]), d, at);
        }
      }
    }
  }
}

/// Codes in vectors of wider integers.
template <class D, class V>
HWY_INLINE V numbers(D d, const IntegerFields& f, V codes) {
  using T = hn::TFromD<D>;
  const V sign = hn::Set(d, static_cast<T>(f.sign));
  return hn::Sub(hn::Xor(hn::And(codes, hn::Set(d, static_cast<T>(f.mask))), sign), sign);
}

void pack_row(const IntegerFields& f, const std::uint8_t* codes, std::size_t count, std::int32_t* pairs) {
  const hn::Repartition<std::int16_t, D32> d;
  const hn::Rebind<std::uint8_t, decltype(d)> narrow;
  auto* const to = reinterpret_cast<std::int16_t*>(pairs);  // vectors may be stored as whatever they are
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(numbers(d, f, hn::PromoteTo(d, hn::LoadU(narrow, codes + i))), d, to + i);
  for (; i < count; i += 2) {
    const auto number = [&](std::uint8_t code) { return ((code & f.mask) ^ f.sign) - f.sign; };
    pairs[i / 2] = static_cast<std::int32_t>((static_cast<std::uint32_t>(number(codes[i])) & 0xffff) |
                                             static_cast<std::uint32_t>(number(codes[i + 1])) << 16);
  }
}

void pack_pairs(const IntegerFields& f, const std::uint8_t* first, const std::uint8_t* second, std::int32_t* pairs) {
  const D32 d;
  const hn::Rebind<std::uint8_t, D32> narrow;
  for (std::size_t i = 0; i < kColumns; i += kIntegerLanes) {
    const V32 low = numbers(d, f, hn::PromoteTo(d, hn::LoadU(narrow, first + i)));
    const V32 high = numbers(d, f, hn::PromoteTo(d, hn::LoadU(narrow, second + i)));
    hn::Store(hn::Or(hn::And(low, hn::Set(d, 0xffff)), hn::ShiftLeft<16>(high)), d, pairs + i);
  }
}

const IntegerKernels* integer_kernels_of_target() {
  static const IntegerKernels kKernels = {pack_row, pack_pairs, add_sums};
  return &kKernels;
}

#else

const IntegerKernels* integer_kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(integer_kernels_of_target);

const IntegerKernels* integer_kernels() { return HWY_DYNAMIC_DISPATCH(integer_kernels_of_target)(); }

}  // namespace tcnum::panels
#endif
