// Which plan a matrix product follows: found from its results, with the same verdicts as an instruction's datapath.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/fit.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {

/// Products of one shape and of these formats, by whatever multiplies: D = A · B.
struct GemmSubject {
  std::string arch;  ///< whose instructions it may be made of
  FormatId a = FormatId::fp16, b = FormatId::fp16, d = FormatId::fp16;
  std::size_t m = 0, n = 0, k = 0;
};
/// Multiplies: A is m × k and B is k × n, row-major; D must be m × n of the subject's format.
using GemmCallable = std::function<Matrix(const Matrix& a, const Matrix& b)>;

/// What operands of a product that is asked are like.
enum class OperandFamily : std::uint8_t {
  plain,   ///< numbers of a few binades: sums lose bits as those of real work do
  spread,  ///< of many binades
  steps,   ///< of few binades at a time, but others from stretch to stretch of k: in which order sums are added shows
  cancel,  ///< each large product has its opposite elsewhere along k, so that what was lost between them is what is
           ///< left
  marks,   ///< ones, and for each element of D one large product and its opposite, at a place of its row and of its
           ///< column
};
inline constexpr std::size_t kOperandFamilies = 5;
/// "plain".
std::string_view name(OperandFamily family);

/// A product that was asked: its operands are always the same for the same subject, family and seed.
struct AskedProduct {
  OperandFamily family = OperandFamily::plain;
  std::uint64_t seed = 1;
  friend bool operator==(const AskedProduct&, const AskedProduct&) = default;
};

struct GemmFitOptions {
  std::uint64_t seed = 1;
  unsigned threads = 0;  ///< 0: as many as the machine has
  /// Of each family of operands that a search for a difference between two plans tries.
  std::size_t search_products = 16;
  std::function<bool(const FitProgress&)> progress = {};  ///< as of FitOptions
};

/// An element that the plan does not explain.
struct GemmMismatch {
  std::size_t product = 0;  ///< in the order in which they were asked
  std::size_t row = 0, column = 0;
  std::uint64_t expected = 0;  ///< by the plan
  std::uint64_t observed = 0;
};

/// Of all plans that were compared, what tells them apart.
struct SearchedPlans {
  std::vector<std::string> instructions;
  std::size_t most_parts = 1, most_slices = 1;  ///< of k
  std::size_t most_promoted = 0;                ///< products of an accumulator before it is promoted; 0: none is
};

struct GemmFit {
  Verdict verdict = Verdict::unexplained;
  GemmPlan plan;               ///< one that explains every element; if unexplained, the nearest that was found
  std::size_t considered = 0;  ///< plans for all of D, of which no two are the same for this k
  std::size_t surviving = 0;   ///< of them, or of those with a tail where none of them does: that explain every element
  std::size_t products = 0;    ///< that were asked or given
  std::vector<AskedProduct> asked;
  std::size_t elements = 0;              ///< of them that `plan` was compared with
  std::size_t mismatches = 0;            ///< of these: 0, unless unexplained
  std::vector<OpenProperty> open;        ///< fields of the plan of which more than one value explains every element
  std::optional<GemmMismatch> mismatch;  ///< the first
  SearchedPlans searched;
};

struct Candidate;

/// The plans of one subject, for many who multiply. It never changes once it is made: several threads may use one.
class GemmFitter {
 public:
  /// Throws InputError if no instruction takes the formats.
  explicit GemmFitter(GemmSubject subject);
  const GemmSubject& subject() const { return subject_; }

  /// As fit_gemm().
  GemmFit fit(const GemmCallable& callable, const GemmFitOptions& options = {}) const;
  GemmFit fit(const Matrix& a, const Matrix& b, const Matrix& d, const GemmFitOptions& options = {}) const;

 private:
  GemmSubject subject_;
  std::shared_ptr<const std::vector<Candidate>> candidates_;
};

/// Asks until one plan is left, or none, or no product that separates what is left is found. Throws InputError if no
/// plan is of such formats, and what the callable throws.
GemmFit fit_gemm(const GemmSubject& subject, const GemmCallable& callable, const GemmFitOptions& options = {});

/// From one product alone.
GemmFit fit_gemm(std::string_view arch, const MatrixView& a, const MatrixView& b, const MatrixView& d,
                 const GemmFitOptions& options = {});

}  // namespace tcnum
