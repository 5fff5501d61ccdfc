// What a matrix product does with alpha, C and a bias, where it is known how it adds up: found from its results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tcnum/gemm_fit.hpp"

namespace tcnum {

/// What comes to the sums of a product that is asked.
struct EpilogueCase {
  std::string_view name;
  bool alpha = false;     ///< is not 1
  bool c = false;         ///< there is a C
  bool beta = false;      ///< is not 1, but 0 where there is no C
  bool in_place = false;  ///< C is what D holds before
  bool bias = false;
  bool scales = false;  ///< of A and of B, one each
};
/// Those without scales first, and of these those without a bias.
std::span<const EpilogueCase> epilogue_cases();

/// Of what the terms of a product are.
struct EpilogueFormats {
  FormatId c = FormatId::fp16, bias = FormatId::fp16;
  bool bias_of_rows = false;  ///< M × 1, else 1 × N
};

/// A product with all that comes to its sums.
struct EpilogueProduct {
  Matrix a, b;
  /// C is about the opposite of what it comes to, and so is the bias of some elements.
  std::optional<Matrix> c = {}, bias = {};
  std::optional<Matrix> a_scale = {}, b_scale = {};  ///< 1 × 1, of fp32
  double alpha = 1, beta = 0;
  bool in_place = false;
};
/// Operands of a subject, for products of all cases: always the same for the same seed.
class EpilogueOperands {
 public:
  EpilogueOperands(const GemmSubject& subject, std::uint64_t seed);
  EpilogueProduct product(const EpilogueCase& of, const EpilogueFormats& formats) const;

 private:
  GemmSubject subject_;
  std::uint64_t seed_;
  Matrix a_, b_;
  std::vector<double> sums_;  ///< about A · B
};
/// D by the plan.
Matrix gemm(const GemmPlan& plan, const EpilogueProduct& product, const GemmOptions& options = {});

/// Multiplies: D must be m × n of the subject's format.
using EpilogueCallable = std::function<Matrix(const EpilogueProduct& product)>;

struct EpilogueFit {
  Verdict verdict = Verdict::unexplained;
  GemmPlan plan;               ///< with an epilogue that explains every element, or else the nearest
  std::size_t considered = 0;  ///< epilogues
  std::size_t surviving = 0;
  std::size_t products = 0;  ///< that were asked
  std::size_t elements = 0;  ///< of them that `plan` was compared with
  std::size_t mismatches = 0;
  std::vector<OpenProperty> open;        ///< fields of the plan of which more than one value explains every element
  std::optional<GemmMismatch> mismatch;  ///< the first; its product is a number of epilogue_cases()
};

/// The plan with the epilogue of whoever multiplies: `sums` is one of which it is known that it explains products
/// without. Asks all cases but those with scales, with C in a place of its own. Throws what the callable throws.
EpilogueFit fit_epilogue(const GemmSubject& subject, const GemmPlan& sums, const EpilogueCallable& callable,
                         const EpilogueFormats& formats, const GemmFitOptions& options = {});

}  // namespace tcnum
