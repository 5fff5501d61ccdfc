#include "reduction.hpp"

#include <bit>
#include <utility>

namespace tcnum {
namespace {

/// Stretches of k that are taken, one after the other, and to how many parts they belong in turn.
struct Division {
  std::vector<Stretch> stretches;
  std::size_t parts = 0;
};
Division division_of(const GemmPlan& plan, std::size_t tile, std::size_t k) {
  std::vector<Stretch> stretches;
  const auto add = [&](std::size_t count) {
    const std::size_t first = stretches.empty() ? 0 : stretches.back().first + stretches.back().count;
    stretches.push_back({first, std::min(count, k - first)});
  };
  if (plan.split_k && plan.split_k->count != 0) {
    const std::size_t tiles = (k + tile - 1) / tile, count = std::min(plan.split_k->count, tiles);
    for (std::size_t part = 0; part < count; ++part) add((tiles / count + (part >= count - tiles % count)) * tile);
  } else {
    const std::size_t chunk = plan.split_k ? plan.split_k->chunk : k;
    const bool leaves_out = plan.split_k && plan.split_k->rest == Rest::left_out && chunk <= k;
    const std::size_t end = leaves_out ? k / chunk * chunk : k;
    for (std::size_t first = 0; first < end; first += chunk) add(chunk);
  }
  const std::size_t turns = plan.split_k ? plan.split_k->turns : 0, count = stretches.size();
  return {std::move(stretches), turns == 0 ? count : std::min(turns, count)};
}

/// Adds the tiles of a stretch, in ascending order.
void add_tiles(const GemmPlan& plan, const Stretch& of, std::size_t tile, std::vector<Stretch>& tiles) {
  const std::size_t end = of.first + of.count;
  std::size_t at = of.first;
  const std::size_t residue = of.count % tile;
  if (plan.residue == Residue::first && residue != 0) {
    tiles.push_back({at, residue});
    at += residue;
  }
  for (; at < end; at += tile) tiles.push_back({at, std::min(tile, end - at)});
}

/// The products of one instruction after the other, as a slice takes them.
std::vector<Stretch> instructions_of(const GemmPlan& plan, const std::vector<Stretch>& tiles, std::size_t slice,
                                     std::size_t share, std::size_t depth) {
  std::vector<Stretch> instructions;
  for (const Stretch& tile : tiles) {
    const std::size_t end = tile.first + std::min(tile.count, (slice + 1) * share);
    for (std::size_t at = tile.first + slice * share; at < end; at += depth)
      instructions.push_back({at, std::min(depth, end - at)});
  }
  if (plan.k_order == KOrder::descending) std::ranges::reverse(instructions);
  return instructions;
}

std::vector<Accumulation> accumulations_of(const GemmPlan& plan, const std::vector<Stretch>& instructions,
                                           std::size_t depth) {
  const std::size_t most = plan.promote_every ? *plan.promote_every / depth : instructions.size();
  std::vector<Accumulation> accumulations;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (i % most == 0) accumulations.emplace_back();
    Accumulation& accumulation = accumulations.back();
    // Whole instructions side by side are one stretch.
    const bool goes_on = !accumulation.empty() && accumulation.back().count % depth == 0 &&
                         accumulation.back().first + accumulation.back().count == instructions[i].first;
    if (goes_on)
      accumulation.back().count += instructions[i].count;
    else
      accumulation.push_back(instructions[i]);
  }
  return accumulations;
}

/// Of folded slices, of which there are so many, on which of the first half one of the second is added: on the one as
/// far from the first as it is from the middle, but the very last on the first. (Measured: cuBLASLt's fp64 kernels of
/// ALGO_ID 35 with CUSTOM_OPTION 1 do so for every number from 3 to 33 that was seen.)
constexpr std::size_t folded_onto(std::size_t slice, std::size_t slices) {
  return slice + 1 == slices ? 0 : slice - (slices + 1) / 2;
}

class Builder {
 public:
  Builder(const GemmPlan& plan, std::size_t depth, std::size_t k)
      : plan_(plan), depth_(depth), tile_(plan.k_tile.value_or(depth)), division_(division_of(plan, tile_, k)) {
    built_.parts = division_.parts;
  }

