// What CUDA makes and destroys, destroyed when its owner is.
#pragma once

#include <cuda_runtime_api.h>

#include "device_memory.hpp"

namespace tcnum {

template <class Handle, cudaError_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) kDestroy(handle_);
  }
  Handle* place() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

/// A stream of commands. `flags` are CUDA's: cudaStreamDefault waits for what the default stream was given before, and
/// what that is given later waits for it; cudaStreamNonBlocking does neither.
class CommandStream : public Owned<cudaStream_t, cudaStreamDestroy> {
 public:
  explicit CommandStream(unsigned flags) {
    check(cudaStreamCreateWithFlags(place(), flags), "cudaStreamCreateWithFlags");
  }
};

}  // namespace tcnum
