#include "plan.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "tcnum/exact.hpp"

namespace tcnum::reference {
namespace {

using Kind = Value::Kind;

Value nan() { return {Kind::nan}; }
bool is_zero(const Value& x) { return x.kind == Kind::finite && x.number == 0; }

// --- IEEE 754's operations, exact; rounding is the caller's.

Value product(const Value& x, const Value& y) {
  if (x.kind == Kind::nan || y.kind == Kind::nan) return nan();
  const bool negative = x.negative != y.negative;
  if (x.kind == Kind::infinite || y.kind == Kind::infinite)
    return is_zero(x) || is_zero(y) ? nan() : Value{Kind::infinite, negative};
  return number(x.number * y.number, negative);
}

/// The rounding decides the sign of a zero that is the sum of others.
Value sum(const Value& x, const Value& y, Rounding mode = Rounding::nearest_even) {
  if (x.kind == Kind::nan || y.kind == Kind::nan) return nan();
  if (x.kind == Kind::infinite || y.kind == Kind::infinite) {
    if (x.kind == y.kind && x.negative != y.negative) return nan();
    return x.kind == Kind::infinite ? x : y;
  }
  const bool both = x.negative && y.negative, one = x.negative || y.negative;
  return number(x.number + y.number, both || (one && mode == Rounding::down));
}

/// Products first … first + count − 1, filled up with zeros: what one instruction takes.
struct Step {
  std::size_t first, count;
};

class Element {
 public:
  Element(const GemmPlan& plan, const Datapath& datapath, const ElementOperands& operands)
      : plan_(plan), datapath_(datapath), operands_(operands), depth_(static_cast<std::size_t>(datapath.tree.k)) {
    const Encoding& result = encoding(datapath.numerics.result);
    sums_ = result.is_integer() ? FormatId::s32 : result.code_bits() <= 32 ? FormatId::fp32 : FormatId::fp64;
  }

  Value value() const {
    if (has_epilogue_in_parts()) return through_parts();
    Value x = all_of_k();
    if (sums_ == FormatId::s32 && (has_epilogue() || !encoding(plan_.output).is_integer())) x = in_epilogue_format(x);
    if (has_epilogue()) x = with_epilogue(x, all_terms());
    return result(x);
  }

 private:
  Value result(const Value& x) const {
    const Overflow usual = encoding(plan_.output).has_infinities() ? Overflow::ieee : Overflow::max_finite;
    return rounded(plan_.output, x, plan_.output_rounding, plan_.output_overflow.value_or(usual));
  }
  /// The same where more is to come, in the epilogue's format: what has no NaN has a zero in its place.
  Value result_so_far(const Value& x) const {
    const Value y = result(x);
    return in_epilogue_format(y.kind == Kind::nan && !encoding(plan_.output).has_nan() ? number(0) : y);
  }

  /// Of two sums, in their format; integers modulo as many as there are.
  Value added(const Value& x, const Value& y, Rounding mode = Rounding::nearest_even) const {
    const Value exact = sum(x, y, mode);
    if (sums_ != FormatId::s32) return rounded(sums_, exact, mode);
    const Rational all = power_of_two(32), half = power_of_two(31);
    return number(exact.number - floor((exact.number + half) / all) * all);
  }