  Reduction build() && {
    if (!plan_.split_k)
      add_part(0, 0, 1);
    else if (plan_.split_k->epilogue == EpilogueOf::parts)
      each_part([&](std::size_t turn) { add({Kind::epilogue, 0, 1, turn}); });
    else if (plan_.split_k->order == PartOrder::pairs)
      add_in_pairs();
    else if (plan_.split_k->order == PartOrder::fours)
      add_in_fours();
    else
      each_part([&](std::size_t) { add_parts(0, 1); });
    return std::move(built_);
  }

 private:
  using Kind = ReductionStep::Kind;

  void add(ReductionStep step) {
    built_.sums = std::max(built_.sums, step.to + 1);
    built_.steps.push_back(std::move(step));
  }
  void add_parts(std::size_t to, std::size_t from) { add({Kind::parts, to, from, 0, plan_.split_k->type}); }
  /// The part whose turn it is comes to sum 1 each time, before after(turn) is called.
  template <class After>
  void each_part(const After& after) {
    for (std::size_t turn = 0; turn < built_.parts; ++turn) {
      add_part(turn, 1, 2);
      after(turn);
    }
  }
  void add_in_pairs() {
    std::size_t open = 0;  // sums, no two of as many parts
    const auto merge = [&] {
      --open;
      add_parts(open - 1, open);
    };
    const auto most_open = static_cast<std::size_t>(std::bit_width(built_.parts));
    for (std::size_t turn = 0; turn < built_.parts; ++turn) {
      add_part(turn, open++, most_open + 1);
      for (std::size_t pairs = turn; pairs % 2 == 1; pairs /= 2) merge();
    }
    while (open > 1) merge();
    if (built_.parts == 1) add({Kind::part, 0, 0, 0, plan_.split_k->type});
  }
  void add_in_fours() {
    constexpr std::size_t kFirst = 64, kHalf = kFirst / 2, kLast = 4;
    for (std::size_t turn = 0; turn < built_.parts; ++turn) {
      add_part(turn, kFirst, kFirst + 1);
      add_parts(turn % kFirst, kFirst);
    }
    for (std::size_t sum = kHalf; sum < std::min(built_.parts, kFirst); ++sum) add_parts(sum - kHalf, sum);
    for (std::size_t sum = kLast; sum < std::min(built_.parts, kHalf); ++sum) add_parts(sum % kLast, sum);
    for (std::size_t sum = 1; sum < std::min(built_.parts, kLast); ++sum) add_parts(0, sum);
  }

  /// The part that is added at that turn comes to sum `to`; sums from `slice` on are those of its slices but the first.
  void add_part(std::size_t turn, std::size_t to, std::size_t slice) {
    const auto order = plan_.split_k ? plan_.split_k->order : PartOrder::ascending;
    const bool is_reversed = order == PartOrder::descending || order == PartOrder::pairs;
    std::vector<Stretch> tiles;
    for (std::size_t i = is_reversed ? built_.parts - 1 - turn : turn; i < division_.stretches.size();
         i += division_.parts)
      add_tiles(plan_, division_.stretches[i], tile_, tiles);
    const auto slices = static_cast<std::size_t>(plan_.slices);
    std::vector<std::size_t> sums;  // of slices that have products
    for (std::size_t i = 0; i < slices; ++i) {
      const std::vector<Stretch> instructions = instructions_of(plan_, tiles, i, tile_ / slices, depth_);
      if (instructions.empty()) continue;
      sums.push_back(sums.empty() ? to : slice + sums.size() - 1);
      const Kind kind = plan_.promote_every ? Kind::promote : Kind::accumulate;
      std::size_t promotion = 0;
      for (Accumulation& each : accumulations_of(plan_, instructions, depth_))
        add({kind, sums.back(), 0, promotion++, FormatId::fp32, std::move(each)});
    }
    add_slices(sums);
    if (plan_.split_k) add({Kind::part, to, 0, 0, plan_.split_k->parts});
  }
  /// To the first of them.
  void add_slices(const std::vector<std::size_t>& sums) {
    const auto slices = static_cast<std::size_t>(plan_.slices);
    const auto add_slice = [&](std::size_t onto, std::size_t from) { add({Kind::slices, sums[onto], sums[from]}); };
    std::size_t kept = sums.size(), apart = 1;
    if (plan_.slices_order == SliceOrder::folded) {
      kept = std::min(sums.size(), (slices + 1) / 2);
      for (std::size_t i = kept; i < sums.size(); ++i) add_slice(folded_onto(i, slices), i);
    } else if (plan_.slices_order == SliceOrder::neighbours) {
      for (std::size_t i = 1; i < sums.size(); i += 2) add_slice(i - 1, i);
      kept = (sums.size() + 1) / 2;
      apart = 2;
    }
    if (plan_.slices_order == SliceOrder::halves || plan_.slices_order == SliceOrder::neighbours) {
      while (kept > 1) {
        const std::size_t half = std::bit_ceil(kept) / 2;
        for (std::size_t i = half; i < kept; ++i) add_slice((i - half) * apart, i * apart);
        kept = half;
      }
    }
    for (std::size_t i = 1; i < kept; ++i) add_slice(0, i);
  }

