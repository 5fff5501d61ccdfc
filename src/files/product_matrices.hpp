// The matrices of one matrix product, D = A·B + C + bias, as files hold them: their names, and shapes that fit
// together.
#pragma once

#include "matrix_file.hpp"

namespace tcnum {

/// What is read of a safetensors file: of the tensors A [M, K], B [K, N], C and D [M, N], bias [N], SA and SB, and
/// exact_A and exact_B, of the shapes of A and B.
struct ProductRequest {
  std::vector<std::string> required = {};  ///< beside A and B
  std::vector<std::string> optional = {"C", "bias", "SA", "SB"};
  std::map<std::string, FormatId> formats = {};  ///< that tensors must have, where someone says so
};

/// A matrix in a .npy file of its own.
struct NpyOperand {
  std::string name;  ///< of the tensor that it would be
  std::string path;
  std::optional<FormatId> format;  ///< that it must have, where someone says so
};

/// A tensor may have a batch axis before the others; one without it serves all batches. Vectors that have it are
/// matrices of one row here.
struct ProductMatrices {
  std::size_t batches = 1, m = 0, n = 0, k = 0;
  bool batched = false;         ///< whether any has the batch axis, and so D
  std::size_t scale_block = 0;  ///< products to a block scale; 0: there are no block scales
  std::size_t scale_parts = 0;  ///< of K, with scales of fp32 each; 0: there are none, or one for all of a matrix
  std::map<std::string, StoredTensor, std::less<>> tensors;

  /// Null if there is none of that name.
  const StoredTensor* find(std::string_view name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  }
};

/// Throws InputError unless all that is required is there, and all that is there fits together. Nothing is read before
/// that is known.
ProductMatrices read_product(const MatrixFile& file, const ProductRequest& request = {});
/// The same of an array a file. A and B must be among them.
ProductMatrices read_product(std::span<const NpyOperand> operands);

}  // namespace tcnum
