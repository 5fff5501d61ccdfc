// Products that `tcnum gemm fit --from` asks for: their formats, shapes and layouts as users write them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

/// "fp16:fp32" is A and B of fp16, D of fp32; "fp8e4m3:fp8e5m2:bf16" names all three; "+fast" is fp8's accumulation,
/// and products of fp32 by way of tf32.
struct ProductFormats {
  FormatId a, b, d;
  bool fast = false;
};
/// How operands lie by columns, turned (T) or not (N): "tn", the usual ones, with k side by side; "nn", "nt", "tt".
/// With "+8", columns, those of C and D too, have 8 other numbers between them.
struct OperandLayout {
  std::string name;
  bool a_k_outermost, b_k_outermost;
  std::size_t gap = 0;
};
inline bool is_fp8(FormatId id) { return format(id).floating && format(id).storage_bits == 8; }
struct AskedShape {
  ProductFormats formats;
  std::array<std::size_t, 3> shape;  ///< M, N, K
  OperandLayout layout;

  GemmSubject subject(const std::string& arch) const {
    return {arch, formats.a, formats.b, formats.d, shape[0], shape[1], shape[2]};
  }
  /// CUBLASLT_MATMUL_DESC_FAST_ACCUM, which fp8 has.
  bool fast_accumulation() const { return formats.fast && is_fp8(formats.a); }
};
/// All that the options ask for. Throws InputError.
std::vector<AskedShape> asked_shapes(const GemmCommandOptions& options);

/// What the library offers: the fits of all algorithms, or with --epilogue what becomes of alpha, C and a bias. Returns
/// the exit status.
int run_library_survey(const GemmCommandOptions& options);

}  // namespace tcnum
