#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

// --- Text in lines and columns ----------------------------------------------------------------------------------

std::size_t width_of(std::string_view text) {  // of UTF-8: continuation bytes take no place
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (width_of(line) + 1 + width_of(word) <= width)
      line.append(" ").append(word);
    else
      lines.emplace_back(word);
  }
  return lines;
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// --- Words ------------------------------------------------------------------------------------------------------

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

std::string plural(std::size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string in_words(Rounding mode) {
  static constexpr std::array<std::string_view, 5> kWords = {"toward zero", "to nearest even",
                                                             "to nearest, ties away from zero", "up", "down"};
  return std::string(kWords[static_cast<std::size_t>(mode)]);
}

// --- The sentence -----------------------------------------------------------------------------------------------

/// Phrases for one choice.
class Sentence {
 public:
  Sentence(const Space& space, const Choice& choice)
      : space_(space), choice_(choice), structure_(space.structure(choice)), instruction_(space.instruction()) {}

  std::string text() const {
    if (!format(instruction_.d).floating) return integer_sum();
    const bool exact = space_.fraction_bits(choice_) == kExact;
    const bool chained =
        structure_.combination == Combination::chain || structure_.combination == Combination::chain_then_c;
    if (chained && exact && structure_.block_k() == 1) return multiply_adds();
    if (structure_.combination == Combination::chain) return fused_sums();
    if (chained) return chain_and_add();
    return structure_.block_k() == 1 ? adds_of_products() : adds_of_sums();
  }

 private:
  std::size_t blocks() const { return structure_.blocks.size(); }
  bool inner_differs() const { return Space::value(choice_, Property::inner_result) != 0; }

  /// "rounded toward zero to fp32".
  std::string rounded() const {
    const Format& d = format(instruction_.d);
    const int bits = space_.output_fraction_bits(choice_);
    if (const auto first = space_.first_rounding(choice_)) {
      return fmt::format("rounded {} to {} and then {} to {}", in_words(*first), format(instruction_.c).name,
                         in_words(space_.output_rounding(choice_)), d.name);
    }
    return fmt::format("rounded {} to {}{}", in_words(space_.output_rounding(choice_)), d.name,
                       bits == d.fraction_bits ? "" : fmt::format(" with only {} fraction bits", bits));
  }
  std::string inner_rounded() const {
    const std::optional<Rounding> to_fp32 = space_.inner_rounding(choice_);
    return to_fp32 ? fmt::format("rounded {} to fp32", in_words(*to_fp32)) : rounded();
  }
  std::string add_rounded() const {
    return fmt::format("rounded {}{}", in_words(space_.add_rounding(choice_)),
                       space_.add_through_fp32(choice_)
                           ? fmt::format(" to fp32 first and then to {}", format(instruction_.d).name)
                           : "");
  }

  /// "each term is cut toward zero 25 bits below the largest exponent".
  std::string cut() const {
    const int bits = space_.fraction_bits(choice_);
    if (bits == kExact) return "no bit is cut";
    std::string how;
    switch (space_.align_rounding(choice_)) {
      case Rounding::toward_zero:
        how = "cut toward zero";
        break;
      case Rounding::down:
        how = "cut downward";
        break;
      default:
        how = "rounded " + in_words(space_.align_rounding(choice_));
    }
    const bool normalised = space_.product_exponent(choice_) == ProductExponent::normalised;
    return fmt::format("each term is {} {} bits below the largest exponent{}", how, bits,
                       normalised ? " of the normalised terms" : "");
  }
  /// "F = 25, rounded toward zero to fp32": what `cut` and `inner_rounded` say, in brackets.
  std::string in_brackets() const {
    const int bits = space_.fraction_bits(choice_);
    const Rounding align = space_.align_rounding(choice_);
    return fmt::format("({}{}, {})", bits == kExact ? "exact" : fmt::format("F = {}", bits),
                       bits == kExact || align == Rounding::toward_zero ? "" : fmt::format(" cut {}", in_words(align)),
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
  const Structure& structure_;
  const Instruction& instruction_;
};

// --- Properties -------------------------------------------------------------------------------------------------

/// What the fit knows about one property.
class Finding {
 public:
  Finding(const ProbeReport& report, Property property)
      : space_(report.fit.space()), result_(report.result), fit_(report.fit), property_(property) {
    for (const Undetermined& u : result_.undetermined) {
      if (u.property == property) open_ = &u;
    }
    for (const Rejection& r : result_.rejected) {
      if (r.property == property) rejected_.push_back(&r);
    }
    unobservable_ = std::ranges::find(result_.unobservable, property) != result_.unobservable.end();
  }

  const Undetermined* open() const { return open_; }
  bool unobservable() const { return unobservable_; }
  /// Other values that give the same results for every input.
  std::vector<std::string> equivalent() const {
    std::vector<std::string> values;
    if (open_ != nullptr || unobservable_) return values;
    for (int v = 0; v < space_.count(property_); ++v) {
      Choice other = result_.choice;
      Space::set(other, property_, v);
      if (v != chosen() && space_.contains(other) && space_.canonical(other) == result_.choice) {
        values.push_back(space_.value_text(property_, v));
      }
    }
    return values;
  }
  /// Whether there is anything to say: some alternative is in the space.
  bool interesting() const { return open_ != nullptr || unobservable_ || !rejected_.empty(); }

  std::string value() const {
    if (open_ != nullptr) return "open";
    if (unobservable_) return applies() ? "unobservable" : "does not apply";
    if (property_ == Property::output_fraction_bits) return std::to_string(space_.output_fraction_bits(result_.choice));
    return space_.value_text(property_, chosen());
  }

  std::string evidence(std::string_view witness) const {
    if (open_ != nullptr) {
      constexpr std::size_t kMostShown = 8;
      const std::size_t shown = std::min(kMostShown, open_->values.size());
      std::string text = fmt::format(
          "still open: {}",
          fmt::join(open_->values.begin(), open_->values.begin() + static_cast<std::ptrdiff_t>(shown), ", or "));
      if (shown < open_->values.size()) text += fmt::format(", and {} others", open_->values.size() - shown);
      return text;
    }
    if (unobservable_) return applies() ? "no input shows it" : "the structure leaves no choice";
    const Rejection* nearest = nearest_rejection();
    if (nearest == nullptr) return "no answer refutes another value";
    const Format& d = format(space_.instruction().d);
    std::string text = fmt::format("probe #{} ({}) refutes {}: would give {}, {} gave {}", nearest->probe,
                                   fit_.evidence().name_of(nearest->probe), in_quotes(nearest->value),
                                   hex(d, nearest->expected), witness, hex(d, nearest->observed));
    if (const std::size_t same = equivalent().size(); same > 0) {
      text += fmt::format("; {} other{} no input tells from it", same, same == 1 ? "" : "s");
    }
    if (rejected_.size() > 1) {
      text += fmt::format("; {} other{} refuted", rejected_.size() - 1, rejected_.size() == 2 ? "" : "s");
    }
    return text;
  }

 private:
  int chosen() const { return Space::value(result_.choice, property_); }

  static std::string in_quotes(const std::string& value) {
    return value.find(' ') == std::string::npos ? value : fmt::format("\"{}\"", value);
  }

  /// Whether the structure allows any other value.
  bool applies() const {
    for (int v = 0; v < space_.count(property_); ++v) {
      Choice other = result_.choice;
      Space::set(other, property_, v);
      if (v != chosen() && space_.contains(other)) return true;
    }
    return false;
  }

  const Rejection* nearest_rejection() const {
    const Rejection* nearest = nullptr;
    int least = 0;
    for (int v = 0; v < space_.count(property_); ++v) {
      const std::string text = space_.value_text(property_, v);
      for (const Rejection* r : rejected_) {
        if (r->value != text || (nearest != nullptr && std::abs(v - chosen()) >= least)) continue;
        nearest = r;
        least = std::abs(v - chosen());
      }
    }
    return nearest;
  }

  const Space& space_;
  const FitResult& result_;
  const Fit& fit_;
  Property property_;
  const Undetermined* open_ = nullptr;
  std::vector<const Rejection*> rejected_;
  bool unobservable_ = false;
};

std::string_view witness_of(const Source& source) {
  return source.kind == "datapath" ? "the datapath" : "the hardware";
}

std::string properties_text(const ProbeReport& report) {
  const bool explained = report.result.verdict != Verdict::unexplained;
  std::vector<std::vector<std::string>> rows = {{"property", "value", explained ? "evidence" : ""}};
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const Finding finding(report, property);
    if (!explained) {
      if (report.fit.space().count(property) > 1) rows.push_back({std::string(name(property)), finding.value(), ""});
    } else if (finding.interesting()) {
      rows.push_back({std::string(name(property)), finding.value(), finding.evidence(witness_of(report.source))});
    }
  }
  return table_text(rows, 24);
}

std::string accounts_text(const ProbeReport& report) {
  if (report.accounts.empty()) return "";
  const Format& d = format(report.fit.evidence().instruction().d);
  std::vector<std::vector<std::string>> rows = {{"published account", "verdict", "evidence"}};
  for (const AccountCheck& a : report.accounts) {
    if (!a.refutation) {
      rows.push_back({a.account, "survives",
                      fmt::format("gives all {} answers ({})",
                                  count_text(static_cast<double>(report.fit.evidence().size())), a.origin)});
      continue;
    }
    rows.push_back(
        {a.account, "refuted",
         fmt::format("by answer #{} ({}): expected {}, observed {}; {} mismatches ({})", a.refutation->probe,
                     report.fit.evidence().name_of(a.refutation->probe), hex(d, a.refutation->expected),
                     hex(d, a.refutation->observed), count_text(static_cast<double>(a.mismatches)), a.origin)});
  }
  return "\n" + table_text(rows);
}

// --- JSON -------------------------------------------------------------------------------------------------------

std::string structure_kind(const Space& space, const Choice& choice) {
  if (!format(space.instruction().d).floating) return "integer_sum";
  const Structure& s = space.structure(choice);
  const bool single_products = s.block_k() == 1;
  if (s.combination == Combination::chain) {
    return single_products && space.fraction_bits(choice) == kExact ? "fma_chain" : "aligned_sum";
  }
  return single_products && s.combination != Combination::chain_then_c ? "fp_add_tree" : "composite";
}

/// What becomes of a number too large for the result, in effect.
ordered_json summary_of(const ProbeReport& report) {
  const Space& space = report.fit.space();
  const Choice& choice = report.result.choice;
  const Structure& s = space.structure(choice);
  ordered_json summary;
  const auto put = [&](std::string_view key, Property property, ordered_json value) {
    const Finding finding(report, property);
    if (finding.open() != nullptr)
      value = "undetermined";
    else if (finding.unobservable())
      value = "unobservable";
    summary[std::string(key)] = std::move(value);
  };
  const auto put_text = [&](Property property) {
    put(name(property), property, space.value_text(property, Space::value(choice, property)));
  };
  put("structure", Property::structure, structure_kind(space, choice));
  summary["sentence"] = structure_sentence(space, choice);
  put("block_k", Property::structure, s.block_k());
  put("blocks", Property::structure, s.blocks.size());
  put("order", Property::structure, text_of(s.order));
  if (space.count(Property::product_operation) > 1) put_text(Property::product_operation);
  if (!format(space.instruction().d).floating) {  // nothing else means anything
    put("accumulator", Property::structure, s.combination == Combination::chain ? "first" : "after");
    if (s.tree.nodes.size() > 1) put_text(Property::inner_result);
    put_text(Property::overflow);
    return summary;
  }
  if (space.count(Property::operand_format) > 1) put_text(Property::operand_format);
  const int bits = space.fraction_bits(choice);
  put("fraction_bits", Property::fraction_bits, bits == kExact ? ordered_json("exact") : ordered_json(bits));
  put_text(Property::align_rounding);
  put("accumulator", Property::structure, s.combination == Combination::chain ? "aligned" : "after");
  put_text(Property::product_exponent);
  put("output_fraction_bits", Property::output_fraction_bits, space.output_fraction_bits(choice));
  // Only one value: what the format has.
  if (space.count(Property::output_fraction_bits) == 1 || Space::value(choice, Property::output_fraction_bits) == 0) {
    const Finding finding(report, Property::output_fraction_bits);
    if (finding.open() == nullptr) summary["output_fraction_bits"] = space.output_fraction_bits(choice);
  }
  put_text(Property::output_rounding);
  if (s.tree.nodes.size() > 1 && space.count(Property::inner_result) > 1) put_text(Property::inner_result);
  if (s.adds_apart()) put_text(Property::add_rounding);
  const ZeroExponent& zero = space.zero_exponent(choice);
  put("zero_exponent", Property::zero_exponent,
      zero.kind == ZeroExponentKind::none ? ordered_json("none") : ordered_json(zero.value));
  put_text(Property::zero_terms);
  put_text(Property::subnormal_inputs);
  put_text(Property::subnormal_exponent);
  put_text(Property::subnormal_outputs);
  put("nan", Property::nan, hex(format(space.instruction().d), space.nan(choice).code));
  if (space.nan(choice).propagate) put("nan_operands", Property::nan, "propagated");
  put("overflow", Property::overflow, space.overflow(choice) == Overflow::infinity ? "inf" : "max_finite");
  put_text(Property::underflow_sign);
  put_text(Property::zero_sign);
  return summary;
}

}  // namespace

// --- Public -----------------------------------------------------------------------------------------------------

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  for (const std::string& line : lines_of(text, kReportWidth - indent)) {
    out += std::string(indent, ' ') + line + "\n";
  }
  return out;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t wide) {
  constexpr std::size_t kIndent = 2, kGap = 2, kNarrowest = 24;
  const std::size_t columns = rows.front().size();
  std::vector<std::size_t> widths(columns, 0);
  std::size_t before = kIndent;
  for (std::size_t c = 0; c < columns; ++c) {
    for (const auto& row : rows) widths[c] = std::max(widths[c], width_of(row[c]));
    if (c + 1 < columns) before += (widths[c] = std::min(widths[c], wide)) + kGap;
  }
  widths.back() = before + kNarrowest > kReportWidth ? kNarrowest : kReportWidth - before;

  std::string out;
  for (const auto& row : rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      cells.push_back(lines_of(row[c], widths[c]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line(kIndent, ' ');
      for (std::size_t c = 0; c < columns; ++c) {
        const std::string_view cell = i < cells[c].size() ? std::string_view(cells[c][i]) : std::string_view();
        line += padded(cell, widths[c]) + std::string(kGap, ' ');
      }
      out += trimmed(std::move(line)) + "\n";
    }
  }
  return out;
}

std::string count_text(double count) {
  constexpr double kMostDigits = 1e12;
  if (count >= kMostDigits) return fmt::format("{:.2g}", count);
  std::string digits = fmt::format("{:.0f}", count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string hex(const Format& f, std::uint64_t code) {
  return fmt::format("0x{:0{}x}", code, (f.storage_bits + 3) / 4);
}

std::string value_text(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  if (d.number_class == NumberClass::nan) return "nan";
  const std::string_view sign = d.negative ? "-" : "";
  if (d.number_class == NumberClass::infinity) return fmt::format("{}inf", sign);
  return fmt::format("{}{}", sign, std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits));
}

std::string problem_text(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                         std::uint64_t observed) {
  const auto shown = [](FormatId id, std::uint64_t code) {
    return fmt::format("{} = {}", hex(format(id), code), value_text(format(id), code));
  };
  std::vector<std::vector<std::string>> rows = {{"term", "a", "b"}};
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    if (problem.a[k] == 0 && problem.b[k] == 0)
      ++left_out;
    else
      rows.push_back(
          {fmt::format("k = {}", k), shown(instruction.a, problem.a[k]), shown(instruction.b, problem.b[k])});
  }
  rows.push_back({"c", shown(instruction.c, problem.c), ""});
  rows.push_back({"expected", shown(instruction.d, expected), ""});
  rows.push_back({"observed", shown(instruction.d, observed), ""});
  std::string text = table_text(rows, 40);
  if (left_out != 0) text += fmt::format("  (the other {}: +0 times +0)\n", plural(left_out, "product"));
  return text;
}

ordered_json json_problem(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                          std::uint64_t observed) {
  const auto list = [](FormatId id, const std::vector<std::uint64_t>& codes) {
    ordered_json out = ordered_json::array();
    for (std::uint64_t code : codes) out.push_back(hex(format(id), code));
    return out;
  };
  return {{"a", list(instruction.a, problem.a)},
          {"b", list(instruction.b, problem.b)},
          {"c", hex(format(instruction.c), problem.c)},
          {"expected", hex(format(instruction.d), expected)},
          {"observed", hex(format(instruction.d), observed)}};
}

std::string source_text(const Source& source) {
  std::vector<std::string> facts;
  for (const auto& [key, prefix] :
       {std::pair{"driver", "driver "}, std::pair{"cuda", "CUDA "}, std::pair{"date", ""}}) {
    if (const auto found = source.provenance.find(key); found != source.provenance.end() && !found->second.empty()) {
      facts.push_back(prefix + found->second);
    }
  }
  std::string what = "the GPU ";
  if (source.kind == "recorded") what = "recorded answers of ";
  if (source.kind == "datapath") what = "";
  const std::string device = source.device.empty() ? "an unnamed device" : source.device;
  return what + device + (facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", ")));
}

