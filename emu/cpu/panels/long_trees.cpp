#include "long_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bracket_kernels.hpp"
#include "emu/bit_width.hpp"
#include "emu/cpu/matrix_codes.hpp"
#include "emu/machine_rounding.hpp"
#include "emu/rounding_steps.hpp"
#include "emu/units.hpp"
#include "left_over.hpp"
#include "long_kernels.hpp"
#include "needed_bits.hpp"
#include "parts.hpp"

namespace tcnum::panels {
namespace {

/// Products along k that are packed at once: those of a panel stay in the second-level cache.
constexpr std::size_t kProducts = 128;
constexpr int kWordBits = 64;

/// Lines of A, or a panel of B, taken apart.
struct Operands {
  Buffer<std::uint64_t> codes, significand;
  Buffer<std::int64_t> last, exponent;
  Buffer<double> above, below;  ///< of brackets

  bool any_special = false;
  bool are_usual = true;  ///< for brackets

  void resize(std::size_t size) {
    codes.resize(size);
    significand.resize(size);
    last.resize(size);
    exponent.resize(size);
  }
  LongNumbers from(std::size_t at) { return {significand.data() + at, last.data() + at, exponent.data() + at}; }
  Bounds bounds_from(std::size_t at) {
    if (above.size() == 0) return {};  // whose plan has no brackets
    return {above.data() + at, below.data() + at};
  }

  /// Multiplies a number by another's.
  void scale(std::size_t at, const Operands& by, std::size_t by_at) {
    constexpr std::uint64_t kFlags = kLongNegative | kLongSpecial;
    const std::uint64_t x = significand[at], y = by.significand[by_at];
    significand[at] = ((x & ~kFlags) * (y & ~kFlags)) | ((x ^ y) & kLongNegative) | ((x | y) & kLongSpecial);
    any_special |= by.any_special;
    last[at] += by.last[by_at];
    exponent[at] += by.exponent[by_at];
  }
};

/// Reads `count` codes, `stride` apart.
void read_codes(const std::byte* from, std::size_t bytes, std::size_t stride, std::size_t count, std::uint64_t* to) {
  with_code_of(bytes, [&]<class Code>(Code code) {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&code, from + i * stride * sizeof(Code), sizeof(Code));
      to[i] = code;
    }
  });
}
/// Writes them.
void write_codes(const std::uint64_t* from, std::size_t count, std::byte* to, std::size_t bytes, std::size_t stride) {
  with_code_of(bytes, [&]<class Code>(Code code) {
    for (std::size_t i = 0; i < count; ++i) {
      code = static_cast<Code>(from[i]);
      std::memcpy(to + i * stride * sizeof(Code), &code, sizeof(Code));
    }
  });
}

std::size_t bytes_of(FormatId id) { return static_cast<std::size_t>(format(id).storage_bytes()); }

class LongPart {
 public:
  LongPart(const LongPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
           const MatrixCodes<const std::byte>& b, const BlockScales& scales, const Part& part)
      : plan_(plan),
        n_(plan.datapath.numerics),
        kernels_(*long_kernels()),
        brackets_(*bracket_kernels()),
        shape_(shape),
        a_(a),
        b_(b),
        scales_(scales),
        part_(part),
        depth_(static_cast<std::size_t>(plan.datapath.tree.k)),
        block_(n_.scales ? static_cast<std::size_t>(n_.scales->block_k) : 1),
        results_(part, part.m),
        left_over_(plan.datapath, shape, a, b, scales),
        writer_(n_.result, n_.nan.code) {
    std::size_t most_terms = 0;
    for (const LongNode& node : plan.sums.nodes) most_terms = std::max(most_terms, node.node.terms.size());
    of_nodes_.resize(kernels_.room(plan.sums.nodes.size()));
    of_terms_.resize(kernels_.room(most_terms));
    left_.resize(kColumns);
    tried_.resize(kColumns);
  }