  Value all_of_k() const {
    const std::size_t k = operands_.a.size();
    if (!plan_.split_k || !is_divided()) return part({{0, k}});
    const SplitK& split = *plan_.split_k;
    const std::vector<Value> parts = parts_in_order();
    if (split.order == PartOrder::pairs)
      return parts.size() > 1 ? sum_of_pairs(parts) : rounded_part(split.type, parts.at(0));
    if (split.order != PartOrder::fours) return in_turn(parts, true);
    std::vector<Value> sums = every(64, parts, true);
    for (std::size_t p = 32; p < sums.size(); ++p)
      sums[p - 32] = rounded_part(split.type, added(sums[p - 32], sums[p]));
    sums.resize(std::min<std::size_t>(32, sums.size()));
    return in_turn(every(4, sums, false), false);
  }
  /// Each part's sum, as it is added, the first to be added first.
  std::vector<Value> parts_in_order() const {
    const std::size_t k = operands_.a.size();
    const SplitK& split = *plan_.split_k;
    std::vector<Step> all;
    for (std::size_t first = 0; first < k;) {
      const std::size_t count = std::min(k - first, part_length(all.size(), k));
      if (split.rest == Rest::left_out && count < split.chunk && first > 0) break;
      all.push_back({first, count});
      first += count;
    }
    std::vector<Value> parts;
    const std::size_t turns = split.turns == 0 ? all.size() : split.turns;
    for (std::size_t first = 0; first < std::min(turns, all.size()); ++first) {
      std::vector<Step> mine;
      for (std::size_t turn = first; turn < all.size(); turn += turns) mine.push_back(all[turn]);
      parts.push_back(rounded_part(split.parts, part(mine)));
    }
    if (split.order == PartOrder::descending || split.order == PartOrder::pairs) std::ranges::reverse(parts);
    return parts;
  }
  /// Sums of each part and the ones that are a multiple of a step after it, of the first parts.
  std::vector<Value> every(std::size_t step, const std::vector<Value>& parts, bool from_zero) const {
    std::vector<Value> sums;
    for (std::size_t first = 0; first < std::min(step, parts.size()); ++first) {
      std::vector<Value> mine;
      for (std::size_t p = first; p < parts.size(); p += step) mine.push_back(parts[p]);
      sums.push_back(in_turn(mine, from_zero));
    }
    return sums;
  }
  /// Each sum rounded, the first to +0 or as it is.
  Value in_turn(const std::vector<Value>& parts, bool from_zero) const {
    Value total = from_zero ? number(0) : parts.at(0);
    for (std::size_t p = from_zero ? 0 : 1; p < parts.size(); ++p)
      total = rounded_part(plan_.split_k->type, added(total, parts[p]));
    return total;
  }
  /// Of k, in the part with that number.
  std::size_t part_length(std::size_t part, std::size_t k) const {
    const SplitK& split = *plan_.split_k;
    if (split.count == 0) return split.chunk;
    const std::size_t tile = *plan_.k_tile, tiles = (k + tile - 1) / tile, parts = std::min(split.count, tiles);
    // Tiles are dealt out from the last part on.
    const std::size_t from_the_end = parts - 1 - part;
    std::size_t mine = 0;
    for (std::size_t dealt = from_the_end; dealt < tiles; dealt += parts) mine += tile;
    return mine;
  }
  Value sum_of_pairs(std::vector<Value> sums) const {
    while (sums.size() > 1) {
      std::vector<Value> fewer;
      for (std::size_t i = 0; i + 1 < sums.size(); i += 2)
        fewer.push_back(rounded_part(plan_.split_k->type, added(sums[i], sums[i + 1])));
      if (sums.size() % 2 == 1) fewer.push_back(sums.back());
      sums = std::move(fewer);
    }
    return sums[0];
  }
  /// Whether the element is in one of the blocks that are left over.
  bool is_divided() const {
    if (!plan_.split_k->tail) return true;
    const Tail& tail = *plan_.split_k->tail;
    const auto blocks = [](std::size_t extent, std::size_t of_block) { return (extent + of_block - 1) / of_block; };
    std::size_t lines = blocks(operands_.m, tail.rows), length = blocks(operands_.n, tail.columns);
    std::size_t line = operands_.row / tail.rows, place = operands_.column / tail.columns;
    if (tail.lines == BlockLines::columns) {
      std::swap(lines, length);
      std::swap(line, place);
    }
    const std::size_t band = line / tail.band, width = std::min(tail.band, lines - band * tail.band);
    if (band % 2 == 1) place = length - 1 - place;
    const std::size_t before = band * tail.band * length + place * width + line % tail.band;
    return lines * length - before <= tail.blocks;
  }
  /// To a format that sums between kernels have; where it has no NaN, it has a zero in its place.
  static Value rounded_part(FormatId id, const Value& x) {
    const Value y = rounded(id, x);
    return y.kind == Kind::nan && !encoding(id).has_nan() ? number(0) : y;
  }

