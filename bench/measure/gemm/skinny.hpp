// Products of tall and skinny matrices: D = Aᵀ · B, with a few columns and very many rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

/// Rates over k, by a kernel of ours and by cuBLASLt; the results of each are compared with the exact ones.
Measurement skinny_measurement();

/// D, exactly.
class SkinnySums {
 public:
  SkinnySums(FormatId format, std::size_t n);
  /// Of `k` rows from that one on. Throws std::logic_error if some order of the sums would round.
  std::vector<std::int64_t> of(std::size_t first_row, std::size_t k) const;

 private:
  std::int64_t most_ = 0;  ///< up to which every whole number is one of the format
  std::size_t n_;
  std::vector<std::int64_t> a_, b_;     ///< of one period
  std::vector<std::int64_t> sums_;      ///< of one period
  std::int64_t largest_magnitude_ = 0;  ///< of the sums of the products' magnitudes of one period
};

}  // namespace tcnum::bench
