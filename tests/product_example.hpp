// Matrices, and their product as a chain of the exact emulator gives it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "emu/cpu/matrix_product.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::test {

/// Some matrices; d is the chain's that the exact emulator computes.
struct Example {
  ProductShape shape;
  Codes a, b, c, d;
  OperandFormats formats;
  Codes sa, sb;  ///< of the blocks of k, the last of which may be shorter
};

/// What a product's operands are like: each has another way through the kernels.
enum class Operands : std::uint8_t {
  numbers,  ///< near 1, and zeros
  edges,
  codes,
  one_nan,
  few,       ///< of which some are often alike, or but for their last bits, so that sums of products cancel
  smallest,  ///< and zeros: sums of their products underflow, or are zero
};
inline constexpr int kOperandKinds = static_cast<int>(Operands::smallest) + 1;

inline std::uint64_t draw_code(std::mt19937_64& random, const Format& f, Operands operands) {
  const std::uint64_t any = random() & f.code_mask();
  if (!f.floating) {
    // Accumulators near the ends of their range overflow now and then.
    if (f.storage_bits == 32 && random() % 2 == 0) return (any >> 12) ^ (random() % 2 == 0 ? 0x7fffffff : 0x80000000);
    return any;
  }
  switch (operands) {
    case Operands::numbers:
    case Operands::one_nan: {
      if (random() % 16 == 0) return any & ~(f.code_mask() >> 1);  // zero
      const std::uint64_t sign = any & ~(f.code_mask() >> 1);
      const int exponent = f.bias - 4 + static_cast<int>(random() % 8);
      const std::uint64_t fraction = any >> f.padding_bits & ((std::uint64_t{1} << f.fraction_bits) - 1);
      const int field = std::max(0, std::min(exponent, (1 << f.exponent_bits) - 2));
      return sign | (static_cast<std::uint64_t>(field) << f.fraction_bits | fraction) << f.padding_bits;
    }
    case Operands::edges: {
      constexpr std::uint64_t kSpread = 40;
      const std::uint64_t magnitude = any & (f.code_mask() >> 1);
      if (random() % 64 != 0 && magnitude >> f.padding_bits >= f.first_non_finite()) return 0;
      return random() % kSpread == 0 ? any & ~(f.code_mask() >> 1) : any;
    }
    case Operands::codes:
      return any;
    case Operands::few: {
      const std::uint64_t all = (std::uint64_t{1} << f.fraction_bits) - 1;
      const std::uint64_t fractions[] = {0, 0, all / 2, all, f.fraction_bits > 0 ? 1U : 0U};
      const auto field = static_cast<std::uint64_t>(std::max(0, f.bias - 1)) + random() % 2;
      const std::uint64_t fraction = fractions[random() % std::size(fractions)];
      return (any & ~(f.code_mask() >> 1)) | (field << f.fraction_bits | fraction) << f.padding_bits;
    }
    case Operands::smallest:
      return (any & ~(f.code_mask() >> 1)) | random() % 3 << f.padding_bits;
  }
  return any;
}

inline Codes draw_codes(std::mt19937_64& random, FormatId id, std::size_t count, Operands operands) {
  const Format& f = format(id);
  Codes codes(f.storage_bytes(), count);
  for (std::size_t i = 0; i < count; ++i) codes.set(i, draw_code(random, f, operands));
  if (operands == Operands::one_nan && f.floating && f.non_finite != NonFinite::none)
    codes.set(random() % count, f.first_non_finite() << f.padding_bits);
  return codes;
}

/// Mostly near 1, or any, NaNs too.
inline Codes draw_scales(std::mt19937_64& random, FormatId id, std::size_t count, Operands operands) {
  constexpr std::uint64_t kNear = 16;
  const Format& f = format(id);
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  Codes codes(f.storage_bytes(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t near = one - kNear / 2 + random() % kNear, any = random() & f.code_mask();
    codes.set(i, operands == Operands::numbers || random() % 4 != 0 ? near : any);
  }
  return codes;
}

inline std::size_t blocks_of(const Datapath& datapath, std::size_t k) {
  const auto block_k = static_cast<std::size_t>(datapath.numerics.scales->block_k);
  return (k + block_k - 1) / block_k;
}

/// The scales of a link from block `first` on, which are 1 behind the last.
inline void put_scales(const Datapath& datapath, const Example& x, std::size_t first, Tiles& tile) {
  const ScaleRule& rule = *datapath.numerics.scales;
  const Format& f = format(rule.format);
  const std::size_t blocks = blocks_of(datapath, tile.k), there = blocks_of(datapath, x.shape.k);
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  tile.scale_block = rule.block_k;
  tile.sa = Codes(f.storage_bytes(), tile.m * blocks);
  tile.sb = Codes(f.storage_bytes(), blocks * tile.n);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t of = first + block;
    for (std::size_t i = 0; i < tile.m; ++i) tile.sa.set(i * blocks + block, of < there ? x.sa[i * there + of] : one);
    for (std::size_t j = 0; j < tile.n; ++j) tile.sb.set(block * tile.n + j, of < there ? x.sb[of * tile.n + j] : one);
  }
}

