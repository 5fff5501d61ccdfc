#include "cpu_emulator.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <thread>

#include "dot_product.hpp"
#include "emu/fma_chain.hpp"
#include "emu/integer_sums.hpp"
#include "product_sums.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

/// Significands below which the quick path's sums fit 64 bits: 4 · 2^fraction_bits for each of 1024 terms.
constexpr int kQuickFractionBits = 44;
/// Widest cut sum of the general path: 2^fraction_bits · 4 · 1025 terms in 126 bits.
constexpr int kGeneralFractionBits = 110;
/// Significands of operands and of nodes' results that the quick paths can use as terms.
constexpr int kNarrowBits = 56;

}  // namespace

CpuEmulator::CpuEmulator(const Datapath& datapath) : numerics_(datapath.numerics) {
  auto compiled = std::make_shared<CompiledTree>();
  compiled->tree = datapath.tree;
  for (const Node& node : datapath.tree.nodes) {
    CompiledNode c;
    c.unit = node.unit;
    c.terms = node.terms;
    for (const Term& t : node.terms) {
      if (t.kind == Term::Kind::product)
        c.products.push_back(t.index);
      else
        c.others.push_back(t);
    }
    c.contiguous = true;
    for (std::size_t i = 1; i < c.products.size(); ++i) {
      if (c.products[i] != c.products[0] + static_cast<int>(i)) c.contiguous = false;
    }
    compiled->nodes.push_back(std::move(c));
  }
  tree_ = std::move(compiled);
  choose_paths();
}

void CpuEmulator::set_numerics(const Numerics& numerics) {
  numerics_ = numerics;
  choose_paths();
}

void CpuEmulator::choose_paths() {
  integers_.reset();
  if (const auto units = integer_units(numerics_, tree_->tree)) {
    integers_ = std::make_shared<const IntegerUnits>(*units);
    falls_back_ = false;
    return;
  }
  const int fa = format(numerics_.a.format).fraction_bits;
  const int fb = format(numerics_.b.format).fraction_bits;
  int widest = 0;  // of the finite fraction_bits
  falls_back_ = numerics_.scales.has_value();
  unsigned used = 0, rounded_narrow = 0;
  for (const CompiledNode& node : tree_->nodes) used |= 1u << node.unit;
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((used >> u & 1u) == 0) continue;
    const Unit& unit = numerics_.units[u];
    const bool cuts = unit.fraction_bits != kExact;
    if (cuts) widest = std::max(widest, unit.fraction_bits);
    const int general =
        std::max(cuts ? unit.fraction_bits : 0,
                 unit.first_fraction_bits.value_or(0) == kExact ? 0 : unit.first_fraction_bits.value_or(0));
    if (general > kGeneralFractionBits) falls_back_ = true;
    if (unit.result.empty() && (!cuts || general > kQuickFractionBits)) falls_back_ = true;
    bool steps_fit_64_bits = true;
    for (const RoundStep& s : unit.result) {
      if (s.fraction_bits > kGeneralFractionBits - 2) falls_back_ = true;
      if (s.fraction_bits > 60) steps_fit_64_bits = false;
    }
    // What a node hands on: a number of at most kNarrowBits.
    const bool narrow =
        unit.result.empty()
            ? cuts && unit.fraction_bits <= 36
            : std::any_of(unit.result.begin(), unit.result.end(),
                          [](const RoundStep& s) { return !s.from_alignment && s.fraction_bits <= 52; }) ||
                  (cuts && unit.fraction_bits <= 36);
    if (narrow && steps_fit_64_bits) rounded_narrow |= 1u << u;
  }
  for (const RoundStep& s : numerics_.product.round) {
    if (s.fraction_bits > kGeneralFractionBits - 2) falls_back_ = true;
  }
  quick32_ = fa < 30 && fb < 30 && std::max(widest, fa + fb) + 2 <= 30;
  columnwise_ = quick32_ && numerics_.product.exponent == ProductExponent::sum;
  fma_chain_ = nullptr;
  if (auto chain = fma_chain(numerics_, tree_->tree)) fma_chain_ = std::make_shared<const FmaChain>(*std::move(chain));
  paths_.clear();
  for (const CompiledNode& node : tree_->nodes) paths_.push_back(path(node, rounded_narrow));
}

