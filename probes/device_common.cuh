// What the kernels of mma and wgmma share.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "isa/fragment.hpp"
#include "kernels.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// The architecture that this pass of the compiler is for, as in sm_XY; 0: the host.
#ifdef __CUDA_ARCH__
inline constexpr int kCompiledFor = __CUDA_ARCH__ / 10;
#else
inline constexpr int kCompiledFor = 0;
#endif

inline constexpr int kThreads = 128;  ///< of a block: four warps, or one warpgroup
inline constexpr int kColumns = 8;    ///< N of every mma
/// Enough blocks for any GPU; each walks over the tiles in steps of the grid.
inline constexpr std::size_t kMaxBlocks = 4096;

/// The format that PTX spells so; does not compile if there is none.
consteval FormatId spelled(std::string_view ptx) {
  for (const Format& f : kFormats) {
    if (f.ptx == ptx) return f.id;
  }
  throw "no such format";
}

/// Codes and registers are unsigned integers throughout: no arithmetic touches a value, so no NaN changes its bits. A
/// code narrower than a byte has a byte of its own, except in registers.
template <int kBits>
using Bits = std::conditional_t<
    kBits <= 8, std::uint8_t,
    std::conditional_t<kBits == 16, std::uint16_t, std::conditional_t<kBits == 32, std::uint32_t, std::uint64_t>>>;

template <class Register, int kCodeBits>
inline constexpr int kCodesPerRegister = static_cast<int>(8 * sizeof(Register)) / kCodeBits;

/// Puts a code at place `place` of a register whose places from there on are zero; the first code has the lowest bits.
template <int kCodeBits, class Register>
__device__ void insert(Register& reg, int place, Bits<kCodeBits> code) {
  constexpr Register kMask = static_cast<Register>(~Register{0}) >> (8 * sizeof(Register) - kCodeBits);
  reg = static_cast<Register>(reg | (static_cast<Register>(code) & kMask) << (place * kCodeBits));
}
/// Fills a register with the codes that lie side by side in memory, aligned as it is.
template <int kCodeBits, class Register>
__device__ Register load_register(const Bits<kCodeBits>* from) {
  if constexpr (kCodeBits % 8 == 0) {
    return *reinterpret_cast<const Register*>(from);
  } else {
    Register all{};
#pragma unroll
    for (int i = 0; i < kCodesPerRegister<Register, kCodeBits>; ++i) insert<kCodeBits>(all, i, from[i]);
    return all;
  }
}
template <int kCodeBits, class Register>
__device__ Bits<kCodeBits> extract(Register reg, int place) {
  static_assert(kCodeBits % 8 == 0);  // results are whole bytes
  return static_cast<Bits<kCodeBits>>(reg >> (place * kCodeBits));
}

/// A thread's accumulators come in pairs, side by side in a row. Number i is at place at(i) of rows of so many, counted
/// from number 0 on, which is at `from` or `to`.
template <class Accumulator>
struct alignas(2 * sizeof(Accumulator)) AccumulatorPair {
  Accumulator of[2];
};
template <int kBits, int kCount, int kPitch, class Register, int kRegisters, class At>
__device__ void load_accumulators(Register (&registers)[kRegisters], const Bits<kBits>* from, const At& at) {
  constexpr int kPerRegister = kCodesPerRegister<Register, kBits>;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) registers[r] = 0;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const Element place = at(i);
    const auto pair = *reinterpret_cast<const AccumulatorPair<Bits<kBits>>*>(from + place.row * kPitch + place.column);
#pragma unroll
    for (int e = 0; e < 2; ++e) insert<kBits>(registers[(i + e) / kPerRegister], (i + e) % kPerRegister, pair.of[e]);
  }
}
template <int kBits, int kCount, int kPitch, class Register, int kRegisters, class At>
__device__ void store_accumulators(const Register (&registers)[kRegisters], Bits<kBits>* to, const At& at) {
  constexpr int kPerRegister = kCodesPerRegister<Register, kBits>;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const Element place = at(i);
    AccumulatorPair<Bits<kBits>> pair;
#pragma unroll
    for (int e = 0; e < 2; ++e) pair.of[e] = extract<kBits>(registers[(i + e) / kPerRegister], (i + e) % kPerRegister);
    *reinterpret_cast<AccumulatorPair<Bits<kBits>>*>(to + place.row * kPitch + place.column) = pair;
  }
}

}  // namespace tcnum
