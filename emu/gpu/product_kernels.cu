// Products of whole matrices on a GPU. Operands are taken apart once, strip by strip; then a block evaluates 64 × 64
// elements of D, k-step after k-step along k, and its threads 4 × 4 of them each. The meaning is
// emu/gpu/dot_product.hpp's and emu/gpu/patch.hpp's; here is where operands lie, and what is done for many elements at
// once.
#include "accumulation_patch.hpp"
#include "cuda/codes.cuh"
#include "cuda/copy.cuh"
#include "cuda/launch.cuh"
#include "fma_patch.hpp"
#include "patch.hpp"
#include "product_kernels.hpp"
#include "quad_patch.hpp"
#include "terms.hpp"

namespace tcnum {
namespace {

constexpr int kStrip = GpuChain::kStrip;
constexpr int kThreads = 256;

using gpu::each_of_patch, gpu::kPatchColumns, gpu::kPatchRows, gpu::Pack, gpu::PatchCodes, gpu::PatchPlace;

TCNUM_SHARED_MEMORY(shared_memory);

// --- Units.

/// A unit of sums.
template <bool kIsA>
__device__ gpu::Side<kIsA> sums_of(const GpuDatapath& d, unsigned char* unit) {
  using Side = gpu::Side<kIsA>;
  static_assert(Side::kLines == kStrip);
  const int size = d.k * kStrip;
  auto* const values = reinterpret_cast<double*>(unit);
  auto* const exponents = reinterpret_cast<typename Side::Exponent*>(values + size);
  auto* const words = reinterpret_cast<std::uint32_t*>(exponents + size);
  return {values, exponents, words, words + kStrip, words + 2 * kStrip};
}

/// What a code of a block scale is worth.
struct Scale {
  double value;  ///< NaN if it is one
  int exponent;
};

/// The codes of a matrix by lines; beyond its ends are zeros.
template <bool kIsA>
struct LineCodes {
  const void* codes;
  int bytes;
  std::uint64_t lines, k;
  const void* scales;
  __device__ LineCodes(const GpuDatapath& d, const GpuMatrices& m)
      : codes(kIsA ? m.a : m.b),
        bytes((kIsA ? d.a : d.b).storage_bytes()),
        lines(kIsA ? m.m : m.n),
        k(m.k),
        scales(kIsA ? m.a_scales : m.b_scales) {}
  __device__ std::uint64_t at(std::uint64_t line, std::uint64_t place) const {
    if (line >= lines || place >= k) return 0;
    return load_code(codes, kIsA ? line * k + place : place * lines + line, bytes);
  }
  /// The scale of the block of that place; beyond the ends it is 1.
  __device__ Scale scale(const GpuScaling& scaling, std::uint64_t line, std::uint64_t place) const {
    const auto block_k = static_cast<unsigned>(scaling.block_k);
    const std::uint64_t block = place / block_k, blocks = (k + block_k - 1) / block_k;
    if (line >= lines || block >= blocks) return {1, 0};
    const Format& f = scaling.format;
    const Decoded d =
        decode(f, load_code(scales, kIsA ? line * blocks + block : block * lines + line, f.storage_bytes()));
    if (d.number_class == NumberClass::nan) return {gpu::from_words(0x7ff80000, 0), 0};
    return {static_cast<double>(d.significand) * gpu::power_of_two(d.exponent - f.fraction_bits), d.exponent};
  }
};

/// What a kernel of packing is called for: unit number `unit` of a strip that begins with line `first`, at `to`.
struct UnitToPack {
  std::uint64_t first, unit;
  unsigned char* to;
};

template <bool kIsA>
struct PackSums {
  __device__ static void pack(const GpuDatapath& d, const GpuChain&, const LineCodes<kIsA>& codes,
                              const UnitToPack& unit) {
    const gpu::Side<kIsA> side = sums_of<kIsA>(d, unit.to);
    const int thread = static_cast<int>(threadIdx.x), line = thread % kStrip;
    for (int i = thread; i < 3 * kStrip; i += kThreads) side.negative[i] = 0;  // and the words behind them
    __syncthreads();
    gpu::with_adjacent(d, [&]<int kCount>() {
#pragma unroll 1
      for (int k = thread / kStrip * kCount; k < d.k; k += kThreads / kStrip * kCount) {
        std::uint32_t code[kCount];
        TCNUM_UNROLL for (int e = 0; e < kCount; ++e) {
          code[e] = static_cast<std::uint32_t>(
              codes.at(unit.first + static_cast<unsigned>(line),
                       unit.unit * static_cast<unsigned>(d.k) + static_cast<unsigned>(k + e)));
        }
        gpu::Places places = side.put(kIsA ? d.a_fields : d.b_fields, line, d.place[k], code);
        if (d.scaling.block_k != 0) {
          const Scale scale = codes.scale(d.scaling, unit.first + static_cast<unsigned>(line),
                                          unit.unit * static_cast<unsigned>(d.k) + static_cast<unsigned>(k));
          const gpu::Places more = side.template scale<kCount>(line, d.place[k], scale.value, scale.exponent);
          places.zero |= more.zero;
          places.special |= more.special;
        }
        atomicOr(&side.negative[line], places.negative);
        atomicOr(&side.zero[line], places.zero);
        if (places.special != 0) atomicOr(&side.special[line], places.special);
      }
    });
  }
};

/// Numbers of fp64, and behind them the codes.
__device__ inline std::uint32_t* codes_of_bracket(const GpuDatapath& d, unsigned char* unit) {
  return reinterpret_cast<std::uint32_t*>(reinterpret_cast<double*>(unit) + d.k * kStrip);
}
template <bool kIsA>
struct PackBrackets {
  __device__ static double number(const Format& f, const OperandRule& rule, std::uint64_t code) {
    const Decoded x = decode(f, code);
    const bool is_flushed = x.number_class == NumberClass::subnormal && rule.subnormals == Subnormals::flushed;
    double magnitude =
        is_flushed ? 0.0 : static_cast<double>(x.significand) * gpu::power_of_two(x.exponent - f.fraction_bits);
    if (x.number_class == NumberClass::infinity) magnitude = gpu::from_words(0x7ff00000, 0);
    if (x.number_class == NumberClass::nan) magnitude = gpu::from_words(0x7ff80000, 0);
    return x.negative ? -magnitude : magnitude;
  }
  __device__ static void pack(const GpuDatapath& d, const GpuChain&, const LineCodes<kIsA>& codes,
                              const UnitToPack& unit) {
    auto* const numbers = reinterpret_cast<double*>(unit.to);
    std::uint32_t* const to = codes_of_bracket(d, unit.to);
    for (int i = static_cast<int>(threadIdx.x); i < d.k * kStrip; i += kThreads) {
      const int line = i % kStrip, k = i / kStrip, place = d.place[k];
      const std::uint64_t code = codes.at(unit.first + static_cast<unsigned>(line),
                                          unit.unit * static_cast<unsigned>(d.k) + static_cast<unsigned>(k));
      numbers[gpu::Side<kIsA>::value_at(place, line)] = number(kIsA ? d.a : d.b, kIsA ? d.a_rule : d.b_rule, code);
      to[place * kStrip + line] = static_cast<std::uint32_t>(code);
    }
  }
};

/// Numbers of fp32, place by place.
template <bool kIsA>
struct PackSingles {
  __device__ static void pack(const GpuDatapath& d, const GpuChain&, const LineCodes<kIsA>& codes,
                              const UnitToPack& unit) {
    auto* const to = reinterpret_cast<float*>(unit.to);
    for (int i = static_cast<int>(threadIdx.x); i < d.k * kStrip; i += kThreads) {
      const int line = i % kStrip, k = i / kStrip;
      const std::uint64_t code = codes.at(unit.first + static_cast<unsigned>(line),
                                          unit.unit * static_cast<unsigned>(d.k) + static_cast<unsigned>(k));
      to[d.place[k] * kStrip + line] =
          gpu::single_of(kIsA ? d.a : d.b, kIsA ? d.a_fields : d.b_fields, static_cast<std::uint32_t>(code));
    }
  }
};

/// Single products of a chain of FMAs, in the chain's order; where in a strip, value_at() says.
template <bool kIsA>
struct PackProducts {
  __device__ static void pack(const GpuDatapath& d, const GpuChain& chain, const LineCodes<kIsA>& codes,
                              const UnitToPack& unit) {
    if (threadIdx.x >= kStrip) return;
    const int line = static_cast<int>(threadIdx.x);
    const std::uint64_t depth = static_cast<unsigned>(d.k), k_step = unit.unit / depth;
    const auto k = static_cast<unsigned>(chain.product[unit.unit % depth]);
    reinterpret_cast<std::uint64_t*>(unit.to)[gpu::Side<kIsA>::value_at(0, line)] =
        codes.at(unit.first + threadIdx.x, k_step * depth + k);
  }
};

/// Integers of 8 bits, four to a word, which integer(code) gives.
template <bool kIsA, class Integer>
__device__ void pack_quads(const GpuDatapath& d, const GpuChain& chain, const LineCodes<kIsA>& codes,
                           const UnitToPack& unit, std::uint32_t* to, const Integer& integer) {
  constexpr int kBytes = 4;
  for (int i = static_cast<int>(threadIdx.x); i < chain.words * kStrip; i += kThreads) {
    std::uint32_t word = 0;
    for (int byte = 0; byte < kBytes; ++byte) {
      const int k = chain.product[i / kStrip * kBytes + byte];
      if (k < 0) continue;
      const std::uint64_t code = codes.at(unit.first + static_cast<unsigned>(i % kStrip),
                                          unit.unit * static_cast<unsigned>(d.k) + static_cast<unsigned>(k));
      word |= (static_cast<std::uint32_t>(integer(code)) & 0xff) << (8 * byte);
    }
    to[i] = word;
  }
}

template <bool kIsA>
struct PackQuads {
  __device__ static void pack(const GpuDatapath& d, const GpuChain& chain, const LineCodes<kIsA>& codes,
                              const UnitToPack& unit) {
    pack_quads(d, chain, codes, unit, reinterpret_cast<std::uint32_t*>(unit.to),
               [&](std::uint64_t code) { return integer_of(kIsA ? d.a : d.b, code); });
  }
};

/// A unit of scaled sums: [sum][line] scales, in units of products of integers; words; and of each sum its scale's
/// exponent and which operands are not zero, as bits.
struct ScaledSums {
  static constexpr int kNoExponent = -0x4000;  ///< a scale of zero takes part in no alignment
  double* scale;
  std::uint32_t* words;
  std::int32_t* exponent;
  std::uint32_t* present;
  __device__ ScaledSums(const GpuDatapath& d, const GpuChain& chain, unsigned char* unit)
      : scale(reinterpret_cast<double*>(unit)),
        words(reinterpret_cast<std::uint32_t*>(scale + (d.nodes - 1) * kStrip)),
        exponent(reinterpret_cast<std::int32_t*>(words + chain.words * kStrip)),
        present(reinterpret_cast<std::uint32_t*>(exponent + (d.nodes - 1) * kStrip)) {}
};

template <bool kIsA>
struct PackScaledSums {
  /// The number, in units of the format's last place.
  __device__ static int integer(const Format& f, std::uint64_t code) {
    const Decoded x = decode(f, code);
    const int magnitude = static_cast<int>(x.significand << (x.exponent - f.min_exponent()));
    return x.negative ? -magnitude : magnitude;
  }
  __device__ static void pack(const GpuDatapath& d, const GpuChain& chain, const LineCodes<kIsA>& codes,
                              const UnitToPack& unit) {
    const Format& f = kIsA ? d.a : d.b;
    const OperandRule& rule = kIsA ? d.a_rule : d.b_rule;
    const ScaledSums to(d, chain, unit.to);
    pack_quads(d, chain, codes, unit, to.words, [&](std::uint64_t code) {
      return rule.subnormals == Subnormals::flushed && decode(f, code).number_class == NumberClass::subnormal
                 ? 0
                 : integer(f, code);
    });
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < (d.nodes - 1) * kStrip; i += kThreads) {
      const int line = i % kStrip, number = i / kStrip, first = first_word(chain, number);
      std::uint32_t present = 0;
      for (int at = 0; at < d.node[number].count; ++at) {
        const std::uint32_t word = to.words[(first + at / 4) * kStrip + line];
        present |= (word >> (8 * (at % 4)) & 0xff) != 0 ? 1u << at : 0;
      }
      const auto k = static_cast<unsigned>(chain.product[4 * first]);
      const Scale scale =
          codes.scale(d.scaling, unit.first + static_cast<unsigned>(line), unit.unit * static_cast<unsigned>(d.k) + k);
      to.scale[i] = scale.value * gpu::power_of_two(f.min_exponent() - f.fraction_bits);
      to.exponent[i] = scale.value == 0 ? ScaledSums::kNoExponent : scale.exponent;
      to.present[i] = present;
    }
  }

