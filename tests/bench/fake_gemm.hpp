// A device of linear layers and of tall and skinny products that computes them on the CPU and makes its times up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "bench/measure/gemm/casts.hpp"
#include "bench/measure/gemm/skinny.hpp"
#include "fake_device.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum::bench {

/// What is planted.
enum class Spoiled : std::uint8_t {
  nothing,
  cast_input,  ///< the last code of a tensor is its neighbour
  cast_weight,
  cast_output,
  amax,      ///< of the weight: a little too small
  last_bit,  ///< of one element of the output
  element,   ///< of the output: another's
  not_a_number,
};

class FakeGemmDevice final : public BareDevice {
 public:
  void load_codes(FormatId id, std::span<const std::byte> codes) override {
    format_ = id;
    amax_.clear();
    loaded_.resize(codes.size() / sizeof(std::uint16_t));
    std::memcpy(loaded_.data(), codes.data(), codes.size());
  }

  LinearTimes linear(const LinearWork& work) override {
    if (work.cast && !has_casts) throw UnavailableError("no casts here");
    work_ = work;
    ++runs;
    LinearTimes times;
    const LinearShape& s = work.shape;
    const std::size_t inputs = s.tokens * s.inputs, weights = s.inputs * s.outputs, outputs = s.tokens * s.outputs;
    const auto elements = [](std::size_t count) { return static_cast<double>(count) * kCastSeconds; };
    const double product = static_cast<double>(inputs) * static_cast<double>(s.outputs) *
                           (work.cast ? kProductSeconds / 2 : kProductSeconds);
    times.step_seconds = {work.cast ? elements(inputs) : 0, work.cast ? elements(weights) : 0, product,
                          work.cast && work.cast_output ? elements(outputs) : 0};
    for (const double step : times.step_seconds) times.seconds += step;
    if (!work.each_step) times.step_seconds = {};
    times.algorithm = "made up";
    if (work.cast) {
      times.amax.input = amax(LinearTensor::input, inputs);
      times.amax.weight = amax(LinearTensor::weight, weights) * (spoiled == Spoiled::amax ? 0.99F : 1);
      if (work.cast_output) times.amax.output = amax(LinearTensor::output, outputs);
    }
    return times;
  }

  std::vector<std::byte> codes(LinearTensor tensor, std::size_t first, std::size_t count) override {
    const LinearShape& s = work_.shape;
    switch (tensor) {
      case LinearTensor::input:
      case LinearTensor::weight:
        return bytes_of_codes(loaded(tensor, first, count));
      case LinearTensor::cast_input:
        return cast(loaded(LinearTensor::input, first, count), work_.scales.input, spoiled == Spoiled::cast_input,
                    first + count == s.tokens * s.inputs);
      case LinearTensor::cast_weight:
        return cast(loaded(LinearTensor::weight, first, count), work_.scales.weight, spoiled == Spoiled::cast_weight,
                    first + count == s.outputs * s.inputs);
      case LinearTensor::output:
        return bytes_of_codes(output(first, count));
      case LinearTensor::cast_output:
        return cast(output(first, count), work_.scales.output, spoiled == Spoiled::cast_output,
                    first + count == s.tokens * s.outputs);
    }
    throw std::logic_error("no such tensor");
  }

  SkinnyTimes multiply_skinny(const SkinnyWork& work) override {
    if (work.by_library && work.n == 2) throw UnavailableError("no algorithm");
    const std::size_t row_bytes = work.n * static_cast<std::size_t>(format(work.format).storage_bytes());
    if (work.k * row_bytes % kSkinnyVector != 0 || work.k * row_bytes > kSkinnyBytes) throw std::logic_error("rows");
    const auto [known, is_new] = skinny_sums_.try_emplace({work.format, work.n}, work.format, work.n);
    launches_ += work.launches;
    SkinnyTimes times;
    times.first_row = (launches_ - 1) % (kSkinnyBytes / (work.k * row_bytes)) * work.k;
    times.seconds = kSkinnyStart + 2 * static_cast<double>(work.k * row_bytes) / (work.by_library ? 1e9 : kSkinnyRate);
    if (work.by_library) times.algorithm = "made up";
    const std::vector<std::int64_t> sums = known->second.of(times.first_row, work.k);
    skinny_results_.assign(sums.begin(), sums.end());
    if (spoiled == Spoiled::element && times.first_row != 0) skinny_results_.back() += 1;
    return times;
  }
  std::vector<double> skinny_results() override { return skinny_results_; }
  const MemoryFacts& memory_facts() override { return memory_; }

