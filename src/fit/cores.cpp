#include <algorithm>
#include <array>
#include <mutex>
#include <span>

#include "emu/parallel.hpp"
#include "steps.hpp"

namespace tcnum {
namespace {

/// Answers in the order in which they are tried. What refutes often comes to be tried early.
class TrialOrder {
 public:
  TrialOrder() = default;
  explicit TrialOrder(std::vector<std::size_t> numbers) : numbers_(std::move(numbers)) {}
  std::size_t size() const { return numbers_.size(); }
  std::size_t operator[](std::size_t at) const { return numbers_[at]; }
  /// Moves what is at `at` towards the front.
  void promote(std::size_t at) {
    if (at > 0) std::swap(numbers_[at], numbers_[at / 2]);
  }

 private:
  std::vector<std::size_t> numbers_;
};

/// A sample of the answers is tried first: this many that judge the alignment, this many of ordinary numbers.
constexpr std::size_t kMostAlignment = 120, kMostOrdinary = 160;
/// Ordinary answers among which the sample is taken.
constexpr std::size_t kOrdinaryPool = 4000;
/// Answers that judge how a block's products are aligned, apart from c, and how c is, where no more than that matters.
constexpr std::size_t kMostOfOneBlock = 240;
/// Answers that judge how both come together before roundings are tried.
constexpr std::size_t kJoiningTrials = 60;
/// Answers that an alignment is judged by before roundings are tried. Where results are short, few judge alignments
/// apart from roundings, and trying more costs more than it saves.
constexpr std::size_t kAlignmentTrials = 12;

bool is_normal(FormatId f, std::uint64_t code) { return decode(format(f), code).number_class == NumberClass::normal; }

/// Whether operands and answer are normal numbers. An answer well inside the range promises that nothing on the way
/// left it either.
bool is_ordinary(const Instruction& in, const Problem& p, std::uint64_t answer) {
  const Format& d = format(in.d);
  const Decoded r = decode(d, answer);
  if (r.number_class != NumberClass::normal || r.exponent <= d.min_exponent() + 2 ||
      r.exponent >= d.max_exponent() - 2 || !is_normal(in.c, p.c)) {
    return false;
  }
  return std::ranges::all_of(p.a, [&](std::uint64_t code) { return is_normal(in.a, code); }) &&
         std::ranges::all_of(p.b, [&](std::uint64_t code) { return is_normal(in.b, code); });
}

/// Every so-manieth, so that about `most` are left.
std::vector<std::size_t> thinned(const std::vector<std::size_t>& numbers, std::size_t most) {
  const std::size_t step = std::max<std::size_t>(1, numbers.size() / most);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < numbers.size(); i += step) kept.push_back(numbers[i]);
  return kept;
}

/// Whether the answer refutes the datapath: a wrong result is inconclusive if it consulted any of `inconclusive`.
bool refutes(const Space& space, const Evidence& evidence, std::size_t number, const CpuEmulator& emulator,
             unsigned inconclusive) {
  if (evidence.explained_by(emulator, number)) return false;
  unsigned consulted = 0;
  evidence.emulate(emulator, number, space.watch_exponent(), consulted);
  return (consulted & inconclusive) == 0;
}

/// Whether one of the first `most` answers of the order refutes the datapath.
bool any_refutes(const Space& space, const Evidence& evidence, TrialOrder& order, std::size_t most,
                 const CpuEmulator& emulator, unsigned inconclusive) {
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    if (!refutes(space, evidence, order[i], emulator, inconclusive)) continue;
    order.promote(i);
    return true;
  }
  return false;
}

/// The rules that a result depends on if an operand is subnormal, then the others that it does if a sum is tiny or
/// zero.
constexpr std::array kSmallNumberRules = {Property::subnormal_inputs, Property::subnormal_exponent,
                                          Property::subnormal_outputs, Property::zero_sign, Property::underflow_sign};
constexpr std::size_t kOfOperands = 2;  ///< the first of them

/// Whether so many numbers of an operand's format are subnormal that few dot problems have none: those of fp6 and fp4,
/// and of all that block scales come with.
bool has_often_subnormal_operands(const Instruction& instruction) {
  constexpr int kFewExponentBits = 3;
  const Format &a = format(instruction.a), &b = format(instruction.b);
  return instruction.scaled() || (a.floating && std::min(a.exponent_bits, b.exponent_bits) <= kFewExponentBits);
}

