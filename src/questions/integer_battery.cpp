// The battery of instructions that sum products of integers.
#include <algorithm>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "battery.hpp"
#include "numbers.hpp"
#include "packing.hpp"

namespace tcnum {
namespace {

/// The battery of an instruction that sums products of integers, group by group.
class IntegerBattery {
 public:
  explicit IntegerBattery(const Instruction& instruction)
      : in_(instruction), a_(format(in_.a)), b_(format(in_.b)), c_(format(in_.c)), ends_(extreme_products(a_, b_)) {}

  std::vector<CraftedProblem> build() {
    values();
    slots();
    accumulator();
    limits();
    there_and_back();
    counts();
    return std::move(problems_);
  }

 private:
  int last() const { return in_.products() - 1; }
  bool has_negative() const { return ends_.least.product() < 0; }

  void ask(std::string name, Problem p) { problems_.push_back({std::move(name), std::move(p), purpose_}); }
  Problem zero() const { return zero_problem(in_); }
  void put(Problem& p, int k, Factors f) const {
    p.a[static_cast<std::size_t>(k)] = code_of(a_, f.a);
    p.b[static_cast<std::size_t>(k)] = code_of(b_, f.b);
  }
  /// 1 or, where the formats have it, −1.
  Factors unit(bool negative) const {
    if (!negative) return {1, 1};
    return a_.has_sign ? Factors{-1, 1} : Factors{1, -1};
  }
  Factors extreme(bool negative) const { return negative ? ends_.least : ends_.largest; }

  /// What brings a sum to an end of its range: small and large products of that sign, and, as two bits may make 1 in
  /// another way, a bit alone.
  std::vector<Factors> pushes(bool negative) const {
    std::vector<Factors> found = {unit(negative), extreme(negative)};
    if (a_.storage_bits == 1) found.back() = {1, 0};
    return found;
  }

  /// Integers of a format that matter: its ends, and those around zero.
  static std::set<std::int64_t> landmarks(const Format& f) {
    const auto [lowest, highest] = range_of(f);
    std::set<std::int64_t> found = {lowest, lowest + 1, 0, 1, highest};
    if (f.has_sign) found.insert(-1);
    return found;
  }

  void values() {
    purpose_ = ProblemPurpose::operands;
    for (const std::int64_t x : landmarks(a_)) {
      for (const std::int64_t y : landmarks(b_)) {
        Problem p = zero();
        put(p, 0, {x, y});
        ask(fmt::format("values: {} and {}", x, y), p);
        for (int k = 0; k < in_.products(); ++k) put(p, k, {x, y});
        ask(fmt::format("values: {} and {} in every slot", x, y), p);
      }
    }
    for (int bit = 0; bit < a_.storage_bits; ++bit) {
      Problem p = zero();
      p.a[0] = std::uint64_t{1} << bit;
      p.b[0] = 1;
      ask(fmt::format("values: bit {} of a, and 1", bit), p);
    }
    for (int bit = 0; bit < b_.storage_bits; ++bit) {
      Problem p = zero();
      p.a[0] = 1;
      p.b[0] = std::uint64_t{1} << bit;
      ask(fmt::format("values: 1, and bit {} of b", bit), p);
    }
  }

  void slots() {
    purpose_ = ProblemPurpose::operands;
    for (int k = 0; k < in_.products(); ++k) {
      for (const Factors f : {Factors{1, 1}, Factors{1, 0}, Factors{0, 1}}) {
        Problem p = zero();
        put(p, k, f);
        ask(fmt::format("slot {}: {} and {}", k, f.a, f.b), p);
      }
    }
  }

  void accumulator() {
    purpose_ = ProblemPurpose::operands;
    for (const std::int64_t c : landmarks(c_)) {
      Problem p = zero();
      p.c = code_of(c_, c);
      ask(fmt::format("c alone: {}", c), p);
    }
  }

