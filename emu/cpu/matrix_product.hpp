// Products of whole matrices by a chain of one datapath along k, whoever evaluates it.
#pragma once

#include <cstddef>
#include <functional>

#include "tcnum/datapath.hpp"
#include "wide_product.hpp"

namespace tcnum {

/// The formats of its matrices: operands may be fp32 where the datapath reads tf32.
struct OperandFormats {
  FormatId a, b, c, d;
};

/// Whom a long product calls between two steps along k, on the thread that asked for it. What the call throws ends the
/// product, of which D then has something.
struct Pauses {
  std::function<void()> call;                   ///< if there is one
  std::size_t products = std::size_t{1} << 34;  ///< of a step, where one k-step has no more: seconds of work
};

/// Products by one datapath.
class MatrixProduct {
 public:
  MatrixProduct(const Datapath& datapath, const OperandFormats& formats)
      : datapath_(datapath), formats_(formats), wide_(datapath.numerics, SortedTree(datapath.tree)) {}

  /// D = A·B + C: the first k-step takes c and the first products, and each further one the last one's result for its
  /// c, so that a k longer than the datapath's wants c and result of one format. The last k-step is filled up with
  /// zeros. Without C (a null pointer) it is zero. C and D may be the same codes. Scales are there where the datapath
  /// has any; blocks that fill up the last k-step have scales of 1.
  void multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d, unsigned threads,
                const BlockScales& scales = {}, const Pauses& pauses = {}) const;

 private:
  void multiply_at_once(const ProductShape& shape, const MatrixCodes<const std::byte>& a,
                        const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
                        const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales) const;
  Datapath datapath_;
  OperandFormats formats_;
  WideProduct wide_;
};

}  // namespace tcnum
