#include "dpx_functions.hpp"

#include <algorithm>
#include <array>

namespace tcnum::bench {
namespace {

using enum DpxForm;

constexpr auto kFunctions = std::to_array<DpxFunction>({
    {"__viaddmax_s32", sum, true, 32, true, false},        {"__viaddmax_s32_relu", sum, true, 32, true, true},
    {"__viaddmax_u32", sum, true, 32, false, false},       {"__viaddmax_s16x2", sum, true, 16, true, false},
    {"__viaddmax_s16x2_relu", sum, true, 16, true, true},  {"__viaddmax_u16x2", sum, true, 16, false, false},
    {"__viaddmin_s32", sum, false, 32, true, false},       {"__viaddmin_s32_relu", sum, false, 32, true, true},
    {"__viaddmin_u32", sum, false, 32, false, false},      {"__viaddmin_s16x2", sum, false, 16, true, false},
    {"__viaddmin_s16x2_relu", sum, false, 16, true, true}, {"__viaddmin_u16x2", sum, false, 16, false, false},
    {"__vimax3_s32", three, true, 32, true, false},        {"__vimax3_s32_relu", three, true, 32, true, true},
    {"__vimax3_u32", three, true, 32, false, false},       {"__vimax3_s16x2", three, true, 16, true, false},
    {"__vimax3_s16x2_relu", three, true, 16, true, true},  {"__vimax3_u16x2", three, true, 16, false, false},
    {"__vimin3_s32", three, false, 32, true, false},       {"__vimin3_s32_relu", three, false, 32, true, true},
    {"__vimin3_u32", three, false, 32, false, false},      {"__vimin3_s16x2", three, false, 16, true, false},
    {"__vimin3_s16x2_relu", three, false, 16, true, true}, {"__vimin3_u16x2", three, false, 16, false, false},
    {"__vimax_s32_relu", two, true, 32, true, true},       {"__vimax_s16x2_relu", two, true, 16, true, true},
    {"__vimin_s32_relu", two, false, 32, true, true},      {"__vimin_s16x2_relu", two, false, 16, true, true},
    {"__vibmax_s32", two, true, 32, true, false, true},    {"__vibmax_u32", two, true, 32, false, false, true},
    {"__vibmin_s32", two, false, 32, true, false, true},   {"__vibmin_u32", two, false, 32, false, false, true},
    {"__vibmax_s16x2", two, true, 16, true, false, true},  {"__vibmax_u16x2", two, true, 16, false, false, true},
    {"__vibmin_s16x2", two, false, 16, true, false, true}, {"__vibmin_u16x2", two, false, 16, false, false, true},
});

/// The number that a part's bits stand for.
std::int64_t number_of(const DpxFunction& f, std::uint64_t bits) {
  const std::uint64_t part = bits & ((std::uint64_t{1} << f.bits) - 1);
  const bool negative = f.is_signed && part >> (f.bits - 1) != 0;
  return static_cast<std::int64_t>(part) - (negative ? std::int64_t{1} << f.bits : 0);
}

std::int64_t extreme(const DpxFunction& f, std::int64_t x, std::int64_t y) {
  return f.is_max ? std::max(x, y) : std::min(x, y);
}

}  // namespace

std::span<const DpxFunction> dpx_functions() { return kFunctions; }

const DpxFunction& in_turn_with(const DpxFunction& f) {
  if (f.form != two || f.has_predicates) return f;
  return *std::ranges::find_if(kFunctions, [&](const DpxFunction& other) {
    return other.form == two && !other.has_predicates && other.bits == f.bits && other.is_max != f.is_max;
  });
}

DpxResult evaluate(const DpxFunction& f, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  DpxResult result;
  for (int part = 0; part < f.parts(); ++part) {
    const int shift = part * f.bits;
    const std::int64_t x = number_of(f, a >> shift), y = number_of(f, b >> shift), z = number_of(f, c >> shift);
    std::int64_t value = f.form == sum ? number_of(f, static_cast<std::uint64_t>(x + y)) : extreme(f, x, y);
    if (f.form != two) value = extreme(f, value, z);
    if (f.relu) value = std::max<std::int64_t>(value, 0);
    const std::uint64_t mask = (std::uint64_t{1} << f.bits) - 1;
    result.value |= static_cast<std::uint32_t>((static_cast<std::uint64_t>(value) & mask) << shift);
    if (f.has_predicates && extreme(f, x, y) == x) result.predicates |= 1u << part;
  }
  return result;
}

}  // namespace tcnum::bench
