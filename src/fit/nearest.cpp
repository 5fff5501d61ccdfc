#include "nearest.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace tcnum