  void run(const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    const PlainArithmetic plain;
    if (c.codes != nullptr) {
      results_.each_stretch(c, format(n_.c.format).storage_bytes(),
                            [&](std::uint64_t* codes, std::size_t count, const std::byte* from) {
                              read_codes(from, bytes_of(n_.c.format), c.column_stride, count, codes);
                            });
    }
    const std::size_t links = rounded_up(shape_.k, depth_) / depth_;
    const std::size_t at_once = std::max<std::size_t>(1, kProducts / depth_);
    for (std::size_t link = 0; link < links; link += at_once) add_links(link, std::min(at_once, links - link));
    const std::size_t bytes = bytes_of(n_.result);
    results_.each_stretch(d, static_cast<int>(bytes),
                          [&](const std::uint64_t* codes, std::size_t count, std::byte* to) {
                            write_codes(codes, count, to, bytes, d.column_stride);
                          });
  }

 private:
  void add_links(std::size_t first_link, std::size_t links) {
    const std::size_t first = first_link * depth_, products = links * depth_;
    const std::size_t there = std::min(products, shape_.k - first);  // products after these are of zeros
    pack_a(first, products, there);
    for (std::size_t panel = 0; panel < results_.panels(); ++panel) {
      pack_b(first, products, there, panel);
      // As brackets ask; integers do not heed it.
      const MachineRounding up(plan_.has_brackets ? Rounding::up : Rounding::nearest_even);
      for (std::size_t row = 0; row < part_.m; ++row) {
        for (std::size_t link = 0; link < links; ++link) {
          const LongWork work = work_of(row, panel, link);
          if (!run_brackets(work) && !run_usual(work) && kernels_.run(work))
            evaluate_left(first + link * depth_, row, panel);
        }
      }
    }
  }

  /// How often a faster way was tried, and left something.
  struct Tries {
    std::size_t all = 0, in_vain = 0;
    bool are_worth_it() const {
      constexpr std::size_t kLeast = 16, kOfOneInVain = 3;
      return all < kLeast || in_vain * kOfOneInVain <= all;
    }
  };
  /// Tries a faster way, unless that was in vain too often; whether nothing is left.
  bool try_kernel(bool (*run)(const LongWork&), LongWork work, Tries& tries) {
    if (!tries.are_worth_it()) return false;
    std::uint64_t* const codes = work.codes;
    work.codes = tried_.data();
    ++tries.all;
    if (run(work)) {
      ++tries.in_vain;
      return false;
    }
    std::memcpy(codes, tried_.data(), kColumns * sizeof(std::uint64_t));
    return true;
  }
  bool run_brackets(const LongWork& work) {
    const bool are_usual = packed_a_.are_usual && packed_b_.are_usual && a_scales_.are_usual && b_scales_.are_usual;
    if (!plan_.has_brackets || !are_usual) return false;
    return try_kernel(brackets_.run, work, tries_of_brackets_);
  }
  /// With fewer words.
  bool run_usual(LongWork work) {
    if (plan_.usual.words == plan_.sums.words || work.any_special) return false;
    work.sums = &plan_.usual;
    return try_kernel(kernels_.run, work, tries_of_usual_);
  }
  void find_bounds(Operands& operands, bool is_minus) const {
    if (!plan_.has_brackets) return;
    operands.above.resize(operands.significand.size());
    operands.below.resize(operands.significand.size());
    const MachineRounding up(Rounding::up);
    operands.are_usual =
        brackets_.bounds(operands.from(0), operands.significand.size(), is_minus, operands.bounds_from(0));
  }

