// Products of whole matrices on a GPU, by a chain of one datapath along k.
#pragma once

#include "emu/cpu/matrix_product.hpp"

namespace tcnum {

/// Where the time of a product went, in seconds.
struct GpuProductTimes {
  double copies = 0;   ///< of operands to the GPU and of results from it
  double packing = 0;  ///< taking operands apart, there
  double products = 0;
};

/// What multiply() does, on the first GPU. Throws UnavailableError if there is none, if this build has no GPU parts, if
/// no evaluator of the GPU takes the datapath, or if the GPU has too little memory.
GpuProductTimes multiply_on_gpu(const Datapath& datapath, const OperandFormats& formats, const ProductShape& shape,
                                const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d,
                                const BlockScales& scales = {});

}  // namespace tcnum
