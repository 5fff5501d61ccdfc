#include "walk.hpp"

#include <algorithm>

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

SliceWalk accumulations_of(const GemmPlan& plan, const std::vector<Stretch>& instructions, std::size_t depth) {
  const std::size_t most = plan.promote_every ? *plan.promote_every / depth : instructions.size();
  SliceWalk slice;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (i % most == 0) slice.emplace_back();
    Accumulation& accumulation = slice.back();
    // Whole instructions side by side are one stretch.
    const bool goes_on = !accumulation.empty() && accumulation.back().count % depth == 0 &&
                         accumulation.back().first + accumulation.back().count == instructions[i].first;
    if (goes_on)
      accumulation.back().count += instructions[i].count;
    else
      accumulation.push_back(instructions[i]);
  }
  return slice;
}

}  // namespace

std::size_t cutlass2_chunk(std::size_t k, std::size_t parts, FormatId operand, bool k_is_innermost) {
  constexpr std::size_t kLineBits = 1024, kLoadBits = 128;
  const auto bits = static_cast<std::size_t>(format(operand).storage_bits);
  const std::size_t unit = (k_is_innermost && k % (kLineBits / bits) == 0 ? kLineBits : kLoadBits) / bits;
  const std::size_t chunk = (k + parts - 1) / parts;
  return (chunk + unit - 1) / unit * unit;
}

std::vector<PartWalk> walk_of(const GemmPlan& plan, std::size_t depth, std::size_t k) {
  const std::size_t tile = plan.k_tile.value_or(depth);
  std::vector<PartWalk> parts;
  const Division division = division_of(plan, tile, k);
  for (std::size_t number = 0; number < division.parts; ++number) {
    std::vector<Stretch> tiles;
    for (std::size_t i = number; i < division.stretches.size(); i += division.parts)
      add_tiles(plan, division.stretches[i], tile, tiles);
    PartWalk part;
    const auto slices = static_cast<std::size_t>(plan.slices);
    for (std::size_t slice = 0; slice < slices; ++slice) {
      const std::vector<Stretch> instructions = instructions_of(plan, tiles, slice, tile / slices, depth);
      if (!instructions.empty()) part.push_back(accumulations_of(plan, instructions, depth));
    }
    parts.push_back(std::move(part));
  }
  const PartOrder order = plan.split_k ? plan.split_k->order : PartOrder::ascending;
  if (order == PartOrder::descending || order == PartOrder::pairs) std::ranges::reverse(parts);
  return parts;
}

}  // namespace tcnum
