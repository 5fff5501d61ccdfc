// The caller of a long product, who is told of rows that are finished and may stop it, also within a row.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>

#include "emu/cpu/matrix_product.hpp"
#include "tcnum/emulator.hpp"
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

/// Rows of a band: so many that packing B for each costs little, and that what is kept of one is small beside B. A GPU
/// is given B anew for each, and so more rows, but not more products than a person may wait for.
inline std::size_t band_rows(const ProductShape& shape, Processor processor) {
  constexpr std::size_t kLeast = 128, kMost = 1024, kElements = std::size_t{1} << 22;
  constexpr std::size_t kMostOnGpu = 16384, kElementsOnGpu = std::size_t{1} << 24;
  constexpr double kProductsOnGpu = 0x1p38;
  if (processor == Processor::cpu) return std::clamp(kElements / shape.n / kLeast * kLeast, kLeast, kMost);
  const auto by_products = static_cast<std::size_t>(kProductsOnGpu / static_cast<double>(shape.k));
  return std::clamp(std::min(kElementsOnGpu, by_products) / shape.n / kLeast * kLeast, kLeast, kMostOnGpu);
}

}  // namespace tcnum
