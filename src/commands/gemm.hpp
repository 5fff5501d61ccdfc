// What the ways of `tcnum gemm` share.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "progress.hpp"
#include "src/files/product_matrices.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/gemm_error.hpp"

namespace tcnum {

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