  /// Of some stretches of k.
  Value part(const std::vector<Step>& stretches) const {
    const std::size_t tile = plan_.k_tile.value_or(depth_), slices = static_cast<std::size_t>(plan_.slices);
    std::vector<Step> tiles;  // of which the first or the last of a stretch may be filled up with zeros
    for (const Step& each : stretches) {
      std::size_t first = each.first;
      const std::size_t end = first + each.count, residue = each.count % tile;
      if (plan_.residue == Residue::first && residue != 0) {
        tiles.push_back({first, residue});
        first += residue;
      }
      for (; first < end; first += tile) tiles.push_back({first, std::min(tile, end - first)});
    }

    std::vector<std::optional<Value>> sums(slices);  // none: of a slice without a product
    for (std::size_t slice = 0; slice < slices; ++slice) {
      std::vector<Step> steps;
      for (const Step& each : tiles) {
        // Of zeros alone, it is left out.
        for (std::size_t at = slice * (tile / slices); at < (slice + 1) * (tile / slices); at += depth_) {
          if (at >= each.count) break;
          steps.push_back({each.first + at, std::min(depth_, each.count - at)});
        }
      }
      if (plan_.k_order == KOrder::descending) std::ranges::reverse(steps);
      if (!steps.empty()) sums[slice] = accumulated(steps);
    }
    const auto add = [&](std::size_t onto, std::size_t slice) {
      if (sums[slice]) sums[onto] = added(*sums[onto], *sums[slice]);
    };
    std::size_t kept = slices;
    if (plan_.slices_order == SliceOrder::folded) {
      kept = slices - slices / 2;
      for (std::size_t slice = kept; slice + 1 < slices; ++slice) add(slice - kept, slice);
      if (slices > 1) add(0, slices - 1);
    }
    if (plan_.slices_order == SliceOrder::halves) return *sum_of_every(1, 0, sums);
    if (plan_.slices_order == SliceOrder::neighbours) {
      for (std::size_t slice = 1; slice < slices; slice += 2) {
        add(slice - 1, slice);
        sums[slice].reset();
      }
      return *sum_of_every(2, 0, sums);
    }
    for (std::size_t slice = 1; slice < kept; ++slice) add(0, slice);
    return *sums[0];
  }

  /// Of the sums first, first + step, …: that of every other one of these and that of the others.
  std::optional<Value> sum_of_every(std::size_t step, std::size_t first,
                                    const std::vector<std::optional<Value>>& sums) const {
    if (first >= sums.size()) return std::nullopt;
    if (first + step >= sums.size()) return sums[first];
    const auto some = sum_of_every(2 * step, first, sums), others = sum_of_every(2 * step, first + step, sums);
    return some && others ? std::optional(added(*some, *others)) : some ? some : others;
  }

  /// FMAs, of operands of which one has taken alpha.
  bool is_scaled() const {
    const AlphaPlace place = plan_.epilogue.alpha;
    return operands_.alpha != 1 && (place == AlphaPlace::on_a || place == AlphaPlace::on_b);
  }
  Value scaled_product_and(const Value& more, std::size_t at) const {
    const Value x = value_of(datapath_.numerics.a.format, operands_.a[at]),
                y = value_of(datapath_.numerics.b.format, operands_.b[at]);
    const Value alpha = rounded(sums_, of_double(operands_.alpha));
    const bool on_a = plan_.epilogue.alpha == AlphaPlace::on_a;
    const Value with_alpha = rounded(sums_, product(alpha, on_a ? x : y));
    return rounded(sums_, sum(product(with_alpha, on_a ? y : x), more));
  }

  Value accumulated(const std::vector<Step>& steps) const {
    if (is_scaled()) return accumulated_scaled(steps);
    Value total = number(0);
    std::uint64_t c = 0;
    std::size_t since = 0;
    for (const Step& step : steps) {
      std::vector<std::uint64_t> row(depth_, 0), column(depth_, 0);
      for (std::size_t i = 0; i < step.count; ++i) {
        row[i] = converted(plan_.convert_a, operands_.a[step.first + i]);
        column[i] = converted(plan_.convert_b, operands_.b[step.first + i]);
      }
      c = emulate_exact(datapath_, row, column, c);
      since += depth_;
      if (plan_.promote_every && since == *plan_.promote_every) {
        total = added(total, accumulator(c), plan_.promote_rounding);
        c = since = 0;
      }
    }
    if (!plan_.promote_every) return accumulator(c);
    return since == 0 ? total : added(total, accumulator(c), plan_.promote_rounding);
  }
  Value accumulated_scaled(const std::vector<Step>& steps) const {
    Value total = number(0), c = number(0);
    std::size_t since = 0;
    for (const Step& step : steps) {
      c = scaled_product_and(c, step.first);
      if (++since != plan_.promote_every.value_or(0)) continue;
      total = added(total, c, plan_.promote_rounding);
      c = number(0), since = 0;
    }
    if (!plan_.promote_every) return c;
    return since == 0 ? total : added(total, c, plan_.promote_rounding);
  }
  Value accumulator(std::uint64_t code) const { return value_of(datapath_.numerics.result, code); }

  static std::uint64_t converted(const std::optional<Rounding>& convert, std::uint64_t code) {
    if (!convert) return code;
    const Value x = rounded(FormatId::tf32, value_of(FormatId::fp32, code), *convert);
    constexpr std::uint64_t kNan = 0x7fffffff;
    return x.kind == Kind::nan ? kNan : code_of(FormatId::tf32, x);
  }

