#include "producers.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "src/catalogue/operand_formats.hpp"
#include "src/gemm/plan_search.hpp"
#include "tcnum/error.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/program_oracle.hpp"

namespace tcnum {
namespace {

/// A number of one format rounded to another, to nearest even.
std::uint64_t rounded(const Format& from, const Format& to, std::uint64_t code) {
  const Decoded x = decode(from, code);
  if (x.number_class == NumberClass::nan) return nan_code(to);
  if (x.number_class == NumberClass::infinity) return infinity_code(to, x.negative);
  return encode(to, x.negative, x.significand, x.exponent - from.fraction_bits, false, Rounding::nearest_even);
}

bool holds_specials(const Format& f) { return f.has_infinity() && f.non_finite != NonFinite::none; }

/// Whether a kernel may have made results of the one format from sums of the other.
bool can_be_rounded(FormatId sum, FormatId result) {
  const Format &s = format(sum), &r = format(result);
  return s.floating && holds_specials(s) && holds_specials(r) && r.storage_bits < s.storage_bits && holds(s, r);
}

Codes to_format(const Codes& codes, FormatId from, FormatId to) {
  if (from == to) return codes;
  Codes narrow(format(to).storage_bytes(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) narrow.set(i, rounded(format(from), format(to), codes[i]));
  return narrow;
}

bool all_zero(const Tiles& tiles) {
  const Format& f = format(tiles.c_format);
  for (std::size_t i = 0; i < tiles.c.size(); ++i) {
    if (decode(f, tiles.c[i]).number_class != NumberClass::zero) return false;
  }
  return true;
}

/// One tile of operands as a matrix.
MatrixView matrix_of(const Codes& codes, FormatId id, std::size_t tile, std::size_t rows, std::size_t columns) {
  const std::size_t bytes = rows * columns * bytes_of(id);
  return {codes.bytes().subspan(tile * bytes, bytes), rows, columns, id};
}

Codes results_of_plan(const GemmPlan& plan, const Tiles& tiles) {
  Codes d;
  const bool has_c = !all_zero(tiles);
  for (std::size_t t = 0; t < tiles.count; ++t) {
    const MatrixView c = matrix_of(tiles.c, tiles.c_format, t, tiles.m, tiles.n);
    GemmInputs inputs;
    if (has_c) inputs.c = &c;
    const Codes of_tile = gemm(plan, matrix_of(tiles.a, tiles.a_format, t, tiles.m, tiles.k),
                               matrix_of(tiles.b, tiles.b_format, t, tiles.k, tiles.n), inputs, {.threads = 1})
                              .codes();
    if (t == 0)
      d = of_tile;
    else
      d.append(of_tile);
  }
  return d;
}

/// Whether the plan is one chain of its instruction for so many products.
bool is_one_chain(const GemmPlan& plan, std::size_t k) {
  const bool split = plan.split_k && (plan.split_k->count != 0 || plan.split_k->chunk < k);
  return plan.k_order == KOrder::ascending && plan.slices == 1 && !split &&
         (!plan.promote_every || *plan.promote_every >= k) &&
         (plan.residue == Residue::last || !plan.k_tile || k % *plan.k_tile == 0);
}

class Collection {
 public:
  Collection(const Tiles& answered, const IdentifyOptions& options) : answered_(answered), options_(options) {
    if (answered.scale_block != 0) scales_ = ScaleRule{options.scales, answered.scale_block};
  }

  std::vector<Producer> collected() {
    for (const Arch& each : kArchs) {
      if (!options_.archs.empty() && std::ranges::find(options_.archs, each.id) == options_.archs.end()) continue;
      for (const Instruction* in : instructions_of(each.id)) {
        if (!takes_answers(*in)) continue;
        std::vector<CatalogueEntry> accounts = catalogue(each.id, *in);
        if (!accounts.empty()) add(std::move(accounts.front()));
      }
    }
    if (!scales_) add_plans();
    return std::move(subjects_);
  }

 private:
  bool takes_answers(const Instruction& in) {
    return (options_.sparse || !in.sparse()) && scales_of(in) == scales_ && can_be(answered_.a_format, in.a) &&
           can_be(answered_.b_format, in.b) &&
           (in.d == answered_.d_format || can_be_rounded(in.d, answered_.d_format)) && has_c(in.c);
  }
  /// Whether the format has every c of the answers, which few formats are asked of.
  bool has_c(FormatId id) {
    const auto [found, is_new] = has_c_.try_emplace(id);
    if (is_new) found->second = same_numbers(answered_.c, answered_.c_format, id).has_value();
    return found->second;
  }

  void add(CatalogueEntry entry) {
    const auto like = std::ranges::find_if(
        subjects_, [&](const Producer& each) { return each.suspect.of.front().datapath == entry.datapath; });
    if (like != subjects_.end()) {
      like->suspect.of.push_back(std::move(entry));
      return;
    }
    Producer producer;
    producer.chain = std::make_shared<const Chain>(entry.datapath);
    if (!producer.chain->takes(answered_.k)) return;
    producer.k = entry.datapath.tree.k;
    producer.suspect.rounded = entry.datapath.numerics.result != answered_.d_format;
    producer.suspect.of.push_back(std::move(entry));
    subjects_.push_back(std::move(producer));
  }

  void add_plans() {
    for (const NamedPlan& named : named_plans()) {
      try {
        GemmPlan plan = named_plan(named.name, answered_.a_format, answered_.d_format);
        const auto arch = find_arch(plan.arch);
        if (!options_.archs.empty() && (!arch || std::ranges::find(options_.archs, *arch) == options_.archs.end()))
          continue;
        if (answered_.b_format != answered_.a_format || plan.output != answered_.d_format) continue;
        if (is_one_chain(plan, answered_.k) && all_zero(answered_)) continue;  // its datapath is there
        Producer producer;
        producer.suspect.plan = std::move(plan);
        subjects_.push_back(std::move(producer));
      } catch (const InputError&) {
        continue;  // it is of other formats
      }
    }
  }

  const Tiles& answered_;
  const IdentifyOptions& options_;
  std::optional<ScaleRule> scales_;
  std::map<FormatId, bool> has_c_;
  std::vector<Producer> subjects_;
};

}  // namespace

bool same_result(FormatId id, std::uint64_t one, std::uint64_t other) { return is_same_result(format(id), one, other); }

std::optional<Codes> same_numbers(const Codes& codes, FormatId from, FormatId to) {
  if (from == to) return codes;
  const Format &f = format(from), &t = format(to);
  if (f.floating != t.floating) return std::nullopt;
  Codes same(t.storage_bytes(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Decoded x = decode(f, codes[i]);
    if (!x.is_finite() && !holds_specials(t)) return std::nullopt;
    const std::uint64_t code = rounded(f, t, codes[i]);
    const bool is_nan = x.number_class == NumberClass::nan;
    if (!is_nan && rounded(t, f, code) != codes[i]) return std::nullopt;
    same.set(i, code);
  }
  return same;
}

Codes Producer::results(const Tiles& tiles) const {
  Tiles mine = tiles;
  if (suspect.plan) {
    mine.d = results_of_plan(*suspect.plan, tiles);
    make_nans_alike(mine);
    return std::move(mine.d);
  }
  const Numerics& n = suspect.of.front().datapath.numerics;
  mine.a_format = n.a.format;
  mine.b_format = n.b.format;
  mine.c_format = n.c.format;
  mine.d_format = n.result;
  mine.c = same_numbers(tiles.c, tiles.c_format, n.c.format).value();
  mine.d = Codes(format(n.result).storage_bytes(), tiles.size());
  chain->run(mine);
  return to_format(mine.d, n.result, tiles.d_format);
}

std::vector<Producer> producers_of(const Tiles& answered, const IdentifyOptions& options) {
  return Collection(answered, options).collected();
}

}  // namespace tcnum
