#include "values.hpp"

#include <initializer_list>

#include <fmt/format.h>

namespace tcnum {
namespace {

struct Text {
  const Instruction& instruction;

  /// Of an enumeration, in the order of its enumerators.
  template <class Enum>
  static std::string word(Enum value, std::initializer_list<std::string_view> words) {
    return std::string(words.begin()[static_cast<std::size_t>(value)]);
  }
  std::string operator()(ProductExponent value) const { return word(value, {"sum", "normalised"}); }
  std::string operator()(ZeroTerms value) const { return word(value, {"ignored", "natural"}); }
  std::string operator()(InnerResult value) const {
    return word(value, {"as the output", "fp32, toward_zero", "fp32, nearest_even", "not as the output"});
  }
  std::string operator()(InfiniteProducts value) const { return word(value, {"no", "yes"}); }
  std::string operator()(GroupExponent value) const {
    return word(value, {"the scales'", "the scales' and the products'"});
  }
  std::string operator()(Subnormals value) const { return word(value, {"kept", "flushed"}); }
  std::string operator()(NormalisedSubnormals value) const {
    return word(value, {"minimum", "normalised", "minimum, c's normalised"});
  }
  std::string operator()(ZeroSums value) const {
    return word(value, {"positive", "ieee", "ieee, but positive with c"});
  }
  std::string operator()(UnderflowSign value) const { return word(value, {"kept", "positive"}); }
  std::string operator()(Overflow value) const { return word(value, {"ieee", "infinity", "max_finite", "wrap"}); }
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
