// The DPX functions of the CUDA math API (CUDA Math API, "SIMD Intrinsics"): one row each, for the kernels that call
// them and for what is known of their results.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tcnum {

/// What a function does with its arguments.
enum class DpxForm : std::uint8_t {
  sum,    ///< extreme(a + b, c); the sum wraps around
  three,  ///< extreme(a, b, c)
  two,    ///< extreme(a, b)
  flag,   ///< extreme(a, b), and a predicate: whether a is the extreme (a >= b of a maximum, a <= b of a minimum)
  flags,  ///< the same of either half
};

// Name, form, and the function with which it takes turns in timed chains: of two maxima of two behind each other nvcc
// makes one maximum of three, and of a maximum and a minimum two machine instructions.
// clang-format off
#define TCNUM_DPX_ALL_TYPES(X, NAME, FORM)             \
  X(NAME##_s32, FORM, NAME##_s32)                      \
  X(NAME##_s32_relu, FORM, NAME##_s32_relu)            \
  X(NAME##_u32, FORM, NAME##_u32)                      \
  X(NAME##_s16x2, FORM, NAME##_s16x2)                  \
  X(NAME##_s16x2_relu, FORM, NAME##_s16x2_relu)        \
  X(NAME##_u16x2, FORM, NAME##_u16x2)
#define TCNUM_DPX_FLAGS(X, NAME)                       \
  X(NAME##_s32, flag, NAME##_s32)                      \
  X(NAME##_u32, flag, NAME##_u32)                      \
  X(NAME##_s16x2, flags, NAME##_s16x2)                 \
  X(NAME##_u16x2, flags, NAME##_u16x2)
#define TCNUM_DPX_ROWS(X)                              \
  TCNUM_DPX_ALL_TYPES(X, viaddmax, sum)                \
  TCNUM_DPX_ALL_TYPES(X, viaddmin, sum)                \
  TCNUM_DPX_ALL_TYPES(X, vimax3, three)                \
  TCNUM_DPX_ALL_TYPES(X, vimin3, three)                \
  X(vimax_s32_relu, two, vimin_s32_relu)               \
  X(vimax_s16x2_relu, two, vimin_s16x2_relu)           \
  X(vimin_s32_relu, two, vimax_s32_relu)               \
  X(vimin_s16x2_relu, two, vimax_s16x2_relu)           \
  TCNUM_DPX_FLAGS(X, vibmax)                           \
  TCNUM_DPX_FLAGS(X, vibmin)
// clang-format on

struct DpxFunction {
  std::string_view name;  ///< "__viaddmax_s16x2_relu"
  DpxForm form;
  std::string_view in_turn_with;

  constexpr bool is_max() const { return name.find("max") != name.npos; }
  constexpr bool is_signed() const { return name.find("_s") != name.npos; }
  constexpr bool relu() const { return name.ends_with("_relu"); }
  constexpr bool has_predicates() const { return form >= DpxForm::flag; }
  /// A word is one part of 32 bits, or two of 16 that do not know of each other.
  constexpr int bits() const { return name.find("16x2") != name.npos ? 16 : 32; }
  constexpr int parts() const { return 32 / bits(); }
};
#define TCNUM_DPX_ROW(NAME, FORM, OTHER) {"__" #NAME, DpxForm::FORM, "__" #OTHER},
inline constexpr auto kDpxFunctions = std::to_array<DpxFunction>({TCNUM_DPX_ROWS(TCNUM_DPX_ROW)});
#undef TCNUM_DPX_ROW

}  // namespace tcnum