CpuEmulator::Path CpuEmulator::path(const CompiledNode& node, unsigned narrow_units) const {
  const Unit& unit = numerics_.units[static_cast<std::size_t>(node.unit)];
  const int fa = format(numerics_.a.format).fraction_bits;
  const int fb = format(numerics_.b.format).fraction_bits;
  const int fc = format(numerics_.c.format).fraction_bits;
  const bool exact_products = numerics_.product.operation == ProductOperation::multiply &&
                              numerics_.product.round.empty() && !numerics_.product.infinite_from;
  const bool narrow_terms = std::all_of(node.others.begin(), node.others.end(), [&](const Term& t) {
    if (t.kind == Term::Kind::accumulator) return fc + 1 <= kNarrowBits;
    return (narrow_units >> tree_->nodes[static_cast<std::size_t>(t.index)].unit & 1u) != 0;
  });
  if (falls_back_ || !exact_products || !narrow_terms || unit.first_fraction_bits || unit.drop_below) {
    return Path::general;
  }

  if (unit.fraction_bits != kExact) {
    const bool fits = unit.fraction_bits <= kQuickFractionBits && fa <= 30 && fb <= 30 && fa + fb <= 48 && fc <= 48 &&
                      (narrow_units >> node.unit & 1u) != 0 && node.products.size() <= Run<false>::kMaxProducts &&
                      node.others.size() <= Run<false>::kMaxOthers;
    return fits ? Path::sum : Path::general;
  }
  if (node.terms.size() != 2 || unit.result.empty()) return Path::general;
  int widest = node.products.empty() ? kNarrowBits : std::max(kNarrowBits, fa + fb + 2);
  for (const RoundStep& s : unit.result) {
    if (s.from_alignment) return Path::general;
    widest = std::max(widest, s.fraction_bits);
  }
  if (widest + Run<false>::kPairSpareBits <= 64) return Path::pair;
  return widest + Run<false>::kPairSpareBits <= 128 ? Path::wide_pair : Path::general;
}

CpuEmulator::Problem CpuEmulator::problem(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) {
  const Tiles& tiles = decoded.tiles();
  const std::size_t local = t - decoded.first_, a_row = local * tiles.m + i, b_row = local * tiles.n + j;
  return {decoded, a_row, b_row, a_row * tiles.k,       b_row * tiles.k, tiles.c_index(local, i, j),
          t,       i,     j,     tiles.c_index(t, i, j)};
}

std::uint64_t CpuEmulator::dot_exactly(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j) const {
  Tiles one = make_tiles(tiles.a_format, tiles.b_format, tiles.c_format, tiles.d_format, 1, 1, 1, tiles.k);
  for (std::size_t kk = 0; kk < tiles.k; ++kk) {
    one.a.set(kk, tiles.a[tiles.a_index(t, i, kk)]);
    one.b.set(kk, tiles.b[tiles.b_index(t, kk, j)]);
  }
  one.c.set(0, tiles.c[tiles.c_index(t, i, j)]);
  if (tiles.scale_block != 0) {
    const std::size_t blocks = tiles.k / static_cast<std::size_t>(tiles.scale_block);
    one.scale_block = tiles.scale_block;
    one.sa = Codes(1, blocks);
    one.sb = Codes(1, blocks);
    for (std::size_t s = 0; s < blocks; ++s) {
      one.sa.set(s, tiles.sa[(t * tiles.m + i) * blocks + s]);
      one.sb.set(s, tiles.sb[(t * blocks + s) * tiles.n + j]);
    }
  }
  Datapath datapath;
  datapath.numerics = numerics_;
  datapath.tree = tree_->tree;
  emulate_exact(datapath, one);
  return one.d[0];
}

std::uint64_t CpuEmulator::dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) const {
  if (falls_back_) return dot_exactly(decoded.tiles(), t, i, j);
  if (integers_) {
    unsigned consulted = 0;
    return integer_dot(problem(decoded, t, i, j), consulted);
  }
  return Run<false>{*this, problem(decoded, t, i, j), 0}();
}