 private:
  __device__ static int first_word(const GpuChain& chain, int number) {
    int first = 0;
    for (int i = 0; i < number; ++i) first += chain.node_words[i];
    return first;
  }
};

template <bool kIsA, class Packing>
__global__ void __launch_bounds__(kThreads)
    packing_kernel(const __grid_constant__ GpuDatapath d, const __grid_constant__ GpuChain chain,
                   const __grid_constant__ GpuMatrices matrices, unsigned char* packed) {
  const LineCodes<kIsA> codes(d, matrices);
  const std::uint64_t count = GpuChain::strips(codes.lines) * chain.units;
  for (std::uint64_t i = blockIdx.x; i < count; i += gridDim.x) {
    Packing::pack(d, chain, codes,
                  {i / chain.units * kStrip, i % chain.units, packed + i * (kIsA ? chain.a_bytes : chain.b_bytes)});
  }
}

// --- Which elements a block has, and which a thread.

/// Blocks that run at a time have neighbouring strips of both matrices.
struct Strips {
  std::uint64_t row, column;
  __device__ Strips(const GpuMatrices& m, std::uint64_t block) {
    constexpr std::uint64_t kDown = 16;
    const std::uint64_t down = GpuChain::strips(m.m), across = GpuChain::strips(m.n);
    const std::uint64_t band = block / (kDown * across), first = band * kDown;
    const std::uint64_t height = down - first < kDown ? down - first : kDown, rest = block - first * across;
    row = first + rest % height;
    column = rest / height;
  }
  __device__ static std::uint64_t count(const GpuMatrices& m) { return GpuChain::strips(m.m) * GpuChain::strips(m.n); }
};

/// Codes of C and D.
struct Results {
  const GpuMatrices& m;
  int c_bytes, d_bytes;
  __device__ Results(const GpuDatapath& d, const GpuMatrices& matrices)
      : m(matrices), c_bytes(d.c.storage_bytes()), d_bytes(d.result.storage_bytes()) {}
  __device__ bool has(std::uint64_t row, std::uint64_t column) const { return row < m.m && column < m.n; }
  __device__ std::uint64_t c(std::uint64_t row, std::uint64_t column) const {
    return m.c == nullptr || !has(row, column) ? 0 : load_code(m.c, row * m.n + column, c_bytes);
  }
  __device__ void put(std::uint64_t row, std::uint64_t column, std::uint64_t code) const {
    if (has(row, column)) store_code(m.d, row * m.n + column, d_bytes, code);
  }
};

// --- Chains of a patch: what a thread remembers from unit to unit.

/// Those that a patch left over.
template <class Code>
__device__ TCNUM_NOINLINE void evaluate_rest(const GpuDatapath& d, const gpu::SideA& a, int row, const gpu::SideB& b,
                                             int column, const gpu::PatchRest& rest, const PatchCodes& c,
                                             PatchCodes& results) {
  for (std::uint32_t left = rest.special | rest.overflowed; left != 0; left &= left - 1) {
    const int at = __ffs(static_cast<int>(left)) - 1, i = at / kPatchColumns, j = at % kPatchColumns;
    const std::uint32_t code = c.code[i][j];
    results.code[i][j] = (rest.overflowed & PatchCodes::bit(i, j)) != 0
                             ? static_cast<std::uint32_t>(gpu::terms_dot(d, a, row + i, b, column + j, code))
                             : gpu::special_code<Code>(d, a, row + i, b, column + j, code);
  }
}

/// Code is as wide as c; Nodes is as of gpu::patch().
template <class Code, class Nodes>
class PatchesChain {
 public:
  static constexpr int kBlocks = Nodes::kNodes == 1 ? 3 : 2;  ///< of an SM, for which a thread has registers enough