  struct Terms {
    Value alpha, beta;
    std::optional<Value> c, bias;
  };
  Terms all_terms() const {
    const auto maybe = [&](const std::optional<Value>& x) {
      return x ? std::optional(in_epilogue_format(*x)) : std::nullopt;
    };
    return {in_epilogue_format(of_double(is_scaled() ? 1 : operands_.alpha)),
            in_epilogue_format(of_double(operands_.beta)), maybe(operands_.c), maybe(operands_.bias)};
  }
  bool has_epilogue() const { return operands_.alpha != 1 || operands_.c || operands_.bias; }
  bool has_epilogue_in_parts() const {
    return plan_.split_k && is_divided() && plan_.split_k->epilogue == EpilogueOf::parts;
  }
  /// The result of each part is the C of the next.
  Value through_parts() const {
    const std::vector<Value> parts = parts_in_order();
    const bool bias_is_first =
        plan_.epilogue.bias == BiasPlace::first || (plan_.epilogue.bias == BiasPlace::as_c && !operands_.c);
    Value so_far;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Terms terms = all_terms();
      if (p != 0) {
        terms.c = so_far;
        terms.beta = number(1);
      }
      if (p != (bias_is_first ? 0 : parts.size() - 1)) terms.bias.reset();
      so_far = result_so_far(with_epilogue(parts[p], terms));
    }
    return result(so_far);
  }
  Value in_epilogue_format(const Value& x) const {
    if (plan_.epilogue.type != FormatId::s32) return rounded(sums_ == FormatId::fp64 ? sums_ : FormatId::fp32, x);
    const Rational all = power_of_two(32), half = power_of_two(31);
    return number(x.number - floor((x.number + half) / all) * all);
  }
  Value with_epilogue(const Value& x, const Terms& terms) const {
    const auto in_its_format = [this](const Value& y) { return in_epilogue_format(y); };
    const Epilogue& rule = plan_.epilogue;
    const auto& [alpha, beta, c, bias] = terms;
    // Which multiply-add each takes part in.
    enum class Where { nowhere, with_alpha, after_alpha, on_result };
    const Where fused_or_not = rule.alpha == AlphaPlace::fused ? Where::with_alpha : Where::after_alpha;
    Where c_is = c ? fused_or_not : Where::nowhere;
    if (c && rule.beta == BetaPlace::on_result) c_is = Where::on_result;
    std::optional<Value> in_c_place, last, on_result;
    if (bias && rule.bias == BiasPlace::last) last = bias;
    if (bias && rule.bias == BiasPlace::on_result) on_result = bias;
    if (bias && rule.bias == BiasPlace::as_c) (c ? on_result : in_c_place) = bias;

    Value so_far;
    if (in_c_place && rule.beta == BetaPlace::on_result) {
      so_far = in_its_format(product(alpha, x));
    } else if (in_c_place) {
      so_far = rule.alpha == AlphaPlace::fused ? in_its_format(sum(product(alpha, x), *in_c_place))
                                               : in_its_format(sum(*in_c_place, in_its_format(product(alpha, x))));
    } else {
      const bool fuses_beta = c_is == Where::after_alpha && rule.beta == BetaPlace::fused;
      std::optional<Value> addend;
      if (bias && rule.bias == BiasPlace::first) addend = bias;
      if ((c_is == Where::with_alpha || c_is == Where::after_alpha) && !fuses_beta) {
        const Value scaled = in_its_format(product(beta, *c));
        addend = addend ? in_its_format(sum(scaled, *addend)) : scaled;
      }
      if (rule.alpha == AlphaPlace::fused && addend) {
        so_far = in_its_format(sum(product(alpha, x), *addend));
      } else {
        so_far = in_its_format(product(alpha, x));
        if (fuses_beta) so_far = in_its_format(sum(product(beta, *c), so_far));
        if (addend) so_far = in_its_format(sum(so_far, *addend));
      }
    }
    if (last) so_far = in_its_format(sum(so_far, *last));
    if (on_result) so_far = in_its_format(sum(result_so_far(so_far), *on_result));
    if (c_is == Where::on_result) so_far = in_its_format(sum(result_so_far(so_far), in_its_format(product(beta, *c))));
    if (in_c_place && rule.beta == BetaPlace::on_result)
      so_far = in_its_format(sum(result_so_far(so_far), *in_c_place));
    return so_far;
  }
  static Value of_double(double x) { return value_of(FormatId::fp64, std::bit_cast<std::uint64_t>(x)); }

  const GemmPlan& plan_;
  const Datapath& datapath_;
  const ElementOperands& operands_;
  std::size_t depth_;
  FormatId sums_;  ///< what is added between instructions is of this format
};

}  // namespace

Value element(const GemmPlan& plan, const Datapath& datapath, const ElementOperands& operands) {
  return Element(plan, datapath, operands).value();
}

}  // namespace tcnum::reference
