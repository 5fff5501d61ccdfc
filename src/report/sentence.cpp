#include "probe_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace tcnum {
namespace {

/// "two"; "17".
std::string number_word(std::size_t n) {
  static constexpr std::array<std::string_view, 9> kWords = {"no",   "one", "two",   "three", "four",
                                                             "five", "six", "seven", "eight"};
  return n < kWords.size() ? std::string(kWords[n]) : std::to_string(n);
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string in_words(Rounding mode) {
  static constexpr std::array<std::string_view, 5> kWords = {"toward zero", "to nearest even",
                                                             "to nearest, ties away from zero", "up", "down"};
  return std::string(kWords[static_cast<std::size_t>(mode)]);
}

/// Phrases for one choice.
class Sentence {
 public:
  Sentence(const Space& space, const Choice& choice, std::span<const Property> unobservable)
      : space_(space),
        choice_(choice),
        unobservable_(unobservable),
        structure_(space.structure(choice)),
        instruction_(space.instruction()) {}

  std::string text() const { return sums() + scales(); }

 private:
  /// What block scales multiply.
  std::string scales() const {
    if (!space_.scales()) return "";
    const ScaledGroups& groups = structure_.scaled;
    if (groups.size == 0) return " A product is multiplied by its block's two scales before all that.";
    const int bits = space_.group_bits(choice_);
    const bool alone = space_.get<Property::group_exponent>(choice_) == GroupExponent::scales_alone;
    return fmt::format(" Of each {} products of a block, the sum{} times the block's two scales is one term{}.",
                       groups.size,
                       bits == kExact ? "" : fmt::format(", cut {} bits below their largest exponent,", bits),
                       space_.fraction_bits(choice_) == kExact ? ""
                       : alone                                 ? ", with the exponent of the scales alone"
                               : ", with the exponents of the scales and of the products");
  }
  std::string sums() const {
    if (!format(instruction_.d).floating) return integer_sum();
    const bool exact = space_.fraction_bits(choice_) == kExact;
    const bool chained =
        structure_.combination == Combination::chain || structure_.combination == Combination::chain_then_c;
    if (chained && exact && structure_.block_k() == 1) return multiply_adds();
    if (structure_.combination == Combination::chain) return fused_sums();
    if (structure_.sums_apart()) return sums_apart();
    if (chained) return chain_and_add();
    return structure_.block_k() == 1 ? adds_of_products() : adds_of_sums();
  }

  std::size_t blocks() const { return structure_.blocks.size(); }
  bool inner_differs() const { return space_.get<Property::inner_result>(choice_) != InnerResult::as_output; }

  /// " toward zero"; empty if no result tells it from other modes.
  std::string how(Property property, Rounding mode) const {
    const bool is_told = std::ranges::find(unobservable_, property) == unobservable_.end();
    return is_told ? " " + in_words(mode) : "";
  }

  /// "rounded toward zero to fp32".
  std::string rounded() const {
    const Format& d = format(instruction_.d);
    const int bits = space_.output_fraction_bits(choice_);
    if (const auto first = space_.first_rounding(choice_)) {
      return fmt::format("rounded{} to {} and then{} to {}", how(Property::output_rounding, *first),
                         format(instruction_.c).name, how(Property::output_rounding, space_.output_rounding(choice_)),
                         d.name);
    }
    return fmt::format("rounded{} to {}{}", how(Property::output_rounding, space_.output_rounding(choice_)), d.name,
                       bits == d.fraction_bits ? "" : fmt::format(" with only {} fraction bits", bits));
  }
  std::string inner_rounded() const {
    const std::optional<Rounding> to_fp32 = space_.inner_rounding(choice_);
    return to_fp32 ? fmt::format("rounded{} to fp32", how(Property::inner_result, *to_fp32)) : rounded();
  }
  std::string add_rounded() const {
    return fmt::format("rounded{}{}", how(Property::add_rounding, space_.add_rounding(choice_)),
                       space_.add_through_fp32(choice_)
                           ? fmt::format(" to fp32 first and then to {}", format(instruction_.d).name)
                           : "");
  }

  /// "each term is cut toward zero 25 bits below the largest exponent".
  std::string cut() const {
    const int bits = space_.fraction_bits(choice_);
    if (bits == kExact) return "no bit is cut";
    const Rounding mode = space_.align_rounding(choice_);
    const std::string words = how(Property::align_rounding, mode);
    const bool cuts = words.empty() || mode == Rounding::toward_zero || mode == Rounding::down;
    const std::string done = (cuts ? "cut" : "rounded") + (cuts && words == " down" ? " downward" : words);
    const bool normalised = space_.product_exponent(choice_) == ProductExponent::normalised;
    return fmt::format("each term is {} {} bits below the largest exponent{}", done, bits,
                       normalised ? " of the normalised terms" : "");
  }
  /// "F = 25, rounded toward zero to fp32": what `cut` and `inner_rounded` say, in brackets.
  std::string in_brackets() const {
    const int bits = space_.fraction_bits(choice_);
    const Rounding align = space_.align_rounding(choice_);
    return fmt::format("({}{}, {})", bits == kExact ? "exact" : fmt::format("F = {}", bits),
                       bits == kExact || align == Rounding::toward_zero || how(Property::align_rounding, align).empty()
                           ? ""
                           : fmt::format(" cut {}", in_words(align)),
                       inner_rounded());
  }

  std::string sizes() const {
    const bool even = std::ranges::all_of(structure_.blocks,
                                          [&](const auto& b) { return b.size() == structure_.blocks.front().size(); });
    if (even) return plural(structure_.blocks.front().size(), "product");
    std::vector<std::size_t> each;
    for (const auto& block : structure_.blocks) each.push_back(block.size());
    return fmt::format("{} products", fmt::join(each, ", "));
  }
  /// "in ascending k"; empty for one block.
  std::string order() const {
    if (blocks() == 1) return "";
    const std::string text = text_of(structure_.order);
    switch (structure_.order.kind) {
      case ProductOrder::Kind::interleaved:
        return blocks() == 2 ? " over interleaved halves of k" : fmt::format(" over k {}", text);
      case ProductOrder::Kind::halves:
        return fmt::format(" with {}", text);
      case ProductOrder::Kind::found:
        break;
      default:
        return fmt::format(" in {}", text);
    }
    std::vector<std::string> lists;
    for (const auto& block : structure_.blocks) lists.push_back(fmt::format("{}", fmt::join(block, " ")));
    return fmt::format(" in the order k = {}", fmt::join(lists, " | "));
  }

  /// "32 products"; "256 bits a xor b".
  std::string terms(std::size_t count) const {
    if (instruction_.a != FormatId::b1) return plural(count, "product");
    const int operation = Space::value(choice_, Property::product_operation);
    return fmt::format("{} a {} b", plural(count, "bit"), space_.value_text(Property::product_operation, operation));
  }
  std::string integer_sum() const {
    const Format& d = format(instruction_.d);
    const auto in_range = [&](Overflow overflow) {
      return overflow == Overflow::wrap ? fmt::format("modulo 2^{}", d.storage_bits)
                                        : fmt::format("saturated to the {} range", d.name);
    };
    const std::string range = in_range(space_.overflow(choice_));
    const bool c_first = structure_.combination == Combination::chain;
    if (blocks() == 1 && c_first) {
      return fmt::format("The exact integer sum of {} and c, {}{}.",
                         terms(static_cast<std::size_t>(instruction_.products())), range,
                         space_.overflow(choice_) == Overflow::wrap ? "" : " once at the end");
    }
    std::string text = fmt::format(
        "A chain of {} integer {}{}, each of {} and the sum before it, {}, each {}", number_word(blocks()),
        blocks() == 1 ? "sum" : "sums", order(), terms(structure_.blocks.front().size()),
        c_first ? "the first with c" : "the first starting from zero", in_range(space_.inner_overflow(choice_)));
    if (!c_first)
      text += fmt::format("; then c is added, {}", range);
    else if (inner_differs())
      text += fmt::format(", the last {}", range);
    return text + ".";
  }

  std::string multiply_adds() const {
    const bool c_first = structure_.combination == Combination::chain;
    std::string text = fmt::format("A chain of {} fused multiply-adds{}, starting from {}, each {}", blocks(), order(),
                                   c_first ? "c" : "zero", inner_rounded());
    if (c_first && inner_differs()) text += fmt::format(", the last {}", rounded());
    if (!c_first) text += fmt::format("; then c is added by a floating-point add {}", add_rounded());
    return text + ".";
  }
  std::string fused_sums() const {
    if (blocks() == 1) {
      return fmt::format("One fused sum of {} and c: {}, the sum is {}.", sizes(), cut(), rounded());
    }
    return fmt::format(
        "A chain of {} fused sums{}, each of {} and the sum before it, the first with c: {}, each sum is {}{}.",
        number_word(blocks()), order(), sizes(), cut(), inner_rounded(),
        inner_differs() ? fmt::format(", the last {}", rounded()) : "");
  }
  std::string sums_apart() const {
    const std::string_view parts = structure_.combination == Combination::apart          ? ""
                                   : structure_.combination == Combination::apart_parity ? ", odd and even ones apart,"
                                                                                         : ", its two halves apart,";
    return fmt::format(
        "{} of {}{} in a chain{}: a block's products{} are aligned among themselves: {}. Then their sum, of which {} "
        "bits are kept below the larger exponent, and the result before, at first c, of which {} are, are added and "
        "{}.",
        capitalised(fmt::format("{} {}", number_word(blocks()), blocks() == 1 ? "block" : "blocks")), sizes(),
        blocks() == 1 ? "" : " each", order(), parts, cut(), space_.sum_bits(choice_), space_.c_bits(choice_),
        rounded());
  }
  std::string chain_and_add() const {
    return fmt::format("Lowered: {} chained fused {} of {}{}{} {}, then c is added by a floating-point add {}.",
                       number_word(blocks()), blocks() == 1 ? "sum" : "sums", sizes(), blocks() == 1 ? "" : " each",
                       order(), in_brackets(), add_rounded());
  }
  std::string combined(std::string_view what) const {
    if (blocks() == 1) return "c is added to it";
    switch (structure_.combination) {
      case Combination::adds:
        return fmt::format("the {} are added to c one after the other", what);
      case Combination::adds_then_c:
        return fmt::format("the {} are added to each other in that order, then to c", what);
      case Combination::pairs:
        return fmt::format("the {} are added in pairs, and each pair to c in that order", what);
      case Combination::group_trees:
        return fmt::format("the {} are added in balanced trees of {} neighbours, and each tree to c in that order",
                           what, structure_.group);
      default:
        return fmt::format("the {} are added in a balanced tree of neighbours, then to c", what);
    }
  }
  std::string adds_of_products() const {
    return fmt::format("Floating-point adds of {}{}: each product is {}, {}, and each add is {}.",
                       plural(blocks(), "product"), order(), inner_rounded(), combined("products"), add_rounded());
  }
  std::string adds_of_sums() const {
    return capitalised(fmt::format("{} fused {} of {}{}{} {}; {} by floating-point adds {}.", number_word(blocks()),
                                   blocks() == 1 ? "sum" : "sums", sizes(), blocks() == 1 ? "" : " each", order(),
                                   in_brackets(), combined("sums"), add_rounded()));
  }

  const Space& space_;
  const Choice& choice_;
  std::span<const Property> unobservable_;
  const Structure& structure_;
  const Instruction& instruction_;
};

}  // namespace

std::string structure_sentence(const Space& space, const Choice& choice, std::span<const Property> unobservable) {
  return Sentence(space, choice, unobservable).text();
}

bool sentence_is_settled(const Space& space, const FitResult& result) {
  static constexpr std::array kUnsaid = {Property::operand_format, Property::zero_terms,        Property::join_rounding,
                                         Property::c_dropped,      Property::infinite_products, Property::total_bits};
  return std::ranges::all_of(result.undetermined, [&](const Undetermined& each) {
    if (space.sums_integers() && each.property == Property::overflow) return false;
    return is_edge_rule(each.property) || std::ranges::find(kUnsaid, each.property) != kUnsaid.end();
  });
}

}  // namespace tcnum
