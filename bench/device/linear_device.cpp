#include "linear_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "cast_kernels.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/event.hpp"
#include "hold.hpp"
#include "probes/cublaslt.hpp"
#include "tcnum/error.hpp"
#include "timed_archs.hpp"

namespace tcnum {
namespace {

/// Memory of each kind of tensor: for a product of 16384³, and for small ones more than an L2 has, several times.
constexpr std::size_t kLoadedBytes = std::size_t{1} << 30;  ///< of inputs and weights
constexpr std::size_t kCastBytes = std::size_t{1} << 29;    ///< of these, cast
constexpr std::size_t kOutputBytes = std::size_t{3} << 28;  ///< of outputs, cast ones too
constexpr std::size_t kLoadedCode = 2;                      ///< bytes of a code of fp16 or bf16
/// Where a tensor may begin.
constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// The library refuses products whose scales are not aligned to 16 bytes.
constexpr std::size_t kScaleFloats = 16 / sizeof(float);

/// What the host takes for the calls of a layer, with room to spare.
constexpr unsigned kHoldNanoseconds = 60'000;

/// Tensors of a layer that are cast, as scales and magnitudes are numbered.
enum Cast : std::uint8_t { kInput, kWeight, kOutput, kCasts };

/// Where the tensors of a launch lie.
struct Tensors {
  std::byte *input, *weight, *cast_input, *cast_weight, *output, *cast_output;
};

class GpuLinearDevice final : public LinearDevice {
 public:
  GpuLinearDevice(int arch, int sms) : arch_(arch), sms_(static_cast<unsigned>(sms)) {}

