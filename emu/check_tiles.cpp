#include "check_tiles.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// An extent of an array, and what it is an extent of.
struct Extent {
  std::string_view name;
  std::size_t size;
};

[[noreturn]] void fail(std::string_view field, std::string_view is, std::string_view right) {
  throw InputError(fmt::format("tiles: {} {}; expected {}", field, is, right));
}

std::size_t scale_blocks(const Numerics& numerics, int k) {
  return numerics.scales ? static_cast<std::size_t>(k / numerics.scales->block_k) : 0;
}

void check_format(std::string_view field, FormatId rule, FormatId operand) {
  if (reads_codes_of(rule, operand)) return;
  fail(field, fmt::format("is {}", format(operand).name), fmt::format("{}, the datapath's", format(rule).name));
}

/// How many elements an array of that shape has, if a std::size_t can say.
std::optional<std::size_t> elements_of(std::span<const Extent> shape) {
  std::size_t count = 1;
  for (const Extent& each : shape) {
    if (__builtin_mul_overflow(count, each.size, &count)) return std::nullopt;
  }
  return count;
}

[[noreturn]] void fail_by_size(std::string_view field, std::size_t size, std::span<const Extent> shape) {
  std::string text;
  for (const Extent& each : shape) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", each.name, each.size);
  const auto count = elements_of(shape);
  fail(field, fmt::format("has {} elements", size),
       count ? fmt::format("{}: {}", *count, text) : fmt::format("more than a memory can hold: {}", text));
}

void check_codes(std::string_view field, const Codes& codes, FormatId id, std::span<const Extent> shape) {
  if (codes.size() != elements_of(shape)) fail_by_size(field, codes.size(), shape);
  const Format& f = format(id);
  if (codes.bytes_each() != f.storage_bytes()) {
    fail(field, fmt::format("has codes of {} bytes", codes.bytes_each()),
         fmt::format("{}, which {} has", f.storage_bytes(), f.name));
  }
}

void check_scales(const Numerics& numerics, int k, const Tiles& tiles) {
  const auto& scales = numerics.scales;
  if (!scales) {
    if (tiles.scale_block != 0)
      fail("scale_block", fmt::format("is {}", tiles.scale_block), "0: the datapath has none");
    return;
  }
  if (tiles.scale_block != scales->block_k) {
    fail("scale_block", fmt::format("is {}", tiles.scale_block), fmt::format("{}, the datapath's", scales->block_k));
  }
  const std::size_t blocks = scale_blocks(numerics, k);
  check_codes("sa", tiles.sa, scales->format,
              std::array<Extent, 3>{{{"count", tiles.count}, {"m", tiles.m}, {"blocks", blocks}}});
  check_codes("sb", tiles.sb, scales->format,
              std::array<Extent, 3>{{{"count", tiles.count}, {"blocks", blocks}, {"n", tiles.n}}});
}

void check_length(std::string_view operand, std::size_t size, std::size_t right, std::string_view what) {
  if (size == right) return;
  throw InputError(fmt::format("dot problem: {} has {} elements; expected {}, {}", operand, size, right, what));
}

}  // namespace

void check_tiles(const Numerics& numerics, int k, const Tiles& tiles) {
  if (tiles.count == 0 || tiles.m == 0 || tiles.n == 0) return;
  if (tiles.sparse_group != 0) fail("a", "is sparse", "dense tiles, which gather() makes");
  if (tiles.k != static_cast<std::size_t>(k))
    fail("k", fmt::format("is {}", tiles.k), fmt::format("{}, the datapath's", k));
  check_format("a_format", numerics.a.format, tiles.a_format);
  check_format("b_format", numerics.b.format, tiles.b_format);
  check_format("c_format", numerics.c.format, tiles.c_format);
  check_format("d_format", numerics.result, tiles.d_format);
  const Extent count{"count", tiles.count}, rows{"m", tiles.m}, columns{"n", tiles.n}, depth{"k", tiles.k};
  check_codes("a", tiles.a, tiles.a_format, std::array{count, rows, depth});
  check_codes("b", tiles.b, tiles.b_format, std::array{count, depth, columns});
  check_codes("c", tiles.c, tiles.c_format, std::array{count, rows, columns});
  check_codes("d", tiles.d, tiles.d_format, std::array{count, rows, columns});
  check_scales(numerics, k, tiles);
}

void check_operands(const Numerics& numerics, int k, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                    std::span<const std::uint64_t> sa, std::span<const std::uint64_t> sb) {
  const auto products = static_cast<std::size_t>(k);
  check_length("a", a.size(), products, "the datapath's k");
  check_length("b", b.size(), products, "the datapath's k");
  check_length("sa", sa.size(), scale_blocks(numerics, k), "the datapath's scale blocks");
  check_length("sb", sb.size(), scale_blocks(numerics, k), "the datapath's scale blocks");
}

}  // namespace tcnum
