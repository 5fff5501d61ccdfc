// Products of tall and skinny matrices on a GPU.
#include <fmt/format.h>

#include <stdexcept>

#include "gpu_device.hpp"
#include "skinny_kernels.hpp"

namespace tcnum {
namespace {

/// What the host takes for the calls of a product, with room to spare.
constexpr unsigned kHoldNanoseconds = 40'000;

std::size_t number_bytes(FormatId id) { return id == FormatId::fp64 ? sizeof(double) : sizeof(float); }

template <class T>
std::vector<double> as_doubles(const std::byte* from, std::size_t count) {
  const std::vector<T> numbers = downloaded(reinterpret_cast<const T*>(from), count);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

SkinnyTimes GpuTimingDevice::multiply_skinny(const SkinnyWork& work) {
  if (!work.by_library) require_kernels("tall and skinny products", 80);
  const std::size_t bytes = work.k * work.n * number_bytes(work.format), elements = work.n * work.n;
  if (bytes == 0 || bytes % kSkinnyVector != 0 || bytes > kSkinnyBytes) {
    throw std::logic_error(fmt::format("rows of {} bytes", bytes));
  }
  auto* const a = memory<std::byte>("skinny_a", kSkinnyBytes);
  auto* const b = memory<std::byte>("skinny_b", kSkinnyBytes);
  if (skinny_filled_ != std::pair(work.format, work.n)) {
    check(fill_skinny(work.format, 0, work.n, a), "launch of the kernel that fills A");
    check(fill_skinny(work.format, 1, work.n, b), "launch of the kernel that fills B");
    skinny_filled_ = {work.format, work.n};
  }
  skinny_ = work;
  auto* const d = memory_of<std::byte>(0xa5, "skinny_d", elements * sizeof(double));  // no result
  SkinnyTimes times;
  const std::size_t pieces = kSkinnyBytes / bytes;
  const auto offset = [&](unsigned launch) { return (skinny_piece_ + launch) % pieces * bytes; };
  const auto time = [&](const auto& launch) {
    times.seconds = seconds_of(work.launches, work.launches * kHoldNanoseconds, "a tall and skinny product", launch);
  };
  if (work.by_library) {
    LibraryProduct product;
    product.a = product.b = product.d = work.format;
    product.m = product.n = work.n;
    product.k = work.k;
    product.a_k_outermost = product.b_k_outermost = true;
    const LibraryAlgorithm first = first_algorithm(library(), product);
    times.algorithm = described(first);
    const std::unique_ptr<LibraryLaunch> launch = library().prepare(product, first);
    // The library writes by columns: D by rows is the product with A and B exchanged. Some shapes it refuses only now.
    time([&](unsigned i) {
      try {
        launch->enqueue(b + offset(i), a + offset(i), d);
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
    auto* const partial = memory<double>("skinny_partial", all_blocks * elements);
    time([&](unsigned i) {
      check(launch_skinny(work.format, work.n, {a + offset(i), b + offset(i), bytes, partial, d, all_blocks}),
            "launch of a tall and skinny product");
    });
  }
  skinny_piece_ += work.launches;
  times.first_row = (skinny_piece_ - 1) % pieces * work.k;
  return times;
}

std::vector<double> GpuTimingDevice::skinny_results() {
  const std::size_t count = skinny_.n * skinny_.n;
  const auto* const d = memory<std::byte>("skinny_d", count * sizeof(double));
  return skinny_.format == FormatId::fp64 ? as_doubles<double>(d, count) : as_doubles<float>(d, count);
}

}  // namespace tcnum
