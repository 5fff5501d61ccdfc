// Products of whole matrices by trees of which each node is one operation of IEEE 754.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/evaluators.hpp"
#include "product.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// One operation; places are those of results so far, of which c is in the first.
struct Operation {
  enum class Kind : std::uint8_t {
    multiply,      ///< a[k] · b[k]
    add,           ///< the numbers in places x and y
    multiply_add,  ///< a[k] · b[k] + the number in place x
  };
  Kind kind = Kind::multiply;
  int k = 0, x = 0, y = 0;
  int place = 0;         ///< of the result
  bool flushes = false;  ///< subnormal results, which there may be
};

struct OperationPlan {
  OperandRule a, b, c;
  FormatId number = FormatId::fp32;  ///< of c and all results: fp64 or fp32
  Rounding rounding = Rounding::nearest_even;
  std::uint64_t nan = 0;  ///< code of a result that is one
  std::size_t depth = 0;  ///< products of a link, which is the datapath once
  std::size_t places = 1;
  std::vector<Operation> operations;  ///< of a link, of which the last gives the result
};

/// Why operation panels cannot evaluate a datapath; empty if they can.
WhyNot why_no_operation_panels(const Numerics& numerics, const SortedTree& tree);
/// Of a datapath that they can.
OperationPlan make_operation_plan(const Numerics& numerics, const SortedTree& tree);

/// Whether this machine can.
bool operation_panels_are_here();

/// As multiply() of aligned sums.
void multiply(const OperationPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads);

}  // namespace tcnum::panels
