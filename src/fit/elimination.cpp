#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "emu/parallel.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/random_numbers.hpp"
#include "src/questions/stream.hpp"
#include "steps.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

/// Cores that are looked at one by one; of more, most are separated first.
constexpr std::size_t kFewCores = 400;
constexpr std::uint32_t kThinningSeries = 2000;  // of random numbers

/// What a fit knows while it runs, and how it gets from all datapaths of a space to those that are left.
class Elimination {
 public:
  Elimination(Space& space, Evidence& evidence, Oracle* live, const FitOptions& options)
      : space_(space),
        evidence_(evidence),
        live_(live),
        asker_(evidence, live),
        options_(options),
        watch_(options.progress) {}

  FitResult run() {
    if (live_ != nullptr) watch_.begin("asking", 0);
    asker_.ask_battery(options_);
    if (const Blocks found = find_blocks(asker_); !found.empty()) {
      space_.add_blocks(found, {ProductOrder::Kind::found});
    }
    eliminate();
    separate_while_undecided();
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

 private:
  void eliminate(int first_structure = 0) {
    auto [cores, judged] = find_cores(space_, evidence_, options_.threads, watch_, first_structure);
    cores_ = std::move(cores);
    judged_ = judged;
    thin_out();
    expand_cores();
  }

  void separate_while_undecided() {
    constexpr int kMostRounds = 40;
    for (int round = 0; live_ != nullptr && round < kMostRounds && !is_decided(); ++round) {
      if (!separate_survivors() && !search_longer()) break;
    }
  }

  /// Random problems by the thousand that are not among the evidence, each distribution's with the oracle's answers. It
  /// is asked once.
  const std::vector<Tiles>& further_answers() {
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
  void doubt_all() {
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
  bool are_enough_for_rare() const { return live_ != nullptr || evidence_.size() >= kEnoughForRare; }

  /// Rarer datapaths are looked at where nothing else explains the answers.
  void look_among_rare() {
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

  /// By the answers that came since.
  void drop_refuted_cores() {
    cores_ = unrefuted(space_, evidence_, std::move(cores_), judged_, options_.threads);
    judged_ = evidence_.size();
  }

  /// Decides the edge rules of the cores that are left, and forgets cores that have no survivor. If there are too many
  /// cores and the first ones have survivors, the others are left as they are, in unexpanded_.
  void expand_cores() {
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
  bool is_decided() const {
    if (survivors_.size() > 1 || !unexpanded_.empty()) return false;
    return survivors_.empty() || std::ranges::none_of(survivors_[0].free, [&](Property p) {
             return space_.observable(survivors_[0].choice, p);
           });
  }

  double count_survivors() const {
    double total = 0;
    for (const Survivor& s : survivors_) {
      double here = 1;
      for (Property p : s.free) here *= space_.count(p);
      total += here;
    }
    return total;
  }

  /// While there are too many cores to look at each: asks what separates some of them.
  void thin_out() {
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

  std::optional<Problem> search(const Choice& one, const Choice& other, std::size_t tiles) const {
    constexpr std::uint64_t kFirstSeed = 1000;  // apart from the random problems that every fit asks
    return separate(space_, one, other, options_.seed + kFirstSeed + search_round_, tiles, [&] { watch_.step(); });
  }

  void ask_separating(const std::vector<Problem>& problems) {
    result_.separating += problems.size();
    asker_.ask(problems, "separating");
  }

  /// Problems on which some of the survivors differ. Pairs for which a search has failed are not tried again.
  std::vector<Problem> separating_problems() {
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
  bool separate_survivors() {
    const std::vector<Problem> problems = separating_problems();
    if (problems.empty()) return false;
    ask_separating(problems);
    expand_cores();  // other values of a rule may explain what those that are left do not
    return true;
  }

  /// What a short search cannot separate, a longer one may: the fewer are left, the longer. Returns false if few enough
  /// are not left, or the search is as long as it gets.
  bool search_longer() {
    constexpr std::array<std::size_t, 2> kFew = {16, 4}, kLonger = {32, 16};
    if (lengthened_ == kFew.size() || survivors_.size() > kFew[lengthened_]) return false;
    options_.search_tiles *= kLonger[lengthened_++];
    inseparable_.clear();
    return true;
  }

  Space& space_;
  Evidence& evidence_;
  Oracle* live_;
  Asker asker_;
  FitOptions options_;
  mutable FitWatch watch_;
  FitResult result_;

  std::vector<Choice> cores_;  // what the answers that consult no edge rule leave; if none is left, what came far
  std::size_t judged_ = 0;     // by so many of the answers
  std::vector<Survivor> survivors_;
  std::vector<Choice> unexpanded_;                   // those of cores_ that were too many to look at
  std::vector<Tiles> further_answers_;               // that are no evidence, as far as they have been asked
  std::set<std::pair<Choice, Choice>> inseparable_;  // as far as searches could tell
  std::uint64_t search_round_ = 0;
  std::size_t lengthened_ = 0;  // how often searches have been made longer
};

}  // namespace

FitResult eliminate(Space& space, Evidence& evidence, Oracle* live, const FitOptions& options) {
  return Elimination(space, evidence, live, options).run();
}

}  // namespace tcnum
