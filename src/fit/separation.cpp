// Asking what separates the datapaths that are left.
#include <algorithm>
#include <array>

#include "cores.hpp"
#include "elimination.hpp"
#include "separate.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/random_numbers.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kThinningSeries = 2000;  // of random numbers

}  // namespace

/// While there are too many cores to look at each: asks what separates some of them.
void Elimination::thin_out() {
  constexpr int kMostRounds = 40;
  constexpr std::size_t kPairs = 8 * kPackSide, kTiles = 8;
  for (int round = 0; live_ != nullptr && cores_.size() > kFewCores && round < kMostRounds; ++round) {
    RandomNumbers random(options_.seed, kThinningSeries, static_cast<std::uint64_t>(round));
    const auto any = [&] { return static_cast<std::size_t>(random.next64() % cores_.size()); };
    std::vector<Problem> problems;
    watch_.begin("thinning out", 0, cores_.size());
    for (std::size_t n = 0; n < kPairs; ++n) {
      // Neighbours in the list differ in little, others in much.
      const std::size_t i = any(), j = n % 2 == 0 ? any() : (i + 1) % cores_.size();
      if (i == j) continue;
      if (auto problem = search(cores_[i], cores_[j], kTiles)) problems.push_back(*std::move(problem));
    }
    ++search_round_;
    if (problems.empty()) break;
    ask_separating(problems);
    drop_refuted_cores();
  }
}

std::optional<Problem> Elimination::search(const Choice& one, const Choice& other, std::size_t tiles) const {
  constexpr std::uint64_t kFirstSeed = 1000;  // apart from the random problems that every fit asks
  return separate(space_, one, other, options_.seed + kFirstSeed + search_round_, tiles, [&] { watch_.step(); });
}

void Elimination::ask_separating(const std::vector<Problem>& problems) {
  result_.separating += problems.size();
  asker_.ask(problems, "separating");
}

/// Problems on which some of the survivors differ. Pairs for which a search has failed are not tried again.
std::vector<Problem> Elimination::separating_problems() {
  watch_.begin("separating", 0, survivors_.size() + unexpanded_.size());
  std::vector<Problem> problems;
  const Choice& first = survivors_[0].choice;
  const std::size_t effort = options_.search_tiles * kPackSide * kPackSide;
  std::size_t tries = 0;
  constexpr std::size_t kMostTries = 24;
  const auto attempt = [&](const Choice& x, const Choice& y) {
    if (inseparable_.contains({x, y})) return;
    ++tries;
    if (auto problem = search(x, y, options_.search_tiles)) {
      problems.push_back(*std::move(problem));
    } else {
      inseparable_.insert({x, y});
      result_.search_effort += effort;
    }
  };
  // Neighbours in the list mostly differ in one value: what separates them splits the rest well.
  const std::size_t stride = std::max<std::size_t>(1, survivors_.size() / kPackSide);
  for (std::size_t i = stride; i < survivors_.size() && problems.size() < kPackSide && tries < kMostTries;
       i += stride) {
    attempt(survivors_[i - stride].choice, survivors_[i].choice);
  }
  for (std::size_t i = 1; i < survivors_.size() && problems.empty() && tries < kMostTries; ++i) {
    attempt(first, survivors_[i].choice);
  }
  // Rules that no answer has consulted: any answer that does will tell.
  for (Property p : survivors_[0].free) {
    for (int v = 0; v < space_.count(p); ++v) {
      Choice other = first;
      Space::set(other, p, v);
      if (!space_.contains(other) || space_.canonical(other) == first) continue;
      attempt(first, other);
      break;
    }
  }
  ++search_round_;
  return problems;
}

/// Looks for operands that separate what is left, and asks them. Returns whether anything was asked.
bool Elimination::separate_survivors() {
  const std::vector<Problem> problems = separating_problems();
  if (problems.empty()) return false;
  ask_separating(problems);
  expand_cores();  // other values of a rule may explain what those that are left do not
  return true;
}

/// What a short search cannot separate, a longer one may: the fewer are left, the longer. Returns false if few enough
/// are not left, or the search is as long as it gets.
bool Elimination::search_longer() {
  constexpr std::array<std::size_t, 2> kFew = {16, 4}, kLonger = {32, 16};
  if (lengthened_ == kFew.size() || survivors_.size() > kFew[lengthened_]) return false;
  options_.search_tiles *= kLonger[lengthened_++];
  inseparable_.clear();
  return true;
}

}  // namespace tcnum
