// Events of CUDA's, to time what happens between them.
#pragma once

#include "device_memory.hpp"

namespace tcnum {

/// On the default CUDA stream, or another.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream = nullptr) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tcnum
