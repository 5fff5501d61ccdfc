#include "plan_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

/// The instructions that the products may be made of, one of each datapath: a wgmma where there is one, as libraries
/// take it.
std::vector<std::pair<const Instruction*, std::shared_ptr<const Performer>>> performers_of(const GemmSubject& subject) {
  const ArchId id = named_arch(subject.arch, "gemm");
  std::vector<std::pair<const Instruction*, std::shared_ptr<const Performer>>> found;
  std::vector<const Instruction*> instructions = instructions_of(id);
  std::stable_partition(instructions.begin(), instructions.end(),
                        [](const Instruction* in) { return in->kind == InstructionKind::wgmma; });
  for (const Instruction* in : instructions) {
    const bool takes = can_be(subject.a, in->a) && can_be(subject.b, in->b);
    if (!takes || in->sparse() || in->c != in->d || catalogue(id, *in).empty()) continue;
    // Later architectures keep Volta's instruction for old programs; libraries' kernels for them are not made of it.
    if (id != ArchId::sm_70 && in->m == 8 && in->a == FormatId::fp16) continue;
    Performer performer = catalogued(id, *in, {}, "gemm");
    const auto is_same = [&](const auto& other) {
      const Datapath &x = performer.datapath, &y = other.second->datapath;
      return x.numerics == y.numerics && x.tree == y.tree;
    };
    if (std::ranges::any_of(found, is_same)) continue;
    found.emplace_back(in, std::make_shared<const Performer>(std::move(performer)));
  }
  if (found.empty()) {
    throw InputError(
        fmt::format("gemm: no instruction of {} takes {} and {}; right would be formats that `tcnum list "
                    "--arch {}` shows together",
                    subject.arch, format(subject.a).name, format(subject.b).name, subject.arch));
  }
  return found;
}

/// Products of a tile that kernels have: powers of two.
std::vector<std::size_t> tiles_of(std::size_t depth) {
  std::vector<std::size_t> tiles;
  constexpr std::size_t kMost = 256;
  for (std::size_t tile = depth; tile <= kMost; tile *= 2) tiles.push_back(tile);
  return tiles;
}

/// Chunks that a k cut into equal numbers of tiles has: ⌈⌈k / tile⌉ / parts⌉ tiles.
std::set<std::size_t> chunks_of(std::size_t k, std::size_t depth) {
  constexpr std::size_t kMostParts = 64;
  std::set<std::size_t> chunks;
  for (const std::size_t tile : tiles_of(depth)) {
    const std::size_t tiles = (k + tile - 1) / tile;
    for (std::size_t parts = 2; parts <= std::min(tiles, kMostParts); ++parts)
      chunks.insert((tiles + parts - 1) / parts * tile);
  }
  chunks.erase(chunks.lower_bound(k), chunks.end());
  return chunks;
}

/// Plans that differ in what they do with k, and what is left of it.
class Walks {
 public:
  Walks(const GemmSubject& subject, std::size_t depth) : k_(subject.k), depth_(depth) {}

  std::vector<GemmPlan> of(const GemmPlan& plain, FormatId sums, FormatId output) const {
    std::vector<GemmPlan> plans;
    for (const auto& split : splits(sums, output)) {
      GemmPlan plan = plain;
      plan.split_k = split;
      for (const auto& promote : promotions(split.has_value())) {
        plan.promote_every = promote;
        plans.push_back(plan);
        add_residues(plan, plans);
      }
      plan.promote_every = {};
      add_slices(plan, plans);
    }
    return plans;
  }

 private:
  /// Where tiles leave some of k over.
  void add_residues(GemmPlan plan, std::vector<GemmPlan>& plans) const {
    const std::size_t chunk = plan.split_k ? plan.split_k->chunk : k_;
    for (const std::size_t tile : tiles_of(depth_)) {
      if (chunk % tile == 0 && k_ % chunk % tile == 0) continue;
      plan.k_tile = tile;
      plan.residue = Residue::first;
      plans.push_back(plan);
    }
  }
  void add_slices(GemmPlan plan, std::vector<GemmPlan>& plans) const {
    for (const int slices : {2, 4}) {
      plan.slices = slices;
      for (const std::size_t tile : tiles_of(depth_ * static_cast<std::size_t>(slices))) {
        plan.k_tile = tile;
        plans.push_back(plan);
      }
    }
  }
  /// With parts of k, libraries' kernels promote seldom if at all.
  std::vector<std::optional<std::size_t>> promotions(bool is_split) const {
    constexpr std::size_t kLeastInParts = 64, kMostInParts = 512;
    std::vector<std::optional<std::size_t>> every = {std::nullopt};
    for (std::size_t products = depth_; products < k_; products *= 2) {
      if (!is_split || (products >= kLeastInParts && products <= kMostInParts)) every.emplace_back(products);
    }
    return every;
  }
  std::vector<std::optional<SplitK>> splits(FormatId sums, FormatId output) const {
    std::vector<std::optional<SplitK>> all = {std::nullopt};
    for (const std::size_t chunk : chunks_of(k_, depth_)) {
      if (!format(sums).floating) {
        all.push_back(SplitK{chunk, KOrder::ascending, sums, sums});
        continue;
      }
      const FormatId wide = sums == FormatId::fp64 ? FormatId::fp64 : FormatId::fp32;
      std::set<std::pair<FormatId, FormatId>> types = {{wide, wide}, {output, wide}, {wide, output}};
      for (const auto& [type, parts] : types) {
        all.push_back(SplitK{chunk, KOrder::ascending, type, parts});
        all.push_back(SplitK{chunk, KOrder::descending, type, parts});
      }
    }
    return all;
  }