  /// c at an end of its range or near it, and products that reach the end, or pass it.
  void limits() {
    purpose_ = ProblemPurpose::edges;
    for (const bool low : {false, true}) {
      const std::int64_t end = low ? range_of(c_).lowest : range_of(c_).highest, inward = low ? 1 : -1;
      for (int inside = 0; inside <= 3; ++inside) {
        for (const bool negative : {false, true}) {
          if (negative && !has_negative()) continue;
          for (const Factors f : pushes(negative)) {
            Problem p = zero();
            p.c = code_of(c_, end + inside * inward);
            put(p, 0, f);
            ask(fmt::format("limit: c = {}, {} and {} in one slot", end + inside * inward, f.a, f.b), p);
            for (int k = 0; k < in_.products(); ++k) put(p, k, f);
            ask(fmt::format("limit: c = {}, {} and {} in every slot", end + inside * inward, f.a, f.b), p);
          }
        }
      }
      for (const bool negative : {false, true}) {
        if (negative && !has_negative()) continue;
        // All products together bring c exactly to the end, and one beyond it.
        const Factors f = extreme(negative);
        for (const int beyond : {0, 1}) {
          Problem p = zero();
          for (int k = 0; k < in_.products(); ++k) put(p, k, f);
          const std::int64_t c = end - f.product() * in_.products() - beyond * inward;
          if (c < range_of(c_).lowest || c > range_of(c_).highest) continue;
          p.c = code_of(c_, c);
          ask(fmt::format("limit: c = {}, {} and {} in every slot", c, f.a, f.b), p);
        }
      }
    }
  }

  /// A sum that passes the end of the range and comes back is another if it was clamped in between: c at the end, a
  /// product that leads beyond it in one slot, a unit that leads back in another.
  void there_and_back() {
    purpose_ = ProblemPurpose::edges;
    if (!has_negative()) return;
    for (const bool low : {false, true}) {
      const std::int64_t end = low ? range_of(c_).lowest : range_of(c_).highest;
      for (int there = 0; there < in_.products(); ++there) {
        for (int apart = 1; apart < in_.products(); apart *= 2) {
          const int back = there ^ apart;
          if (back > last()) continue;
          Problem p = zero();
          p.c = code_of(c_, end);
          put(p, there, extreme(low));
          put(p, back, unit(!low));
          ask(fmt::format("there and back: c = {}, {} in slot {}, {} in slot {}", end, extreme(low).product(), there,
                          unit(!low).product(), back),
              p);
        }
      }
      // All products of one half lead beyond, all of the other back.
      for (const bool first_half : {true, false}) {
        Problem p = zero();
        p.c = code_of(c_, end);
        for (int k = 0; k < in_.products(); ++k)
          put(p, k, extreme((k < in_.products() / 2) == first_half ? low : !low));
        ask(fmt::format("there and back: c = {}, beyond in the {} half", end, first_half ? "first" : "second"), p);
      }
    }
  }

  /// Operands of which the first n bits, or other operands, are set: as many as there are, or none.
  void counts() {
    purpose_ = ProblemPurpose::operands;
    for (int n = 0; n <= in_.products(); n = n < 4 ? n + 1 : n * 2) {
      for (const int others : {0, 1}) {  // in b; in a, above n
        Problem p = zero();
        for (int k = 0; k < in_.products(); ++k) put(p, k, {k < n ? 1 : 0, k < n ? 1 : others});
        p.c = code_of(c_, n % 3 - 1);
        ask(fmt::format("count: {} of {} are 1, the others {} in b", n, in_.products(), others), p);
      }
    }
    for (const bool same : {true, false}) {
      Problem p = zero();
      for (int k = 0; k < in_.products(); ++k) put(p, k, {k % 2, same ? k % 2 : 1 - k % 2});
      ask(fmt::format("count: alternating, {}", same ? "alike" : "opposite"), p);
    }
  }

  const Instruction& in_;
  const Format &a_, &b_, &c_;
  ExtremeProducts ends_;
  ProblemPurpose purpose_ = ProblemPurpose::operands;  // of the problems that come next
  std::vector<CraftedProblem> problems_;
};

}  // namespace

std::vector<CraftedProblem> integer_battery(const Instruction& instruction) {
  return IntegerBattery(instruction).build();
}

}  // namespace tcnum