  __device__ void put(const GpuDatapath&, int i, int j, std::uint64_t code) {
    codes_.code[i][j] = static_cast<std::uint32_t>(code);
  }
  __device__ std::uint64_t code(const GpuDatapath&, int i, int j) const { return codes_.code[i][j]; }
  __device__ void take(const GpuDatapath& d, const GpuChain& chain, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
#pragma unroll 1
    for (; units > 0; --units, a += chain.a_bytes, b += chain.b_bytes) {
      const gpu::SideA side_a = sums_of<true>(d, a);
      const gpu::SideB side_b = sums_of<false>(d, b);
      PatchCodes results;
      const gpu::PatchRest rest = gpu::patch<Code, Nodes>(
          d, side_a, at.row, side_b, at.column, [&] { return codes_; }, results);
      if ((rest.special | rest.overflowed) != 0) {
        // Copies, so that the codes themselves stay in registers.
        const PatchCodes c = codes_;
        PatchCodes all = results;
        evaluate_rest<Code>(d, side_a, at.row, side_b, at.column, rest, c, all);
        results = all;
      }
      codes_ = results;
    }
  }

 private:
  PatchCodes codes_;
};

/// Those that a patch of accumulations left over: infinities and NaNs by what is among an element's operands, where no
/// sum of ordinary terms overflows, and others term by term.
__device__ TCNUM_NOINLINE void evaluate_left(const GpuDatapath& d, const gpu::SideA& a, const gpu::SideB& b,
                                             const PatchPlace& at, std::uint32_t left, PatchCodes& codes) {
  for (; left != 0; left &= left - 1) {
    const int which = __ffs(static_cast<int>(left)) - 1, i = which / kPatchColumns, j = which % kPatchColumns;
    const int row = at.row + i, column = at.column + j;
    std::uint32_t& code = codes.code[i][j];
    if (gpu::is_special<std::uint32_t>(a, row, b, column, code) && !gpu::has_large_term(d, a, row, b, column, code))
      code = gpu::special_code<std::uint32_t>(d, a, row, b, column, code);
    else
      code = static_cast<std::uint32_t>(gpu::terms_dot(d, a, row, b, column, code));
  }
}

template <bool kInPairs, bool kBelowLeading>
class AccumulationsChain {
 public:
  static constexpr int kBlocks = 2;

