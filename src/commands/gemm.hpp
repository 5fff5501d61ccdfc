// What the ways of `tcnum gemm` share.
#pragma once

#include "output.hpp"
#include "src/files/product_matrices.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/gemm_error.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

// --- Products that `tcnum gemm --fit --from` asks for: their formats, shapes and layouts as users write them.

/// "fp16:fp32" is A and B of fp16, D of fp32; "fp8e4m3:fp8e5m2:bf16" names all three; "+fast" is fp8's accumulation,
/// and products of fp32 by way of tf32.
struct ProductFormats {
  FormatId a, b, d;
  bool fast = false;
};
/// How operands lie by columns, turned (T) or not (N): "tn", the usual ones, with k side by side; "nn", "nt", "tt".
/// With "+8", columns, those of C and D too, have 8 other numbers between them.
struct OperandLayout {
  std::string name;
  bool a_k_outermost, b_k_outermost;
  std::size_t gap = 0;
};
inline bool is_fp8(FormatId id) { return format(id).floating && format(id).storage_bits == 8; }
struct AskedShape {
  ProductFormats formats;
  std::array<std::size_t, 3> shape;  ///< M, N, K
  OperandLayout layout;

  GemmSubject subject(const std::string& arch) const {
    return {arch, formats.a, formats.b, formats.d, shape[0], shape[1], shape[2]};
  }
  /// CUBLASLT_MATMUL_DESC_FAST_ACCUM, which fp8 has.
  bool fast_accumulation() const { return formats.fast && is_fp8(formats.a); }
};
/// All that the options ask for. Throws InputError.
std::vector<AskedShape> asked_shapes(const GemmCommandOptions& options);

/// What the library offers: the fits of all algorithms, or with --epilogue what becomes of alpha, C and a bias. Returns
/// the exit status.
int run_library_survey(const GemmCommandOptions& options);

// --- Matrices of files, and the ways themselves

/// The matrices that the options name.
ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d);

/// Where an operand comes from, and which tensor of it, for messages.
std::string where_is(const GemmCommandOptions& options, std::string_view tensor);
/// Throws InputError, which says why, where there are scales.
void refuse_scales(const GemmCommandOptions& options, const ProductMatrices& matrices, std::string_view why);

/// Does it; of what is wrong with the operands, says in which file they are.
template <class Work>
auto said_of_file(const GemmCommandOptions& options, const Work& work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", options.in.empty() ? options.a : options.in, error.what()));
  }
}

/// Rows of all batches that are done, with their rate and how long the others will take.
class RowsProgress {
 public:
  RowsProgress(std::string_view doing, std::size_t rows)
      : doing_(doing), rows_(rows), begin_(Clock::now()), line_(fmt::format("{}: 0 of {} rows", doing, rows)) {}
  void show(std::size_t done) const;
  void clear() const { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::string_view doing_;
  std::size_t rows_;
  Clock::time_point begin_;
  ProgressLine line_;
};

/// The matrices of one batch, which must outlive what they are handed to.
class BatchInputs {
 public:
  BatchInputs(const ProductMatrices& matrices, std::size_t batch);
  const MatrixView& a() const { return views_.at("A"); }
  const MatrixView& b() const { return views_.at("B"); }
  GemmInputs others(double alpha, std::optional<double> beta) const;
  /// Of a product by that plan; null: nobody knows by which.
  ErrorReference reference(const GemmPlan* plan) const;

 private:
  /// Null if there is none of that name.
  const MatrixView* find(std::string_view name) const;

  std::map<std::string_view, MatrixView> views_;
};

/// `tcnum gemm fit`.
int run_gemm_fit(const GemmCommandOptions& options);
/// `tcnum gemm error`: of a D by that plan, or without one of a D that was given.
int report_error(const GemmCommandOptions& options, const ProductMatrices& matrices, const StoredTensor& d,
                 const GemmPlan* plan);

}  // namespace tcnum
