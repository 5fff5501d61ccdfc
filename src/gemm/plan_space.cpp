#include "plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "emu/fma_chain.hpp"
#include "src/fit/description_diff.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

/// Whether it is FMAs over ascending k: then instructions one after the other are one of all their products, however
/// many each takes.
bool is_plain_chain(const Datapath& datapath) {
  const SortedTree tree(datapath.tree);
  return why_no_fma_chain(datapath.numerics, tree).empty() &&
         std::ranges::is_sorted(fma_chain_of(datapath.numerics, tree).order);
}

/// Whether it is one that no tensor core makes (fma_of()).
bool is_fma(const Performer& performer) { return performer.name == fma_of(performer.formats.a); }
/// Whether D has so few rows or columns that kernels may leave k to threads.
bool has_few_lines(const GemmSubject& subject) {
  constexpr std::size_t kFew = 32;
  return std::min(subject.m, subject.n) <= kFew;
}

/// The instructions that the products may be made of, one of each datapath: a wgmma where there is one, as libraries
/// take it.
std::vector<std::shared_ptr<const Performer>> performers_of(const GemmSubject& subject) {
  const ArchId id = named_arch(subject.arch, "gemm");
  std::vector<std::shared_ptr<const Performer>> found;
  std::vector<const Instruction*> instructions = instructions_of(id);
  std::stable_partition(instructions.begin(), instructions.end(),
                        [](const Instruction* in) { return in->kind == InstructionKind::wgmma; });
  for (const Instruction* in : instructions) {
    const bool takes = can_be(subject.a, in->a) && can_be(subject.b, in->b);
    if (!takes || in->sparse() || in->scaled() || in->c != in->d || catalogue(id, *in).empty()) continue;
    // Later architectures keep Volta's instruction for old programs; libraries' kernels for them are not made of it.
    if (id != ArchId::sm_70 && in->m == 8 && in->a == FormatId::fp16) continue;
    Performer performer = catalogued(id, *in, {}, "gemm");
    const auto same = std::ranges::find_if(found, [&](const auto& other) {
      const Datapath &x = performer.datapath, &y = other->datapath;
      return x.numerics == y.numerics && (x.tree == y.tree || (is_plain_chain(x) && is_plain_chain(y)));
    });
    if (same == found.end())
      found.push_back(std::make_shared<const Performer>(std::move(performer)));
    else if (performer.depth() < (*same)->depth())
      *same = std::make_shared<const Performer>(std::move(performer));
  }
  const std::string_view fma = subject.a == subject.b ? fma_of(subject.a) : "";
  if (scalar_instruction(id, fma) && (subject.a != FormatId::fp64 || has_few_lines(subject)))
    found.push_back(std::make_shared<const Performer>(named_performer(id, fma, {}, "gemm")));
  if (found.empty()) {
    throw InputError(
        fmt::format("gemm: no instruction of {} takes {} and {}; expected formats that `tcnum list "
                    "--arch {}` shows together",
                    subject.arch, format(subject.a).name, format(subject.b).name, subject.arch));
  }
  return found;
}

/// Of an H100 or H200: kernels that divide k for all of them have as many parts, or half or two thirds of them.
constexpr std::size_t kMultiprocessors = 132;

/// Products of a tile that kernels have: powers of two.
std::vector<std::size_t> tiles_of(std::size_t depth) {
  std::vector<std::size_t> tiles;
  constexpr std::size_t kMost = 256;
  for (std::size_t tile = depth; tile <= kMost; tile *= 2) tiles.push_back(tile);
  return tiles;
}

