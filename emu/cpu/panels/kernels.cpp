// Compiled once for each CPU by Highway. Only CPUs with fused multiply-adds evaluate panels: another rounding between
// product and sum would cut twice.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include "kernels.hpp"
#include "ordinary_sums-inl.hpp"
#include "packing-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

const Kernels* kernels_of_target() {
  static const Kernels kKernels = {hwy::TargetName(HWY_TARGET),
                                   {pack_a<double>, pack_b<double>, ordinary<double>},
                                   {pack_a<float>, pack_b<float>, ordinary<float>}};
  return &kKernels;
}

#else

const Kernels* kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(kernels_of_target);

const Kernels* kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }
std::int64_t compiled_targets() { return HWY_TARGETS; }

}  // namespace tcnum::panels
#endif
