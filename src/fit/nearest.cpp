#include <algorithm>
#include <utility>

#include "minimise.hpp"
#include "src/questions/packing.hpp"
#include "steps.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

class Descent {
 public:
  Descent(const Space& space, const Evidence& evidence) : space_(space), evidence_(evidence) {
    // A sample of the answers is enough to compare by.
    constexpr std::size_t kSample = 1500;
    const std::size_t step = std::max<std::size_t>(1, evidence.size() / kSample);
    for (std::size_t n = 0; n < evidence.size(); n += step) sample_.push_back(n);
  }

  Choice nearest(const std::vector<Choice>& cores) const {
    Choice best{};
    std::size_t fewest = sample_.size() + 1;
    for (const Choice& start : starts(cores)) {
      const auto [wrong, choice] = descend(start);
      if (wrong >= fewest) continue;
      fewest = wrong;
      best = choice;
    }
    return best;
  }

  /// Properties of which no other value gets more answers wrong, or fewer.
  std::vector<Property> unobservable(const Choice& choice) const {
    const std::size_t here = wrong(choice);
    std::vector<Property> found;
    for (const PropertyRow& row : kPropertyTable) {
      bool shows = false;
      for (int v = 0; v < space_.count(row.property) && !shows; ++v) {
        Choice other = choice;
        Space::set(other, row.property, v);
        shows = other != choice && space_.contains(other) && wrong(other) != here;
      }
      if (!shows) found.push_back(row.property);
    }
    return found;
  }

 private:
  using Ranked = std::pair<std::size_t, Choice>;  // how many of the sample it gets wrong

  std::size_t wrong(const Choice& c) const {
    const CpuEmulator emulator(space_.datapath(c));
    return static_cast<std::size_t>(
        std::ranges::count_if(sample_, [&](std::size_t n) { return !evidence_.explained_by(emulator, n); }));
  }

  std::vector<Choice> starts(const std::vector<Choice>& cores) const {
    constexpr std::size_t kMostCores = 4, kMostStructures = 3;
    if (!cores.empty()) return {cores.begin(), cores.begin() + std::min(kMostCores, cores.size())};
    // Nothing came far: one start for each structure, with middling numerics.
    std::vector<Ranked> ranked;
    for (int s = 0; s < space_.count(Property::structure); ++s) {
      for (const int f : {space_.count(Property::fraction_bits) / 2, space_.count(Property::fraction_bits) - 1}) {
        Choice c{};
        Space::set(c, Property::structure, s);
        Space::set(c, Property::fraction_bits, f);
        if (space_.contains(c)) ranked.emplace_back(wrong(c), c);
      }
    }
    std::ranges::sort(ranked);
    std::vector<Choice> best;
    for (std::size_t i = 0; i < std::min(kMostStructures, ranked.size()); ++i) best.push_back(ranked[i].second);
    return best;
  }

  /// Takes every change of one property that mends something, until there is none.
  Ranked descend(const Choice& start) const {
    Ranked here{wrong(start), start};
    for (bool improved = true; improved;) {
      improved = false;
      for (const PropertyRow& row : kPropertyTable) {
        for (int v = 0; v < space_.count(row.property); ++v) {
          Choice other = here.second;
          Space::set(other, row.property, v);
          if (other == here.second || !space_.contains(other)) continue;
          if (const std::size_t n = wrong(other); n < here.first) {
            here = {n, other};
            improved = true;
          }
        }
      }
    }
    return here;
  }

  const Space& space_;
  const Evidence& evidence_;
  std::vector<std::size_t> sample_;  // numbers of answers
};

/// Whether one of the results is a NaN or an infinity, or both are zeros.
bool is_corner(const Format& f, const Counterexample& example) {
  if (!f.floating) return false;
  const Decoded x = decode(f, example.expected), y = decode(f, example.observed);
  return !x.is_finite() || !y.is_finite() ||
         (x.number_class == NumberClass::zero && y.number_class == NumberClass::zero);
}

/// The problem with the fewest terms among those that the datapath gets wrong: one whose results are numbers, if there
/// is one.
std::optional<Counterexample> smallest_counterexample(const Evidence& evidence, const Datapath& datapath) {
  const CpuEmulator emulator(datapath);
  const Format& d = format(evidence.instruction().d);
  std::optional<Counterexample> smallest;
  for (std::size_t n = 0; n < evidence.size(); ++n) {
    if (evidence.explained_by(emulator, n)) continue;
    Counterexample example{evidence.problem(n), evidence.emulate(emulator, n), evidence.answer(n)};
    const auto rank = [&](const Counterexample& of) { return std::pair(is_corner(d, of), terms_of(of.problem)); };
    if (!smallest || rank(example) < rank(*smallest)) smallest = std::move(example);
  }
  return smallest;
}

}  // namespace