  __device__ void put(const GpuDatapath&, int i, int j, std::uint64_t code) {
    codes_.code[i][j] = static_cast<std::uint32_t>(code);
  }
  __device__ std::uint64_t code(const GpuDatapath&, int i, int j) const { return codes_.code[i][j]; }
  __device__ void take(const GpuDatapath& d, const GpuChain& chain, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
#pragma unroll 1
    for (; units > 0; --units, a += chain.a_bytes, b += chain.b_bytes) {
      const PatchCodes c = codes_;
      const gpu::SideA side_a = sums_of<true>(d, a);
      const gpu::SideB side_b = sums_of<false>(d, b);
      const std::uint32_t left =
          gpu::accumulation_patch<kInPairs, kBelowLeading>(d, side_a, at.row, side_b, at.column, codes_);
      if (left != 0) {
        PatchCodes all = c;  // a copy, so that the codes themselves stay in registers
        evaluate_left(d, side_a, side_b, at, left, all);
        each_of_patch([&](int i, int j) {
          if ((left & PatchCodes::bit(i, j)) != 0) codes_.code[i][j] = all.code[i][j];
        });
      }
    }
  }

 private:
  PatchCodes codes_;
};

/// Those that brackets do not settle, term by term. Codes of a strip's lines lie at `a` and `b`, place by place.
__device__ TCNUM_NOINLINE void evaluate_unsettled(const GpuDatapath& d, const std::uint32_t* a, const std::uint32_t* b,
                                                  const PatchPlace& at, std::uint32_t left, PatchCodes& codes) {
  for (; left != 0; left &= left - 1) {
    const int which = __ffs(static_cast<int>(left)) - 1, i = which / kPatchColumns, j = which % kPatchColumns;
    codes.code[i][j] = static_cast<std::uint32_t>(
        gpu::terms_dot(d, a + at.row + i, kStrip, b + at.column + j, kStrip, codes.code[i][j]));
  }
}

/// Exact sums that are rounded once. Each has two sums of FMAs, all rounded down and all rounded up, and lies between
/// them; where both round to one number of fp32, it does too, as rounding keeps order. Of sums that cancel to zero the
/// one that is rounded up has IEEE 754's sign.
class BracketsChain {
 public:
  static constexpr int kBlocks = 2;

  __device__ void put(const GpuDatapath&, int i, int j, std::uint64_t code) {
    codes_.code[i][j] = static_cast<std::uint32_t>(code);
  }
  __device__ std::uint64_t code(const GpuDatapath&, int i, int j) const { return codes_.code[i][j]; }
  __device__ void take(const GpuDatapath& d, const GpuChain& chain, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
#pragma unroll 1
    for (; units > 0; --units, a += chain.a_bytes, b += chain.b_bytes) {
      float result[kPatchRows][kPatchColumns];
      std::uint32_t left = 0;
#pragma unroll 1
      for (int number = 0; number < d.nodes; ++number) left |= add_node(d, d.node[number], a, b, at, result);
      PatchCodes results;
      each_of_patch([&](int i, int j) {
        const float x = result[i][j];
        results.code[i][j] = x == x ? gpu::code_of(x) : static_cast<std::uint32_t>(d.nan.code);
      });
      if (left != 0) {
        PatchCodes all = codes_;  // a copy, so that the codes themselves stay in registers
        evaluate_unsettled(d, codes_of_bracket(d, a), codes_of_bracket(d, b), at, left, all);
        each_of_patch([&](int i, int j) {
          if ((left & PatchCodes::bit(i, j)) != 0) results.code[i][j] = all.code[i][j];
        });
      }
      codes_ = results;
    }
  }