/// Each worker's own, and kept for the next structure.
struct Orders {
  TrialOrder alignment, all;
};

/// What an answer can judge of sums that are apart from c.
struct Shape {
  std::size_t number;
  std::vector<int> products;  ///< those that are not zero
  bool c_is_zero;
};

/// The cores of one structure: every way to align, and with each that is not refuted every way to round.
class Structurewise {
 public:
  Structurewise(const Space& space, const Evidence& evidence, int structure, Orders& orders,
                const std::vector<Shape>& shapes)
      : space_(space),
        evidence_(evidence),
        orders_(orders),
        shapes_(shapes),
        c_(space.first_of(structure)),
        emulator_(emulator_of(space, c_)),
        often_subnormal_(has_often_subnormal_operands(space.instruction())) {}

  std::vector<Choice> find() && {
    if (space_.structure(c_).sums_apart())
      find_sums_apart();
    else
      for_each(kAlignmentProperties, [&] { judge_alignment(); });
    return std::move(cores_);
  }

 private:
  /// Where products are summed apart, answers to problems of one block judge step by step: without c, how the block's
  /// products are aligned, since their sum has no more bits than are kept of it; with a c that is smaller, how c is
  /// cut.
  void find_sums_apart() {
    TrialOrder without_c(of_one_block(false)), with_small_c(of_one_block(true));
    // Two sums of one block meet with the rounding of what follows.
    const auto about_products = [&](const auto& body) {
      for_each(kAlignmentProperties, [&] {
        const Choice aligned = c_;
        for_each(std::array{Property::join_rounding}, body);
        c_ = aligned;
      });
    };
    about_products([&] {
      if (!space_.contains(c_) || refuted(without_c, without_c.size())) return;
      const std::array about_c = {Property::c_bits, Property::c_dropped, Property::total_bits};
      const Choice before = c_;
      for_each(about_c, [&] {
        if (!space_.contains(c_) || refuted(with_small_c, with_small_c.size())) return;
        const Choice beside = c_;
        for_each(std::array{Property::infinite_products, Property::sum_bits}, [&] {
          if (space_.contains(c_) && !refuted(orders_.alignment, kJoiningTrials))
            for_each(kRoundingProperties, [&] { judge_rounding(); });
        });
        c_ = beside;
      });
      c_ = before;
    });
  }

  bool refuted(TrialOrder& order, std::size_t most) {
    emulator_.set_numerics(space_.numerics(c_));
    return any_refutes(space_, evidence_, order, most, emulator_, kConsultedEdges | kConsultedRounding);
  }

