#include "elimination.hpp"

#include <algorithm>

#include "cores.hpp"
#include "emu/parallel.hpp"
#include "nearest.hpp"
#include "rejections.hpp"

namespace tcnum {

Elimination::Elimination(Space& space, Evidence& evidence, Oracle* live, const FitOptions& options)
    : space_(space), evidence_(evidence), live_(live), asker_(evidence, live), options_(options) {}

FitResult Elimination::run() {
  asker_.ask_battery(options_);
  if (const Blocks found = find_blocks(asker_); !found.empty()) {
    space_.add_blocks(found, {ProductOrder::Kind::found});
  }
  eliminate();
  constexpr int kMostRounds = 40;
  for (int round = 0; live_ != nullptr && round < kMostRounds && !is_decided(); ++round) {
    if (!separate_survivors() && !search_longer()) break;
  }
  result_.considered = space_.size();
  if (survivors_.empty()) {
    find_nearest(space_, evidence_, cores_, live_, result_);
    return std::move(result_);
  }
  result_.surviving = count_survivors() + static_cast<double>(unexpanded_.size());
  result_.classes = survivors_.size();  // they are canonical, and no two are the same
  result_.choice = survivors_[0].choice;
  result_.datapath = space_.datapath(result_.choice);
  result_.mismatches = evidence_.wrong_answers(result_.datapath).size();
  judge_properties(space_, evidence_, {survivors_, unexpanded_}, options_.seed, result_);
  result_.verdict = result_.undetermined.empty() ? Verdict::identified : Verdict::ambiguous;
  return std::move(result_);
}

void Elimination::eliminate() {
  auto [cores, judged] = CoreSearch(space_, evidence_, options_.threads).find();
  cores_ = std::move(cores);
  judged_ = judged;
  thin_out();
  expand_cores();
}

/// By the answers that came since.
void Elimination::drop_refuted_cores() {
  cores_ = unrefuted(space_, evidence_, std::move(cores_), judged_, options_.threads);
  judged_ = evidence_.size();
}

/// Decides the edge rules of the cores that are left, and forgets cores that have no survivor. If there are too many
/// cores and the first ones have survivors, the others are left as they are, in unexpanded_.
void Elimination::expand_cores() {
  // Edge rules are decided with every answer in view: few cores need not be judged before.
  if (cores_.size() > kFewCores) drop_refuted_cores();
  survivors_.clear();
  unexpanded_.clear();
  std::set<Choice> seen;
  std::vector<Choice> alive;
  for (std::size_t first = 0; first < cores_.size() && survivors_.empty(); first += kFewCores) {
    const std::size_t count = std::min(kFewCores, cores_.size() - first);
    std::vector<std::vector<Survivor>> found(count);
    in_parallel(count, options_.threads,
                [&](std::size_t i) { found[i] = decide_edge_rules(space_, evidence_, cores_[first + i]); });
    for (std::size_t i = 0; i < count; ++i) {
      if (!found[i].empty()) alive.push_back(cores_[first + i]);
      for (Survivor& survivor : found[i]) {
        if (seen.insert(survivor.choice).second) survivors_.push_back(std::move(survivor));
      }
    }
    if (!survivors_.empty())
      unexpanded_.assign(cores_.begin() + static_cast<std::ptrdiff_t>(first + count), cores_.end());
  }
  if (alive.empty()) return drop_refuted_cores();  // what is left is the nearest that there is
  cores_ = std::move(alive);
  cores_.insert(cores_.end(), unexpanded_.begin(), unexpanded_.end());
}

/// Whether there is nothing to separate: one class is left, or none.
bool Elimination::is_decided() const {
  if (survivors_.size() > 1 || !unexpanded_.empty()) return false;
  return survivors_.empty() || std::ranges::none_of(survivors_[0].free, [&](Property p) {
           return space_.observable(survivors_[0].choice, p);
         });
}

double Elimination::count_survivors() const {
  double total = 0;
  for (const Survivor& s : survivors_) {
    double here = 1;
    for (Property p : s.free) here *= space_.count(p);
    total += here;
  }
  return total;
}

}  // namespace tcnum
