#include "cpu_emulator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "dot_evaluation.hpp"
#include "emu/exact/evaluate.hpp"
#include "emu/parallel.hpp"
#include "evaluate_fma_chain.hpp"
#include "evaluate_integers.hpp"
#include "tile_evaluation.hpp"
#include "wide_product.hpp"

namespace tcnum {
namespace {

/// Calls with each element of tiles first … first + count − 1: its tile, row, column, and place in d.
template <class With>
void each_element(const Tiles& tiles, std::size_t first, std::size_t count, const With& with) {
  std::size_t at = tiles.c_index(first, 0, 0);
  for (std::size_t t = first; t < first + count; ++t) {
    for (std::size_t i = 0; i < tiles.m; ++i) {
      for (std::size_t j = 0; j < tiles.n; ++j) with(t, i, j, at++);
    }
  }
}

/// Which NaN a NaN is, is the datapath's own affair: dot(t, i, j) gives its code.
template <class Dot>
void run_fma_chain(const FmaChain& chain, Tiles& tiles, std::size_t t, const Dot& dot) {
  std::vector<double> results(tiles.m * tiles.n);
  evaluate_fma_chain(tiles, t, chain, results);
  auto result = results.begin();
  each_element(tiles, t, 1, [&](std::size_t, std::size_t i, std::size_t j, std::size_t at) {
    const double x = *result++;
    tiles.d.set(at, std::isnan(x) ? dot(i, j) : std::bit_cast<std::uint64_t>(x));
  });
}

}  // namespace

CpuEmulator::CpuEmulator(const Datapath& datapath) : plan_(datapath.tree, datapath.numerics) {}

void CpuEmulator::set_numerics(const Numerics& numerics) { plan_.set_numerics(numerics); }

std::uint64_t CpuEmulator::dot_exactly(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j) const {
  return evaluate_exactly(plan_.numerics, plan_.tree->tree, tiles, t, i, j);
}

std::uint64_t CpuEmulator::dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) const {
  switch (plan_.evaluator()) {
    case CpuEvaluator::exact:
      return dot_exactly(decoded.tiles(), t, i, j);
    case CpuEvaluator::integers: {
      bool overflowed = false;
      return evaluate_integers(plan_, decoded.problem(t, i, j), overflowed);
    }
    default:
      return DotEvaluation<false>{plan_, decoded.problem(t, i, j), 0}();
  }
}

std::uint64_t CpuEmulator::dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j,
                               int watch_exponent, unsigned& consulted) const {
  switch (plan_.evaluator()) {
    case CpuEvaluator::exact:
      consulted = ~0u;  // for all that is known
      return dot_exactly(decoded.tiles(), t, i, j);
    case CpuEvaluator::integers: {
      bool overflowed = false;
      const std::uint64_t code = evaluate_integers(plan_, decoded.problem(t, i, j), overflowed);
      consulted = overflowed ? kConsultedOverflow : kConsultedNothing;
      return code;
    }
    default: {
      DotEvaluation<true> evaluation{plan_, decoded.problem(t, i, j), watch_exponent};
      const std::uint64_t code = evaluation();
      consulted = evaluation.consulted;
      return code;
    }
  }
}

void CpuEmulator::run(Tiles& tiles, std::size_t first, std::size_t count) const {
  const Numerics& n = plan_.numerics;
  switch (plan_.evaluator()) {
    case CpuEvaluator::exact:
      return each_element(tiles, first, count, [&](std::size_t t, std::size_t i, std::size_t j, std::size_t at) {
        tiles.d.set(at, dot_exactly(tiles, t, i, j));
      });
    case CpuEvaluator::fma_chain:
      for (std::size_t t = first; t < first + count; ++t) {
        std::optional<DecodedTiles> decoded;
        run_fma_chain(plan_.fma_chain, tiles, t, [&](std::size_t i, std::size_t j) {
          if (!decoded) decoded.emplace(tiles, n.a, n.b, n.c, t, 1);
          return dot(*decoded, t, i, j);
        });
      }
      return;
    case CpuEvaluator::integers: {
      const DecodedTiles decoded(tiles, n.a, n.b, n.c, first, count);
      return each_element(tiles, first, count, [&](std::size_t t, std::size_t i, std::size_t j, std::size_t at) {
        bool overflowed = false;
        tiles.d.set(at, evaluate_integers(plan_, decoded.problem(t, i, j), overflowed));
      });
    }
    default: {
      const DecodedTiles decoded(tiles, n.a, n.b, n.c, first, count);
      TileEvaluation evaluate(plan_, decoded);
      for (std::size_t t = first; t < first + count; ++t) evaluate(t, tiles.d);
    }
  }
}

/// Does so if tiles are wide enough to be worth it, and panels take the datapath.
bool CpuEmulator::run_in_panels(Tiles& tiles, unsigned threads) const {
  constexpr std::size_t kLeastRows = 8, kLeastColumns = 32;
  if (tiles.m < kLeastRows || tiles.n < kLeastColumns) return false;
  const WideProduct product(plan_.numerics, *plan_.tree);
  if (!product.is_taken()) return false;
  const auto codes_of = [](auto& codes, std::size_t t, std::size_t rows, std::size_t columns) {
    return codes_from(codes.bytes().data() + t * rows * columns * static_cast<std::size_t>(codes.bytes_each()),
                      columns);
  };
  const Tiles& given = tiles;
  const std::size_t blocks = tiles.scale_block == 0 ? 0 : tiles.k / static_cast<std::size_t>(tiles.scale_block);
  for (std::size_t t = 0; t < tiles.count; ++t) {
    const BlockScales scales = tiles.scale_block == 0 ? BlockScales()
                                                      : BlockScales{codes_of(given.sa, t, tiles.m, blocks),
                                                                    codes_of(given.sb, t, blocks, tiles.n)};
    product.multiply({tiles.m, tiles.n, tiles.k}, codes_of(given.a, t, tiles.m, tiles.k),
                     codes_of(given.b, t, tiles.k, tiles.n), codes_of(given.c, t, tiles.m, tiles.n),
                     codes_of(tiles.d, t, tiles.m, tiles.n), threads, scales);
  }
  return true;
}

void CpuEmulator::run(Tiles& tiles, unsigned threads) const {
  if (tiles.size() == 0 || run_in_panels(tiles, threads)) return;
  constexpr std::size_t kNumbers = 8192;  // decoded at a time: they stay in the cache
  const std::size_t chunk = std::max<std::size_t>(1, kNumbers / ((tiles.m + tiles.n) * tiles.k));
  in_parallel((tiles.count + chunk - 1) / chunk, threads,
              [&](std::size_t i) { run(tiles, i * chunk, std::min(chunk, tiles.count - i * chunk)); });
}

}  // namespace tcnum
