#include <algorithm>
#include <set>

#include "steps.hpp"

namespace tcnum {
namespace {

/// Decides the edge rules of one core, one after the other, and after each decision judges by exactly those answers
/// that consult nothing undecided.
class Decisions {
 public:
  Decisions(const Space& space, const Evidence& evidence, const Choice& core)
      : space_(space), evidence_(evidence), core_(core), emulator_(emulator_of(space, core)) {}

  std::vector<Survivor> find() {
    if (!sort_answers()) return {};
    // Only what was consulted is worth branching on; under other values more may be.
    while (true) {
      const unsigned consulted_before = consulted_by_any_;
      plan();
      branch(0, core_, {});
      if (consulted_by_any_ == consulted_before) return std::move(found_);
    }
  }

 private:
  struct EdgeAnswer {
    std::size_t number;
    unsigned consulted;
  };

  bool is_right(std::size_t number, unsigned& consulted) const {
    return evidence_.emulate(emulator_, number, space_.watch_exponent(), consulted) == evidence_.answer(number);
  }

  /// Keeps the answers that depend on edge rules, with what each consulted. False, if one of the others, which judge
  /// the core alone, refutes it.
  bool sort_answers() {
    for (std::size_t number = 0; number < evidence_.size(); ++number) {
      unsigned consulted = 0;
      const bool right = is_right(number, consulted);
      consulted &= kConsultedEdges;
      if (consulted != 0)
        edge_answers_.push_back({number, consulted});
      else if (!right)
        return false;
      consulted_by_any_ |= consulted;
    }
    return true;
  }

  /// Chooses the rules that are tried, in turn, and the answers that each decision lets judge for the first time.
  void plan() {
    tried_.clear();
    free_.clear();
    for (Property p : kEdgeRules) ((row_of(p).consulted & consulted_by_any_) != 0 ? tried_ : free_).push_back(p);
    judged_.assign(tried_.size() + 1, {});
    for (const EdgeAnswer& answer : edge_answers_) {
      std::size_t depth = 0;
      while ((answer.consulted & undecided_at(depth)) != 0) ++depth;
      judged_[depth].push_back(answer.number);
    }
    found_.clear();
    seen_.clear();
  }

  /// What a result must not have consulted to be judged once the first `depth` of the rules that are tried are decided.
  unsigned undecided_at(std::size_t depth) const {
    unsigned open = 0;
    for (std::size_t i = depth; i < tried_.size(); ++i) open |= row_of(tried_[i]).consulted;
    return open;
  }

  /// Whether an answer refutes what is decided so far; `pending` collects those that cannot judge it yet.
  bool refuted_by(std::vector<std::size_t>& numbers, unsigned undecided, std::vector<std::size_t>& pending) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      unsigned consulted = 0;
      const bool right = is_right(numbers[i], consulted);
      consulted &= kConsultedEdges;
      consulted_by_any_ |= consulted;
      if ((consulted & undecided) != 0) {
        pending.push_back(numbers[i]);
      } else if (!right) {
        if (i > 0) std::swap(numbers[i], numbers[i / 2]);  // what refutes often is tried early
        return true;
      }
    }
    return false;
  }

  void branch(std::size_t depth, Choice c, std::vector<std::size_t> waiting) {
    if (!space_.contains(c)) return;
    emulator_.set_numerics(space_.numerics(c));
    std::vector<std::size_t> pending;
    const unsigned undecided = undecided_at(depth);
    if (refuted_by(waiting, undecided, pending) || refuted_by(judged_[depth], undecided, pending)) return;
    if (depth == tried_.size()) {
      c = space_.canonical(c);
      if (seen_.insert(c).second) found_.push_back({c, free_});
      return;
    }
    for (int v = 0; v < space_.count(tried_[depth]); ++v) {
      Space::set(c, tried_[depth], v);
      branch(depth + 1, c, pending);
    }
  }

  const Space& space_;
  const Evidence& evidence_;
  const Choice& core_;
  CpuEmulator emulator_;
  std::vector<EdgeAnswer> edge_answers_;
  unsigned consulted_by_any_ = 0;
  std::vector<Property> tried_, free_;
  std::vector<std::vector<std::size_t>> judged_;  // answers, by the number of decisions that they need
  std::vector<Survivor> found_;
  std::set<Choice> seen_;
};

}  // namespace

std::vector<Survivor> decide_edge_rules(const Space& space, const Evidence& evidence, const Choice& core) {
  return Decisions(space, evidence, core).find();
}

}  // namespace tcnum
