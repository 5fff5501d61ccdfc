// Compiled once for each CPU by Highway.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/fma_chain_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include "fma_chain_kernels.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

/// With one vector of A and those of a row of B, the results are what registers hold.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kFmaRows = 4;
#else
inline constexpr std::size_t kFmaRows = 8;
#endif
inline constexpr std::size_t kFmaVectors = 3;

template <class T>
using FD = hn::ScalableTag<T>;
template <class T>
using FV = hn::Vec<FD<T>>;
template <class T>
inline constexpr std::size_t kFmaLanes = hn::MaxLanes(FD<T>());
template <class T>
inline constexpr std::size_t kFmaColumns = kFmaVectors* kFmaLanes<T>;

template <class T>
void add(const FmaWork<T>& w) {
  const FD<T> d;
  FV<T> sum[kFmaRows][kFmaVectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kFmaRows; ++r) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < kFmaVectors; ++v)
      sum[r][v] = hn::Load(d, w.results + r * kFmaColumns<T> + v * kFmaLanes<T>);
  }
  const T *a = w.a, *b = w.b;
  for (std::size_t k = 0; k < w.count; ++k, a += kFmaRows, b += kFmaColumns<T>) {
    const FV<T> b0 = hn::Load(d, b), b1 = hn::Load(d, b + kFmaLanes<T>), b2 = hn::Load(d, b + 2 * kFmaLanes<T>);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kFmaRows; ++r) {
      const FV<T> of_a = hn::Set(d, a[r]);
      sum[r][0] = hn::MulAdd(of_a, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(of_a, b1, sum[r][1]);
      sum[r][2] = hn::MulAdd(of_a, b2, sum[r][2]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kFmaRows; ++r) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < kFmaVectors; ++v)
      hn::Store(sum[r][v], d, w.results + r * kFmaColumns<T> + v * kFmaLanes<T>);
  }
}

template <class T>
FV<T> from_bits(BitsOf<T> bits) {
  return hn::BitCast(FD<T>(), hn::Set(hn::RebindToUnsigned<FD<T>>(), bits));
}

/// Products without NaNs among their operands: a result that is a NaN stays it, and one that becomes one has the code.
template <class T>
void add_between_nans(const FmaWork<T>& w, const FmaNans<T>& nans, const T* before) {
  const FD<T> d;
  add(w);
  for (std::size_t i = 0; i < kFmaRows * kFmaColumns<T>; i += kFmaLanes<T>) {
    const FV<T> was = hn::Load(d, before + i), is = hn::Load(d, w.results + i);
    const FV<T> finite_or_new = hn::IfThenElse(hn::IsNaN(is), from_bits<T>(nans.code), is);
    hn::Store(hn::IfThenElse(hn::IsNaN(was), was, finite_or_new), d, w.results + i);
  }
}

/// One product; of several NaNs the first in the order.
template <class T>
void add_one_with_nans(const FmaWork<T>& w, const FmaNans<T>& nans) {
  const FD<T> d;
  for (std::size_t r = 0; r < kFmaRows; ++r) {
    const FV<T> a = hn::Set(d, w.a[r]);
    for (std::size_t v = 0; v < kFmaVectors; ++v) {
      T* const at = w.results + r * kFmaColumns<T> + v * kFmaLanes<T>;
      const FV<T> b = hn::Load(d, w.b + v * kFmaLanes<T>), c = hn::Load(d, at), sum = hn::MulAdd(a, b, c);
      FV<T> nan = from_bits<T>(nans.code);
      for (std::size_t i = nans.order.size(); i-- > 0;) {
        const FV<T> x = nans.order[i] == NanOperand::a ? a : nans.order[i] == NanOperand::b ? b : c;
        nan = hn::IfThenElse(hn::IsNaN(x), x, nan);
      }
      hn::Store(hn::IfThenElse(hn::IsNaN(sum), nan, sum), d, at);
    }
  }
}

template <class T>
void add_with_nans(const FmaWork<T>& work, const FmaNans<T>& nans, const std::size_t* nan_at, std::size_t count,
                   const T* start) {
  constexpr std::size_t kSize = kFmaRows * kFmaColumns<T>;
  HWY_ALIGN T before[kSize];
  const FD<T> d;
  const auto copy = [&](const T* from, T* to) HWY_ATTR {
    for (std::size_t i = 0; i < kSize; i += kFmaLanes<T>) hn::Store(hn::Load(d, from + i), d, to + i);
  };
  copy(start, work.results);
  const auto part = [&](std::size_t first, std::size_t products) {
    return FmaWork<T>{work.a + first * kFmaRows, work.b + first * kFmaColumns<T>, products, work.results};
  };
  std::size_t k = 0;
  for (std::size_t i = 0; i <= count; ++i) {
    const std::size_t end = i < count ? nan_at[i] : work.count;
    if (end > k) {
      copy(work.results, before);
      add_between_nans(part(k, end - k), nans, before);
    }
    if (i < count) add_one_with_nans(part(end, 1), nans);
    k = end + 1;
  }
}

template <class T>
bool any_nan(const T* results) {
  const FD<T> d;
  for (std::size_t i = 0; i < kFmaRows * kFmaColumns<T>; i += kFmaLanes<T>) {
    if (!hn::AllFalse(d, hn::IsNaN(hn::Load(d, results + i)))) return true;
  }
  return false;
}

template <class T>
const FmaKernels<T>* kernels_of() {
  static const FmaKernels<T> kKernels = {
      hwy::TargetName(HWY_TARGET), kFmaRows, kFmaColumns<T>, add<T>, add_with_nans<T>, any_nan<T>};
  return &kKernels;
}
const FmaKernels<float>* float_kernels() { return kernels_of<float>(); }
const FmaKernels<double>* double_kernels() { return kernels_of<double>(); }

#else

const FmaKernels<float>* float_kernels() { return nullptr; }
const FmaKernels<double>* double_kernels() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);

template <>
const FmaKernels<float>* fma_kernels<float>() {
  return HWY_DYNAMIC_DISPATCH(float_kernels)();
}
template <>
const FmaKernels<double>* fma_kernels<double>() {
  return HWY_DYNAMIC_DISPATCH(double_kernels)();
}

}  // namespace tcnum::panels
#endif
