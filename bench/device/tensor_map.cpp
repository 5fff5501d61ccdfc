#include "tensor_map.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "cuda/device_memory.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kMostDimensions = 5;

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

CUtensorMap encode_tensor_map(const TensorLayout& layout, void* global) {
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
