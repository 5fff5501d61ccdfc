// Tables of matrix products' shapes, as users write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/device/gemm_timing.hpp"

namespace tcnum {

inline constexpr std::uint64_t kMostProductLines = 1 << 20, kMostProductDepth = 1 << 24;  ///< of m and n, and of k

struct ShapeRow {
  GemmShape shape;
  std::optional<std::size_t> formats;  ///< its place in kGemmFormats, where the table says it
};
/// Lines of m,n,k or, if formats may be said, of m,n,k,format below a heading; "-" is standard input. Throws InputError,
/// naming the line and what is expected.
std::vector<ShapeRow> read_shapes(const std::string& path, bool may_say_formats);

/// The place in kGemmFormats of operands of that format; throws InputError, naming the option or the line.
std::size_t product_formats_of(std::string_view option, const std::string& text);

}  // namespace tcnum