  void pack_a(std::size_t first, std::size_t products, std::size_t there) {
    take_a_apart(first, products, there);
    find_bounds(packed_a_, true);
    if (plan_.scales_sums) find_bounds(a_scales_, false);
  }
  void take_a_apart(std::size_t first, std::size_t products, std::size_t there) {
    length_ = rounded_up(products, kColumns);
    blocks_length_ = rounded_up(products / block_, kColumns);
    packed_a_.resize(part_.m * length_);
    std::fill_n(packed_a_.codes.data(), packed_a_.codes.size(), 0);
    const std::size_t bytes = bytes_of(n_.a.format);
    for (std::size_t i = 0; i < part_.m; ++i) {
      const std::size_t at = (part_.i + i) * a_.row_stride + first * a_.column_stride;
      read_codes(a_.codes + at * bytes, bytes, a_.column_stride, there, &packed_a_.codes[i * length_]);
    }
    decode(n_.a, packed_a_);
    if (!n_.scales) return;
    const std::size_t blocks = rounded_up(there, block_) / block_;
    put_ones(part_.m * blocks_length_, a_scales_);
    for (std::size_t i = 0; i < part_.m; ++i) {
      const std::size_t at = (part_.i + i) * scales_.a.row_stride + first / block_ * scales_.a.column_stride;
      read_codes(scales_.a.codes + at, 1, scales_.a.column_stride, blocks, &a_scales_.codes[i * blocks_length_]);
    }
    decode_scales(a_scales_);
    if (plan_.scales_sums) return;
    for (std::size_t i = 0; i < part_.m; ++i) {
      for (std::size_t k = 0; k < products; ++k)
        packed_a_.scale(i * length_ + k, a_scales_, i * blocks_length_ + k / block_);
    }
  }

  void pack_b(std::size_t first, std::size_t products, std::size_t there, std::size_t panel) {
    take_b_apart(first, products, there, panel);
    find_bounds(packed_b_, false);
    if (plan_.scales_sums) find_bounds(b_scales_, false);
  }
  void take_b_apart(std::size_t first, std::size_t products, std::size_t there, std::size_t panel) {
    const std::size_t column = part_.j + panel * kColumns, columns = std::min(kColumns, part_.j + part_.n - column);
    packed_b_.resize(products * kColumns);
    std::fill_n(packed_b_.codes.data(), packed_b_.codes.size(), 0);
    const std::size_t bytes = bytes_of(n_.b.format);
    for (std::size_t k = 0; k < there; ++k) {
      const std::size_t at = (first + k) * b_.row_stride + column * b_.column_stride;
      read_codes(b_.codes + at * bytes, bytes, b_.column_stride, columns, &packed_b_.codes[k * kColumns]);
    }
    decode(n_.b, packed_b_);
    if (!n_.scales) return;
    const std::size_t blocks = rounded_up(there, block_) / block_;
    put_ones(products / block_ * kColumns, b_scales_);
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t at = (first / block_ + block) * scales_.b.row_stride + column * scales_.b.column_stride;
      read_codes(scales_.b.codes + at, 1, scales_.b.column_stride, columns, &b_scales_.codes[block * kColumns]);
    }
    decode_scales(b_scales_);
    if (plan_.scales_sums) return;
    for (std::size_t k = 0; k < products; ++k) {
      for (std::size_t j = 0; j < kColumns; ++j)
        packed_b_.scale(k * kColumns + j, b_scales_, k / block_ * kColumns + j);
    }
  }

  /// Codes of scales that are 1.
  void put_ones(std::size_t count, Operands& scales) const {
    const Format& f = format(n_.scales->format);
    scales.resize(count);
    std::fill_n(scales.codes.data(), count, static_cast<std::uint64_t>(f.bias) << f.fraction_bits);
  }
  void decode(const OperandRule& rule, Operands& operands) const {
    operands.any_special =
        kernels_.decode(rule, plan_.zeros_align, operands.codes.data(), operands.codes.size(), operands.from(0));
  }
  void decode_scales(Operands& scales) const {
    decode({n_.scales->format, Subnormals::kept, SubnormalExponent::minimum}, scales);
  }

  LongWork work_of(std::size_t row, std::size_t panel, std::size_t link) {
    LongWork work;
    work.plan = &plan_;
    work.sums = &plan_.sums;
    work.a = packed_a_.from(row * length_ + link * depth_);
    work.b = packed_b_.from(link * depth_ * kColumns);
    work.a_bounds = packed_a_.bounds_from(row * length_ + link * depth_);
    work.b_bounds = packed_b_.bounds_from(link * depth_ * kColumns);
    work.writer = &writer_;
    if (plan_.scales_sums) {
      const std::size_t block = link * depth_ / block_;
      work.a_scale = a_scales_.from(row * blocks_length_ + block);
      work.b_scale = b_scales_.from(block * kColumns);
      work.a_scale_bounds = a_scales_.bounds_from(row * blocks_length_ + block);
      work.b_scale_bounds = b_scales_.bounds_from(block * kColumns);
    }
    work.any_special = packed_a_.any_special || packed_b_.any_special;
    work.c = work.codes = results_.of(row, panel);
    work.left = left_.data();
    work.results = of_nodes_.data();
    work.terms = of_terms_.data();
    return work;
  }

  /// One link of what the kernels left of a row.
  void evaluate_left(std::size_t k, std::size_t row, std::size_t panel) {
    const MachineRounding to_nearest(Rounding::nearest_even);
    const std::size_t first = panel * kColumns, columns = std::min(kColumns, part_.n - first);
    left_over_.evaluate_flagged(k, part_.i + row, part_.j + first, {left_.data(), columns}, results_.of(row, panel));
  }

  const LongPlan& plan_;
  const Numerics& n_;
  const LongKernels& kernels_;
  const BracketKernels& brackets_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_;
  BlockScales scales_;
  Part part_;
  std::size_t depth_, block_, length_ = 0, blocks_length_ = 0;
  PartNumbers<std::uint64_t> results_;
  LeftOver left_over_;
  Operands packed_a_, packed_b_, a_scales_, b_scales_;
  Buffer<std::uint64_t> of_nodes_, of_terms_, left_, tried_;
  Tries tries_of_brackets_, tries_of_usual_;
  NumberWriter writer_;
};