 private:
  /// Takes the results of the node before, and leaves its own. Which it could not settle it returns, as bits.
  __device__ std::uint32_t add_node(const GpuDatapath& d, const GpuNode& node, const unsigned char* a,
                                    const unsigned char* b, const PatchPlace& at,
                                    float (&result)[kPatchRows][kPatchColumns]) const {
    double down[kPatchRows][kPatchColumns], up[kPatchRows][kPatchColumns];
    const auto other = [&](int which, int i, int j) {
      const bool is_c = node.others[which] == GpuNode::kAccumulator;
      return static_cast<double>(is_c ? gpu::float_of(codes_.code[i][j]) : result[i][j]);
    };
    const bool has_two = node.others[1] != GpuNode::kNone;
    each_of_patch([&](int i, int j) {
      down[i][j] = up[i][j] = other(0, i, j);
      if (!has_two) return;
      const double second = other(1, i, j);
      down[i][j] = gpu::fused_multiply_add(second, 1, down[i][j], Rounding::down);
      up[i][j] = gpu::fused_multiply_add(second, 1, up[i][j], Rounding::up);
    });
    const double* at_a = reinterpret_cast<const double*>(a) + gpu::SideA::value_at(node.first, at.row);
    const double* at_b[2] = {reinterpret_cast<const double*>(b) + gpu::SideB::value_at(node.first, at.column),
                             reinterpret_cast<const double*>(b) + gpu::SideB::value_at(node.first, at.column + 2)};
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
    for (int p = 0; p < node.count; ++p) {
      const Pack<double, kPatchRows> x(at_a + p * kStrip);
      const Pack<double, 2> y[2] = {Pack<double, 2>(at_b[0] + p * kStrip), Pack<double, 2>(at_b[1] + p * kStrip)};
      each_of_patch([&](int i, int j) {
        down[i][j] = gpu::fused_multiply_add(x.x[i], y[j / 2].x[j % 2], down[i][j], Rounding::down);
        up[i][j] = gpu::fused_multiply_add(x.x[i], y[j / 2].x[j % 2], up[i][j], Rounding::up);
      });
    }
    const bool zeros_are_positive = gpu::makes_zeros_positive(d, node);
    std::uint32_t left = 0;
    each_of_patch([&](int i, int j) {
      const auto least = static_cast<float>(down[i][j]), most = static_cast<float>(up[i][j]);
      const bool has_no_sign = most == 0 && down[i][j] != up[i][j];
      if (least < most || has_no_sign) left |= PatchCodes::bit(i, j);
      result[i][j] = zeros_are_positive && up[i][j] == 0 ? 0.0f : most;
    });
    return left;
  }

  PatchCodes codes_;
};

/// Sums of products that are scaled and added to c. How they are cut, emu/gpu/patch.hpp says; here each negative one
/// gets its unit after the addition.
class ScaledSumsChain {
 public:
  static constexpr int kBlocks = 2;

  __device__ void put(const GpuDatapath&, int i, int j, std::uint64_t code) {
    codes_.code[i][j] = static_cast<std::uint32_t>(code);
  }
  __device__ std::uint64_t code(const GpuDatapath&, int i, int j) const { return codes_.code[i][j]; }
  __device__ void take(const GpuDatapath& d, const GpuChain& chain, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
    const PatchNode& node = d.patch[0];
    const bool c_is_half = d.c.storage_bits == 16;
#pragma unroll 1
    for (; units > 0; --units, a += chain.a_bytes, b += chain.b_bytes) {
      const ScaledSums of_a(d, chain, a), of_b(d, chain, b);
      float c[kPatchRows][kPatchColumns];
      double sum[kPatchRows][kPatchColumns];
      each_of_patch([&](int i, int j) {
        const std::uint32_t code = codes_.code[i][j];
        c[i][j] = c_is_half ? gpu::value_of<std::uint16_t>(code) : gpu::value_of<std::uint32_t>(code);
      });
      begin(d, node, of_a, of_b, at, c, sum);
      add_scaled(d, chain, of_a, of_b, at, sum);

      bool any_special = false;
      each_of_patch([&](int i, int j) { any_special |= !gpu::finite(c[i][j]) || sum[i][j] != sum[i][j]; });
      PatchCodes results;
      gpu::AnyNodes::with_rounding(node, 0, [&]<PatchRounding kRounding>() {
        TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) gpu::round_row<kRounding>(node, sum[i], results.code[i]);
      });
      if (any_special) {
        each_of_patch([&](int i, int j) {
          if (gpu::finite(c[i][j]) && sum[i][j] == sum[i][j]) return;
          const std::uint32_t infinity = ((1u << d.result.exponent_bits) - 1) << d.result.fraction_bits;
          const bool is_nan = c[i][j] != c[i][j] || sum[i][j] != sum[i][j];
          const std::uint32_t sign = c[i][j] < 0 ? 1u << (d.result.storage_bits - 1) : 0;
          results.code[i][j] = is_nan ? static_cast<std::uint32_t>(d.nan.code) : infinity | sign;
        });
      }
      codes_ = results;
    }
  }

