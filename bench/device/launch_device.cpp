#include "launch_device.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "cuda/device_memory.hpp"
#include "cuda/owned.hpp"
#include "launch_kernels.hpp"

namespace tcnum {
namespace {

using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

class GpuLaunchDevice final : public LaunchDevice {
 public:
  GpuLaunchDevice() {
    check(cudaEventCreate(before_.place()), "cudaEventCreate");
    check(cudaEventCreate(behind_.place()), "cudaEventCreate");
  }

  std::vector<LaunchTimes> launch(const LaunchWork& work, unsigned times) override {
    bytes_ = work.bytes;
    if (bytes_ != 0) fill();
    GraphExec graph;
    if (work.as_graph) capture(work, graph);
    std::vector<LaunchTimes> all;
    for (unsigned i = 0; i < times; ++i) all.push_back(submit(work, graph.get()));
    return all;
  }

  std::vector<std::uint32_t> words() override {
    std::vector<std::byte> bytes(bytes_);
    if (!bytes.empty()) buffers_[at_].download(bytes);
    std::vector<std::uint32_t> words(bytes_ / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void fill() {
    std::vector<std::byte> bytes(bytes_);
    for (std::size_t i = 0; i < bytes_ / sizeof(std::uint32_t); ++i) {
      const std::uint32_t word = launch_word(i);
      std::memcpy(bytes.data() + i * sizeof word, &word, sizeof word);
    }
    buffers_[0].upload(bytes);
    buffers_[1].reserve(bytes_);
    at_ = 0;
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  /// Returns the buffer that holds the result.
  std::size_t start(const LaunchWork& work) {
    std::size_t at = 0;
    for (unsigned k = 0; k < work.kernels; ++k) {
      if (work.bytes == 0) {
        check(launch_empty(stream_.get()), "launch of an empty kernel");
      } else {
        check(launch_copy(buffers_[at].data(), buffers_[1 - at].data(), work.bytes, stream_.get()), "launch of a copy");
        at = 1 - at;
      }
    }
    return at;
  }

  void capture(const LaunchWork& work, GraphExec& to) {
    Graph graph;
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    start(work);
    check(cudaStreamEndCapture(stream_.get(), graph.place()), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(to.place(), graph.get(), 0), "cudaGraphInstantiate");
    check(cudaGraphUpload(to.get(), stream_.get()), "cudaGraphUpload");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  }

  LaunchTimes submit(const LaunchWork& work, cudaGraphExec_t graph) {
    LaunchTimes times;
    if (work.kernels > 1) check(cudaEventRecord(before_.get(), stream_.get()), "cudaEventRecord");
    const auto begin = Clock::now();
    if (graph != nullptr) {
      check(cudaGraphLaunch(graph, stream_.get()), "cudaGraphLaunch");
      at_ = work.kernels % 2;
    } else {
      at_ = start(work);
    }
    times.submit_seconds = seconds_since(begin);
    if (work.kernels > 1) check(cudaEventRecord(behind_.get(), stream_.get()), "cudaEventRecord");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    times.round_trip_seconds = seconds_since(begin);
    if (work.kernels == 1) return times;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, before_.get(), behind_.get()), "cudaEventElapsedTime");
    times.device_seconds = milliseconds * 1e-3;
    return times;
  }

  CommandStream stream_{cudaStreamNonBlocking};
  Event before_, behind_;
  std::array<DeviceBuffer, 2> buffers_;  ///< A, B
  std::size_t at_ = 0;                   ///< the buffer with the results
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<LaunchDevice> make_gpu_launch_device() { return std::make_unique<GpuLaunchDevice>(); }

}  // namespace tcnum