  /// Numbers of answers to problems whose products are all of one block, with no c, or one that is no larger than the
  /// largest product.
  std::vector<std::size_t> of_one_block(bool with_c) const {
    std::vector<int> block_of(static_cast<std::size_t>(space_.structure(c_).tree.k));
    const Blocks& blocks = space_.structure(c_).blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (const int k : blocks[i]) block_of[static_cast<std::size_t>(k)] = static_cast<int>(i);
    }
    std::vector<std::size_t> numbers;
    for (const Shape& shape : shapes_) {
      const auto block = [&](int k) { return block_of[static_cast<std::size_t>(k)]; };
      if (shape.c_is_zero != with_c &&
          std::ranges::all_of(shape.products, [&](int k) { return block(k) == block(shape.products.front()); }))
        numbers.push_back(shape.number);
    }
    return thinned(numbers, kMostOfOneBlock);
  }

  /// Calls body with c_ set to every combination of the properties' values, the first property varying slowest.
  template <class Body>
  void for_each(std::span<const Property> properties, const Body& body) {
    if (properties.empty()) return body();
    for (int v = 0; v < space_.count(properties.front()); ++v) {
      Space::set(c_, properties.front(), v);
      for_each(properties.subspan(1), body);
    }
    Space::set(c_, properties.front(), 0);
  }

  void judge_alignment() {
    // Judge by the coarsest rounding of the variants: what it leaves alone, none of them rounds.
    Choice coarsest = c_;
    Space::set(coarsest, Property::output_fraction_bits, space_.count(Property::output_fraction_bits) - 1);
    if (!space_.contains(coarsest)) coarsest = c_;
    if (!space_.contains(coarsest) || !space_.core_comes_first(coarsest)) return;
    if (!core_refuted(coarsest, orders_.alignment, kAlignmentTrials, kConsultedEdges | kConsultedRounding)) {
      for_each(kRoundingProperties, [&] { judge_rounding(); });
    }
  }

  void judge_rounding() {
    if (!space_.contains(c_) || (!space_.uses_output_rounding(c_) && varies(Property::output_rounding))) return;
    if (!space_.core_comes_first(c_)) return;
    if (!core_refuted(c_, orders_.all, orders_.all.size(), kConsultedEdges)) cores_.push_back(c_);
  }

  bool core_refuted(Choice core, TrialOrder& order, std::size_t most, unsigned inconclusive) {
    const auto refuted = [&](unsigned unless) {
      emulator_.set_numerics(space_.numerics(core));
      return any_refutes(space_, evidence_, order, most, emulator_, unless);
    };
    if (!often_subnormal_) return refuted(inconclusive);
    // The answers without subnormal operands do not judge enough: a core goes if it is refuted with each of the rules
    // for these. Nor do, where there are no scales that take sums elsewhere, the answers without small sums.
    unsigned decided = kConsultedSubnormalInput;
    if (!space_.scales()) decided |= kConsultedTinyResult | kConsultedZeroSum;
    const auto rules = std::span(kSmallNumberRules).first(space_.scales() ? kOfOperands : kSmallNumberRules.size());
    return with_each(core, rules, [&] { return refuted(inconclusive & ~decided); });
  }

  /// Whether body is true with every combination of these rules that the space has.
  template <class Body>
  bool with_each(Choice& core, std::span<const Property> rules, const Body& body) const {
    if (rules.empty()) return !space_.contains(core) || body();
    for (int v = 0; v < space_.count(rules.front()); ++v) {
      Space::set(core, rules.front(), v);
      if (!with_each(core, rules.subspan(1), body)) return false;
      // Of operands that are flushed none is aligned.
      if (rules.front() == Property::subnormal_exponent && Space::value(core, Property::subnormal_inputs) != 0) break;
    }
    Space::set(core, rules.front(), 0);
    return true;
  }
  bool varies(Property p) const { return Space::value(c_, p) != 0; }

  const Space& space_;
  const Evidence& evidence_;
  Orders& orders_;
  const std::vector<Shape>& shapes_;
  Choice c_;
  CpuEmulator emulator_;
  bool often_subnormal_;
  std::vector<Choice> cores_;
};

/// Finds the cores that no answer of the evidence, as it is now, refutes.
class CoreSearch {
 public:
  /// Of structures from `first_structure` on.
  CoreSearch(const Space& space, const Evidence& evidence, unsigned threads, FitWatch& watch, int first_structure)
      : space_(space), evidence_(evidence), threads_(threads), watch_(watch), first_structure_(first_structure) {
    choose_first();
    const auto first = space.structures().begin() + first_structure;
    if (std::any_of(first, space.structures().end(), [](const Structure& s) { return s.sums_apart(); })) find_shapes();
  }

  /// Cores of these structures, in the order of the space; of those that differ in what nothing uses, the first. If
  /// every core is refuted: those that come far, which no answer of a sample refutes. Integers have few cores, which
  /// little but overflow tells apart: they are judged by a sample alone, and by the rest when their edge rules are
  /// decided.
  FoundCores find() {
    if (space_.sums_integers()) return {find_by(first_), 0};
    std::vector<std::size_t> all = first_;
    std::vector<char> is_first(evidence_.size());
    for (std::size_t n : first_) is_first[n] = 1;
    for (std::size_t n = 0; n < evidence_.size(); ++n) {
      if (is_first[n] == 0) all.push_back(n);
    }
    std::vector<Choice> cores = find_by(all);
    if (cores.empty()) cores = find_by(first_);
    return {std::move(cores), evidence_.size()};
  }