 private:
  /// Sums of c alone, if it is finite, that are aligned for all.
  __device__ static void begin(const GpuDatapath& d, const PatchNode& node, const ScaledSums& a, const ScaledSums& b,
                               const PatchPlace& at, const float (&c)[kPatchRows][kPatchColumns],
                               double (&sum)[kPatchRows][kPatchColumns]) {
    std::int32_t alignment[kPatchRows][kPatchColumns];
    each_of_patch([&](int i, int j) { alignment[i][j] = node.alignment; });
#pragma unroll 1
    for (int number = 0; number + 1 < d.nodes; ++number) {
      const int place = number * kStrip;
      const Pack<std::uint32_t, kPatchRows> x(a.present + place + at.row);
      const Pack<std::uint32_t, kPatchColumns> y(b.present + place + at.column);
      const Pack<std::int32_t, kPatchRows> ea(a.exponent + place + at.row);
      const Pack<std::int32_t, kPatchColumns> eb(b.exponent + place + at.column);
      each_of_patch([&](int i, int j) {
        const std::int32_t exponent = ea.x[i] + eb.x[j];
        if ((x.x[i] & y.x[j]) != 0 && exponent > alignment[i][j]) alignment[i][j] = exponent;
      });
    }
    each_of_patch([&](int i, int j) {
      const gpu::PatchTerm of_c(gpu::finite(c[i][j]) ? c[i][j] : 0.0f);
      std::int32_t high = (alignment[i][j] + gpu::kBias) * (1 << gpu::kHighFraction);
      of_c.raise(high, node.c_floor);
      sum[i][j] = gpu::add_toward_zero(gpu::from_words(static_cast<std::uint32_t>(high) + node.grid, of_c.negative()),
                                       of_c.to_be_cut());
    });
  }

  __device__ static void add_scaled(const GpuDatapath& d, const GpuChain& chain, const ScaledSums& a,
                                    const ScaledSums& b, const PatchPlace& at,
                                    double (&sum)[kPatchRows][kPatchColumns]) {
    const std::uint32_t *at_a = a.words + at.row, *at_b = b.words + at.column;
#pragma unroll 1
    for (int number = 0; number + 1 < d.nodes; ++number) {
      std::int32_t products[kPatchRows][kPatchColumns] = {};
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
      for (int word = 0; word < chain.node_words[number]; ++word, at_a += kStrip, at_b += kStrip) {
        const Pack<std::uint32_t, kPatchRows> x(at_a);
        const Pack<std::uint32_t, kPatchColumns> y(at_b);
        each_of_patch(
            [&](int i, int j) { products[i][j] = gpu::add_quad(true, true, x.x[i], y.x[j], products[i][j]); });
      }
      const Pack<double, kPatchRows> of_a(a.scale + number * kStrip + at.row);
      const Pack<double, kPatchColumns> of_b(b.scale + number * kStrip + at.column);
      each_of_patch([&](int i, int j) {
        const double term = static_cast<double>(products[i][j]) * (of_a.x[i] * of_b.x[j]);
        const std::uint32_t negative = gpu::high_word(term) >> 31;
        const double cut =
            gpu::add_toward_zero(sum[i][j], gpu::from_words(gpu::high_word(term), gpu::low_word(term) | 1));
        sum[i][j] = gpu::double_of(gpu::code_of(cut) + negative);
      });
    }
  }

  PatchCodes codes_;
};

class QuadsChain {
 public:
  static constexpr int kBlocks = 2;

  __device__ void put(const GpuDatapath& d, int i, int j, std::uint64_t code) {
    c_[i][j] = static_cast<std::int32_t>(integer_of(d.c, code));
  }
  __device__ std::uint64_t code(const GpuDatapath& d, int i, int j) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(c_[i][j])) & d.result.code_mask();
  }
  __device__ void take(const GpuDatapath& d, const GpuChain& chain, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
    const auto* at_a = reinterpret_cast<const std::uint32_t*>(a) + at.row;
    const auto* at_b = reinterpret_cast<const std::uint32_t*>(b) + at.column;
#pragma unroll 1
    for (; units > 0; --units) gpu::quad_patch(d, chain, at_a, at_b, c_);
  }

 private:
  std::int32_t c_[kPatchRows][kPatchColumns];
};

class SinglesChain {
 public:
  static constexpr int kBlocks = 2;