  void load(FormatId id, std::span<const std::byte> codes) override {
    format_ = id;
    loaded_.reserve(kLoadedBytes);
    cast_.reserve(kCastBytes);
    outputs_.reserve(kOutputBytes);
    auto* const begin = static_cast<std::byte*>(loaded_.data());
    check(cudaMemcpy(begin, codes.data(), codes.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    for (std::size_t there = codes.size(); there < kLoadedBytes; there *= 2) {
      check(cudaMemcpy(begin + there, begin, std::min(there, kLoadedBytes - there), cudaMemcpyDeviceToDevice),
            "cudaMemcpy on the device");
    }
  }

  LinearTimes run(const LinearWork& work) override {
    if (work.cast && (arch_ < 90 || !is_timed(arch_))) {
      throw UnavailableError("this device or build has no kernel that casts to fp8");
    }
    place(work);
    put_scales(work);
    LinearTimes times;
    const std::unique_ptr<LibraryLaunch> product = prepare(work, times.algorithm);

    // Events before the first step and behind each, of each launch.
    std::vector<Event> events(work.each_step ? work.launches * (kLinearSteps + 1) : 0);
    check(launch_hold(work.launches * kHoldNanoseconds), "launch of the kernel that the device waits in");
    before_.record();
    for (unsigned i = 0; i < work.launches; ++i) {
      Event* const marks = work.each_step ? &events[i * (kLinearSteps + 1)] : nullptr;
      if (marks != nullptr) marks[0].record();
      for (std::size_t step = 0; step < kLinearSteps; ++step) {
        do_step(work, static_cast<LinearStep>(step), *product, i);
        if (marks != nullptr) marks[step + 1].record();
      }
    }
    behind_.record();
    check(cudaDeviceSynchronize(), "a linear layer");
    times.seconds = behind_.seconds_since(before_) / work.launches;
    for (std::size_t step = 0; work.each_step && step < kLinearSteps; ++step) {
      if (!does(work, static_cast<LinearStep>(step))) continue;
      for (unsigned i = 0; i < work.launches; ++i) {
        const Event* const marks = &events[i * (kLinearSteps + 1)];
        times.step_seconds[step] += marks[step + 1].seconds_since(marks[step]) / work.launches;
      }
    }
    times.amax = amax_of(work.launches - 1);
    return times;
  }

  std::vector<std::byte> codes(LinearTensor tensor, std::size_t first, std::size_t count) override {
    const auto [at, bytes] = [&]() -> std::pair<const std::byte*, std::size_t> {
      switch (tensor) {
        case LinearTensor::input:
          return {last_.input, kLoadedCode};
        case LinearTensor::weight:
          return {last_.weight, kLoadedCode};
        case LinearTensor::cast_input:
          return {last_.cast_input, 1};
        case LinearTensor::cast_weight:
          return {last_.cast_weight, 1};
        case LinearTensor::output:
          return {last_.output, kLoadedCode};
        case LinearTensor::cast_output:
          return {last_.cast_output, 1};
      }
      throw std::logic_error("no such tensor");
    }();
    std::vector<std::byte> there(count * bytes);
    check(cudaMemcpy(there.data(), at + first * bytes, there.size(), cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
    return there;
  }

 private:
  static bool does(const LinearWork& work, LinearStep step) {
    if (step == LinearStep::multiply) return true;
    return work.cast && (step != LinearStep::cast_output || work.cast_output);
  }

  /// Says where the tensors of each launch lie: one set behind the other, and again from the beginning.
  void place(const LinearWork& work) {
    const LinearShape& s = work.shape;
    const std::size_t inputs = s.tokens * s.inputs, weights = s.outputs * s.inputs, outputs = s.tokens * s.outputs;
    const std::size_t input = aligned(inputs * kLoadedCode), weight = aligned(weights * kLoadedCode),
                      cast_input = aligned(inputs), cast_weight = aligned(weights),
                      output = aligned(outputs * kLoadedCode), cast_output = aligned(outputs);
    const std::size_t sets = std::min({kLoadedBytes / (input + weight), kCastBytes / (cast_input + cast_weight),
                                       kOutputBytes / (output + cast_output), std::size_t{work.launches}});
    if (sets == 0) {
      throw UnavailableError(fmt::format("a layer of {} × {} × {} needs more than the {} MiB that are kept for it",
                                         s.tokens, s.outputs, s.inputs,
                                         (kLoadedBytes + kCastBytes + kOutputBytes) >> 20));
    }
    placed_.clear();
    for (std::size_t i = 0; i < sets; ++i) {
      auto* const loaded = static_cast<std::byte*>(loaded_.data()) + i * (input + weight);
      auto* const cast = static_cast<std::byte*>(cast_.data()) + i * (cast_input + cast_weight);
      auto* const out = static_cast<std::byte*>(outputs_.data()) + i * (output + cast_output);
      placed_.push_back({loaded, loaded + input, cast, cast + cast_input, out, out + output});
    }
    last_ = placed_[(work.launches - 1) % sets];
    check(cudaMemset(cast_.data(), 0xa5, kCastBytes), "cudaMemset");  // no result
    check(cudaMemset(outputs_.data(), 0xa5, kOutputBytes), "cudaMemset");
  }

  /// Scales, then what undoes those of the product's operands.
  void put_scales(const LinearWork& work) {
    const CastNumbers& s = work.scales;
    const std::array numbers = {s.input, s.weight, s.output, 1 / s.input, 1 / s.weight};
    std::array<float, numbers.size() * kScaleFloats> scales{};
    for (std::size_t i = 0; i < numbers.size(); ++i) scales[i * kScaleFloats] = numbers[i];
    scales_.reserve(sizeof(scales));
    check(cudaMemcpy(scales_.data(), scales.data(), sizeof(scales), cudaMemcpyHostToDevice),
          "cudaMemcpy to the device");
    const std::size_t bytes = std::size_t{work.launches} * kCasts * sizeof(unsigned);
    amax_.reserve(bytes);
    check(cudaMemset(amax_.data(), 0, bytes), "cudaMemset");
  }
  const float* scale(std::size_t i) const { return static_cast<const float*>(scales_.data()) + i * kScaleFloats; }

  CastNumbers amax_of(unsigned launch) const {
    std::array<unsigned, kCasts> bits{};
    check(cudaMemcpy(bits.data(), static_cast<const unsigned*>(amax_.data()) + std::size_t{launch} * kCasts,
                     sizeof(bits), cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
    return {std::bit_cast<float>(bits[kInput]), std::bit_cast<float>(bits[kWeight]),
            std::bit_cast<float>(bits[kOutput])};
  }

  /// The library writes by columns: Y by rows is W · Xᵀ by columns.
  std::unique_ptr<LibraryLaunch> prepare(const LinearWork& work, std::string& algorithm) {
    if (!library_) library_ = load_cublaslt();
    LibraryProduct product;
    product.a = product.b = work.cast ? FormatId::fp8e4m3 : format_;
    product.d = format_;
    product.m = work.shape.outputs;
    product.n = work.shape.tokens;
    product.k = work.shape.inputs;
    product.fast = work.cast;  // as Transformer Engine's forward products
    if (work.cast) {
      product.a_scale = scale(kCasts + kWeight);
      product.b_scale = scale(kCasts + kInput);
    }
    const LibraryAlgorithm first = first_algorithm(*library_, product);
    algorithm = described(first);
    return library_->prepare(product, first);
  }

  void do_step(const LinearWork& work, LinearStep step, LibraryLaunch& product, unsigned launch) {
    if (!does(work, step)) return;
    const Tensors& at = placed_[launch % placed_.size()];
    const LinearShape& s = work.shape;
    switch (step) {
      case LinearStep::cast_input:
        return cast(at.input, at.cast_input, s.tokens * s.inputs, kInput, launch);
      case LinearStep::cast_weight:
        return cast(at.weight, at.cast_weight, s.outputs * s.inputs, kWeight, launch);
      case LinearStep::multiply:
        return product.enqueue(work.cast ? at.cast_weight : at.weight, work.cast ? at.cast_input : at.input, at.output);
      case LinearStep::cast_output:
        return cast(at.output, at.cast_output, s.tokens * s.outputs, kOutput, launch);
    }
  }
  void cast(const std::byte* from, std::byte* to, std::size_t count, Cast which, unsigned launch) {
    const CastLaunch run{reinterpret_cast<const std::uint16_t*>(from), reinterpret_cast<std::uint8_t*>(to), count,
                         scale(which), static_cast<unsigned*>(amax_.data()) + std::size_t{launch} * kCasts + which};
    check(launch_cast(run, sms_), "launch of a cast");
  }

  int arch_;
  unsigned sms_;
  FormatId format_ = FormatId::bf16;
  DeviceBuffer loaded_, cast_, outputs_, scales_, amax_;
  std::vector<Tensors> placed_;
  Tensors last_{};
  Event before_, behind_;
  std::unique_ptr<CublasLt> library_;
};

}  // namespace

std::unique_ptr<LinearDevice> make_gpu_linear_device(int arch, int sms) {
  return std::make_unique<GpuLinearDevice>(arch, sms);
}

}  // namespace tcnum
