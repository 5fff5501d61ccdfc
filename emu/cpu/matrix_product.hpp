// Products of whole matrices by a chain of one datapath along k, whoever evaluates it.
#pragma once

#include <cstddef>

#include "tcnum/datapath.hpp"
#include "wide_product.hpp"

namespace tcnum {

/// The formats of its matrices: operands may be fp32 where the datapath reads tf32.
struct OperandFormats {
  FormatId a, b, c, d;
};

/// Products by one datapath.
class MatrixProduct {
 public:
  MatrixProduct(const Datapath& datapath, const OperandFormats& formats)
      : datapath_(datapath), formats_(formats), wide_(datapath.numerics, SortedTree(datapath.tree)) {}

  /// D = A·B + C: the first link takes c and the first products, and each further one the last one's result for its c,
  /// so that a k longer than the datapath's wants c and result of one format. The last link is filled up with zeros.
  /// Without C (a null pointer) it is zero. C and D may be the same codes. Scales are there where the datapath has any;
  /// blocks that fill up the last link have scales of 1.
  void multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d, unsigned threads,
                const BlockScales& scales = {}) const;

 private:
  Datapath datapath_;
  OperandFormats formats_;
  WideProduct wide_;
};

}  // namespace tcnum
