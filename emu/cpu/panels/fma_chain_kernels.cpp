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
const FmaKernels<T>* kernels_of() {
  static const FmaKernels<T> kKernels = {hwy::TargetName(HWY_TARGET), kFmaRows, kFmaColumns<T>, add<T>};
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
