// Products on the GPU in a program built without CUDA.
#include "product.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

GpuProductTimes multiply_on_gpu(const Datapath&, const OperandFormats&, const ProductShape&,
                                const MatrixCodes<const std::byte>&, const MatrixCodes<const std::byte>&,
                                const MatrixCodes<const std::byte>&, const MatrixCodes<std::byte>&,
                                const BlockScales&) {
  throw UnavailableError("tcnum was built without its GPU parts (`./run --gpu` builds them, with nvcc)");
}

}  // namespace tcnum