std::uint64_t CpuEmulator::dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j,
                               int watch_exponent, unsigned& consulted) const {
  if (falls_back_) {
    consulted = ~0u;
    return dot_exactly(decoded.tiles(), t, i, j);
  }
  if (integers_) {
    consulted = 0;
    return integer_dot(problem(decoded, t, i, j), consulted);
  }
  Run<true> run{*this, problem(decoded, t, i, j), watch_exponent};
  const std::uint64_t code = run();
  consulted = run.consulted;
  return code;
}

std::uint64_t CpuEmulator::integer_dot(const Problem& p, unsigned& consulted) const {
  const DecodedTiles& d = p.decoded;
  const std::int32_t *a = d.a_.significand.data() + p.a, *b = d.b_.significand.data() + p.b;
  std::array<std::int64_t, kMostIntegerNodes> results;  // each is written before it is read
  bool overflowed = false;
  std::size_t number = 0;
  for (const CompiledNode& node : tree_->nodes) {
    std::int64_t sum = sum_of_products(a, b, node.products, node.contiguous, integers_->operation);
    for (const Term& t : node.others) {
      sum += t.kind == Term::Kind::accumulator ? d.c_.significand_at(p.c) : results[static_cast<std::size_t>(t.index)];
    }
    results[number++] = apply_steps(integers_->unit[static_cast<std::size_t>(node.unit)], sum, overflowed);
  }
  if (overflowed) consulted |= kConsultedOverflow;
  return static_cast<std::uint64_t>(results[number - 1]) & format(numerics_.result).code_mask();
}

/// Evaluates whole tiles: each row of A with kLanes columns of B at a time. Only the products' exponents and sums are
/// worked out side by side; the rest of each dot problem is a Run's.
class CpuEmulator::TileRun {
 public:
  TileRun(const CpuEmulator& self, const DecodedTiles& decoded)
      : self_(self), decoded_(decoded), nodes_(self.tree_->nodes.size()), results_(kLanes * nodes_) {
    if (!self.columnwise_) return;
    for (auto* lanes : {&significand_, &exponent_, &natural_}) lanes->resize(decoded.tiles().k);
  }

  /// Results of tile t.
  void operator()(std::size_t t, Codes& d) {
    const Tiles& tiles = decoded_.tiles();
    for (std::size_t j = 0; j < tiles.n; j += kLanes) {
      const std::size_t columns = std::min(kLanes, tiles.n - j);
      if (self_.columnwise_) load_columns(t, j, columns);
      for (std::size_t i = 0; i < tiles.m; ++i) {
        runs_.clear();
        for (std::size_t lane = 0; lane < columns; ++lane)
          runs_.push_back({self_, problem(decoded_, t, i, j + lane), 0});
        evaluate();
        for (std::size_t lane = 0; lane < columns; ++lane) {
          d.set(tiles.c_index(t, i, j + lane), runs_[lane].to_code(results(lane)[nodes_ - 1]));
        }
      }
    }
  }

 private:
  using DotRun = Run<false>;

  Value* results(std::size_t lane) { return &results_[lane * nodes_]; }

  void load_columns(std::size_t t, std::size_t first, std::size_t columns) {
    const DecodedTiles::Numbers& b = decoded_.b_;
    const std::size_t k = decoded_.tiles().k;
    std::size_t at = problem(decoded_, t, 0, first).b;
    for (std::size_t lane = 0; lane < columns; ++lane) {
      for (std::size_t kk = 0; kk < k; ++kk, ++at) {
        significand_[kk][lane] = b.significand[at];
        exponent_[kk][lane] = b.exponent[at];
        natural_[kk][lane] = b.natural[at];
      }
    }
    // Lanes without a column keep what an earlier tile had there; nothing looks at their sums.
  }

