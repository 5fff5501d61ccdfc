// Compiled once for each CPU by Highway.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/operation_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <limits>

#include "operation_kernels.hpp"
#include "operation_rules-inl.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using OD = hn::CappedTag<T, kColumns>;
template <class T>
using OV = hn::Vec<OD<T>>;
template <class T>
inline constexpr std::size_t kOperationLanes = hn::MaxLanes(OD<T>());

/// Zeros, with their sign, in place of subnormal numbers.
template <class T>
HWY_INLINE OV<T> flush(OV<T> x) {
  const OD<T> d;
  const auto tiny = hn::Lt(hn::Abs(x), hn::Set(d, std::numeric_limits<T>::min()));
  return hn::IfThenElse(tiny, hn::And(x, hn::Set(d, -T{0})), x);
}

/// One operation of all rows: of(row) is its result.
template <class T, class Of>
HWY_INLINE void put_rows(const Operation& operation, T* to, const Of& of) {
  const OD<T> d;
  if (operation.flushes) {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kOperationRows; ++r) hn::Store(flush<T>(of(r)), d, to + r * kOperationLanes<T>);
  } else {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kOperationRows; ++r) hn::Store(of(r), d, to + r * kOperationLanes<T>);
  }
}

template <class T>
void run(const OperationWork<T>& w) {
  constexpr std::size_t kPlace = kOperationRows * kOperationLanes<T>;
  const OD<T> d;
  const OperationPlan& plan = *w.plan;
  const bool flushes_c = plan.c.subnormals == Subnormals::flushed;
  const T* a[kOperationRows];
  for (std::size_t column = 0; column < kColumns; column += kOperationLanes<T>) {
    for (std::size_t r = 0; r < kOperationRows; ++r) {
      a[r] = w.a[r];
      const OV<T> c = hn::Load(d, w.results[r] + column);
      hn::Store(c, d, w.values + r * kOperationLanes<T>);
    }
    const T* b = w.b + column;
    for (std::size_t link = 0; link < w.links; ++link, b += plan.depth * kColumns) {
      if (flushes_c) {
        for (std::size_t r = 0; r < kOperationRows; ++r) {
          T* const at = w.values + r * kOperationLanes<T>;
          hn::Store(flush<T>(hn::Load(d, at)), d, at);
        }
      }
      for (const Operation& operation : plan.operations) {
        T* const to = w.values + static_cast<std::size_t>(operation.place) * kPlace;
        const T* const x = w.values + static_cast<std::size_t>(operation.x) * kPlace;
        const auto k = static_cast<std::size_t>(operation.k);
        switch (operation.kind) {
          case Operation::Kind::multiply: {
            const OV<T> of_b = hn::Load(d, b + k * kColumns);
            put_rows<T>(operation, to, [&](std::size_t r) HWY_ATTR { return hn::Mul(hn::Set(d, a[r][k]), of_b); });
            break;
          }
          case Operation::Kind::multiply_add: {
            const OV<T> of_b = hn::Load(d, b + k * kColumns);
            put_rows<T>(operation, to, [&](std::size_t r) HWY_ATTR {
              return hn::MulAdd(hn::Set(d, a[r][k]), of_b, hn::Load(d, x + r * kOperationLanes<T>));
            });
            break;
          }
          case Operation::Kind::add: {
            const T* const y = w.values + static_cast<std::size_t>(operation.y) * kPlace;
            put_rows<T>(operation, to, [&](std::size_t r) HWY_ATTR {
              return hn::Add(hn::Load(d, x + r * kOperationLanes<T>), hn::Load(d, y + r * kOperationLanes<T>));
            });
            break;
          }
        }
      }
      const T* const result = w.values + static_cast<std::size_t>(plan.operations.back().place) * kPlace;
      for (std::size_t r = 0; r < kOperationRows; ++r) {
        hn::Store(hn::Load(d, result + r * kOperationLanes<T>), d, w.values + r * kOperationLanes<T>);
        a[r] += plan.depth;
      }
    }
    for (std::size_t r = 0; r < kOperationRows; ++r)
      hn::Store(hn::Load(d, w.values + r * kOperationLanes<T>), d, w.results[r] + column);
  }
}

RunOperations<float> run_floats() { return run<float>; }
RunOperations<double> run_doubles() { return run<double>; }
RunRules run_rules_of_target() { return run_rules; }

#else

RunRules run_rules_of_target() { return nullptr; }
RunOperations<float> run_floats() { return nullptr; }
RunOperations<double> run_doubles() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(run_floats);
HWY_EXPORT(run_doubles);
HWY_EXPORT(run_rules_of_target);

template <>
RunOperations<float> run_operations<float>() {
  return HWY_DYNAMIC_DISPATCH(run_floats)();
}
template <>
RunOperations<double> run_operations<double>() {
  return HWY_DYNAMIC_DISPATCH(run_doubles)();
}
RunRules run_rules() { return HWY_DYNAMIC_DISPATCH(run_rules_of_target)(); }

}  // namespace tcnum::panels
#endif
