// The loop of integer panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operands.hpp"

namespace tcnum::panels {

/// Rows of A that go along a panel together, and vectors of its columns.
inline constexpr std::size_t kIntegerRows = 4;

/// kIntegerRows rows of A with a panel of B, along pairs of products. A pair is two 16-bit integers in a word; pair p
/// of a row is number p of the row, and of column j of the panel number p · kColumns + j.
struct IntegerWork {
  const std::int32_t* a[kIntegerRows] = {};
  const std::int32_t* b = nullptr;
  const std::size_t* sums = nullptr;  ///< where each sum of pairs ends, ascending
  std::size_t count = 0;              ///< of those sums
  bool wraps = false;
  std::int32_t* results[kIntegerRows] = {};  ///< kColumns so far of each row, to which each sum is added in turn
};

/// How codes of integers are read: the sign bit, if there is one, counts negative.
struct IntegerFields {
  std::int32_t mask = 0xff, sign = 0x80;
};

struct IntegerKernels {
  /// A row's codes, an even number of which two are a pair.
  void (*pack_row)(const IntegerFields&, const std::uint8_t* codes, std::size_t count, std::int32_t* pairs);
  /// kColumns codes of each of two rows of B, which make as many pairs.
  void (*pack_pairs)(const IntegerFields&, const std::uint8_t* first, const std::uint8_t* second, std::int32_t* pairs);
  void (*add_sums)(const IntegerWork&);
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has none.
const IntegerKernels* integer_kernels();

}  // namespace tcnum::panels
