// NVIDIA's library of matrix products, cuBLASLt: which algorithms it offers for a product, and what they compute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tcnum/format.hpp"

namespace tcnum {

/// D = A · B, or what LibraryTerms says besides.
struct LibraryProduct {
  FormatId a = FormatId::fp16, b = FormatId::fp16, d = FormatId::fp16;
  std::size_t m = 0, n = 0, k = 0;
  bool fast = false;  ///< of fp8: CUBLASLT_MATMUL_DESC_FAST_ACCUM; of fp32: CUBLAS_COMPUTE_32F_FAST_TF32
  /// On the device, k rows of m numbers of A, or of n of B; else k is innermost.
  bool a_k_outermost = false, b_k_outermost = false;
  std::size_t gap = 0;  ///< so many other numbers lie between one column and the next, of A, B, C and D
  /// Of fp8: what the sums are multiplied with, on the device; null: nothing.
  const float *a_scale = nullptr, *b_scale = nullptr;
  std::optional<FormatId> c = {};     ///< of C; none: as D
  std::optional<FormatId> bias = {};  ///< of a bias, if it has one, which is of the rows of D
};

/// What comes to the sums of a product, beside a bias that it has: on the host.
struct LibraryTerms {
  double alpha = 1, beta = 0;
  std::span<const std::byte> c = {};     ///< codes of C (m × n), row-major; none: no C
  bool in_place = false;                 ///< C is what D holds before
  std::span<const std::byte> bias = {};  ///< m codes
  std::optional<float> a_scale = {}, b_scale = {};
};

/// One of the algorithms that the library offers, with its configuration's attributes as the library numbers them.
struct LibraryAlgorithm {
  std::array<std::uint64_t, 8> data{};  ///< the library's own
  std::size_t workspace = 0;            ///< bytes
  int id = 0, tile = 0, stages = 0, split_k = 0, reduction = 0, swizzle = 0, custom = 0, inner_shape = 0, cluster = 0;
  friend bool operator==(const LibraryAlgorithm&, const LibraryAlgorithm&) = default;
};

/// An algorithm made ready for matrices on the device.
class LibraryLaunch {
 public:
  virtual ~LibraryLaunch() = default;
  /// Starts it on the default CUDA stream, with A and B as the product says, and D by columns. Throws
  /// std::runtime_error if the library refuses.
  virtual void enqueue(const void* a, const void* b, void* d) = 0;
};

class CublasLt {
 public:
  virtual ~CublasLt() = default;

  virtual std::string version() const = 0;
  /// Those that its heuristic offers, the best first; none where it does not multiply such matrices. Throws InputError
  /// for formats that it does not know.
  virtual std::vector<LibraryAlgorithm> algorithms(const LibraryProduct& product, int most) = 0;
  /// Codes of A (m × k), B (k × n) and D (m × n), row-major. Returns false if the library refuses the algorithm. Throws
  /// std::runtime_error on other errors of CUDA or the library.
  virtual bool multiply(const LibraryProduct& product, const LibraryAlgorithm& algorithm, std::span<const std::byte> a,
                        std::span<const std::byte> b, std::span<std::byte> d, const LibraryTerms& terms = {}) = 0;
  /// For how many clusters of so many thread blocks, each on a multiprocessor of its own, the device has room at a
  /// time.
  virtual int clusters_at_once(unsigned blocks) = 0;
  virtual std::unique_ptr<LibraryLaunch> prepare(const LibraryProduct& product, const LibraryAlgorithm& algorithm) = 0;
};

/// The best that its heuristic offers. Throws UnavailableError if it offers none.
LibraryAlgorithm first_algorithm(CublasLt& library, const LibraryProduct& product);

/// Loads libcublasLt.so. Throws UnavailableError if there is none, or no GPU, or the program was built without CUDA or
/// without the library's header.
std::unique_ptr<CublasLt> load_cublaslt();

}  // namespace tcnum