/// Chunks that kernels cut k into: ⌈⌈k / tile⌉ / parts⌉ tiles, and CUTLASS 2's. Of fp32, fp16 and bf16 the library cuts
/// it into any number of parts up to two for each multiprocessor.
std::set<std::size_t> chunks_of(std::size_t k, std::size_t depth, FormatId operand) {
  constexpr std::size_t kMostParts = 64;
  std::vector<std::size_t> counts = {kMultiprocessors / 2, kMultiprocessors * 2 / 3, kMultiprocessors};
  for (std::size_t parts = 2; parts <= kMostParts; ++parts) counts.push_back(parts);
  std::set<std::size_t> chunks;
  for (const std::size_t parts : counts) {
    for (const std::size_t tile : tiles_of(depth)) {
      const std::size_t tiles = (k + tile - 1) / tile;
      if (parts <= tiles) chunks.insert((tiles + parts - 1) / parts * tile);
    }
    for (const bool k_is_innermost : {true, false}) {
      if (parts <= k) chunks.insert(cutlass2_chunk(k, parts, operand, k_is_innermost));
    }
  }
  if (operand == FormatId::fp32 || format(operand).storage_bits == 16) {
    for (std::size_t parts = kMostParts + 1; parts <= std::min(2 * kMultiprocessors, k); ++parts)
      chunks.insert(cutlass2_chunk(k, parts, operand));
  }
  chunks.erase(chunks.lower_bound(k), chunks.end());
  return chunks;
}

/// Plans that differ in what they do with k, and what is left of it.
class Walks {
 public:
  Walks(const GemmSubject& subject, const Performer& performer)
      : k_(subject.k),
        depth_(is_fma(performer) ? kScalarTile : performer.depth()),
        operand_(subject.a),
        is_scalar_(is_fma(performer)),
        has_few_lines_(has_few_lines(subject)),
        folds_(subject.d == FormatId::fp64 || is_scalar_) {}

  std::vector<GemmPlan> of(const GemmPlan& plain, FormatId sums, FormatId output) const {
    std::vector<GemmPlan> plans;
    // Kernels whose chains are FMAs, but no tensor core's, in parts or slices, have been seen of fp32 alone.
    if (!is_scalar_ || operand_ == FormatId::fp32) add_chains(plain, sums, output, plans);
    if (is_scalar_) {
      add_one_thread(plain, plans);
      add_threads(plain, plans);
    }
    add_equal_parts(plain, sums, output, plans);
    return plans;
  }