/// Bits of an operand, with its scale if it has one.
int operand_bits(const Numerics& n, FormatId id) {
  return format(id).fraction_bits + 1 + (n.scales ? format(n.scales->format).fraction_bits + 1 : 0);
}

/// Whether a term may be larger than its exponent says, having not been rounded since it was added.
bool may_be_large(const Numerics& n, const SortedTree& tree, const Term& t) {
  if (t.kind != Term::Kind::node) return false;
  const RoundSteps& steps =
      n.units[static_cast<std::size_t>(tree.nodes[static_cast<std::size_t>(t.index)].unit)].result;
  return steps.empty() || steps.step[static_cast<std::size_t>(steps.count - 1)].from_alignment;
}
bool others_may_be_large(const Numerics& n, const SortedTree& tree, const SortedNode& node) {
  return std::ranges::any_of(node.others, [&](const Term& t) { return may_be_large(n, tree, t); });
}
/// What is asked of the words of a datapath's sums.
enum class Hold : std::uint8_t {
  all,    ///< all that units keep; of exact sums' terms all bits, if they are not far apart
  usual,  ///< that of terms which are about as large
};

/// Words that a datapath's sums want, which reach so far.
int words_of(const Numerics& n, const SortedTree& tree, const std::vector<SumReach>& sums, int product_bits,
             Hold hold) {
  // Of an exact sum's terms all bits are kept if they are no further apart than that. Of some hundred products of
  // numbers of a bell curve, the least is about 2^-12 of the largest.
  const int spread = hold == Hold::all ? 40 : 20;
  // Terms that were not rounded are mostly less than 2^this times what they are aligned with.
  constexpr int kAbove = 10;
  const int kept = std::max(product_bits, format(n.c.format).fraction_bits + 1) + spread;
  const int scale_bits = scales_sums(n) ? kLongScaleBits : 0;
  int sum_bits = 0, step_bits = 0;
  const auto add_steps = [&](const RoundSteps& steps) {
    for (const RoundStep& s : steps) step_bits = std::max(step_bits, s.fraction_bits);
  };
  add_steps(n.product.round);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const SortedNode& node = tree.nodes[i];
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    add_steps(unit.result);
    int bits = 0;  // below what the node's terms are aligned with
    for (const int each : {unit.fraction_bits, unit.first_fraction_bits.value_or(0)})
      bits = std::max(bits, each == kExact || hold == Hold::usual ? std::min(each, kept) : each);
    bits += kLongHeadroom + bit_width(static_cast<std::uint64_t>(node.terms.size()));
    if (others_may_be_large(n, tree, node)) bits += kAbove;
    if (!cuts_terms(unit)) bits = std::min(bits, sums[i].top - sums[i].lowest);
    sum_bits = std::max(sum_bits, bits + scale_bits);
  }
  if (hold == Hold::usual) step_bits = 0;  // what becomes a largest number that is longer is left
  int words = product_bits > kWordBits ? 3 : 1;
  while (words < kMostLongWords && std::max(sum_bits, step_bits) > most_long_bits(words)) ++words;
  return words;
}

