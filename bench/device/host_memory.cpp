// Copies between the host's memory and a GPU's, and memory that both see.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <latch>
#include <memory>
#include <thread>

#include "cuda/owned.hpp"
#include "gpu_device.hpp"
#include "memory_kernels.hpp"

namespace tcnum {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += words[i] * (2 * i + 1);
  return sum;
}

/// Memory of the host's, locked or not.
class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, bool pinned) : pinned_(pinned) {
    if (pinned) {
      check(cudaMallocHost(&locked_, bytes), fmt::format("cudaMallocHost({} bytes)", bytes));
    } else {
      pageable_.resize(bytes);
    }
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() {
    if (pinned_) cudaFreeHost(locked_);
  }
  void* data() { return pinned_ ? locked_ : pageable_.data(); }

 private:
  bool pinned_;
  void* locked_ = nullptr;
  std::vector<std::byte> pageable_;
};

/// An array that host and device both see.
class ManagedDoubles {
 public:
  explicit ManagedDoubles(std::size_t count) {
    check(cudaMallocManaged(reinterpret_cast<void**>(&data_), count * sizeof(double)),
          fmt::format("cudaMallocManaged({} doubles)", count));
  }
  ManagedDoubles(const ManagedDoubles&) = delete;
  ManagedDoubles& operator=(const ManagedDoubles&) = delete;
  ~ManagedDoubles() { cudaFree(data_); }
  double* data() { return data_; }

 private:
  double* data_ = nullptr;
};

/// One direction of a copy: buffers at both ends, filled at the beginning of the way and cleared at its end.
class Direction {
 public:
  Direction(const HostCopy& work, bool to_device) : work_(work), to_device_(to_device), host_(work.bytes, work.pinned) {
    device_.reserve(work.bytes);
    auto* const words = static_cast<std::uint32_t*>(host_.data());
    for (std::size_t i = 0; i < work.bytes / sizeof(*words); ++i)
      words[i] = to_device ? memory_word(kToDeviceSeed, i) : 0;
    if (to_device) {
      check(cudaMemset(device_.data(), 0, work.bytes), "cudaMemset");
    } else {
      check(fill_words(static_cast<std::uint32_t*>(device_.data()), work.bytes / sizeof(*words), kFromDeviceSeed),
            "fill_words");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void run(unsigned copies) {
    for (unsigned i = 0; i < copies; ++i) {
      check(to_device_
                ? cudaMemcpyAsync(device_.data(), host_.data(), work_.bytes, cudaMemcpyHostToDevice, stream_.get())
                : cudaMemcpyAsync(host_.data(), device_.data(), work_.bytes, cudaMemcpyDeviceToHost, stream_.get()),
            "cudaMemcpyAsync");
      check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    }
  }
  std::uint64_t sum() {
    std::vector<std::uint64_t> arrived(work_.bytes / sizeof(std::uint64_t));
    check(cudaMemcpy(arrived.data(), to_device_ ? device_.data() : host_.data(), work_.bytes, cudaMemcpyDefault),
          "cudaMemcpy");
    return sum_of(arrived.data(), arrived.size());
  }

 private:
  const HostCopy& work_;
  bool to_device_;
  HostBuffer host_;
  DeviceBuffer device_;
  CommandStream stream_{cudaStreamNonBlocking};
};

/// Of so many copies of each direction, by threads that begin together: from when the first begins until the last ends.
double seconds_of(const std::vector<std::unique_ptr<Direction>>& directions, unsigned copies, int device) {
  std::vector<std::exception_ptr> failures(directions.size());
  std::vector<Clock::time_point> begins(directions.size()), ends(directions.size());
  std::latch ready(static_cast<std::ptrdiff_t>(directions.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < directions.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          cudaSetDevice(device);  // what fails here fails below
          ready.arrive_and_wait();
          begins[i] = Clock::now();
          directions[i]->run(copies);
          ends[i] = Clock::now();
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return std::chrono::duration<double>(std::ranges::max(ends) - std::ranges::min(begins)).count();
}

}  // namespace

HostCopyTimes GpuTimingDevice::copy_host(const HostCopy& work) {
  std::vector<std::unique_ptr<Direction>> directions;
  if (work.to_device) directions.push_back(std::make_unique<Direction>(work, true));
  if (work.from_device) directions.push_back(std::make_unique<Direction>(work, false));
  for (const auto& each : directions) each->run(1);  // what a first copy finds missing does not count

  HostCopyTimes times;
  for (unsigned i = 0; i < work.samples; ++i)
    times.seconds.push_back(tcnum::seconds_of(directions, work.copies, device_));
  if (work.to_device) times.to_sum = directions.front()->sum();
  if (work.from_device) times.from_sum = directions.back()->sum();
  return times;
}

ManagedTimes GpuTimingDevice::managed_triad(std::size_t elements, unsigned times) {
  free_streams();
  free("buffer");
  free("other");
  ManagedDoubles result(elements), x(elements), y(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    result.data()[i] = 0;
    x.data()[i] = stream_element(0, i);
    y.data()[i] = stream_element(1, i);
  }
  ManagedTimes managed;
  for (unsigned i = 0; i < times; ++i) {
    const auto start = Clock::now();
    check(launch_stream(find_stream("triad"), {result.data(), {x.data(), y.data()}, elements}, 0),
          "launch of stream triad");
    check(cudaDeviceSynchronize(), "stream triad over managed memory (cudaDeviceSynchronize)");
    managed.seconds.push_back(seconds_since(start));
  }
  for (std::size_t i = 0; i < elements; ++i) {
    managed.checksum += std::bit_cast<std::uint64_t>(result.data()[i]) * (2 * i + 1);
  }
  return managed;
}

}  // namespace tcnum
