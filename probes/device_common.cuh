// What the kernels of mma and wgmma share.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "kernels.hpp"
#include "tcnum/format.hpp"
#include "tcnum/fragment.hpp"

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

/// Codes and registers are unsigned integers throughout: no arithmetic touches a value, so no NaN changes its bits.
template <int kBits>
using Bits = std::conditional_t<
    kBits == 8, std::uint8_t,
    std::conditional_t<kBits == 16, std::uint16_t, std::conditional_t<kBits == 32, std::uint32_t, std::uint64_t>>>;

template <class Register, class Code>
inline constexpr int kCodesPerRegister = static_cast<int>(sizeof(Register) / sizeof(Code));

/// Puts a code at place `place` of a register whose places from there on are zero; the first code has the lowest bits.
template <class Register, class Code>
__device__ void insert(Register& reg, int place, Code code) {
  reg |= static_cast<Register>(code) << (place * 8 * static_cast<int>(sizeof(Code)));
}
template <class Code, class Register>
__device__ Code extract(Register reg, int place) {
  return static_cast<Code>(reg >> (place * 8 * static_cast<int>(sizeof(Code))));
}

}  // namespace tcnum
