// Tensor maps: what the tensor memory accelerator knows of an array in global memory and of the boxes that it copies.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tcnum {

/// One dimension of an array, in elements.
struct TensorDimension {
  std::uint64_t size = 0;
  std::uint32_t box = 0;           ///< of the box that one copy takes
  std::uint64_t stride_bytes = 0;  ///< from one index to the next; not read of the innermost, whose elements are packed
};

struct TensorLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  std::vector<TensorDimension> dimensions;  ///< innermost first, 1 to 5
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
};

/// The map of an array at `global`, on the device. What a box has beyond the array's ends arrives as zeros. A kernel
/// takes the map by value, as a parameter that is `const __grid_constant__`. Throws std::runtime_error if the
/// driver has no tensor maps, or the hardware cannot have such an array.
CUtensorMap encode_tensor_map(const TensorLayout& layout, void* global);

}  // namespace tcnum