  const GemmPlan& plan_;
  std::size_t depth_, tile_;
  Division division_;
  Reduction built_;
};

}  // namespace

std::size_t cutlass2_chunk(std::size_t k, std::size_t parts, FormatId operand, bool k_is_innermost) {
  constexpr std::size_t kLineBits = 1024, kLoadBits = 128;
  const auto bits = static_cast<std::size_t>(format(operand).storage_bits);
  const std::size_t unit = (k_is_innermost && k % (kLineBits / bits) == 0 ? kLineBits : kLoadBits) / bits;
  const std::size_t chunk = (k + parts - 1) / parts;
  return (chunk + unit - 1) / unit * unit;
}

Reduction reduction_of(const GemmPlan& plan, std::size_t depth, std::size_t k) {
  return Builder(plan, depth, k).build();
}

std::vector<BlockPlace> blocks_in_order(std::size_t rows, std::size_t columns, BlockLines lines, std::size_t band) {
  const bool by_rows = lines == BlockLines::rows;
  const std::size_t across = by_rows ? rows : columns, along = by_rows ? columns : rows;
  std::vector<BlockPlace> order;
  order.reserve(rows * columns);
  bool back = false;
  for (std::size_t first = 0; first < across; first += band, back = !back) {
    for (std::size_t i = 0; i < along; ++i) {
      const std::size_t at = back ? along - 1 - i : i;
      for (std::size_t line = first; line < std::min(across, first + band); ++line)
        order.push_back(by_rows ? BlockPlace{line, at} : BlockPlace{at, line});
    }
  }
  return order;
}

DividedElements::DividedElements(const GemmPlan& plan, std::size_t m, std::size_t n)
    : m_(m), n_(n), rows_(m), columns_(n) {
  if (!plan.split_k || !plan.split_k->tail) {
    divided_ = {{plan.split_k.has_value()}};
    return;
  }
  const Tail& tail = *plan.split_k->tail;
  rows_ = tail.rows;
  columns_ = tail.columns;
  const std::size_t rows = (m + rows_ - 1) / rows_, columns = (n + columns_ - 1) / columns_;
  divided_.assign(rows, std::vector<bool>(columns));
  const std::vector<BlockPlace> order = blocks_in_order(rows, columns, tail.lines, tail.band);
  for (std::size_t i = order.size() - std::min(order.size(), tail.blocks); i < order.size(); ++i)
    divided_[order[i].row][order[i].column] = true;
}

std::vector<DividedElements::Run> DividedElements::runs(std::size_t row) const {
  const std::vector<bool>& line = divided_[row / rows_];
  std::vector<Run> runs;
  for (std::size_t block = 0; block < line.size(); ++block) {
    const std::size_t first = block * columns_, count = std::min(columns_, n_ - first);
    if (!runs.empty() && runs.back().divided == line[block])
      runs.back().count += count;
    else
      runs.push_back({first, count, line[block]});
  }
  return runs;
}

std::size_t DividedElements::rows_alike(std::size_t row) const {
  std::size_t line = row / rows_;
  while (line + 1 < divided_.size() && divided_[line + 1] == divided_[row / rows_]) ++line;
  return std::min(m_, (line + 1) * rows_) - row;
}

bool divides_k(const GemmPlan& plan, std::size_t m, std::size_t n, std::size_t row, std::size_t column) {
  return DividedElements(plan, m, n).at(row, column);
}

}  // namespace tcnum