  static constexpr double kSkinnyStart = 1e-5, kSkinnyRate = 1e12;        // of a launch, and bytes a second
  static constexpr double kCastSeconds = 1e-11, kProductSeconds = 1e-14;  // of an element, and of a product
  bool has_casts = true;
  Spoiled spoiled = Spoiled::nothing;
  int runs = 0;

 private:
  std::vector<std::uint16_t> loaded(LinearTensor tensor, std::size_t first, std::size_t count) const {
    if (tensor == LinearTensor::weight) first += work_.shape.tokens * work_.shape.inputs;  // right behind the input
    std::vector<std::uint16_t> codes(count);
    for (std::size_t i = 0; i < count; ++i) codes[i] = loaded_[(first + i) % loaded_.size()];
    return codes;
  }
  float amax(LinearTensor tensor, std::size_t count) {
    const bool is_output = tensor == LinearTensor::output;
    const std::tuple key(tensor, work_.shape.tokens * work_.shape.inputs, count);
    if (const auto known = amax_.find(key); known != amax_.end() && !is_output) return known->second;
    std::uint16_t largest = 0;
    for (const std::uint16_t code : is_output ? output(0, count) : loaded(tensor, 0, count)) {
      largest = std::max<std::uint16_t>(largest, code & 0x7fff);
    }
    return amax_[key] = std::bit_cast<float>(std::uint32_t{largest} << 16);
  }

  static std::vector<std::byte> bytes_of_codes(const std::vector<std::uint16_t>& codes) {
    std::vector<std::byte> bytes(codes.size() * sizeof(std::uint16_t));
    std::memcpy(bytes.data(), codes.data(), bytes.size());
    return bytes;
  }
  std::vector<std::byte> cast(const std::vector<std::uint16_t>& codes, float scale, bool spoil, bool to_end) {
    const CastTable& table = tables_.try_emplace(scale, scale).first->second;
    std::vector<std::byte> to(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) to[i] = static_cast<std::byte>(table[codes[i]]);
    if (spoil && to_end) to.back() ^= std::byte{1};
    return to;
  }

  /// Of whole rows.
  std::vector<std::uint16_t> output(std::size_t first, std::size_t count) {
    const LinearShape& s = work_.shape;
    if (first % s.outputs != 0 || count % s.outputs != 0) throw std::logic_error("whole rows are computed");
    const std::size_t row = first / s.outputs, rows = count / s.outputs;
    const FormatId id = work_.cast ? FormatId::fp8e4m3 : format_;
    const std::vector<std::byte> x =
        codes(work_.cast ? LinearTensor::cast_input : LinearTensor::input, row * s.inputs, rows * s.inputs);
    if (weights_of_ != runs) {
      weights_ = codes(work_.cast ? LinearTensor::cast_weight : LinearTensor::weight, 0, s.outputs * s.inputs);
      weights_of_ = runs;
    }
    const double unscale = work_.cast ? 1 / (double{work_.scales.input} * work_.scales.weight) : 1;
    const Matrix y = gemm(
        named_plan(work_.cast ? "nvjet-fp8" : "nvjet", id, format_), MatrixView(x, rows, s.inputs, format(id).name),
        MatrixView(weights_, s.inputs, s.outputs, format(id).name, Layout::column_major), {.alpha = unscale});
    std::vector<std::uint16_t> codes(count);
    std::memcpy(codes.data(), y.bytes().data(), y.bytes().size());
    if (row == 0) spoil(codes);
    return codes;
  }
  void spoil(std::vector<std::uint16_t>& codes) const {
    if (spoiled == Spoiled::last_bit) codes.front() ^= 1;
    if (spoiled == Spoiled::element)
      codes.front() = static_cast<std::uint16_t>((codes.front() ^ 0x8000) + 0x100);  // times −4
    if (spoiled == Spoiled::not_a_number) codes.front() = 0x7fff;
  }

  MemoryFacts memory_;
  FormatId format_ = FormatId::bf16;
  std::vector<std::uint16_t> loaded_;
  LinearWork work_;
  std::vector<std::byte> weights_;  ///< what is multiplied, in that run
  int weights_of_ = 0;
  /// Of loaded tensors, by where they begin and how long they are.
  std::map<std::tuple<LinearTensor, std::size_t, std::size_t>, float> amax_;
  std::map<float, CastTable> tables_;  ///< by scale
  std::map<std::pair<FormatId, std::size_t>, SkinnySums> skinny_sums_;
  std::vector<double> skinny_results_;
  std::size_t launches_ = 0;
};

}  // namespace tcnum::bench
