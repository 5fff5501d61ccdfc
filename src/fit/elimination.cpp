#include "elimination.hpp"

#include <algorithm>

#include "cores.hpp"
#include "emu/parallel.hpp"
#include "nearest.hpp"
#include "rejections.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {

Elimination::Elimination(Space& space, Evidence& evidence, Oracle* live, const FitOptions& options)
    : space_(space),
      evidence_(evidence),
      live_(live),
      asker_(evidence, live),
      options_(options),
      watch_(options.progress) {}

FitResult Elimination::run() {
  if (live_ != nullptr) watch_.begin("asking", 0);
  asker_.ask_battery(options_);
  if (const Blocks found = find_blocks(asker_); !found.empty()) {
    space_.add_blocks(found, {ProductOrder::Kind::found});
  }
  eliminate();
  separate_while_undecided();
  doubt_adds();
  doubt_all();
  result_.looked_among_rare = survivors_.empty() && are_enough_for_rare();
  if (result_.looked_among_rare) look_among_rare();
  result_.considered = space_.size();
  watch_.begin(survivors_.empty() ? "looking for the nearest" : "judging properties", 0, survivors_.size());
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

void Elimination::separate_while_undecided() {
  constexpr int kMostRounds = 40;
  for (int round = 0; live_ != nullptr && round < kMostRounds && !is_decided(); ++round) {
    if (!separate_survivors() && !search_longer()) break;
  }
}

/// Random problems by the thousand that are not among the evidence, each distribution's with the oracle's answers. It
/// is asked once.
const std::vector<Tiles>& Elimination::further_answers() {
  constexpr std::uint64_t kOtherSeed = 3000;
  constexpr std::size_t kTimes = 6;
  for (std::size_t f = further_answers_.size(); f < kRandomDistributions; ++f) {
    Tiles tiles = make_random_tiles(space_.instruction(), static_cast<Distribution>(f), options_.seed + kOtherSeed, 0,
                                    kTimes * options_.tiles_per_distribution, kPackSide, kPackSide);
    live_->answer(tiles);
    further_answers_.push_back(std::move(tiles));
  }
  return further_answers_;
}

/// What explains all answers so far may still be a neighbour of what is there: of further ones, those count that it
/// gets wrong.
void Elimination::doubt_all() {
  constexpr std::size_t kMostAsked = 8 * kPackSide;
  constexpr int kMostRounds = 4;
  for (int round = 0; live_ != nullptr && round < kMostRounds && !survivors_.empty(); ++round) {
    const Emulator emulator(space_.datapath(survivors_[0].choice));
    std::vector<Problem> wrong;
    watch_.begin("doubting", kRandomDistributions, survivors_.size());
    for (const Tiles& answered : further_answers()) {
      watch_.step();
      Tiles emulated = answered;
      emulator.run(emulated, options_.threads);
      for (std::size_t i = 0; i < answered.size() && wrong.size() < kMostAsked; ++i) {
        if (answered.d[i] != emulated.d[i]) wrong.push_back(problem_at(answered, i));
      }
    }
    if (wrong.empty()) return;
    ask_separating(wrong);
    expand_cores();
    separate_while_undecided();
  }
}

/// A few recorded answers leave so many rare datapaths that none of them would be one to believe.
bool Elimination::are_enough_for_rare() const { return live_ != nullptr || evidence_.size() >= kEnoughForRare; }

/// Rarer datapaths are looked at where nothing else explains the answers.
void Elimination::look_among_rare() {
  std::vector<Choice> nearest;
  while (survivors_.empty()) {
    const std::optional<int> first_new = space_.widen();
    if (!first_new) break;
    if (nearest.empty())
      asker_.ask_crafted(rare_battery(evidence_.instruction()), "battery, rows and columns of different problems");
    nearest.insert(nearest.end(), cores_.begin(), cores_.end());
    eliminate(*first_new);
    separate_while_undecided();
    doubt_all();
  }
  if (survivors_.empty()) cores_.insert(cores_.begin(), nearest.begin(), nearest.end());
}

/// Adds of sums of blocks are only just told from sums that cut, which are rare: asks about them what a search might
/// not come upon.
void Elimination::doubt_adds() {
  if (live_ == nullptr || survivors_.empty()) return;
  const Structure& left = space_.structure(survivors_[0].choice);
  if (!left.adds_apart() || left.blocks.size() < 2 || left.block_k() < 2) return;
  asker_.ask_crafted(battery_of_sums(evidence_.instruction(), left.blocks), "battery, sums of blocks");
  expand_cores();
  separate_while_undecided();
}

void Elimination::eliminate(int first_structure) {
  auto [cores, judged] = CoreSearch(space_, evidence_, options_.threads, watch_, first_structure).find();
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
  watch_.begin("deciding edge rules", cores_.size());
  std::set<Choice> seen;
  std::vector<Choice> alive;
  for (std::size_t first = 0; first < cores_.size() && survivors_.empty(); first += kFewCores) {
    const std::size_t count = std::min(kFewCores, cores_.size() - first);
    std::vector<std::vector<Survivor>> found(count);
    in_parallel(count, options_.threads, [&](std::size_t i) {
      found[i] = decide_edge_rules(space_, evidence_, cores_[first + i]);
      watch_.step();
    });
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