 private:
  void add_chains(const GemmPlan& plain, FormatId sums, FormatId output, std::vector<GemmPlan>& plans) const {
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
  }
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
    constexpr int kMost = 64, kMostInParts = 4, kMostOfFmas = 264;
    constexpr std::size_t kMostShare = 128, kMostShareOfFmas = 16;
    std::vector<int> numbers;
    for (int slices = 2; slices <= (plan.split_k ? kMostInParts : kMost); slices += plan.split_k ? 2 : 1)
      numbers.push_back(slices);
    if (folds_ && !plan.split_k) std::ranges::copy(kManySlices, std::back_inserter(numbers));
    // Of FMAs of fp32 the library takes any number, of small tiles.
    const std::size_t usual = numbers.size();
    if (is_scalar_ && !plan.split_k) {
      for (int slices = kMost + 1; slices <= kMostOfFmas; ++slices) numbers.push_back(slices);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const int slices = numbers[i];
      plan.slices = slices;
      const auto count = static_cast<std::size_t>(slices);
      for (std::size_t share = depth_; share <= (i < usual ? kMostShare : kMostShareOfFmas); share *= 2) {
        plan.k_tile = share * count;
        // With nothing left for the last slice, it is another number of them, if they are added in turn.
        plan.slices_order = SliceOrder::ascending;
        if (share * (count - 1) < k_) plans.push_back(plan);
        // Kernels of other sums that fold have not been seen.
        if (!folds_) continue;
        plan.slices_order = SliceOrder::folded;
        plans.push_back(plan);
      }
    }
  }
  /// Kernels that have a thread for each element. (cuBLASLt's of ALGO_ID 13, 16 and 56.)
  static void add_one_thread(GemmPlan plan, std::vector<GemmPlan>& plans) {
    for (const std::optional<std::size_t> promote : {std::optional<std::size_t>(), {256}, {512}}) {
      plan.promote_every = promote;
      plans.push_back(plan);
    }
  }
  /// Kernels for a few rows or columns leave k to threads side by side. (cuBLASLt's of ALGO_ID 11, 13 and 14.)
  void add_threads(const GemmPlan& plain, std::vector<GemmPlan>& plans) const {
    constexpr std::size_t kMostParts = 32, kMostBlocks = 132;
    constexpr int kMostThreads = 32, kAtATime = 4;
    std::vector<std::size_t> counts = {1};
    if (has_few_lines_) {
      for (std::size_t parts = 2; parts <= std::min(kMostParts, k_); ++parts) counts.push_back(parts);
      std::ranges::copy(kManyParts, std::back_inserter(counts));
    }
    for (const std::size_t parts : counts) {
      GemmPlan plan = plain;
      if (parts > 1) plan.split_k = in_parts_of(k_, parts, operand_);
      const std::size_t of_part = plan.split_k ? plan.split_k->chunk : k_;
      for (int threads = 2; threads <= kMostThreads; threads *= 2) {
        plans.push_back(on_threads(plan, threads, 1));
        plans.push_back(on_threads(plan, threads, stretch_of_thread(of_part, threads, operand_)));
      }
      plans.push_back(on_threads(plan, kMostThreads, kAtATime));
      for (const std::optional<std::size_t> promote : {std::optional<std::size_t>(), {16}, {32}})
        plans.push_back(in_turn_on_sixteen(plan, promote));
    }
    if (!has_few_lines_) return;
    for (const std::size_t threads : {2, 4, 8, 16, 32})
      plans.push_back(in_parts_on_threads(plain, k_, threads, operand_));
    for (const bool k_is_innermost : {true, false}) {
      if (!k_is_innermost && operand_ == FormatId::fp64) continue;  // the same
      for (std::size_t blocks = 1; blocks <= kMostBlocks; ++blocks)
        plans.push_back(in_turn_on_blocks(plain, blocks, operand_, k_is_innermost));
    }
  }
  /// Kernels that divide k into a number of parts for all of D: of tf32 into many, as cuBLASLt's, of all that tensor
  /// cores round into a few, of tiles of any size.
  void add_equal_parts(const GemmPlan& plain, FormatId sums, FormatId output, std::vector<GemmPlan>& plans) const {
    if (is_scalar_ || !format(sums).floating || sums == FormatId::fp64) return;
    if (operand_ == FormatId::tf32 || operand_ == FormatId::fp32)
      std::ranges::copy(equal_parts(plain, operand_, k_), std::back_inserter(plans));
    constexpr std::size_t kMost = 16;
    for (const std::size_t tile : tiles_of(std::max(depth_, kLeastWhole))) {
      for (std::size_t count = 2; count <= std::min(kMost, (k_ + tile - 1) / tile); ++count) {
        for (const PartOrder order : {PartOrder::ascending, PartOrder::descending, PartOrder::pairs}) {
          for (const auto& [type, parts] : additions_of_parts(sums, output)) {
            GemmPlan plan = plain;
            plan.k_tile = tile;
            plan.split_k = SplitK{.count = count, .order = order, .type = type, .parts = parts};
            for (const auto& promote : promotions(true)) {
              plan.promote_every = promote;
              plans.push_back(plan);
            }
          }
        }
      }
    }
  }
  /// What sums of parts, and parts before they are added, are rounded to.
  static std::set<std::pair<FormatId, FormatId>> additions_of_parts(FormatId sums, FormatId output) {
    const FormatId wide = sums == FormatId::fp64 ? FormatId::fp64 : FormatId::fp32;
    return {{wide, wide}, {output, wide}, {wide, output}};
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
    for (const std::size_t chunk : chunks_of(k_, depth_, operand_)) {
      if (!format(sums).floating) {
        all.push_back(SplitK{.chunk = chunk, .type = sums, .parts = sums});
        continue;
      }
      // Kernels that leave products out have whole tiles in each of so many parts that they do not go into k.
      // (cuBLASLt's of ALGO_ID 66.)
      std::vector<Rest> rests = {Rest::last_part};
      if (k_ % chunk != 0 && k_ % chunk < k_ / chunk && chunk % kLeastWhole == 0) rests.push_back(Rest::left_out);
      for (const auto& [type, parts] : additions_of_parts(sums, output)) {
        for (const PartOrder order : {PartOrder::ascending, PartOrder::descending}) {
          for (const Rest rest : rests)
            all.push_back(SplitK{.chunk = chunk, .rest = rest, .order = order, .type = type, .parts = parts});
        }
      }
    }
    return all;
  }

  /// Of kernels that divide k for as many blocks of threads as there are multiprocessors, for parts or multiples of
  /// that.
  static constexpr std::array kManySlices = {66, 88, 132, 198, 264, 396};
  /// Of kernels that leave k to the threads of a warp: twice and four times as many parts, and half of them.
  static constexpr std::array<std::size_t, 4> kManyParts = {64, 66, 264, 528};
  static constexpr std::size_t kLeastWhole = 32;  ///< products of k: the smallest of tensor cores' tiles
  static constexpr std::size_t kScalarTile = 8;   ///< products of k: the least that a kernel of FMAs takes at a time

  std::size_t k_, depth_;
  FormatId operand_;
  bool is_scalar_, has_few_lines_, folds_;
};