  __device__ void put(const GpuDatapath& d, int i, int j, std::uint64_t code) {
    c_[i][j] = gpu::single_of(d.c, d.c_fields, static_cast<std::uint32_t>(code));
  }
  __device__ std::uint64_t code(const GpuDatapath& d, int i, int j) const { return gpu::code_of_single(d, d_[i][j]); }
  __device__ void take(const GpuDatapath& d, const GpuChain& chain, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
    // In memory, which is near: a tree's nodes are chosen at run time.
    float kept[GpuDatapath::kMostNodes][kPatchRows][kPatchColumns];
#pragma unroll 1
    for (; units > 0; --units, a += chain.a_bytes, b += chain.b_bytes) {
      const auto *at_a = reinterpret_cast<const float*>(a) + at.row,
                 *at_b = reinterpret_cast<const float*>(b) + at.column;
#pragma unroll 1
      for (int number = 0; number < d.nodes; ++number) {
        const GpuNode& node = d.node[number];
        float x[2][kPatchRows] = {}, y[2][kPatchColumns] = {};
        for (int p = 0; p < 2; ++p) {
          if (p >= node.count) break;
          const Pack<float, kPatchRows> of_a(at_a + (node.first + p) * kStrip);
          const Pack<float, kPatchColumns> of_b(at_b + (node.first + p) * kStrip);
          TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) x[p][i] = of_a.x[i];
          TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) y[p][j] = of_b.x[j];
        }
        const bool zeros_are_positive = gpu::makes_zeros_positive(d, node);
        const float absent = gpu::absent_term(zeros_are_positive);
        float others[2][kPatchRows][kPatchColumns];
        TCNUM_UNROLL for (int which = 0; which < GpuNode::kMostOthers; ++which) {
          const int other = node.others[which];
          each_of_patch([&](int i, int j) { others[which][i][j] = absent; });
          if (other == GpuNode::kNone) continue;
          if (other == GpuNode::kAccumulator)
            each_of_patch([&](int i, int j) { others[which][i][j] = c_[i][j]; });
          else if (other == number - 1)
            each_of_patch([&](int i, int j) { others[which][i][j] = d_[i][j]; });
          else
            each_of_patch([&](int i, int j) { others[which][i][j] = kept[other][i][j]; });
        }
        if (zeros_are_positive)
          each_of_patch([&](int i, int j) { others[0][i][j] = gpu::with_positive_zero(others[0][i][j]); });
        gpu::with_single_sum(d, node, [&]<gpu::SingleSum kSum, bool kFlushesProducts>() {
          each_of_patch([&](int i, int j) {
            d_[i][j] = gpu::single_sum<kSum, kFlushesProducts>({x[0][i], x[1][i]}, {y[0][j], y[1][j]},
                                                               {others[0][i][j], others[1][i][j]});
          });
        });
        if (d.singles.flushes[node.unit]) each_of_patch([&](int i, int j) { d_[i][j] = gpu::flushed(d_[i][j]); });
        if ((d.kept >> number & 1u) != 0) each_of_patch([&](int i, int j) { kept[number][i][j] = d_[i][j]; });
      }
      // The result is the next k-step's c, and a NaN only a NaN. Subnormal ones are flushed once.
      const bool is_flushed = d.singles.flushes[d.node[d.nodes - 1].unit];
      if (d.result.id == FormatId::fp32 && (d.c_rule.subnormals == Subnormals::kept || is_flushed)) {
        each_of_patch([&](int i, int j) { c_[i][j] = d_[i][j]; });
      } else {
        each_of_patch([&](int i, int j) { put(d, i, j, gpu::code_of_single(d, d_[i][j])); });
      }
    }
  }

 private:
  float c_[kPatchRows][kPatchColumns], d_[kPatchRows][kPatchColumns];
};

class FmaChain {
 public:
  static constexpr int kBlocks = 2;

  __device__ void put(const GpuDatapath&, int i, int j, std::uint64_t code) { sum_[i][j] = gpu::double_of(code); }
  __device__ std::uint64_t code(const GpuDatapath&, int i, int j) const { return gpu::code_of(sum_[i][j]); }
  __device__ void take(const GpuDatapath& d, const GpuChain&, unsigned char* a, unsigned char* b, int units,
                       const PatchPlace& at) {
    gpu::fma_patch(d, reinterpret_cast<const double*>(a), reinterpret_cast<const double*>(b), units, at, sum_);
  }

 private:
  double sum_[kPatchRows][kPatchColumns];
};

// --- Kernels.

/// Units side by side in a block's memory, of both matrices: while some are worked on, the next come.
struct Stages {
  int units;  ///< of each
  std::uint32_t a_bytes, b_bytes;
  explicit Stages(const GpuChain& chain) {
    constexpr std::uint32_t kBytes = 24 << 10;
    const std::uint32_t both = chain.a_bytes + chain.b_bytes;
    units = both < kBytes ? static_cast<int>(kBytes / both) : 1;
    a_bytes = static_cast<std::uint32_t>(units) * chain.a_bytes;
    b_bytes = static_cast<std::uint32_t>(units) * chain.b_bytes;
  }
  std::size_t shared_bytes() const { return 2 * (static_cast<std::size_t>(a_bytes) + b_bytes); }
  __device__ unsigned char* a(std::uint64_t stage) const { return shared_memory + stage % 2 * (a_bytes + b_bytes); }
  __device__ unsigned char* b(std::uint64_t stage) const { return a(stage) + a_bytes; }
};

template <class Chain>
__global__ void __launch_bounds__(kThreads, Chain::kBlocks)
    patches_kernel(const __grid_constant__ GpuDatapath d, const __grid_constant__ GpuChain chain,
                   const __grid_constant__ Stages stages, const __grid_constant__ GpuMatrices matrices,
                   const unsigned char* packed_a, const unsigned char* packed_b) {
  const PatchPlace at = PatchPlace::of_thread(threadIdx.x);
  const Results results(d, matrices);
  const auto per_stage = static_cast<unsigned>(stages.units);
  const std::uint64_t count = (chain.units + per_stage - 1) / per_stage;
  for (std::uint64_t block = blockIdx.x; block < Strips::count(matrices); block += gridDim.x) {
    const Strips strips(matrices, block);
    const unsigned char* const a = packed_a + strips.row * chain.units * chain.a_bytes;
    const unsigned char* const b = packed_b + strips.column * chain.units * chain.b_bytes;
    const auto units_of = [&](std::uint64_t stage) {
      const std::uint64_t left = chain.units - stage * per_stage;
      return static_cast<unsigned>(left < per_stage ? left : per_stage);
    };
    const auto fetch = [&](std::uint64_t stage) {
      if (stage < count) {
        const unsigned units = units_of(stage);
        copy_to_shared<kThreads>(stages.a(stage), a + stage * stages.a_bytes, units * chain.a_bytes);
        copy_to_shared<kThreads>(stages.b(stage), b + stage * stages.b_bytes, units * chain.b_bytes);
      }
      end_of_copies();
    };
    const std::uint64_t row = strips.row * kStrip + static_cast<unsigned>(at.row);
    const std::uint64_t column = strips.column * kStrip + static_cast<unsigned>(at.column);
    fetch(0);
    Chain of_patch;
    each_of_patch([&](int i, int j) {
      of_patch.put(d, i, j, results.c(row + static_cast<unsigned>(i), column + static_cast<unsigned>(j)));
    });
#pragma unroll 1
    for (std::uint64_t stage = 0; stage < count; ++stage) {
      fetch(stage + 1);
      wait_for_copies<1>();  // all but the last
      __syncthreads();
      of_patch.take(d, chain, stages.a(stage), stages.b(stage), static_cast<int>(units_of(stage)), at);
      __syncthreads();
    }
    each_of_patch([&](int i, int j) {
      results.put(row + static_cast<unsigned>(i), column + static_cast<unsigned>(j), of_patch.code(d, i, j));
    });
  }
}

