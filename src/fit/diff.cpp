#include "tcnum/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "chain.hpp"
#include "description_diff.hpp"
#include "emu/parallel.hpp"
#include "emu/rank.hpp"
#include "minimise.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

void check(const Datapath& one, const Datapath& other) {
  const auto formats = [](const Datapath& x) {
    const Numerics& n = x.numerics;
    const std::string scales =
        n.scales ? fmt::format(", scales of {} for {}", format(n.scales->format).name, n.scales->block_k) : "";
    return fmt::format("{} · {} + {} → {}{}", format(n.a.format).name, format(n.b.format).name, format(n.c.format).name,
                       format(n.result).name, scales);
  };
  if (formats(one) != formats(other)) {
    throw InputError(
        fmt::format("diff: one is of {}, the other of {}; expected the same formats", formats(one), formats(other)));
  }
  for (const Datapath* each : {&one, &other}) {
    if (one.tree.k != other.tree.k && each->numerics.c.format != each->numerics.result) {
      throw InputError(fmt::format(
          "diff: one takes {} products, the other {}, and results of {} are no c of {} to go on "
          "from; expected as many",
          one.tree.k, other.tree.k, format(each->numerics.result).name, format(each->numerics.c.format).name));
    }
  }
}

class Search {
 public:
  Search(const Datapath& one, const Datapath& other, const DiffOptions& options)
      : one_(one),
        other_(other),
        options_(options),
        k_(std::lcm(one.tree.k, other.tree.k)),
        dot_(dot_of(one, k_)),
        x_(one),
        y_(other) {}

  DatapathDiff run() {
    DatapathDiff found;
    found.k = k_;
    std::vector<DescriptionDiff> fields = description_diff(one_, other_);
    found.equal = fields.empty();
    std::vector<Problem> crafted;
    for (CraftedProblem& each : battery(dot_)) crafted.push_back(std::move(each.problem));
    std::vector<Tiles> crafted_tiles = {pack(dot_, crafted)};
    found.operands.push_back(compare("crafted", crafted_tiles));
    for (const Distribution each : kAllRandom) found.operands.push_back(compare(each));
    std::size_t fewest = 0;
    for (const Counterexample& each : first_) {
      const auto answers = [](const Chain& chain) { return [&](Tiles& tiles) { chain.run(tiles); }; };
      const Counterexample small = minimise(dot_, answers(y_), answers(x_), each);
      const std::size_t terms = terms_of(small.problem);
      if (found.smallest && terms >= fewest) continue;
      found.smallest = small;
      fewest = terms;
    }
    for (DescriptionDiff& each : fields) {
      const bool does = found.smallest && each.exchanged && decides(*each.exchanged, *found.smallest);
      found.fields.push_back({std::move(each.field), std::move(each.one), std::move(each.other), does});
    }
    return found;
  }

 private:
  OperandsDiff compare(Distribution distribution) {
    constexpr std::size_t kAtOnce = 16;
    // Block scales are evaluated fast in wide tiles.
    constexpr std::size_t kWide = 8;
    const std::size_t columns = dot_.scaled() ? kWide * kPackSide : kPackSide,
                      count = dot_.scaled() ? (options_.tiles + kWide - 1) / kWide : options_.tiles,
                      batches = (count + kAtOnce - 1) / kAtOnce;
    std::vector<Tiles> all;
    all.reserve(batches);
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const std::size_t first = batch * kAtOnce;
      all.push_back(make_random_tiles(dot_, distribution, options_.seed, first, std::min(kAtOnce, count - first),
                                      kPackSide, columns));
    }
    return compare(name(distribution), all);
  }
  OperandsDiff compare(std::string_view what, std::vector<Tiles>& all) {
    std::vector<Tiles> others = all;
    in_parallel(all.size(), options_.threads == 0 ? all_threads() : options_.threads, [&](std::size_t i) {
      x_.run(all[i]);
      y_.run(others[i]);
    });
    OperandsDiff of;
    of.operands = what;
    const Format& f = format(dot_.d);
    UlpsApart apart;
    bool is_first = true;
    for (std::size_t t = 0; t < all.size(); ++t) {
      const Codes &d = all[t].d, &e = others[t].d;
      of.tried += d.size();
      for (std::size_t i = 0; i < d.size(); ++i) {
        if (d[i] == e[i]) continue;
        ++of.different;
        if (std::exchange(is_first, false)) first_.push_back({problem_at(all[t], i), d[i], e[i]});
        apart.add(f, d[i], e[i]);
      }
    }
    of.max_ulps = apart.most();
    of.mean_ulps = apart.mean();
    return of;
  }

  /// Whether a datapath gives the second's result for the smallest operands.
  bool decides(const Datapath& exchanged, const Counterexample& smallest) const {
    Tiles tiles = pack(dot_, std::span(&smallest.problem, 1));
    Chain(exchanged).run(tiles);
    return tiles.d[0] == smallest.observed;
  }

  const Datapath &one_, &other_;
  const DiffOptions& options_;
  int k_;
  Instruction dot_;
  Chain x_, y_;
  std::vector<Counterexample> first_;  ///< of each kind of operands
};

}  // namespace

std::uint64_t DatapathDiff::tried() const {
  std::uint64_t sum = 0;
  for (const OperandsDiff& each : operands) sum += each.tried;
  return sum;
}
std::uint64_t DatapathDiff::different() const {
  std::uint64_t sum = 0;
  for (const OperandsDiff& each : operands) sum += each.different;
  return sum;
}

DatapathDiff diff(const Datapath& one, const Datapath& other, const DiffOptions& options) {
  check(one, other);
  return Search(one, other, options).run();
}

}  // namespace tcnum
