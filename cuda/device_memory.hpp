// CUDA calls that are checked, and memory that is given back.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tcnum {

inline void check(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + " failed: " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error));
}

/// Device memory that grows, and never shrinks but to nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  void* data() { return data_; }
  const void* data() const { return data_; }
  void release() {
    check(cudaFree(data_), "cudaFree");
    data_ = nullptr;
    size_ = 0;
  }
  void reserve(std::size_t bytes) {
    if (bytes <= size_) return;
    release();
    check(cudaMalloc(&data_, bytes), "cudaMalloc(" + std::to_string(bytes) + " bytes)");
    size_ = bytes;
  }
  void upload(std::span<const std::byte> from) {
    reserve(from.size());
    check(cudaMemcpy(data_, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  }
  void download(std::vector<std::byte>& to) const {
    check(cudaMemcpy(to.data(), data_, to.size(), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tcnum
