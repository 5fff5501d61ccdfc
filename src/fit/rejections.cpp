#include <algorithm>
#include <set>

#include "src/questions/random_numbers.hpp"
#include "steps.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kSamplingSeries = 2000;
constexpr std::uint64_t kSamplingIndex = 1000;  // behind the rounds of thinning, which draw from the same series

class Judgement {
 public:
  Judgement(const Space& space, const Evidence& evidence, const Remaining& left, std::uint64_t seed, FitResult& result)
      : space_(space),
        evidence_(evidence),
        left_(left),
        seed_(seed),
        result_(result),
        crafted_(evidence.crafted()),
        all_(numbers_between(0, evidence.size())) {}

  void judge(Property property) {
    std::set<int> open = open_values(property);
    if (open.size() == 1 && !space_.observable(result_.choice, property) && may_show(property)) {
      for (int v = 0; v < space_.count(property); ++v) open.insert(v);
    }
    if (open.size() > 1) {
      result_.undetermined.push_back({property, {open.begin(), open.end()}});
      return;
    }
    if (!reject_others(property) && space_.count(property) > 1) result_.unobservable.push_back(property);
  }

 private:
  /// Values that something that is left has.
  std::set<int> open_values(Property property) const {
    std::set<int> open;
    for (const Survivor& s : left_.survivors) {
      open.insert(Space::value(s.choice, property));
      if (std::ranges::find(s.free, property) != s.free.end() && space_.observable(s.choice, property)) {
        for (int v = 0; v < space_.count(property); ++v) open.insert(v);
      }
    }
    if (!is_edge_rule(property)) {
      for (const Choice& core : left_.unexpanded) open.insert(Space::value(core, property));
    }
    return open;
  }

  /// Whether a property shows in some datapath that is left, as far as a sample tells.
  bool may_show(Property property) const {
    constexpr std::size_t kMostSurvivors = 64, kDraws = 32;
    RandomNumbers random(seed_, kSamplingSeries, kSamplingIndex);
    const std::size_t sample = std::min(kMostSurvivors, left_.survivors.size());
    for (std::size_t i = 0; i < sample; ++i) {
      const Survivor& s = left_.survivors[i * left_.survivors.size() / sample];
      Choice c = s.choice;
      for (std::size_t n = 0; n < (s.free.empty() ? 1 : kDraws); ++n) {
        for (Property p : s.free) {
          if (random.chance(50)) Space::set(c, p, random.between(0, space_.count(p) - 1));
        }
        if (space_.contains(c) && space_.observable(c, property)) return true;
      }
    }
    return false;
  }

  /// Finds for each other value an answer that refutes it. Returns whether there is another value that is not the same
  /// for every input.
  bool reject_others(Property property) {
    bool observable = false;
    for (int v = 0; v < space_.count(property); ++v) {
      Choice other = result_.choice;
      Space::set(other, property, v);
      if (v == Space::value(result_.choice, property) || !space_.contains(other) ||
          space_.canonical(other) == result_.choice) {
        continue;
      }
      observable = true;
      const CpuEmulator emulator(space_.datapath(other));
      // A crafted problem says more than a chance result.
      for (const auto* numbers : {&crafted_, &all_}) {
        const auto refuting = std::ranges::find_if(
            *numbers, [&](std::size_t number) { return !evidence_.explained_by(emulator, number); });
        if (refuting == numbers->end()) continue;
        result_.rejected.push_back(
            {property, v, *refuting, evidence_.emulate(emulator, *refuting), evidence_.answer(*refuting)});
        break;
      }
    }
    return observable;
  }

  const Space& space_;
  const Evidence& evidence_;
  const Remaining& left_;
  std::uint64_t seed_;
  FitResult& result_;
  std::vector<std::size_t> crafted_, all_;  // numbers of answers
};

}  // namespace

void judge_properties(const Space& space, const Evidence& evidence, const Remaining& left, std::uint64_t seed,
                      FitResult& result) {
  Judgement judgement(space, evidence, left, seed, result);
  for (const PropertyRow& row : kPropertyTable) judgement.judge(row.property);
}

}  // namespace tcnum
