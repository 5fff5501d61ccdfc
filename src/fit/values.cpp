#include "values.hpp"

#include <array>

#include <fmt/format.h>

namespace tcnum {
namespace {

/// The word of an enumerator.
template <class Enum, std::size_t N>
std::string word(const std::array<std::string_view, N>& words, Enum value) {
  return std::string(words[static_cast<std::size_t>(value)]);
}

}  // namespace

std::string text_of(const Instruction&, const Structure& value) { return text_of(value); }

std::string text_of(const Instruction&, FormatId value) { return std::string(format(value).name); }

std::string text_of(const Instruction& instruction, ProductOperation value) {
  if (value == ProductOperation::exclusive_or) return "xor";
  return instruction.a == FormatId::b1 ? "and" : "multiply";
}

std::string text_of(const Instruction&, int fraction_bits) {
  return fraction_bits == kExact ? "exact" : std::to_string(fraction_bits);
}

std::string text_of(const Instruction&, Rounding value) { return std::string(name(value)); }

std::string text_of(const Instruction&, ProductExponent value) {
  static constexpr std::array<std::string_view, 2> kWords = {"sum", "normalised"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, ZeroTerms value) {
  static constexpr std::array<std::string_view, 2> kWords = {"ignored", "natural"};
  return word(kWords, value);
}

std::string text_of(const Instruction& instruction, const SumRounding& value) {
  if (!value.to_c_first) return std::string(name(value.to_result));
  return fmt::format("{} to {}, then {}", name(*value.to_c_first), format(instruction.c).name, name(value.to_result));
}

std::string text_of(const Instruction& instruction, SumWidth value) {
  return value == SumWidth::of_the_format ? std::to_string(format(instruction.d).fraction_bits) : "fraction_bits";
}

std::string text_of(const Instruction&, InnerResult value) {
  static constexpr std::array<std::string_view, 4> kWords = {"as the output", "fp32, toward_zero", "fp32, nearest_even",
                                                             "not as the output"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, const AddRounding& value) {
  return fmt::format("{}{}", name(value.rounding), value.through_fp32 ? ", through fp32" : "");
}

std::string text_of(const Instruction&, std::optional<int> bits_below) {
  return bits_below ? fmt::format("more than {} below", *bits_below) : "never";
}

std::string text_of(const Instruction&, const TotalBits& value) {
  static constexpr std::array<std::string_view, 3> kWords = {"all", "{} below the alignment",
                                                             "{} below the leading bit"};
  return fmt::format(fmt::runtime(kWords[static_cast<std::size_t>(value.from)]), value.bits);
}

std::string text_of(const Instruction&, InfiniteProducts value) {
  static constexpr std::array<std::string_view, 2> kWords = {"no", "yes"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, GroupExponent value) {
  static constexpr std::array<std::string_view, 2> kWords = {"the scales'", "the scales' and the products'"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, const ZeroExponent& value) {
  if (value.kind == ZeroExponentKind::none) return "none";
  return fmt::format("{}{}", value.value, value.kind == ZeroExponentKind::zeros ? " (zero terms only)" : "");
}

std::string text_of(const Instruction&, Subnormals value) {
  static constexpr std::array<std::string_view, 2> kWords = {"kept", "flushed"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, NormalisedSubnormals value) {
  static constexpr std::array<std::string_view, 3> kWords = {"minimum", "normalised", "minimum, c's normalised"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, ZeroSums value) {
  static constexpr std::array<std::string_view, 3> kWords = {"positive", "ieee", "ieee, but positive with c"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, UnderflowSign value) {
  static constexpr std::array<std::string_view, 2> kWords = {"kept", "positive"};
  return word(kWords, value);
}

std::string text_of(const Instruction&, Overflow value) {
  static constexpr std::array<std::string_view, 4> kWords = {"ieee", "infinity", "max_finite", "wrap"};
  return word(kWords, value);
}

std::string text_of(const Instruction& instruction, const NanRule& value) {
  const int digits = format(instruction.d).storage_bits / 4;
  std::string text = fmt::format("{:#0{}x}", value.code, digits + 2);
  if (value.propagate) {
    text += "; a NaN operand's payload comes back, first of";
    for (NanOperand o : value.order) text += fmt::format(" {}", "abc"[static_cast<int>(o)]);
  }
  return text;
}

}  // namespace tcnum