void find_nearest(const Space& space, const Evidence& evidence, const std::vector<Choice>& cores, Oracle* live,
                  FitResult& result) {
  const Descent descent(space, evidence);
  result.choice = descent.nearest(cores);
  result.unobservable = descent.unobservable(result.choice);
  result.datapath = space.datapath(result.choice);
  result.mismatches = evidence.wrong_answers(result.datapath).size();
  result.counterexample = smallest_counterexample(evidence, result.datapath);
  if (result.counterexample && live != nullptr) {
    result.counterexample = minimise(evidence.instruction(), *live, Emulator(result.datapath), *result.counterexample);
  }
}

std::size_t terms_of(const Problem& problem) {
  std::size_t terms = problem.c != 0 ? 1 : 0;
  for (std::size_t k = 0; k < problem.a.size(); ++k) terms += problem.a[k] != 0 && problem.b[k] != 0 ? 1 : 0;
  return terms;
}

Counterexample minimise(const Instruction& instruction, const Answers& theirs, const Answers& mine,
                        Counterexample found) {
  const auto try_all = [&](std::vector<Problem> candidates) {
    if (candidates.empty()) return false;
    Tiles tiles = pack(instruction, candidates);
    Tiles other = tiles;
    theirs(tiles);
    mine(other);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t at = tiles.c_index(i / kPackSide, i % kPackSide, i % kPackSide);
      if (tiles.d[at] == other.d[at]) continue;
      found = {candidates[i], other.d[at], tiles.d[at]};
      return true;
    }
    return false;
  };
  const auto fewer_bits = [](const Format& f, std::uint64_t code) {
    const std::uint64_t fraction = code & ((std::uint64_t{1} << (f.fraction_bits + f.padding_bits)) - 1);
    return fraction == 0 ? code : code & ~(fraction & (~fraction + 1));
  };
  constexpr int kMostSteps = 400;
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<Problem> candidates;
    const Problem& p = found.problem;
    for (std::size_t k = 0; k < p.a.size(); ++k) {
      if (p.a[k] == 0 && p.b[k] == 0) continue;
      candidates.push_back(p);
      candidates.back().a[k] = candidates.back().b[k] = 0;
    }
    if (p.c != 0) {
      candidates.push_back(p);
      candidates.back().c = 0;
    }
    for (std::size_t k = 0; k < p.a.size(); ++k) {
      const std::uint64_t a = fewer_bits(format(instruction.a), p.a[k]), b = fewer_bits(format(instruction.b), p.b[k]);
      if (a != p.a[k]) {
        candidates.push_back(p);
        candidates.back().a[k] = a;
      }
      if (b != p.b[k]) {
        candidates.push_back(p);
        candidates.back().b[k] = b;
      }
    }
    for (std::vector<std::uint64_t> Problem::*scales : {&Problem::sa, &Problem::sb}) {
      for (std::size_t block = 0; block < (p.*scales).size(); ++block) {
        const Format& f = format(instruction.scales.format);
        const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
        const std::uint64_t code = (p.*scales)[block];
        for (const std::uint64_t simpler : {one, fewer_bits(f, code)}) {
          // A scale of 1 stays; a NaN without its last bit is another number, and no simpler one.
          if (code == one || simpler == code || (simpler != one && !decode(f, code).is_finite())) continue;
          candidates.push_back(p);
          (candidates.back().*scales)[block] = simpler;
        }
      }
    }
    if (const std::uint64_t c = fewer_bits(format(instruction.c), p.c); c != p.c) {
      candidates.push_back(p);
      candidates.back().c = c;
    }
    if (!try_all(std::move(candidates))) break;
  }
  return found;
}

Counterexample minimise(const Instruction& instruction, Oracle& oracle, const Emulator& emulator,
                        Counterexample found) {
  return minimise(
      instruction, [&](Tiles& tiles) { oracle.answer(tiles); }, [&](Tiles& tiles) { emulator.run(tiles); },
      std::move(found));
}

}  // namespace tcnum
