// Linear layers on a GPU.
#include <fmt/format.h>

#include <bit>

#include "cast_kernels.hpp"
#include "gpu_device.hpp"

namespace tcnum {
namespace {

/// Memory of each kind of tensor: for a product of 16384³, and for small ones more than an L2 has, several times.
constexpr std::size_t kLoadedBytes = std::size_t{1} << 30;  ///< of inputs and weights
constexpr std::size_t kCastBytes = std::size_t{1} << 29;    ///< of these, cast
constexpr std::size_t kOutputBytes = std::size_t{3} << 28;  ///< of outputs, cast ones too
constexpr std::size_t kLoadedCode = 2;                      ///< bytes of a code of fp16 or bf16

/// The library refuses products whose scales are not aligned to 16 bytes.
constexpr std::size_t kScaleFloats = 16 / sizeof(float);

/// What the host takes for the calls of a layer, with room to spare.
constexpr unsigned kHoldNanoseconds = 60'000;

constexpr std::size_t at(LinearTensor tensor) { return static_cast<std::size_t>(tensor); }

/// What a step casts, from where to where; its scale and its magnitude are the which-th.
struct CastStep {
  LinearStep step;
  LinearTensor from, to;
  std::size_t which;
};
constexpr CastStep kCasts[] = {
    {LinearStep::cast_input, LinearTensor::input, LinearTensor::cast_input, 0},
    {LinearStep::cast_weight, LinearTensor::weight, LinearTensor::cast_weight, 1},
    {LinearStep::cast_output, LinearTensor::output, LinearTensor::cast_output, 2},
};
constexpr std::size_t kCastCount = std::size(kCasts);

bool does(const LinearWork& work, LinearStep step) {
  if (step == LinearStep::multiply) return true;
  return work.cast && (step != LinearStep::cast_output || work.cast_output);
}

}  // namespace

LinearTimes GpuTimingDevice::linear(const LinearWork& work) {
  if (work.cast) require_kernels("casts to fp8", 90);
  // The tensors of each launch lie behind those of the one before, and again from the beginning.
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
  constexpr int kPoison = 0xa5;  // no result
  auto* const loaded = memory<std::byte>("codes", kLoadedBytes);
  auto* const cast = memory_of<std::byte>(kPoison, "casts", kCastBytes);
  auto* const out = memory_of<std::byte>(kPoison, "outputs", kOutputBytes);
  const auto tensors_of = [&](unsigned launch) -> std::array<std::byte*, 6> {
    const std::size_t set = launch % sets;
    std::byte* const from = loaded + set * (input + weight);
    std::byte* const to = cast + set * (cast_input + cast_weight);
    std::byte* const result = out + set * (output + cast_output);
    return {from, from + input, to, to + cast_input, result, result + output};
  };
  linear_last_ = tensors_of(work.launches - 1);

  // Scales, then what undoes those of the product's operands.
  const std::array numbers = {work.scales.input, work.scales.weight, work.scales.output, 1 / work.scales.input,
                              1 / work.scales.weight};
  std::array<float, numbers.size() * kScaleFloats> all_scales{};
  for (std::size_t i = 0; i < numbers.size(); ++i) all_scales[i * kScaleFloats] = numbers[i];
  auto* const scales = memory<float>("scales", all_scales.size());
  check(cudaMemcpy(scales, all_scales.data(), sizeof(all_scales), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  auto* const amax = memory_of<unsigned>(0, "amax", work.launches * kCastCount);

  // The library writes by columns: Y by rows is W · Xᵀ by columns.
  LibraryProduct product;
  product.a = product.b = work.cast ? FormatId::fp8e4m3 : codes_format_;
  product.d = codes_format_;
  product.m = s.outputs;
  product.n = s.tokens;
  product.k = s.inputs;
  product.fast = work.cast;  // as Transformer Engine's forward products
  if (work.cast) {
    product.a_scale = scales + 4 * kScaleFloats;
    product.b_scale = scales + 3 * kScaleFloats;
  }
  const LibraryAlgorithm first = first_algorithm(library(), product);
  const std::unique_ptr<LibraryLaunch> multiplication = library().prepare(product, first);
  LinearTimes times;
  times.algorithm = described(first);

  const auto do_step = [&](LinearStep step, unsigned launch) {
    if (!does(work, step)) return;
    const std::array<std::byte*, 6> tensors = tensors_of(launch);
    if (step == LinearStep::multiply) {
      multiplication->enqueue(tensors[at(work.cast ? LinearTensor::cast_weight : LinearTensor::weight)],
                              tensors[at(work.cast ? LinearTensor::cast_input : LinearTensor::input)],
                              tensors[at(LinearTensor::output)]);
      return;
    }
    const CastStep& c = *std::ranges::find(kCasts, step, &CastStep::step);
    const std::size_t counts[] = {inputs, weights, outputs};
    check(launch_cast({reinterpret_cast<const std::uint16_t*>(tensors[at(c.from)]),
                       reinterpret_cast<std::uint8_t*>(tensors[at(c.to)]), counts[c.which],
                       scales + c.which * kScaleFloats, amax + launch * kCastCount + c.which},
                      sms_),
          "launch of a cast");
  };
  // Events before the first step and behind each, of each launch.
  std::vector<Event> events(work.each_step ? work.launches * (kLinearSteps + 1) : 0);
  times.seconds = seconds_of(work.launches, work.launches * kHoldNanoseconds, "a linear layer", [&](unsigned i) {
    Event* const marks = work.each_step ? &events[i * (kLinearSteps + 1)] : nullptr;
    if (marks != nullptr) marks[0].record();
    for (std::size_t step = 0; step < kLinearSteps; ++step) {
      do_step(static_cast<LinearStep>(step), i);
      if (marks != nullptr) marks[step + 1].record();
    }
  });
  for (std::size_t step = 0; work.each_step && step < kLinearSteps; ++step) {
    if (!does(work, static_cast<LinearStep>(step))) continue;
    for (unsigned i = 0; i < work.launches; ++i) {
      const Event* const marks = &events[i * (kLinearSteps + 1)];
      times.step_seconds[step] += marks[step + 1].seconds_since(marks[step]) / work.launches;
    }
  }
  const auto bits = downloaded(amax + (work.launches - 1) * kCastCount, kCastCount);
  times.amax = {std::bit_cast<float>(bits[0]), std::bit_cast<float>(bits[1]), std::bit_cast<float>(bits[2])};
  return times;
}

std::vector<std::byte> GpuTimingDevice::codes(LinearTensor tensor, std::size_t first, std::size_t count) {
  const bool is_cast = std::ranges::find(kCasts, tensor, &CastStep::to) != std::end(kCasts);
  const std::size_t bytes = is_cast ? 1 : kLoadedCode;
  return downloaded(linear_last_[at(tensor)] + first * bytes, count * bytes);
}

}  // namespace tcnum
