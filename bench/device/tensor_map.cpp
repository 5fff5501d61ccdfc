#include "tensor_map.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "cuda/device_memory.hpp"

namespace tcnum {
namespace {

// The limits of cuTensorMapEncodeTiled (CUDA Driver API, Tensor Map Object Management).
constexpr std::size_t kMostDimensions = 5;
constexpr std::uint64_t kAlignment = 16;  // of the address, of strides, and of a box's innermost dimension, in bytes
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 32, kStrideEnd = std::uint64_t{1} << 40;
constexpr std::uint32_t kMostBox = 256;

/// Widest row of a box that a swizzle takes, in bytes; 0: any.
std::uint64_t swizzled_bytes(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    default:
      return 128;
  }
}

void require(bool right, const std::string& what) {
  if (!right) throw std::invalid_argument("tensor map: " + what);
}

void check_layout(const TensorLayout& layout, const void* global) {
  const std::size_t rank = layout.dimensions.size(), element = tensor_element_bytes(layout.type);
  require(element != 0, fmt::format("element type {}; expected one that is not packed", static_cast<int>(layout.type)));
  require(rank >= 1 && rank <= kMostDimensions, fmt::format("{} dimensions; expected 1 to {}", rank, kMostDimensions));
  require(reinterpret_cast<std::uintptr_t>(global) % kAlignment == 0,
          fmt::format("the array begins at {}; expected a multiple of {}", fmt::ptr(global), kAlignment));
  for (std::size_t i = 0; i < rank; ++i) {
    const TensorDimension& d = layout.dimensions[i];
    require(d.size >= 1 && d.size <= kMostSize,
            fmt::format("dimension {} has {} elements; expected 1 to {}", i, d.size, kMostSize));
    require(d.box >= 1 && d.box <= kMostBox,
            fmt::format("dimension {} of the box has {} elements; expected 1 to {}", i, d.box, kMostBox));
    require(i == 0 || (d.stride_bytes % kAlignment == 0 && d.stride_bytes < kStrideEnd),
            fmt::format("dimension {} has a stride of {} bytes; expected a multiple of {} below {}", i, d.stride_bytes,
                        kAlignment, kStrideEnd));
  }
  const std::uint64_t row = layout.dimensions.front().box * element, most = swizzled_bytes(layout.swizzle);
  require(row % kAlignment == 0,
          fmt::format("rows of the box have {} bytes; expected a multiple of {}", row, kAlignment));
  require(most == 0 || row <= most,
          fmt::format("rows of the box have {} bytes; expected at most {} with that swizzle", row, most));
}

/// The driver's function, as of the CUDA version that brought it: nothing is linked with the driver.
auto find_encoder() {
  constexpr unsigned kSince = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kSince, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion(cuTensorMapEncodeTiled)");
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw std::runtime_error("this driver has no cuTensorMapEncodeTiled; CUDA 12.0's and later ones do");
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

}  // namespace

std::size_t tensor_element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

CUtensorMap encode_tensor_map(const TensorLayout& layout, void* global) {
  check_layout(layout, global);
  static const auto encode = find_encoder();
  const std::size_t rank = layout.dimensions.size();
  std::array<cuuint64_t, kMostDimensions> sizes{}, strides{};
  std::array<cuuint32_t, kMostDimensions> box{}, every{};
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = layout.dimensions[i].size;
    if (i > 0) strides[i - 1] = layout.dimensions[i].stride_bytes;
    box[i] = layout.dimensions[i].box;
    every[i] = 1;
  }
  CUtensorMap map{};
  const CUresult result = encode(&map, layout.type, static_cast<cuuint32_t>(rank), global, sizes.data(), strides.data(),
                                 box.data(), every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, layout.swizzle,
                                 layout.l2_promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error(fmt::format("cuTensorMapEncodeTiled failed: CUresult {}", static_cast<int>(result)));
  }
  return map;
}

}  // namespace tcnum
