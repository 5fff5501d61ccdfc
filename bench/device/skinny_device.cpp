#include "skinny_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cuda/device_memory.hpp"
#include "cuda/event.hpp"
#include "hold.hpp"
#include "probes/cublaslt.hpp"
#include "skinny_kernels.hpp"
#include "tcnum/error.hpp"
#include "timed_archs.hpp"

namespace tcnum {
namespace {

/// What the host takes for the calls of a product, with room to spare.
constexpr unsigned kHoldNanoseconds = 40'000;

class GpuSkinnyDevice final : public SkinnyDevice {
 public:
  GpuSkinnyDevice(int arch, int sms) : arch_(arch), sms_(static_cast<unsigned>(sms)) {}

  SkinnyTimes multiply(const SkinnyWork& work) override {
    if (!work.by_library && (arch_ < 80 || !is_timed(arch_))) {
      throw UnavailableError("this device or build has no kernel of tall and skinny products");
    }
    const std::size_t bytes = work.k * work.n * number_bytes(work.format);
    if (bytes == 0 || bytes % kSkinnyVector != 0 || bytes > kSkinnyBytes) {
      throw std::logic_error(fmt::format("rows of {} bytes", bytes));
    }
    fill(work);
    work_ = work;
    d_.reserve(work.n * work.n * sizeof(double));
    check(cudaMemset(d_.data(), 0xa5, work.n * work.n * sizeof(double)), "cudaMemset");  // no result
    SkinnyTimes times;
    const std::size_t pieces = kSkinnyBytes / bytes;
    const auto operand = [&](DeviceBuffer& all, unsigned launch) {
      return static_cast<const std::byte*>(all.data()) + (piece_ + launch) % pieces * bytes;
    };
    if (work.by_library) {
      const std::unique_ptr<LibraryLaunch> product = prepare(work, times.algorithm);
      // The library writes by columns: D by rows is the product with A and B exchanged. Some shapes it refuses only
      // now.
      times.seconds = seconds_of(work.launches, [&](unsigned i) {
        try {
          product->enqueue(operand(b_, i), operand(a_, i), d_.data());
        } catch (const std::runtime_error& error) {
          throw UnavailableError(error.what());
        }
      });
    } else {
      int blocks = 0;
      check(count_skinny_blocks(work.format, work.n, &blocks), "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
      const std::size_t stages = (bytes + kSkinnyStageBytes - 1) / kSkinnyStageBytes;
      const auto all_blocks =
          static_cast<unsigned>(std::min<std::size_t>(static_cast<std::size_t>(blocks) * sms_, stages));
      partial_.reserve(all_blocks * work.n * work.n * sizeof(double));
      times.seconds = seconds_of(work.launches, [&](unsigned i) {
        check(launch_skinny(work.format, work.n,
                            {operand(a_, i), operand(b_, i), bytes, partial_.data(), d_.data(), all_blocks}),
              "launch of a tall and skinny product");
      });
    }
    piece_ += work.launches;
    times.first_row = (piece_ - 1) % pieces * work.k;
    return times;
  }

  std::vector<double> results() override {
    const std::size_t count = work_.n * work_.n;
    return work_.format == FormatId::fp64 ? downloaded<double>(count) : downloaded<float>(count);
  }

 private:
  static std::size_t number_bytes(FormatId id) { return id == FormatId::fp64 ? sizeof(double) : sizeof(float); }

  void fill(const SkinnyWork& work) {
    if (filled_ == std::pair(work.format, work.n)) return;
    a_.reserve(kSkinnyBytes);
    b_.reserve(kSkinnyBytes);
    check(fill_skinny(work.format, 0, work.n, a_.data()), "launch of the kernel that fills A");
    check(fill_skinny(work.format, 1, work.n, b_.data()), "launch of the kernel that fills B");
    filled_ = {work.format, work.n};
  }

  std::unique_ptr<LibraryLaunch> prepare(const SkinnyWork& work, std::string& algorithm) {
    if (!library_) library_ = load_cublaslt();
    LibraryProduct product;
    product.a = product.b = product.d = work.format;
    product.m = product.n = work.n;
    product.k = work.k;
    product.a_k_outermost = product.b_k_outermost = true;
    const LibraryAlgorithm first = first_algorithm(*library_, product);
    algorithm = described(first);
    return library_->prepare(product, first);
  }

  template <class Launch>
  double seconds_of(unsigned launches, const Launch& launch) {
    check(launch_hold(launches * kHoldNanoseconds), "launch of the kernel that the device waits in");
    before_.record();
    for (unsigned i = 0; i < launches; ++i) launch(i);
    behind_.record();
    check(cudaDeviceSynchronize(), "a tall and skinny product");
    return behind_.seconds_since(before_) / launches;
  }

  template <class T>
  std::vector<double> downloaded(std::size_t count) const {
    std::vector<T> numbers(count);
    check(cudaMemcpy(numbers.data(), d_.data(), count * sizeof(T), cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
    return {numbers.begin(), numbers.end()};
  }

  int arch_;
  unsigned sms_;
  DeviceBuffer a_, b_, d_, partial_;
  std::optional<std::pair<FormatId, std::size_t>> filled_;
  SkinnyWork work_;
  std::size_t piece_ = 0;  ///< of the operands, in units of a product's: the next launch's
  Event before_, behind_;
  std::unique_ptr<CublasLt> library_;
};

}  // namespace

std::unique_ptr<SkinnyDevice> make_gpu_skinny_device(int arch, int sms) {
  return std::make_unique<GpuSkinnyDevice>(arch, sms);
}

}  // namespace tcnum
