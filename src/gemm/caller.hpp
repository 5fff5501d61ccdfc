// The caller of a long product, who is told of rows that are finished and may stop it, also within a row.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "emu/cpu/matrix_product.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

class Caller {
 public:
  /// Thrown by ask_now_and_then() if the caller wants no more.
  struct Stops {};

  /// Who wants to hear of nothing gets all of it.
  explicit Caller(const std::function<bool(std::size_t rows)>& progress) : progress_(progress) {}

  /// Tells that so many rows are finished. Returns whether to go on.
  bool hears(std::size_t rows) {
    rows_ = rows;
    asked_ = Clock::now();
    return !progress_ || progress_(rows);
  }
  /// For long work between two rows, on the caller's thread.
  void ask_now_and_then() {
    constexpr auto kLeast = std::chrono::milliseconds(100);
    if (progress_ && Clock::now() - asked_ >= kLeast && !hears(rows_)) throw Stops();
  }
  /// For MatrixProduct::multiply().
  Pauses pauses() {
    if (!progress_) return {};
    return {[this] { ask_now_and_then(); }};
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::function<bool(std::size_t)>& progress_;
  std::size_t rows_ = 0;
  Clock::time_point asked_ = Clock::now();
};

/// Of a product that was stopped: the rows from this one on, which are not finished.
inline void clear_rows_from(std::size_t row, Matrix& d) {
  for (; row < d.rows(); ++row) {
    for (std::size_t column = 0; column < d.columns(); ++column) d.set(row, column, 0);
  }
}

}  // namespace tcnum
