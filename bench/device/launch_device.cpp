// How kernels start, on a GPU.
#include <chrono>

#include "cuda/owned.hpp"
#include "gpu_device.hpp"
#include "launch_kernels.hpp"

namespace tcnum {
namespace {

using Clock = std::chrono::steady_clock;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
constexpr const char* kBuffers[] = {"launch_a", "launch_b"};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The kernels of a work, from buffer A on.
void start(const LaunchWork& work, std::uint32_t* const (&buffers)[2], cudaStream_t stream) {
  for (unsigned k = 0; k < work.kernels; ++k) {
    check(work.bytes == 0 ? launch_empty(stream) : launch_copy(buffers[k % 2], buffers[1 - k % 2], work.bytes, stream),
          "launch of a small kernel");
  }
}

}  // namespace

std::vector<LaunchTimes> GpuTimingDevice::launch(const LaunchWork& work, unsigned times) {
  launched_bytes_ = work.bytes;
  launched_at_ = work.kernels % 2;
  const std::size_t words = work.bytes / sizeof(std::uint32_t);
  std::uint32_t* const buffers[2] = {memory<std::uint32_t>(kBuffers[0], words),
                                     memory<std::uint32_t>(kBuffers[1], words)};
  if (work.bytes != 0) {
    std::vector<std::uint32_t> first(words);
    for (std::size_t i = 0; i < words; ++i) first[i] = launch_word(i);
    check(cudaMemcpy(buffers[0], first.data(), work.bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    finish("filling a buffer");
  }
  CommandStream stream{cudaStreamNonBlocking};
  GraphExec graph;
  if (work.as_graph) {
    Graph captured;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    start(work, buffers, stream.get());
    check(cudaStreamEndCapture(stream.get(), captured.place()), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(graph.place(), captured.get(), 0), "cudaGraphInstantiate");
    check(cudaGraphUpload(graph.get(), stream.get()), "cudaGraphUpload");
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  }
  Event before, behind;
  std::vector<LaunchTimes> all(times);
  for (LaunchTimes& one : all) {
    if (work.kernels > 1) before.record(stream.get());
    const auto begin = Clock::now();
    if (work.as_graph) {
      check(cudaGraphLaunch(graph.get(), stream.get()), "cudaGraphLaunch");
    } else {
      start(work, buffers, stream.get());
    }
    one.submit_seconds = seconds_since(begin);
    if (work.kernels > 1) behind.record(stream.get());
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    one.round_trip_seconds = seconds_since(begin);
    if (work.kernels > 1) one.device_seconds = behind.seconds_since(before);
  }
  return all;
}

std::vector<std::uint32_t> GpuTimingDevice::launched_words() {
  const std::size_t words = launched_bytes_ / sizeof(std::uint32_t);
  return downloaded(memory<std::uint32_t>(kBuffers[launched_at_], words), words);
}

}  // namespace tcnum