inline void compute_exactly(const Datapath& datapath, Example& x) {
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  const auto& [m, n, k] = x.shape;
  Tiles tile = make_tiles(x.formats.a, x.formats.b, x.formats.c, x.formats.d, 1, m, n, depth);
  tile.c = x.c;
  for (std::size_t first = 0; first < k; first += depth) {
    if (first > 0) std::swap(tile.c, tile.d);
    for (std::size_t kk = 0; kk < depth; ++kk) {
      const bool there = first + kk < k;
      for (std::size_t i = 0; i < m; ++i) tile.a.set(i * depth + kk, there ? x.a[i * k + first + kk] : 0);
      for (std::size_t j = 0; j < n; ++j) tile.b.set(kk * n + j, there ? x.b[(first + kk) * n + j] : 0);
    }
    if (datapath.numerics.scales)
      put_scales(datapath, x, first / static_cast<std::size_t>(datapath.numerics.scales->block_k), tile);
    emulate_exact(datapath, tile);
  }
  x.d = tile.d;
}

inline Example draw_example(std::mt19937_64& random, const Datapath& datapath, const ProductShape& shape,
                            Operands operands) {
  const Numerics& n = datapath.numerics;
  Example x;
  x.shape = shape;
  x.formats = {n.a.format, n.b.format, n.c.format, n.result};
  x.a = draw_codes(random, n.a.format, shape.m * shape.k, operands);
  x.b = draw_codes(random, n.b.format, shape.k * shape.n, operands);
  x.c = draw_codes(random, n.c.format, shape.m * shape.n, operands);
  if (n.scales) {
    const std::size_t blocks = blocks_of(datapath, shape.k);
    x.sa = draw_scales(random, n.scales->format, shape.m * blocks, operands);
    x.sb = draw_scales(random, n.scales->format, blocks * shape.n, operands);
  }
  compute_exactly(datapath, x);
  return x;
}

/// Of another result, the first element that differs, in words; empty if none does.
inline std::string first_difference(const Datapath& datapath, const Example& x, const Codes& d,
                                    std::string_view whose) {
  const auto& [m, n, k] = x.shape;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (d[i] == x.d[i]) continue;
    std::string terms = fmt::format("{:#x}", x.c[i]);
    for (std::size_t kk = 0; kk < k; ++kk)
      terms += fmt::format(" + {:#x} * {:#x}", x.a[i / n * k + kk], x.b[kk * n + i % n]);
    for (std::size_t block = 0; datapath.numerics.scales && block < blocks_of(datapath, k); ++block) {
      terms += fmt::format(", scales {:#x} and {:#x}", x.sa[i / n * blocks_of(datapath, k) + block],
                           x.sb[block * n + i % n]);
    }
    return fmt::format("{}\n{}: {} x {} x {}: element ({}, {}), {}, is {:#x}, not {:#x}", to_json(datapath).dump(),
                       whose, m, n, k, i / n, i % n, terms, d[i], x.d[i]);
  }
  return {};
}

/// The same of what `multiply` makes of an example: it takes a shape, the codes of A, B, C and D, threads, and scales.
template <class Multiply>
std::string first_difference(const Datapath& datapath, const Example& x, unsigned threads, std::string_view whose,
                             const Multiply& multiply) {
  const auto& [m, n, k] = x.shape;
  Codes d(x.d.bytes_each(), x.d.size());
  BlockScales scales;
  if (datapath.numerics.scales)
    scales = {codes_from(x.sa.bytes().data(), blocks_of(datapath, k)), codes_from(x.sb.bytes().data(), n)};
  multiply(x.shape, codes_from(x.a.bytes().data(), k), codes_from(x.b.bytes().data(), n),
           codes_from(x.c.bytes().data(), n), codes_from(d.bytes().data(), n), threads, scales);
  return first_difference(datapath, x, d, whose);
}

}  // namespace tcnum::test