  std::size_t k_, depth_;
};

/// What is added up, as text: sums of sums, of which a sum of one thing is that thing, and a sum of two the same from
/// either side.
template <class Things, class Text>
std::string sum_of(const Things& things, bool commutes, const Text& text) {
  std::vector<std::string> texts;
  for (const auto& thing : things) texts.push_back(text(thing));
  if (texts.size() == 1) return texts.front();
  if (texts.size() == 2 && commutes) std::ranges::sort(texts);
  return fmt::format("({})", fmt::join(texts, "+"));
}
std::string text_of(const Accumulation& accumulation) {
  std::string text;
  for (const Stretch& stretch : accumulation) text += fmt::format("{}:{},", stretch.first, stretch.count);
  return text;
}
std::string text_of(const PartWalk& part) {
  return sum_of(part, true, [](const SliceWalk& slice) {
    return sum_of(slice, true, [](const Accumulation& accumulation) { return text_of(accumulation); });
  });
}

/// Integer sums that wrap come to the same in any order, and so do those that cannot overflow.
bool has_no_order(const Datapath& datapath, std::size_t k) {
  const Numerics& n = datapath.numerics;
  if (format(n.result).floating) return false;
  const auto wraps = [](const Unit& unit) {
    return std::ranges::all_of(unit.result, [](const RoundStep& step) { return step.overflow == Overflow::wrap; });
  };
  const int bits_of_product = format(n.a.format).fraction_bits + format(n.b.format).fraction_bits;
  return std::ranges::all_of(n.units, wraps) || k < std::uint64_t{1}
                                                        << (format(n.result).fraction_bits - bits_of_product);
}

/// What makes two plans of one instruction the same, whatever they are called.
std::string key_of(const GemmPlan& plan, const Performer& performer, const std::vector<PartWalk>& walk, std::size_t k) {
  if (has_no_order(performer.datapath, k)) return {};
  // Additions in fp32 are the same wherever they stand.
  const auto is_narrow = [](FormatId id) { return format(id).floating && format(id).storage_bits < 32; };
  const bool narrow_sums = plan.split_k && is_narrow(plan.split_k->type);
  std::string key = sum_of(walk, !narrow_sums, [](const PartWalk& part) { return text_of(part); });
  if (plan.split_k && walk.size() > 1 && (narrow_sums || is_narrow(plan.split_k->parts)))
    key += fmt::format(" {} {}", format(plan.split_k->type).name, format(plan.split_k->parts).name);
  const auto rounding = [](const std::optional<Rounding>& x) { return x ? name(*x) : "none"; };
  key += fmt::format(" {}", rounding(plan.convert_a));
  // What is of the output's format is not rounded to it.
  const FormatId last = plan.split_k && walk.size() > 1 ? plan.split_k->type : performer.formats.d;
  return last == plan.output ? key : key + fmt::format(" {}", name(plan.output_rounding));
}

}  // namespace

std::vector<Candidate> plan_space(const GemmSubject& subject) {
  std::vector<Candidate> candidates;
  std::set<std::string> seen;
  for (const auto& [in, performer] : performers_of(subject)) {
    // All that take integers exactly are one.
    if (!has_no_order(performer->datapath, subject.k)) seen.clear();
    GemmPlan plain;
    plain.arch = subject.arch;
    plain.instruction = in->name();
    plain.output = subject.d;
    std::vector<std::optional<Rounding>> conversions = {std::nullopt};
    // Operands that are tf32 already say nothing of it.
    const bool converts = in->a == FormatId::tf32 && (subject.a == FormatId::fp32 || subject.b == FormatId::fp32);
    if (converts) conversions = {std::nullopt, Rounding::nearest_even, Rounding::nearest_away};
    for (const auto& convert : conversions) {
      plain.convert_a = plain.convert_b = convert;
      for (GemmPlan& plan : Walks(subject, performer->depth()).of(plain, in->d, subject.d)) {
        const std::vector<PartWalk> walk = walk_of(plan, performer->depth(), subject.k);
        for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
          plan.output_rounding = rounding;
          if (seen.insert(key_of(plan, *performer, walk, subject.k)).second)
            candidates.push_back({plan, performer, walk});
        }
      }
    }
  }
  return candidates;
}

std::vector<OpenProperty> differences(const std::vector<const GemmPlan*>& plans) {
  std::vector<OpenProperty> open;
  const auto flat = [](const GemmPlan& plan) { return plan_to_json(plan).flatten(); };
  std::vector<nlohmann::ordered_json> all;
  std::vector<std::string> keys;
  for (const GemmPlan* plan : plans) {
    all.push_back(flat(*plan));
    for (const auto& [key, value] : all.back().items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    OpenProperty property{key.substr(1), {}};
    std::ranges::replace(property.property, '/', '.');
    for (const auto& json : all) {
      const auto found = json.find(key);
      const std::string value = found == json.end()  ? "none"
                                : found->is_string() ? found->get<std::string>()
                                                     : found->dump();
      if (std::ranges::find(property.values, value) == property.values.end()) property.values.push_back(value);
    }
    if (property.values.size() > 1) open.push_back(std::move(property));
  }
  return open;
}

}  // namespace tcnum