template <bool kIsA>
auto packing_kernel_of(GpuEvaluator evaluator) {
  switch (evaluator) {
    case GpuEvaluator::scaled_patches:
    case GpuEvaluator::patches:
    case GpuEvaluator::accumulations:
      break;
    case GpuEvaluator::scaled_sums:
      return packing_kernel<kIsA, PackScaledSums<kIsA>>;
    case GpuEvaluator::brackets:
      return packing_kernel<kIsA, PackBrackets<kIsA>>;
    case GpuEvaluator::integers:
      return packing_kernel<kIsA, PackQuads<kIsA>>;
    case GpuEvaluator::fma_chain:
      return packing_kernel<kIsA, PackProducts<kIsA>>;
    case GpuEvaluator::single_precision:
      return packing_kernel<kIsA, PackSingles<kIsA>>;
  }
  return packing_kernel<kIsA, PackSums<kIsA>>;
}

/// The kernel of patches that suits the datapath: those of a sum that is added to c, and those of one sum that rounds
/// to the width of c, have their own.
template <class Code>
auto patches_kernel_of(const GpuDatapath& d) {
  using gpu::AnyNodes, gpu::OneNode;
  using SumAddedToC =
      gpu::SumAddedToC<sizeof(Code) == sizeof(float) ? PatchRounding::fp32_toward_zero : PatchRounding::fp16_nearest>;
  if (SumAddedToC::is_of(d)) return patches_kernel<PatchesChain<Code, SumAddedToC>>;
  if (d.nodes == 1) {
    if constexpr (sizeof(Code) == sizeof(float)) {
      if (d.patch[0].rounding == PatchRounding::fp32_toward_zero)
        return patches_kernel<PatchesChain<Code, OneNode<PatchRounding::fp32_toward_zero>>>;
      if (d.patch[0].rounding == PatchRounding::fp32_nearest)
        return patches_kernel<PatchesChain<Code, OneNode<PatchRounding::fp32_nearest>>>;
    } else {
      if (d.patch[0].rounding == PatchRounding::fp16_nearest)
        return patches_kernel<PatchesChain<Code, OneNode<PatchRounding::fp16_nearest>>>;
      if (d.patch[0].rounding == PatchRounding::fp16_nearest_of_fp32)
        return patches_kernel<PatchesChain<Code, OneNode<PatchRounding::fp16_nearest_of_fp32>>>;
    }
  }
  return patches_kernel<PatchesChain<Code, AnyNodes>>;
}

}  // namespace

cudaError_t launch_packing(const GpuDatapath& d, const GpuChain& chain, const GpuMatrices& matrices, bool is_a,
                           unsigned char* packed) {
  const auto launch = [&](auto* kernel, std::uint64_t lines) {
    return launch_resident(kernel, {kThreads}, GpuChain::strips(lines) * chain.units, d, chain, matrices, packed);
  };
  return is_a ? launch(packing_kernel_of<true>(d.evaluator), matrices.m)
              : launch(packing_kernel_of<false>(d.evaluator), matrices.n);
}

cudaError_t launch_product(const GpuDatapath& d, const GpuChain& chain, const GpuMatrices& matrices,
                           unsigned char* packed_a, unsigned char* packed_b) {
  const std::uint64_t blocks = GpuChain::strips(matrices.m) * GpuChain::strips(matrices.n);
  const auto launch = [&](auto* kernel) {
    const Stages stages(chain);
    return launch_resident(kernel, {kThreads, stages.shared_bytes()}, blocks, d, chain, stages, matrices, packed_a,
                           packed_b);
  };
  switch (d.evaluator) {
    case GpuEvaluator::scaled_sums:
      return launch(patches_kernel<ScaledSumsChain>);
    case GpuEvaluator::brackets:
      return launch(patches_kernel<BracketsChain>);
    case GpuEvaluator::accumulations:
      return launch(gpu::with_accumulations_of(d, [&]<bool kInPairs, bool kBelowLeading>() {
        return patches_kernel<AccumulationsChain<kInPairs, kBelowLeading>>;
      }));
    case GpuEvaluator::integers:
      return launch(patches_kernel<QuadsChain>);
    case GpuEvaluator::single_precision:
      return launch(patches_kernel<SinglesChain>);
    case GpuEvaluator::fma_chain:
      return launch(patches_kernel<FmaChain>);
    case GpuEvaluator::scaled_patches:
    case GpuEvaluator::patches:
      break;
  }
  return launch(d.c.storage_bytes() == 2 ? patches_kernel_of<std::uint16_t>(d) : patches_kernel_of<std::uint32_t>(d));
}

}  // namespace tcnum