/// How parts of k are added.
enum class Additions : std::uint8_t {
  plain,         ///< as all else is: sums of sums are told apart by what is added to what alone
  narrow_parts,  ///< of parts that are rounded before
  narrow_sums,   ///< the first part is rounded to what the sums are, the others may not be
};

/// Numbers for sums: one that is the same for every input has the same number.
class Sums {
 public:
  std::size_t of(const Reduction& reduction, Additions additions) {
    std::vector<std::optional<std::size_t>> sums(reduction.sums);
    for (const ReductionStep& step : reduction.steps) {
      std::optional<std::size_t>& to = sums[step.to];
      switch (step.kind) {
        case ReductionStep::Kind::accumulate:
        case ReductionStep::Kind::promote: {
          const std::size_t accumulator = number_in(accumulations_, step.products);
          to = step.turn == 0 ? accumulator : sum(Additions::plain, *to, accumulator);
          break;
        }
        case ReductionStep::Kind::slices:
          to = sum(Additions::plain, *to, *sums[step.from]);
          break;
        case ReductionStep::Kind::parts:
        case ReductionStep::Kind::epilogue:
          to = to ? sum(additions, *to, *sums[step.from]) : *sums[step.from];
          break;
        case ReductionStep::Kind::part:  // additions tell it
          break;
      }
    }
    return *sums[0];
  }

 private:
  std::size_t sum(Additions additions, std::size_t x, std::size_t y) {
    const bool commutes = additions != Additions::narrow_sums;
    return number_in(sums_, {additions, commutes ? std::min(x, y) : x, commutes ? std::max(x, y) : y});
  }
  template <class Key, class Hash>
  std::size_t number_in(std::unordered_map<Key, std::size_t, Hash>& numbers, const Key& key) {
    const auto [found, is_new] = numbers.try_emplace(key, count_);
    if (is_new) ++count_;
    return found->second;
  }

  struct Addition {
    Additions additions = Additions::plain;
    std::size_t x = 0, y = 0;  ///< numbers of what is added
    friend bool operator==(const Addition&, const Addition&) = default;
  };
  struct AdditionHash {
    std::size_t operator()(const Addition& of) const {
      return mixed(mixed(static_cast<std::size_t>(of.additions), of.x), of.y);
    }
  };
  std::unordered_map<Accumulation, std::size_t, AccumulationHash> accumulations_;
  std::unordered_map<Addition, std::size_t, AdditionHash> sums_;
  std::size_t count_ = 0;
};

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
struct Key {
  std::size_t sum = 0;  ///< its number
  std::optional<Rounding> convert = {};
  std::vector<FormatId> parts = {};       ///< what sums of parts, and parts, are rounded to, where these are narrow
  std::optional<Rounding> rounding = {};  ///< of the sum to the output's format; none: it is of that format
  friend auto operator<=>(const Key&, const Key&) = default;
};
Key key_of(const GemmPlan& plan, const Performer& performer, const Reduction& reduction, std::size_t k, Sums& sums) {
  if (has_no_order(performer.datapath, k)) return {};
  const auto is_narrow = [](FormatId id) { return format(id).floating && format(id).storage_bits < 32; };
  const bool splits = plan.split_k && reduction.parts > 1;
  Additions additions = Additions::plain;
  if (splits && is_narrow(plan.split_k->parts)) additions = Additions::narrow_parts;
  if (splits && is_narrow(plan.split_k->type)) additions = Additions::narrow_sums;
  std::vector<FormatId> formats;
  if (additions != Additions::plain) formats = {plan.split_k->type, plan.split_k->parts};
  // What is of the output's format is not rounded to it.
  const FormatId last = splits ? plan.split_k->type : performer.formats.d;
  return {.sum = sums.of(reduction, additions),
          .convert = plan.convert_a,
          .parts = std::move(formats),
          .rounding = last == plan.output ? std::nullopt : std::optional(plan.output_rounding)};
}

}  // namespace

