// Products of whole matrices by a chain of one datapath along k, whoever evaluates it.
#pragma once

#include <cstddef>

#include "tcnum/datapath.hpp"
#include "wide_product.hpp"

namespace tcnum {

/// D = A·B + C: the first link takes c and the first products, and each further one the last one's result for its c, so
/// that a k longer than the datapath's wants c and result of one format. The last link is filled up with zeros. Without
/// C (a null pointer) it is zero. Codes are of these formats: operands may be fp32 where the datapath reads tf32. Scales
/// are there where the datapath has any; blocks that fill up the last link have scales of 1.
struct OperandFormats {
  FormatId a, b, c, d;
};
void multiply(const Datapath& datapath, const OperandFormats& formats, const ProductShape& shape,
              const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
              const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d, unsigned threads,
              const BlockScales& scales = {});

}  // namespace tcnum
