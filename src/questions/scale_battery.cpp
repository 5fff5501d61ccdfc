// Crafted problems with block scales, beside those that have scales of 1.
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "battery.hpp"
#include "numbers.hpp"
#include "packing.hpp"

namespace tcnum {
namespace {

class ScaleBattery {
 public:
  explicit ScaleBattery(const Instruction& instruction)
      : in_(instruction),
        make_(instruction),
        scale_(format(instruction.scales.format)),
        c_(format(instruction.c)),
        d_(format(instruction.d)),
        one_(static_cast<std::uint64_t>(scale_.bias) << scale_.fraction_bits),
        exponents_(scale_exponents(instruction)),
        block_k_(instruction.products_per_scale()),
        blocks_(instruction.scale_blocks()) {}

  std::vector<CraftedProblem> build() {
    codes();
    specials();
    widths();
    groups();
    smallest_results();
    roundings();
    overflow();
    return std::move(problems_);
  }

 private:
  void ask(std::string name, Problem p) { problems_.push_back({std::move(name), std::move(p), purpose_}); }
  Problem zero() const { return zero_problem(in_); }
  int first_of(int block) const { return block * block_k_; }
  bool can(int exponent) const { return exponent >= make_.lowest_subnormal() && exponent <= make_.highest(); }
  bool can_scale(int exponent) const { return exponent >= exponents_.low && exponent <= exponents_.high; }
  void scale(Problem& p, int block, int exponent) const {
    put_scales(in_, p, static_cast<std::size_t>(block), exponent);
  }
  /// Of a block's first two products.
  void put_opposites(Problem& p, int block, bool negative, int exponent) const {
    make_.put(p, first_of(block), negative, exponent);
    if (block_k_ > 1) make_.put(p, first_of(block) + 1, !negative, exponent);
  }

  /// What every code of a scale means.
  void codes() {
    purpose_ = ProblemPurpose::operands;
    for (const bool of_a : {true, false}) {
      for (std::uint64_t code = 0; code < scale_.first_non_finite(); ++code) {
        const int block = static_cast<int>(code) % blocks_;
        Problem p = zero();
        make_.put(p, first_of(block), code % 2 != 0, 0);
        // The other scale brings the product back to where a result is a normal number.
        auto &mine = of_a ? p.sa : p.sb, &other = of_a ? p.sb : p.sa;
        mine[static_cast<std::size_t>(block)] = code;
        other[static_cast<std::size_t>(block)] =
            scale_.id == FormatId::ue8m0 ? std::min<std::uint64_t>(2 * one_ - code, scale_.first_non_finite() - 1)
                                         : one_;
        ask(fmt::format("scale: {}'s {:#04x} of block {}", of_a ? "a" : "b", code, block), p);
      }
    }
  }

  void specials() {
    purpose_ = ProblemPurpose::edges;
    const std::uint64_t nan = scale_.code_mask();
    std::vector<std::pair<std::string_view, std::uint64_t>> specials = {{"NaN", nan}};
    if (scale_.id != FormatId::ue8m0) specials.emplace_back("zero", 0);
    for (const auto& [name, code] : specials) {
      for (int block = 0; block < blocks_; ++block) {
        for (int scales = 1; scales <= 3; ++scales) {
          for (const int term : {0, 1, -1}) {
            for (const bool c_negative : {false, true}) {
              Problem p = zero();
              if (term != 0) make_.put(p, first_of(block), term < 0, 0);
              p.c = zero_code(c_, c_negative);
              if ((scales & 1) != 0) p.sa[static_cast<std::size_t>(block)] = code;
              if ((scales & 2) != 0) p.sb[static_cast<std::size_t>(block)] = code;
              ask(fmt::format("scale: {} of block {}, times {}", name, block, term), p);
              p.c = make_.accumulator(c_negative, 3);
              ask(fmt::format("scale: {} of block {}, times {}, c = 8", name, block, term), std::move(p));
            }
          }
        }
      }
    }
  }

  /// Large products that cancel, and a small one of another block.
  void widths() {
    purpose_ = ProblemPurpose::alignment;
    for (int block = 1; block < blocks_; block = 2 * block + 1) {
      for (int n = 4; n <= 60; ++n) {
        for (const bool negative : {false, true}) {
          const int upper = std::min(exponents_.high, n / 2), lower = upper - n;
          if (!can_scale(lower)) continue;
          Problem p = zero();
          put_opposites(p, 0, negative, 0);
          make_.put(p, first_of(block), false, 0);
          scale(p, 0, upper);
          scale(p, block, lower);
          ask(fmt::format("scale: {0}2^{1} {2} 2^{1} in block 0, 2^{3} in block {4}", negative ? "-" : "", upper,
                          negative ? "+" : "-", lower, block),
              std::move(p));
        }
      }
    }
  }

