// What the ways of `tcnum gemm` share.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "output.hpp"
#include "src/files/product_matrices.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {

/// The matrices that the options name.
ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d);

/// Throws InputError where there are scales, which no plan has.
void refuse_scales(const GemmCommandOptions& options, const ProductMatrices& matrices);

/// Rows of all batches that are done, on a terminal, with their rate and how long the others will take.
class RowsProgress {
 public:
  RowsProgress(std::string_view doing, std::size_t rows) : doing_(doing), rows_(rows), begin_(Clock::now()) {}
  void show(std::size_t done) const;
  void clear() const { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::string_view doing_;
  std::size_t rows_;
  Clock::time_point begin_;
  ProgressLine line_;
};

/// The inputs of one batch, which must outlive what they are handed to.
class BatchInputs {
 public:
  BatchInputs(const GemmCommandOptions& options, const ProductMatrices& matrices, std::size_t batch);
  const MatrixView& a() const { return *a_; }
  const MatrixView& b() const { return *b_; }
  GemmInputs others() const;

 private:
  const GemmCommandOptions& options_;
  std::optional<MatrixView> a_, b_, c_, bias_;
};

/// `tcnum gemm --fit`.
int run_gemm_fit(const GemmCommandOptions& options);
/// `tcnum gemm --error`: of a D by that plan, or without one of a D that was given.
int report_error(const GemmCommandOptions& options, const ProductMatrices& matrices, const StoredTensor& d,
                 const GemmPlan* plan);

}  // namespace tcnum
