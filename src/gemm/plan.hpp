// What follows from a plan.
#pragma once

#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "performer.hpp"
#include "reduction.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {

class ConvertedOperand;
enum class ElementStepKind : std::uint8_t;

/// Whose instructions it is made of. Throws InputError.
Performer performer_of(const GemmPlan& plan, std::string_view where);

/// What accumulators come to, for those who follow many plans with the same operands, instruction and conversions.
class KnownAccumulations {
 public:
  /// Of a part of D, by the row and the column that it begins with. Null if it is not known. What is there stays.
  const Codes* find(std::size_t row, std::size_t column, const Accumulation& accumulation) const {
    const std::lock_guard lock(mutex_);
    const auto part = codes_.find({row, column});
    if (part == codes_.end()) return nullptr;
    const auto found = part->second.find(accumulation);
    return found == part->second.end() ? nullptr : &found->second;
  }
  void add(std::size_t row, std::size_t column, const Accumulation& accumulation, const Codes& codes) {
    const std::lock_guard lock(mutex_);
    codes_[{row, column}].try_emplace(accumulation, codes);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::size_t, std::size_t>, std::unordered_map<Accumulation, Codes, AccumulationHash>> codes_;
};

/// Who hears how one element comes about, in a product of one row and one column.
class ElementWatch {
 public:
  virtual ~ElementWatch() = default;
  /// Before all: whose instructions take which operands.
  virtual void begin(const Performer& performer, const ConvertedOperand& a, const ConvertedOperand& b) = 0;
  /// What an accumulator comes to from +0 on.
  virtual std::uint64_t accumulate(const Accumulation& accumulation) = 0;
  /// Before a step other than an accumulator's, and where the reduction is over: its last sum is what comes next.
  virtual void begin(const ReductionStep& step) = 0;
  virtual void end_reduction() = 0;
  /// A result, of a format.
  virtual void note(ElementStepKind kind, double result, FormatId id) = 0;
};

/// A plan with what follows from it for some k.
struct PlanToFollow {
  const GemmPlan& plan;
  const Performer& performer;
  const Reduction& reduction;           ///< of elements whose k is divided, if it is of any
  KnownAccumulations* known = nullptr;  ///< of the same A and B
  ElementWatch* watch = nullptr;
};
/// gemm_into() without its checks.
std::size_t multiply_by(const PlanToFollow& plan, Matrix& d, const MatrixView& a, const MatrixView& b,
                        const GemmInputs& inputs, const GemmOptions& options);

/// Whether an alpha that is not 1 comes to the elements of an operand.
inline bool has_alpha_on_operand(const GemmPlan& plan) {
  return plan.epilogue.alpha == AlphaPlace::on_a || plan.epilogue.alpha == AlphaPlace::on_b;
}
/// Whether an operand may take it: of FMAs, of which there are some of the sums' format.
inline bool may_scale_operands(const GemmPlan& plan, const Performer& performer) {
  return !plan.datapath && performer.name == fma_of(performer.formats.a);
}
/// What the epilogue computes in, of sums of that format, unless it says so.
constexpr FormatId usual_epilogue_type(FormatId sums) {
  return sums == FormatId::fp64 ? FormatId::fp64 : FormatId::fp32;
}
/// Of its output.
inline Overflow overflow_of(const GemmPlan& plan) {
  return plan.output_overflow.value_or(format(plan.output).has_infinity() ? Overflow::ieee : Overflow::max_finite);
}

}  // namespace tcnum
