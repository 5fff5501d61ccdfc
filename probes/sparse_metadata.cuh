// The metadata of a sparse mma: which lanes have it is a variant of the kernel, the sparsity selector.
#pragma once

#include <array>

#include "device_common.cuh"
#include "isa/sparsity.hpp"

namespace tcnum {

inline constexpr std::array<std::string_view, 4> kSelectors = {"sparsity selector 0", "sparsity selector 1",
                                                               "sparsity selector 2", "sparsity selector 3"};

/// Those that the instruction has.
template <class Op>
std::span<const std::string_view> selectors_of() {
  return std::span(kSelectors).first(Op::kGeometry.selectors());
}

/// The lane's register of metadata for a tile, from where the stored elements stand. What lanes have that the selector
/// leaves out must not matter, so it is nothing legal.
template <class Op>
__device__ std::uint32_t metadata_register(const std::uint8_t* positions, int lane, int selector) {
  constexpr MmaGeometry kGeometry = Op::kGeometry;
  constexpr SparseGroup kGroup = sparse_group(Op::kCodeBits);
  if (!kGeometry.has_metadata(lane, selector)) return ~std::uint32_t{0};
  std::uint32_t metadata = 0;
#pragma unroll
  for (int i = 0; i < MmaGeometry::kMetadataGroups; ++i) {
    const Element at = kGeometry.metadata(lane, i);
    const std::uint8_t* const group = positions + at.row * kGeometry.a_columns() + at.column * kGroup.stored();
    metadata |= SparseGroup::metadata(kGroup.pattern_of(group)) << (SparseGroup::kMetadataBits * i);
  }
  return metadata;
}

/// The selector is part of the instruction: one instruction for each.
template <class Op, int kSelector = 0>
__device__ void issue_with_selector(typename Op::Register (&d)[Op::kDRegisters],
                                    const typename Op::Register (&a)[Op::kARegisters],
                                    const typename Op::Register (&b)[Op::kBRegisters],
                                    const typename Op::Register (&c)[Op::kDRegisters], std::uint32_t metadata,
                                    int selector) {
  if constexpr (kSelector + 1 < Op::kGeometry.selectors()) {
    if (selector != kSelector) return issue_with_selector<Op, kSelector + 1>(d, a, b, c, metadata, selector);
  }
  Op::template issue<kSelector>(d, a, b, c, metadata);
}

}  // namespace tcnum