  void evaluate() {
    for (DotRun& run : runs_) run.begin();
    for (std::size_t number = 0; number < nodes_; ++number) {
      if (self_.columnwise_ && self_.paths_[number] == Path::sum) {
        sum(number);
      } else {
        for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
          runs_[lane].evaluate(number, results(lane));
        }
      }
    }
  }

  void sum(std::size_t number) {
    const CompiledNode& node = self_.tree_->nodes[number];
    const Unit& unit = self_.numerics_.units[static_cast<std::size_t>(node.unit)];
    const DecodedTiles::Numbers& a = decoded_.a_;
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    const std::size_t row = runs_[0].p.a;
    const ProductLanes products{node.products, a.significand.data() + row,
                                (natural ? a.natural : a.exponent).data() + row, significand_.data(),
                                (natural ? natural_ : exponent_).data()};
    const ExponentRange range = exponent_range(products);

    std::array<bool, kLanes> finite{};
    std::array<DotRun::Others, kLanes> others;
    Lanes<std::int32_t> alignment = range.highest;
    for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
      finite[lane] = runs_[lane].is_finite(node, results(lane));
      if (!finite[lane]) continue;
      runs_[lane].find_others(node, unit, results(lane), others[lane]);
      const bool any_zero = others[lane].any_zero || range.lowest[lane] <= kNoExponent / 2;
      alignment[lane] = DotRun::alignment(unit, std::max(range.highest[lane], others[lane].highest_exponent), any_zero);
    }
    const Lanes<std::int64_t> sums = sum_products(products, runs_[0].product_cut(unit), alignment);
    for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
      DotRun& run = runs_[lane];
      Value& result = results(lane)[number];
      if (finite[lane])
        run.total(node, unit, others[lane], alignment[lane], sums[lane], result);
      else
        result = run.general(node, results(lane));
    }
  }

  const CpuEmulator& self_;
  const DecodedTiles& decoded_;
  std::size_t nodes_;
  std::vector<Lanes<std::int32_t>> significand_, exponent_, natural_;  // of kLanes columns of B
  std::vector<DotRun> runs_;                                           // one for each lane in use
  std::vector<Value> results_;                                         // of each lane's nodes
};

void CpuEmulator::run_fma_chain(Tiles& tiles, std::size_t t) const {
  std::vector<double> results(tiles.m * tiles.n);
  evaluate_fma_chain(tiles, t, *fma_chain_, results);
  std::optional<DecodedTiles> decoded;
  for (std::size_t i = 0; i < tiles.m; ++i) {
    for (std::size_t j = 0; j < tiles.n; ++j) {
      const double x = results[i * tiles.n + j];
      auto code = std::bit_cast<std::uint64_t>(x);
      if (std::isnan(x)) {  // which NaN is the datapath's own affair
        if (!decoded) decoded.emplace(tiles, numerics_.a, numerics_.b, numerics_.c, t, 1);
        code = dot(*decoded, t, i, j);
      }
      tiles.d.set(tiles.c_index(t, i, j), code);
    }
  }
}

void CpuEmulator::run(Tiles& tiles, unsigned threads) const {
  if (tiles.sparse_group != 0) throw std::logic_error("Emulator: sparse tiles; gather() makes dense ones");
  std::atomic<std::size_t> next{0};
  // A few thousand decoded numbers at a time stay in the cache.
  const std::size_t chunk = std::max<std::size_t>(1, 8192 / ((tiles.m + tiles.n) * tiles.k));
  const auto work = [&] {
    for (std::size_t first = next.fetch_add(chunk); first < tiles.count; first = next.fetch_add(chunk)) {
      const std::size_t count = std::min(chunk, tiles.count - first);
      if (falls_back_) {
        for (std::size_t at = first * tiles.m * tiles.n; at < (first + count) * tiles.m * tiles.n; ++at) {
          const std::size_t row = at / tiles.n;
          tiles.d.set(at, dot_exactly(tiles, row / tiles.m, row % tiles.m, at % tiles.n));
        }
        continue;
      }
      if (fma_chain_) {
        for (std::size_t t = first; t < first + count; ++t) run_fma_chain(tiles, t);
        continue;
      }
      const DecodedTiles decoded(tiles, numerics_.a, numerics_.b, numerics_.c, first, count);
      if (integers_) {
        unsigned consulted = 0;
        for (std::size_t at = first * tiles.m * tiles.n; at < (first + count) * tiles.m * tiles.n; ++at) {
          const std::size_t row = at / tiles.n;
          tiles.d.set(at, integer_dot(problem(decoded, row / tiles.m, row % tiles.m, at % tiles.n), consulted));
        }
        continue;
      }
      TileRun evaluate(*this, decoded);
      for (std::size_t t = first; t < first + count; ++t) evaluate(t, tiles.d);
    }
  };
  std::vector<std::jthread> pool;
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
}

}  // namespace tcnum