 private:
  /// Of crafted problems, but for those with a c that outgrows the products, with products beyond the result's range,
  /// or with numbers that are none.
  void find_shapes() {
    const Instruction& in = evidence_.instruction();
    for (const std::size_t number : evidence_.crafted()) {
      const Problem p = evidence_.problem(number);
      const Decoded c = decode(format(in.c), p.c);
      Shape shape{number, {}, c.is_finite() && c.significand == 0};
      bool fits = c.is_finite();
      int top = -kUnbounded;
      for (std::size_t k = 0; k < p.a.size() && fits; ++k) {
        const Decoded a = decode(format(in.a), p.a[k]), b = decode(format(in.b), p.b[k]);
        fits = a.is_finite() && b.is_finite();
        if (!fits || a.significand == 0 || b.significand == 0) continue;
        shape.products.push_back(static_cast<int>(k));
        top = std::max(top, a.exponent + b.exponent);
      }
      fits = fits && !shape.products.empty() && top + 1 < format(in.d).max_exponent() &&
             (shape.c_is_zero || c.exponent <= top);
      if (fits) shapes_.push_back(std::move(shape));
    }
  }

  /// Chooses the answers that are tried first: `alignment_` are likely to need no rounding, so that they judge how
  /// terms are aligned apart from how results are rounded; `first_` have these and others with ordinary numbers only,
  /// which judge without regard to subnormals, zeros and the like.
  void choose_first() {
    std::vector<std::size_t> alignment, ordinary;
    for (std::size_t n = 0; n < evidence_.size(); ++n) {
      if (evidence_.purpose_of(n) == ProblemPurpose::alignment)
        alignment.push_back(n);
      else if (ordinary.size() < kOrdinaryPool &&
               is_ordinary(evidence_.instruction(), evidence_.problem(n), evidence_.answer(n)))
        ordinary.push_back(n);
    }
    if (ordinary.empty()) ordinary = numbers_between(0, evidence_.size());
    alignment_ = thinned(alignment, kMostAlignment);
    first_ = thinned(ordinary, kMostOrdinary);
    first_.insert(first_.end(), alignment_.begin(), alignment_.end());
  }

  std::vector<Choice> find_by(const std::vector<std::size_t>& numbers) {
    orders_.clear();
    std::vector<std::vector<Choice>> found(space_.structures().size() - static_cast<std::size_t>(first_structure_));
    watch_.begin("searching structures", found.size());
    in_parallel(found.size(), threads_, [&](std::size_t n) {
      Orders orders = take_orders(numbers);
      found[n] = Structurewise(space_, evidence_, first_structure_ + static_cast<int>(n), orders, shapes_).find();
      watch_.step();
      const std::lock_guard lock(mutex_);
      orders_.push_back(std::move(orders));
    });
    std::vector<Choice> cores;
    for (const std::vector<Choice>& some : found) cores.insert(cores.end(), some.begin(), some.end());
    return cores;
  }

  Orders take_orders(const std::vector<std::size_t>& numbers) {
    const std::lock_guard lock(mutex_);
    if (orders_.empty()) return {TrialOrder(alignment_), TrialOrder(numbers)};
    Orders orders = std::move(orders_.back());
    orders_.pop_back();
    return orders;
  }

  const Space& space_;
  const Evidence& evidence_;
  unsigned threads_;
  FitWatch& watch_;
  int first_structure_;
  std::vector<std::size_t> alignment_, first_;  // numbers of answers: see choose_first
  std::vector<Shape> shapes_;                   // where structures sum apart from c
  std::vector<Orders> orders_;                  // that no worker has at the moment
  std::mutex mutex_;
};

}  // namespace

CpuEmulator emulator_of(const Space& space, const Choice& choice) {
  Datapath d;
  d.tree = space.structure(choice).tree;
  d.numerics = space.numerics(choice);
  return CpuEmulator(d);
}

FoundCores find_cores(const Space& space, const Evidence& evidence, unsigned threads, FitWatch& watch,
                      int first_structure) {
  return CoreSearch(space, evidence, threads, watch, first_structure).find();
}

std::vector<Choice> unrefuted(const Space& space, const Evidence& evidence, std::vector<Choice> cores,
                              std::size_t first_answer, unsigned threads) {
  const std::vector<std::size_t> numbers = numbers_between(first_answer, evidence.size());
  if (numbers.empty()) return cores;
  std::vector<char> refuted(cores.size());
  in_parallel(cores.size(), threads, [&](std::size_t i) {
    const CpuEmulator emulator = emulator_of(space, cores[i]);
    refuted[i] = std::ranges::any_of(
        numbers, [&](std::size_t number) { return refutes(space, evidence, number, emulator, kConsultedEdges); });
  });
  std::vector<Choice> left;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (refuted[i] == 0) left.push_back(cores[i]);
  }
  return left.empty() ? cores : left;
}

}  // namespace tcnum
