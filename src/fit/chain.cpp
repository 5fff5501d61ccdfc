#include "chain.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "dot_of.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/program_oracle.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// Products `first` and those after it, as many as a step takes; those beyond the end of k stay as they are.
void take_products(const Tiles& from, std::size_t first, Tiles& step) {
  const std::size_t count = std::min(step.k, from.k - first);
  for (std::size_t t = 0; t < from.count; ++t) {
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < from.m; ++i) step.a.set(step.a_index(t, i, k), from.a[from.a_index(t, i, first + k)]);
      for (std::size_t j = 0; j < from.n; ++j) step.b.set(step.b_index(t, k, j), from.b[from.b_index(t, first + k, j)]);
    }
  }
}

void take_scales(const Tiles& from, std::size_t first, Tiles& step) {
  const auto block_k = static_cast<std::size_t>(from.scale_block);
  const std::size_t all = (from.k + block_k - 1) / block_k, blocks = step.k / block_k, first_block = first / block_k;
  for (std::size_t t = 0; t < from.count; ++t) {
    for (std::size_t block = 0; block < std::min(blocks, all - first_block); ++block) {
      for (std::size_t i = 0; i < from.m; ++i)
        step.sa.set((t * from.m + i) * blocks + block, from.sa[(t * from.m + i) * all + first_block + block]);
      for (std::size_t j = 0; j < from.n; ++j)
        step.sb.set((t * blocks + block) * from.n + j, from.sb[(t * all + first_block + block) * from.n + j]);
    }
  }
}

/// Products of +0 and +0, with scales of 1.
Tiles empty_step(const Instruction& dot, const Tiles& like) {
  Tiles step = make_dot_tiles(dot, like.count, like.m, like.n);
  if (!dot.scaled()) return step;
  const std::uint64_t one = zero_problem(dot).sa[0];
  for (std::size_t i = 0; i < step.sa.size(); ++i) step.sa.set(i, one);
  for (std::size_t i = 0; i < step.sb.size(); ++i) step.sb.set(i, one);
  return step;
}

}  // namespace

Chain::Chain(const Datapath& datapath)
    : emulator_(datapath),
      step_(dot_of(datapath, datapath.tree.k)),
      k_(static_cast<std::size_t>(datapath.tree.k)),
      repeats_(datapath.numerics.c.format == datapath.numerics.result) {}

bool Chain::takes(std::size_t k) const { return k <= k_ || repeats_; }

void Chain::run(Tiles& tiles) const {
  if (tiles.k == k_) {
    emulator_.run(tiles);
  } else {
    Codes sum = tiles.c;
    for (std::size_t first = 0; first < tiles.k; first += k_) {
      Tiles step = empty_step(step_, tiles);
      step.c = std::move(sum);
      take_products(tiles, first, step);
      if (tiles.scale_block != 0) take_scales(tiles, first, step);
      emulator_.run(step);
      sum = std::move(step.d);
    }
    tiles.d = std::move(sum);
  }
  make_nans_alike(tiles);
}

}  // namespace tcnum