  /// Products of a block that cancel, or nearly, and c far below: by what is the block aligned?
  void groups() {
    purpose_ = ProblemPurpose::alignment;
    const int lowest = make_.lowest_subnormal(), highest = make_.highest();
    for (const int product : {lowest, make_.lowest(), (make_.lowest() + highest) / 2, highest}) {
      for (int n = 4; n <= 60; ++n) {
        for (const bool negative : {false, true}) {
          const int block = n % blocks_;
          Problem p = zero();
          put_opposites(p, block, negative, product);
          p.c = make_.accumulator(n % 4 < 2, product - n);
          ask(fmt::format("scale: opposites of 2^{} in block {}, c 2^{} below", product, block, n), p);
          if (block_k_ > 2) {  // something is left
            make_.put(p, first_of(block) + block_k_ - 1, negative, lowest);
            ask(fmt::format("scale: opposites of 2^{} and 2^{} in block {}, c 2^{} below", product, lowest, block, n),
                std::move(p));
          }
        }
      }
    }
    // Opposites within one block and between its halves, beside what is small: which products are summed first?
    for (int distance = 1; distance < block_k_; distance *= 2) {
      for (int n = 1; n <= highest - lowest; ++n) {
        Problem p = zero();
        make_.put(p, 0, false, highest);
        make_.put(p, distance, true, highest);
        make_.put(p, block_k_ - 1, false, highest - n);
        p.c = make_.accumulator(true, highest - 30);
        ask(fmt::format("scale: opposites in slots 0 and {}, 2^{} below in the last", distance, n), std::move(p));
      }
    }
  }

  /// Two terms of opposite sign, one about the smallest results, the other far below.
  void smallest_results() {
    purpose_ = ProblemPurpose::edges;
    const int tiny = smallest_exponent(d_);
    for (const int top :
         {tiny, tiny + 1, tiny + 4, tiny + 12, d_.min_exponent() - 1, d_.min_exponent(), d_.min_exponent() + 4}) {
      for (int n = 1; n <= 60; ++n) {
        if (!can_scale(top - n)) continue;
        for (const bool negative : {false, true}) {
          Problem p = zero();
          p.c = make_.accumulator(negative, top);
          make_.put(p, n % block_k_, !negative, 0);
          scale(p, 0, top - n);
          ask(fmt::format("scale: c = {}2^{}, and 2^{} of the other sign", negative ? "-" : "", top, top - n), p);
          if (blocks_ == 1) continue;
          p.c = 0;
          make_.put(p, first_of(1), negative, 0);
          scale(p, 1, top);
          ask(fmt::format("scale: {}2^{} in block 1, and 2^{} of the other sign", negative ? "-" : "", top, top - n),
              std::move(p));
        }
      }
    }
    for (int e = tiny - 60; e < tiny + 4; ++e) {  // products alone, too small or nearly
      if (!can_scale(e)) continue;
      for (const bool negative : {false, true}) {
        Problem p = zero();
        make_.put(p, 0, negative, 0);
        scale(p, 0, e);
        ask(fmt::format("scale: {}2^{} alone", negative ? "-" : "", e), p);
        for (int k = 1; k < std::min(block_k_, 3); ++k) make_.put(p, k, negative, 0);
        ask(fmt::format("scale: some of {}2^{} alone", negative ? "-" : "", e), std::move(p));
      }
    }
  }

  /// c = ±2^3, and products about its last bit, L, R and S in every combination.
  void roundings() {
    purpose_ = ProblemPurpose::rounding;
    constexpr int kTop = 3;
    for (const int fraction : {d_.fraction_bits, 13, 10}) {
      const int last = kTop - fraction;
      if (!can_scale(last - 1)) continue;
      for (int bits = 1; bits < 8; ++bits) {
        for (int signs = 0; signs < 4; ++signs) {
          Problem p = zero();
          int k = 0;
          for (int bit = 0; bit < 3; ++bit) {  // 2^last, and 1 and 2 below
            if ((bits >> bit & 1) != 0 && k < block_k_ && can(1 - bit)) make_.put(p, k++, (signs & 1) != 0, 1 - bit);
          }
          scale(p, 0, last - 1);
          p.c = make_.accumulator((signs & 2) != 0, kTop);
          ask(fmt::format("scale: c = 2^{}, {:03b} (lowest first) from bit {}, signs {}", kTop, bits, fraction, signs),
              std::move(p));
        }
      }
    }
  }

  void overflow() {
    purpose_ = ProblemPurpose::edges;
    for (int e = d_.max_exponent() - 8; e <= d_.max_exponent() + 8; ++e) {
      if (!can_scale(e)) continue;
      for (const bool negative : {false, true}) {
        Problem p = zero();
        make_.put(p, 0, negative, 0);
        scale(p, 0, e);
        ask(fmt::format("scale: {}2^{}", negative ? "-" : "", e), p);
        p.c = make_.accumulator(!negative, d_.max_exponent());
        ask(fmt::format("scale: {}2^{}, c takes some back", negative ? "-" : "", e), p);
        make_.put(p, block_k_ - 1, !negative, 0);
        ask(fmt::format("scale: opposites of 2^{}", e), std::move(p));
      }
    }
  }

  const Instruction& in_;
  ProductMaker make_;
  const Format &scale_, &c_, &d_;
  const std::uint64_t one_;
  const Interval exponents_;
  const int block_k_, blocks_;
  ProblemPurpose purpose_ = ProblemPurpose::operands;
  std::vector<CraftedProblem> problems_;
};

}  // namespace

std::vector<CraftedProblem> scale_battery(const Instruction& instruction) { return ScaleBattery(instruction).build(); }

}  // namespace tcnum
