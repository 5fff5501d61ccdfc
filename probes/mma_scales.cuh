// Block scales of an mma: which lanes have them, and in which bytes, is a variant of the kernel.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "mma_operands.cuh"

namespace tcnum {

inline constexpr std::array<std::string_view, kScaleSelectors> kScaleSelectorNames = {
    "scales of the first thread", "scales of the second thread", "scales of the third thread",
    "scales of the fourth thread"};

/// The selector is part of the instruction: one instruction for each.
template <class Op, int kSelector = 0>
__device__ void issue_with_scales(typename Op::Register (&d)[Op::kDRegisters],
                                  const typename Op::Register (&a)[Op::kARegisters],
                                  const typename Op::Register (&b)[Op::kBRegisters],
                                  const typename Op::Register (&c)[Op::kDRegisters], std::uint32_t metadata,
                                  std::uint32_t a_scales, std::uint32_t b_scales, int selector) {
  if constexpr (kSelector + 1 < kScaleSelectors) {
    if (selector != kSelector)
      return issue_with_scales<Op, kSelector + 1>(d, a, b, c, metadata, a_scales, b_scales, selector);
  }
  static_assert(!Op::kGeometry.sparse || Op::kGeometry.selectors() == 1);
  constexpr ScaleSelector kWhere = scale_selector<Op>(kSelector);
  Op::template issue<kWhere.byte, kWhere.a_thread, kWhere.b_thread>(d, a, b, c, metadata, a_scales, b_scales);
}

}  // namespace tcnum
