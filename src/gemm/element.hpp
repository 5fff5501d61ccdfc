// One element of a product by a plan, step by step: slow, and apart from what multiplies matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "reduction.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum class ElementStepKind : std::uint8_t {
  instruction,  ///< products come to an accumulator
  promotion,    ///< an accumulator is added to the total
  slices,       ///< the sum of one slice is added to another's
  part,         ///< the sum of a part of k is rounded before it is added
  parts,        ///< the sum of one part is added to another's
  scale,        ///< by the operands' scales
  epilogue,     ///< alpha, C and a bias
  between,      ///< is rounded to D's format, and something is added yet
  output,       ///< is rounded to D's format
};
/// "instruction".
std::string_view name(ElementStepKind kind);

struct ElementStep {
  ElementStepKind kind = ElementStepKind::instruction;
  std::vector<Stretch> products;  ///< whose sum it is: runs of k, ascending
  double result = 0;              ///< exact, as no format of sums has more bits than fp64
  FormatId format = FormatId::fp32;
  std::uint64_t code = 0;  ///< of the result
  bool begins = false;     ///< of an instruction: its accumulator begins from +0
  friend bool operator==(const ElementStep&, const ElementStep&) = default;
};

/// What comes to the sum of the products, as the plan's epilogue reads it.
struct ElementTerms {
  double alpha = 1, beta = 0;
  std::optional<double> c, bias;
  bool scaled = false;  ///< there are scales
};

struct ElementTrace {
  GemmPlan plan;                    ///< as it is for this element, whose k may be whole where others' is divided
  std::vector<ElementStep> steps;   ///< the last one is `output`
  Datapath datapath;                ///< of the instruction
  std::vector<std::uint64_t> a, b;  ///< along k, as the instruction takes them
  std::vector<Problem> chains;      ///< of each accumulator, what its instructions take, in the steps' order
  ElementTerms terms;
  std::uint64_t d = 0;
};

/// Of the product that gemm() makes of these, whose code it has. Throws InputError as gemm() does, or if there is no
/// such element.
ElementTrace trace_element(const GemmPlan& plan, const MatrixView& a, const MatrixView& b,
                           const GemmInputs& inputs = {}, std::size_t row = 0, std::size_t column = 0);

/// Runs that are some others' and some more.
std::vector<Stretch> joined(std::vector<Stretch> runs, const std::vector<Stretch>& more);

/// How many steps, of either, come before the two first differ in a sum of the same products. Steps are compared where
/// both have taken the same products: of instructions with fewer products each, some have no counterpart.
struct SharedSteps {
  std::size_t of_one = 0, of_other = 0;
};
SharedSteps shared_steps(const ElementTrace& one, const ElementTrace& other);

}  // namespace tcnum