LongRounding rounding_of(const RoundSteps& steps) {
  // Beside a leading one; and two below tell half, and what is not half. Sums are mostly less than 2^kMostAbove times
  // what they are aligned with; others are left.
  constexpr int kMostBits = 61, kMostAbove = 10;
  const auto is_for_words = [](const RoundStep& s) {
    return s.fraction_bits <= kMostBits - (s.from_alignment ? kMostAbove : 0) && s.max_exponent >= s.min_exponent &&
           s.overflow != Overflow::wrap && !s.twos_complement;
  };
  // Of numbers as they usually are; where those are not ordinary it is in vain.
  constexpr int kLeastUsual = -6, kMostUsual = 12;
  const auto is_for_ordinary = [](const RoundStep& s) {
    const bool is_fixed = s.min_exponent > s.max_exponent;  // all numbers are subnormal
    return s.max_exponent >= kMostUsual &&
           (is_fixed ? s.subnormals == Subnormals::kept : s.min_exponent <= kLeastUsual);
  };
  if (steps.empty()) return {};
  return {std::ranges::all_of(steps, is_for_words), std::ranges::all_of(steps, is_for_ordinary)};
}

/// A node whose sums reach so far, and have so many words.
LongNode plan_node(const Numerics& n, const SortedTree& tree, const SortedNode& from, const SumReach& sum, int words) {
  const Unit& unit = n.units[static_cast<std::size_t>(from.unit)];
  LongNode node;
  node.node = from;
  node.rounding = rounding_of(unit.result);
  node.others_may_be_large = others_may_be_large(n, tree, from);
  const bool cuts_all = unit.fraction_bits != kExact && !unit.first_fraction_bits;
  const int scale_bits = scales_sums(n) ? kLongScaleBits : 0;
  if (!cuts_terms(unit) && sum.top - sum.lowest <= most_long_bits(words) - scale_bits) node.last = sum.lowest;
  const bool only_multiplies = n.product.round.empty() || from.products.empty();
  // Whoever asks what products are aligned with sees which are infinite, too.
  node.wants_alignment = !node.last || unit.result.empty() || n.product.infinite_from || unit.drop_below;
  node.is_plain = only_multiplies && (!cuts_terms(unit) || cuts_all);
  return node;
}

BracketStep bracket_step(const RoundStep& s) {
  BracketStep step{s};
  step.least = std::ldexp(1.0, std::max(s.min_exponent, kLeastGridOfBracket));
  const int most = std::min(s.max_exponent, kMostGridOfBracket);
  step.beyond = std::ldexp(1.0, most + 1);
  const int last = std::max(most, s.min_exponent) - s.fraction_bits;
  step.largest_above = step.beyond - std::ldexp(1.0, last);
  step.largest_below = step.largest_above;
  // Terms are 2^-kMostBracketNumber at least, so that no sum has a bit below this.
  constexpr int kDigits = std::numeric_limits<double>::digits, kLeastBit = -kMostBracketNumber - kDigits;
  step.cuts = s.from_alignment || s.fraction_bits < kDigits - 1 || s.min_exponent > kLeastBit;
  step.has_long_largest = most + 1 - last > kDigits;
  if (step.has_long_largest) {
    step.largest_above = step.beyond;
    step.largest_below = std::nextafter(step.beyond, 0);
  }
  return step;
}
std::vector<BracketStep> bracket_steps(const RoundSteps& steps) {
  std::vector<BracketStep> to;
  for (const RoundStep& s : steps) to.push_back(bracket_step(s));
  const auto last =
      std::ranges::find_if(to.rbegin(), to.rend(), [](const BracketStep& s) { return !s.step.from_alignment; });
  if (last != to.rend()) last->puts_exponent = true;
  return to;
}