ordered_json json_source(const Source& source) {
  ordered_json out = {{"kind", source.kind}, {"device", source.device}};
  for (const char* key : {"driver", "cuda", "date"}) {
    if (const auto found = source.provenance.find(key); found != source.provenance.end()) out[key] = found->second;
  }
  if (!source.file.empty()) out["file"] = source.file;
  return out;
}

std::string structure_sentence(const Space& space, const Choice& choice) { return Sentence(space, choice).text(); }

std::vector<AccountCheck> check_accounts(const Fit& fit, const std::vector<CatalogueEntry>& accounts) {
  std::vector<AccountCheck> checks;
  for (const CatalogueEntry& entry : accounts) {
    if (entry.fitted) continue;
    AccountCheck check{entry.account, entry.origin, fit.mismatches(entry.datapath), std::nullopt};
    if (const auto first = fit.first_mismatch(entry.datapath)) {
      const Instruction& i = fit.evidence().instruction();
      const Problem problem = fit.evidence().problem(*first);
      Tiles one = make_tiles(i.a, i.b, i.c, i.d, 1, 1, 1, problem.a.size());
      for (std::size_t k = 0; k < problem.a.size(); ++k) {
        one.a.set(k, problem.a[k]);
        one.b.set(k, problem.b[k]);
      }
      one.c.set(0, problem.c);
      Emulator(entry.datapath).run(one);
      check.refutation = AccountCheck::Refutation{*first, one.d[0], fit.evidence().answer(*first)};
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

std::vector<Relative> check_relatives(const Fit& fit, ArchId arch) {
  const Instruction& own = fit.space().instruction();
  std::vector<Relative> relatives;
  std::vector<std::pair<Datapath, std::size_t>> known;  // most have one of few datapaths
  for (const Instruction* other : instructions_of(arch)) {
    const auto formats = [](const Instruction& i) { return std::array{i.a, i.b, i.c, i.d}; };
    if (other->name() == own.name() || formats(*other) != formats(own) || other->products() != own.products() ||
        other->modifier != own.modifier) {
      continue;
    }
    const std::vector<CatalogueEntry> entries = catalogue(arch, *other);
    if (entries.empty() || !entries[0].fitted) continue;
    auto found = std::ranges::find(known, entries[0].datapath, &std::pair<Datapath, std::size_t>::first);
    if (found == known.end()) {
      known.emplace_back(entries[0].datapath, fit.mismatches(entries[0].datapath));
      found = known.end() - 1;
    }
    relatives.push_back({other->name(), found->second});
  }
  return relatives;
}

namespace {

/// Rows of what is the same and what is not.
void add_relatives(const ProbeReport& report, std::vector<std::vector<std::string>>& rows) {
  std::string same;
  std::map<std::size_t, std::string> unlike;
  for (const Relative& each : report.relatives) {
    std::string& names = each.mismatches == 0 ? same : unlike[each.mismatches];
    names.append(names.empty() ? "" : ", ").append(each.instruction);
  }
  const auto answers = count_text(static_cast<double>(report.fit.evidence().size()));
  if (!same.empty()) rows.push_back({"same as", fmt::format("{}: each explains all {} answers", same, answers)});
  for (const auto& [mismatches, names] : unlike) {
    rows.push_back(
        {"unlike", fmt::format("{}: {} answers differ", names, count_text(static_cast<double>(mismatches)))});
  }
  if (!report.compared) return;
  std::string text;
  if (report.compared->here > 0) text = fmt::format("{:.2g} dot products", report.compared->here);
  if (report.compared->widths > 0) {
    text += fmt::format("{}{:.2g} at {} other N", text.empty() ? "" : ", and ", report.compared->other_widths,
                        report.compared->widths);
  }
  rows.push_back({"compared", fmt::format("{} ({})", text, report.compared->file)});
}

}  // namespace

std::string text_report(const ProbeReport& report) {
  const FitResult& r = report.result;
  const Space& space = report.fit.space();
  const auto answers = static_cast<double>(report.fit.evidence().size());
  std::string text = fmt::format("{} on {}: {}\n\n", space.instruction().name(), report.arch, name(r.verdict));
  if (r.verdict == Verdict::unexplained) {
    text +=
        wrapped(fmt::format("No datapath of the space explains every answer. The nearest gets {} of {} answers wrong:",
                            count_text(static_cast<double>(r.mismatches)), count_text(answers)),
                2);
  }
  text += wrapped(structure_sentence(space, r.choice), 2) + "\n" + properties_text(report);
  if (r.counterexample) {
    text += "\n  A small problem that it gets wrong:\n\n" + problem_text(space.instruction(), r.counterexample->problem,
                                                                         r.counterexample->expected,
                                                                         r.counterexample->observed);
  }
  text += accounts_text(report);

  std::vector<std::vector<std::string>> counts = {
      {"datapaths", fmt::format("{} considered, {} left", count_text(r.considered), count_text(r.surviving))}};
  if (r.verdict == Verdict::identified && r.surviving > 0)
    counts.back().back() += " (in one class that no input tells apart)";
  std::string asked = count_text(answers);
  if (r.separating > 0)
    asked += fmt::format(", of which {} were asked because they separate two datapaths", r.separating);
  counts.push_back({"answers", std::move(asked)});
  if (r.verdict == Verdict::ambiguous && r.search_effort > 0) {
    counts.push_back({"search", fmt::format("{} dot problems tried that separate none of what is left",
                                            count_text(static_cast<double>(r.search_effort)))});
  }
  if (!report.sass.empty()) counts.push_back({"SASS", report.sass});
  add_relatives(report, counts);
  counts.push_back({"source", source_text(report.source)});
  if (report.source.kind == "recorded") counts.push_back({"file", report.source.file});
  return text + "\n" + table_text(counts);
}

ordered_json json_report(const ProbeReport& report) {
  const FitResult& r = report.result;
  const Instruction& instruction = report.fit.space().instruction();
  const Format& d = format(instruction.d);
  ordered_json out;
  out["name"] = instruction.name();
  out["verdict"] = name(r.verdict);
  out["datapath"] = to_json(r.datapath);
  out["summary"] = summary_of(report);
  const auto whole = [](double count) {  // spaces may be larger than integers
    constexpr double kMostExact = 0x1p53;
    return count < kMostExact ? ordered_json(static_cast<std::uint64_t>(count)) : ordered_json(count);
  };
  out["hypotheses"] = {{"considered", whole(r.considered)}, {"surviving", whole(r.surviving)}};
  out["probes"] = report.fit.evidence().size();
  out["separating"] = r.separating;
  out["mismatches"] = r.mismatches;
  out["rejected"] = ordered_json::array();
  for (const Rejection& each : r.rejected) {
    // Values that are numbers in the summary are numbers here.
    const bool number = !each.value.empty() && each.value.size() < 10 &&
                        each.value.find_first_not_of("0123456789", each.value[0] == '-' ? 1 : 0) == std::string::npos;
    out["rejected"].push_back({{"property", name(each.property)},
                               {"value", number ? ordered_json(std::stoi(each.value)) : ordered_json(each.value)},
                               {"probe", each.probe},
                               {"probe_name", report.fit.evidence().name_of(each.probe)},
                               {"expected", hex(d, each.expected)},
                               {"observed", hex(d, each.observed)}});
  }
  out["equivalent"] = ordered_json::object();
  for (std::size_t i = 0; r.verdict != Verdict::unexplained && i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const std::vector<std::string> values = Finding(report, property).equivalent();
    if (!values.empty()) out["equivalent"][std::string(name(property))] = values;
  }
  if (!r.undetermined.empty()) {
    out["undetermined"] = ordered_json::object();
    for (const Undetermined& each : r.undetermined) out["undetermined"][std::string(name(each.property))] = each.values;
  }
  if (r.counterexample) {
    out["counterexample"] =
        json_problem(instruction, r.counterexample->problem, r.counterexample->expected, r.counterexample->observed);
  }
  out["accounts"] = ordered_json::array();
  for (const AccountCheck& each : report.accounts) {
    ordered_json account = {{"account", each.account},
                            {"origin", each.origin},
                            {"survives", !each.refutation.has_value()},
                            {"mismatches", each.mismatches}};
    if (each.refutation) {
      account["probe"] = each.refutation->probe;
      account["expected"] = hex(d, each.refutation->expected);
      account["observed"] = hex(d, each.refutation->observed);
    }
    out["accounts"].push_back(std::move(account));
  }
  if (!report.sass.empty()) out["sass"] = report.sass;
  out["same_as"] = ordered_json::array();
  out["unlike"] = ordered_json::array();
  for (const Relative& each : report.relatives) {
    if (each.mismatches == 0)
      out["same_as"].push_back(each.instruction);
    else
      out["unlike"].push_back({{"instruction", each.instruction}, {"mismatches", each.mismatches}});
  }
  if (report.compared) {
    out["compared"] = {{"file", report.compared->file},
                       {"count", whole(report.compared->here)},
                       {"other_n_count", whole(report.compared->other_widths)},
                       {"other_n", report.compared->widths}};
  }
  return out;
}

}  // namespace tcnum
