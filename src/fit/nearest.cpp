#include "nearest.hpp"

#include <algorithm>

#include "minimise.hpp"
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

std::size_t terms_of(const Problem& p) {
  std::size_t terms = p.c != 0 ? 1 : 0;
  for (std::size_t k = 0; k < p.a.size(); ++k) terms += p.a[k] != 0 && p.b[k] != 0 ? 1 : 0;
  return terms;
}

/// The problem with the fewest terms among those that the datapath gets wrong.
std::optional<Counterexample> smallest_counterexample(const Evidence& evidence, const Datapath& datapath) {
  const CpuEmulator emulator(datapath);
  std::optional<Counterexample> smallest;
  for (std::size_t n = 0; n < evidence.size(); ++n) {
    if (evidence.explained_by(emulator, n)) continue;
    Problem p = evidence.problem(n);
    if (smallest && terms_of(p) >= terms_of(smallest->problem)) continue;
    smallest = Counterexample{std::move(p), evidence.emulate(emulator, n), evidence.answer(n)};
  }
  return smallest;
}

}  // namespace

void find_nearest(const Space& space, const Evidence& evidence, const std::vector<Choice>& cores, Oracle* live,
                  FitResult& result) {
  result.choice = Descent(space, evidence).nearest(cores);
  result.datapath = space.datapath(result.choice);
  result.mismatches = evidence.wrong_answers(result.datapath).size();
  result.counterexample = smallest_counterexample(evidence, result.datapath);
  if (result.counterexample && live != nullptr) {
    result.counterexample = minimise(evidence.instruction(), *live, Emulator(result.datapath), *result.counterexample);
  }
}

}  // namespace tcnum
