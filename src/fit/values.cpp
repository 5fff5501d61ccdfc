#include "values.hpp"

#include <array>

#include <fmt/format.h>

namespace tcnum {
namespace {

/// The words of an enumeration, in the order of its enumerators.
template <class Enum>
constexpr std::array<std::string_view, 0> kWords = {};
template <>
constexpr std::array<std::string_view, 2> kWords<ProductExponent> = {"sum", "normalised"};
template <>
constexpr std::array<std::string_view, 2> kWords<ZeroTerms> = {"ignored", "natural"};
template <>
constexpr std::array<std::string_view, 4> kWords<InnerResult> = {"as the output", "fp32, toward_zero",
                                                                 "fp32, nearest_even", "not as the output"};
template <>
constexpr std::array<std::string_view, 2> kWords<InfiniteProducts> = {"no", "yes"};
template <>
constexpr std::array<std::string_view, 2> kWords<GroupExponent> = {"the scales'", "the scales' and the products'"};
template <>
constexpr std::array<std::string_view, 2> kWords<Subnormals> = {"kept", "flushed"};
template <>
constexpr std::array<std::string_view, 3> kWords<NormalisedSubnormals> = {"minimum", "normalised",
                                                                          "minimum, c's normalised"};
template <>
constexpr std::array<std::string_view, 3> kWords<ZeroSums> = {"positive", "ieee", "ieee, but positive with c"};
template <>
constexpr std::array<std::string_view, 2> kWords<UnderflowSign> = {"kept", "positive"};
template <>
constexpr std::array<std::string_view, 4> kWords<Overflow> = {"ieee", "infinity", "max_finite", "wrap"};

struct Text {
  const Instruction& instruction;

  template <class Enum>
  std::string operator()(Enum value) const {
    return std::string(kWords<Enum>.at(static_cast<std::size_t>(value)));
  }
  std::string operator()(FormatId value) const { return std::string(format(value).name); }
  std::string operator()(Rounding value) const { return std::string(name(value)); }
  std::string operator()(ProductOperation value) const {
    if (value == ProductOperation::exclusive_or) return "xor";
    return instruction.a == FormatId::b1 ? "and" : "multiply";
  }
  std::string operator()(int bits) const { return bits == kExact ? "exact" : std::to_string(bits); }
  std::string operator()(std::optional<int> bits_below) const {
    return bits_below ? fmt::format("more than {} below", *bits_below) : "never";
  }
  std::string operator()(const SumRounding& value) const {
    if (!value.to_c_first) return (*this)(value.to_result);
    return fmt::format("{} to {}, then {}", name(*value.to_c_first), format(instruction.c).name, name(value.to_result));
  }
  std::string operator()(SumWidth value) const {
    return value == SumWidth::of_the_format ? std::to_string(format(instruction.d).fraction_bits) : "fraction_bits";
  }
  std::string operator()(const AddRounding& value) const {
    return fmt::format("{}{}", name(value.rounding), value.through_fp32 ? ", through fp32" : "");
  }
  std::string operator()(const TotalBits& value) const {
    if (value.from == TotalBits::From::all) return "all";
    return fmt::format("{} below the {}", value.bits,
                       value.from == TotalBits::From::alignment ? "alignment" : "leading bit");
  }
  std::string operator()(const ZeroExponent& value) const {
    if (value.kind == ZeroExponentKind::none) return "none";
    return fmt::format("{}{}", value.value, value.kind == ZeroExponentKind::zeros ? " (zero terms only)" : "");
  }
  std::string operator()(const NanRule& value) const {
    const int digits = format(instruction.d).storage_bits / 4;
    std::string text = fmt::format("{:#0{}x}", value.code, digits + 2);
    if (value.propagate) {
      text += "; a NaN operand's payload comes back, first of";
      for (NanOperand o : value.order) text += fmt::format(" {}", "abc"[static_cast<int>(o)]);
    }
    return text;
  }
};

}  // namespace

std::string text_of(const Instruction& instruction, const AnyValue& value) {
  return std::visit(Text{instruction}, value);
}

}  // namespace tcnum