std::vector<GemmPlan> equal_parts(const GemmPlan& plain, FormatId operand, std::size_t k) {
  constexpr std::size_t kTileBytes = 128, kAlike = 3;  // so few parts come to the same in pairs and from the last on
  const std::size_t tile = kTileBytes / static_cast<std::size_t>(format(operand).storage_bytes());
  std::vector<GemmPlan> plans;
  for (std::size_t count = 2; count <= std::min(kMultiprocessors, (k + tile - 1) / tile); ++count) {
    for (const PartOrder order : {PartOrder::pairs, PartOrder::descending}) {
      if (order == PartOrder::descending && count <= kAlike) continue;
      GemmPlan& plan = plans.emplace_back(plain);
      plan.k_tile = tile;
      plan.split_k = SplitK{.count = count, .order = order};
    }
  }
  return plans;
}

std::vector<Candidate> plan_space(const GemmSubject& subject) {
  std::vector<Candidate> candidates;
  std::set<Key> seen;
  Sums sums;
  for (const auto& performer : performers_of(subject)) {
    // All that take integers exactly are one, and so are all chains of fp64's FMAs.
    const bool is_another = performer->formats.d != FormatId::fp64 || !is_fma(*performer);
    if (!has_no_order(performer->datapath, subject.k) && is_another) seen.clear();
    GemmPlan plain;
    plain.arch = subject.arch;
    plain.instruction = performer->name;
    plain.output = subject.d;
    std::vector<std::optional<Rounding>> conversions = {std::nullopt};
    // Operands that are tf32 already say nothing of it.
    const bool converts =
        performer->formats.a == FormatId::tf32 && (subject.a == FormatId::fp32 || subject.b == FormatId::fp32);
    if (converts) conversions = {std::nullopt, Rounding::nearest_even, Rounding::nearest_away};
    for (const auto& convert : conversions) {
      plain.convert_a = plain.convert_b = convert;
      for (GemmPlan& plan : Walks(subject, *performer).of(plain, performer->formats.d, subject.d)) {
        const Reduction reduction = reduction_of(plan, performer->depth(), subject.k);
        Key key = key_of(plan, *performer, reduction, subject.k, sums);
        for (const Rounding rounding : {Rounding::nearest_even, Rounding::toward_zero}) {
          plan.output_rounding = rounding;
          if (key.rounding) key.rounding = rounding;
          if (seen.insert(key).second) candidates.push_back({plan, performer, reduction});
        }
      }
    }
  }
  return candidates;
}

std::vector<OpenProperty> differences(const std::vector<const GemmPlan*>& plans) {
  std::vector<nlohmann::ordered_json> all;
  for (const GemmPlan* plan : plans) all.push_back(plan_to_json(*plan));
  std::vector<OpenProperty> open;
  for (const std::string& path : differing_members(all)) {
    OpenProperty& property = open.emplace_back(OpenProperty{shown_path(path), {}});
    for (const nlohmann::ordered_json& plan : all) {
      const std::string text = member_text(plan, path);
      if (std::ranges::find(property.values, text) == property.values.end()) property.values.push_back(text);
    }
  }
  return open;
}

}  // namespace tcnum