/// Whether doubles on both sides of sums mostly tell results.
bool are_for_brackets(const Numerics& n, const SortedTree& tree) {
  constexpr int kMostBits = 44;  // below the leading one: of some 2^8 results one is not told
  // Monotone, and of usual numbers it leaves usual ones, or none.
  const auto is_for_them = [](const RoundStep& s) {
    if (s.overflow == Overflow::wrap || s.twos_complement || s.min_exponent > kMostBracketNumber) return false;
    return s.max_exponent >= -kMostBracketNumber || (to_infinity(s, false) && to_infinity(s, true));
  };
  const auto all_are_for_them = [&](const RoundSteps& steps) { return std::ranges::all_of(steps, is_for_them); };
  if (n.product.operation != ProductOperation::multiply || !all_are_for_them(n.product.round)) return false;
  for (const SortedNode& node : tree.nodes) {
    if (!all_are_for_them(n.units[static_cast<std::size_t>(node.unit)].result)) return false;
  }
  const RoundSteps& last = n.units[static_cast<std::size_t>(tree.nodes.back().unit)].result;
  return format(n.result).floating &&
         std::ranges::any_of(last, [](const RoundStep& s) { return s.fraction_bits <= kMostBits; });
}

}  // namespace

LongPlan make_long_plan(const Numerics& all, const SortedTree& tree) {
  const auto [numerics, sums] = needed_bits(all, tree);
  LongPlan plan;
  plan.datapath = {numerics, {}, tree.tree};
  plan.scales_sums = scales_sums(numerics);
  const int a_bits = operand_bits(numerics, numerics.a.format), b_bits = operand_bits(numerics, numerics.b.format);
  plan.has_long_operand = std::max(a_bits, b_bits) > kWordBits / 2;
  plan.product_bits = a_bits + b_bits;
  plan.product_fraction_bits = format(numerics.a.format).fraction_bits + format(numerics.b.format).fraction_bits;
  if (numerics.scales) plan.product_fraction_bits += 2 * format(numerics.scales->format).fraction_bits;
  const auto takes_zeros = [](const Unit& unit) {
    const ZeroExponentKind kind = unit.zero_exponent.kind;
    return kind == ZeroExponentKind::natural || kind == ZeroExponentKind::zeros;
  };
  plan.product_rounding = rounding_of(numerics.product.round);
  plan.zeros_align = numerics.product.operation == ProductOperation::exclusive_or ||  // of zeros too
                     std::ranges::any_of(numerics.units, takes_zeros);
  plan.looks_at_products = plan.zeros_align || numerics.product.exponent == ProductExponent::normalised ||
                           numerics.product.infinite_from.has_value();
  plan.has_brackets = are_for_brackets(numerics, tree);
  if (plan.has_brackets) {
    for (std::size_t u = 0; u < numerics.units.size(); ++u)
      plan.bracket_steps[u] = bracket_steps(numerics.units[u].result);
    plan.bracket_product_steps = bracket_steps(numerics.product.round);
  }
  for (const auto& [hold, to] : {std::pair{Hold::all, &plan.sums}, std::pair{Hold::usual, &plan.usual}}) {
    to->words = words_of(numerics, tree, sums, plan.product_bits, hold);
    for (std::size_t i = 0; i < sums.size(); ++i)
      to->nodes.push_back(plan_node(numerics, tree, tree.nodes[i], sums[i], to->words));
  }
  return plan;
}

bool long_panels_are_here() { return long_kernels() != nullptr; }

void multiply(const LongPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales) {
  each_part(shape, threads, [&](const Part& part) { LongPart(plan, shape, a, b, scales, part).run(c, d); });
}

}  // namespace tcnum::panels
