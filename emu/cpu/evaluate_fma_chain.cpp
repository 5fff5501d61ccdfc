#include "evaluate_fma_chain.hpp"

#include <cmath>
#include <cstring>

#include "emu/machine_rounding.hpp"
#include "multiversion.hpp"

namespace tcnum {
namespace {

double load(const std::byte* codes, std::size_t i) {
  double x;
  std::memcpy(&x, codes + i * sizeof(x), sizeof(x));
  return x;
}

TCNUM_ALSO_FOR("fma")
void evaluate(const Tiles& tiles, std::size_t t, std::span<const int> order, std::span<double> results) {
  const std::byte *a = tiles.a.bytes().data(), *b = tiles.b.bytes().data(), *c = tiles.c.bytes().data();
  const std::size_t n = tiles.n;
  for (std::size_t i = 0; i < tiles.m; ++i) {
    double* row = results.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) row[j] = load(c, tiles.c_index(t, i, j));
    for (const int k : order) {
      const auto kk = static_cast<std::size_t>(k);
      const double x = load(a, tiles.a_index(t, i, kk));
      const std::size_t first = tiles.b_index(t, kk, 0);
      for (std::size_t j = 0; j < n; ++j) row[j] = std::fma(x, load(b, first + j), row[j]);
    }
  }
}

}  // namespace

void evaluate_fma_chain(const Tiles& tiles, std::size_t t, const FmaChain& chain, std::span<double> results) {
  const PlainArithmetic plain;
  const MachineRounding rounding(chain.rounding);
  evaluate(tiles, t, chain.order, results);
}

}  // namespace tcnum
