#include "fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include <fmt/format.h>

#include "emu/parallel.hpp"
#include "minimise.hpp"
#include "separate.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/factors.hpp"
#include "src/questions/families.hpp"
#include "src/questions/numbers.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/random_numbers.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

constexpr std::array<std::string_view, 3> kVerdictNames = {"identified", "ambiguous", "unexplained"};

/// Cores that are looked at one by one; of more, most are separated first.
constexpr std::size_t kFewCores = 400;
constexpr std::uint32_t kThinningSeries = 2000;  // of random numbers

/// What a result may have consulted and still be judged once the edge rules of `tried` before `depth` are decided.
unsigned decided_by(const std::vector<Property>& tried, std::size_t depth) {
  unsigned open = 0;
  for (std::size_t i = depth; i < tried.size(); ++i) open |= row_of(tried[i]).consulted;
  return ~open;
}

/// first, first + 1, … last − 1.
std::vector<std::size_t> numbers_between(std::size_t first, std::size_t last) {
  std::vector<std::size_t> numbers(last - first);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// An order of trying so many answers; what it has learnt stays, as long as they are as many.
void start_order(std::vector<std::size_t>& order, std::size_t size) {
  if (order.size() != size) order = numbers_between(0, size);
}

/// Moves the element at `at` towards the front: what kills often is asked first.
void promote(std::vector<std::size_t>& order, std::size_t at) {
  if (at > 0) std::swap(order[at], order[at / 2]);
}

}  // namespace

std::string_view name(Verdict verdict) { return kVerdictNames[static_cast<std::size_t>(verdict)]; }

Fit::Fit(const Instruction& instruction, Oracle* live, FitOptions options)
    : instruction_(&instruction), live_(live), options_(options), space_(instruction), evidence_(instruction) {}

// ---------------------------------------------------------------------------------------------------------------------
// Asking

std::vector<std::optional<std::uint64_t>> Fit::ask(const std::vector<Problem>& problems, const std::string& origin) {
  std::vector<std::optional<std::uint64_t>> answers(problems.size());
  if (live_ != nullptr && !problems.empty()) {
    Tiles tiles = pack(*instruction_, problems);
    live_->answer(tiles);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::size_t r = i % kPackSide;
      answers[i] = tiles.d[tiles.c_index(i / kPackSide, r, r)];
    }
    evidence_.add(std::move(tiles), origin);
    return answers;
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (const auto number = evidence_.find(problems[i])) answers[i] = evidence_.answer(*number);
  }
  return answers;
}

void Fit::ask_battery() {
  const std::vector<CraftedProblem> crafted = battery(*instruction_);
  std::vector<Problem> problems;
  for (const CraftedProblem& each : crafted) problems.push_back(each.problem);
  ask(problems, "battery, rows and columns of different problems");
  for (const CraftedProblem& each : crafted) {
    if (const auto number = evidence_.find(each.problem)) evidence_.set_name(*number, each.name);
  }
  if (live_ == nullptr) return;
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const auto family = static_cast<Family>(f);
    Tiles tiles =
        make_family_tiles(*instruction_, family, options_.seed, 0, options_.tiles_per_family, kPackSide, kPackSide);
    live_->answer(tiles);
    evidence_.add(std::move(tiles), fmt::format("random: {}", name(family)));
  }
}

void Fit::infer_order() {
  const std::vector<std::vector<int>> found =
      format(instruction_->d).floating ? blocks_by_swallowing() : blocks_by_clamping();
  if (found.size() <= 1) return;
  const bool regular = found.back().size() <= found.front().size() &&
                       std::all_of(found.begin(), found.end() - 1,
                                   [&](const auto& block) { return block.size() == found.front().size(); });
  if (regular) {
    space_.add_blocks(found, {ProductOrder::Kind::found});
  } else if (found.size() + found.front().size() - 1 == static_cast<std::size_t>(instruction_->products())) {
    // Single products, the first of which the pivot could not tell apart.
    std::vector<std::vector<int>> singles;
    for (const auto& block : found) {
      for (int i : block) singles.push_back({i});
    }
    space_.add_blocks(singles, {ProductOrder::Kind::found});
  }
}

/// Which products share a block, and in which order the blocks come, from what is clamped: with c the largest number, a
/// large product in one place and −1 everywhere else, whatever comes before the block of that place is made up for, and
/// the result is less than the largest by as many products as come after it.
std::vector<std::vector<int>> Fit::blocks_by_clamping() {
  const Format &a = format(instruction_->a), &b = format(instruction_->b), &d = format(instruction_->d);
  const ExtremeProducts ends = extreme_products(a, b);
  const int k = instruction_->products();
  if (ends.least.product() >= 0 || ends.largest.product() < k) return {};
  const std::int64_t most = range_of(d).highest;
  const auto put = [&](Problem& p, int at, Factors factors) {
    p.a[static_cast<std::size_t>(at)] = code_of(a, factors.a);
    p.b[static_cast<std::size_t>(at)] = code_of(b, factors.b);
  };
  std::vector<Problem> problems;
  for (int place = 0; place < k; ++place) {
    Problem p = zero_problem(*instruction_);
    p.c = code_of(format(instruction_->c), most);
    for (int i = 0; i < k; ++i) put(p, i, a.has_sign ? Factors{-1, 1} : Factors{1, -1});
    put(p, place, ends.largest);
    problems.push_back(std::move(p));
  }
  const auto answers = ask(problems, "order");
  std::map<std::int64_t, std::vector<int>, std::greater<>> by_later;  // most products later: earliest
  for (int place = 0; place < k; ++place) {
    const auto& answer = answers[static_cast<std::size_t>(place)];
    if (!answer) return {};
    const std::int64_t later = most - integer_of(d, *answer);
    if (later >= k) return {};  // nothing was clamped
    by_later[later].push_back(place);
  }
  std::vector<std::vector<int>> blocks;
  for (auto& [later, members] : by_later) blocks.push_back(std::move(members));
  return blocks;
}

/// Which products share a block, and in which order the blocks come, from what swallows what: with +big in one place,
/// −big in another and a unit everywhere else, the units that meet the large value before it is gone are lost (after
/// FPRev, Xie et al.). The number that survives tells how much was summed up to the later of the two places.
std::vector<std::vector<int>> Fit::blocks_by_swallowing() {
  const ProductMaker make(*instruction_);
  const Format& d = format(instruction_->d);
  const int big = std::min({make.highest(), format(instruction_->c).max_exponent() - 6, d.max_exponent() - 6});
  const int unit = std::max({make.lowest(), d.min_exponent(), big - 60});
  const int k = instruction_->products();
  const double unit_value = std::ldexp(1.0, unit);

  // Number of surviving units for each partner of a pivot (−1: c), if some variant of the signs gives a whole number.
  const auto survivors = [&](int pivot, std::vector<int> partners) {
    std::vector<Problem> problems;
    for (int partner : partners) {
      for (int variant = 0; variant < 4; ++variant) {
        const bool unit_negative = variant & 1, pivot_negative = variant & 2;
        Problem p = zero_problem(*instruction_);
        for (int i = 0; i < k; ++i) make.put(p, i, unit_negative, unit);
        p.c = make.accumulator(unit_negative, unit);
        if (pivot < 0)
          p.c = make.accumulator(pivot_negative, big);
        else
          make.put(p, pivot, pivot_negative, big);
        make.put(p, partner, !pivot_negative, big);
        problems.push_back(std::move(p));
      }
    }
    const auto answers = ask(problems, "order");
    std::vector<std::optional<int>> counts;
    for (std::size_t i = 0; i < partners.size(); ++i) {
      std::optional<int> agreed;
      for (std::size_t variant = 0; variant < 4; ++variant) {
        const auto& answer = answers[4 * i + variant];
        if (!answer) continue;
        const Decoded r = decode(d, *answer);
        if (!r.is_finite()) continue;
        const double value =
            (r.negative ? -1 : 1) * std::ldexp(static_cast<double>(r.significand), r.exponent - d.fraction_bits);
        const double units = value / unit_value * (variant & 1 ? -1 : 1);
        const bool whole = units >= 0 && units <= k && units == std::floor(units);
        // Directed roundings leave a remainder of the large value in some variants; those are no whole small number,
        // or none at all.
        if (whole && (!agreed || static_cast<int>(units) > *agreed)) agreed = static_cast<int>(units);
      }
      counts.push_back(agreed);
    }
    return counts;
  };

  // The pivot that comes earliest tells most. c first; then a product, and of those that come no later, another.
  std::vector<int> everything;
  for (int i = 0; i < k; ++i) everything.push_back(i);
  int pivot = -1;
  std::vector<std::vector<int>> best;
  constexpr int kMostPivots = 6;
  for (int round = 0; round < kMostPivots; ++round) {
    std::vector<int> partners = everything;
    std::erase(partners, pivot);
    if (partners.empty()) break;
    const auto counts = survivors(pivot, partners);
    std::map<int, std::vector<int>, std::greater<>> by_survivors;  // most survivors: earliest
    bool complete = true;
    for (std::size_t i = 0; i < partners.size(); ++i) {
      if (counts[i])
        by_survivors[*counts[i]].push_back(partners[i]);
      else
        complete = false;
    }
    if (!complete) break;
    std::vector<std::vector<int>> blocks;
    for (auto& [count, members] : by_survivors) blocks.push_back(members);
    if (pivot >= 0) {
      blocks.front().push_back(pivot);
      std::sort(blocks.front().begin(), blocks.front().end());
    }
    if (blocks.size() > best.size()) best = blocks;
    if (blocks.front().size() <= 1) break;
    pivot = pivot < 0 ? 0 : (blocks.front().front() != pivot ? blocks.front().front() : blocks.front().back());
  }
  return best;
}

// ---------------------------------------------------------------------------------------------------------------------
// Eliminating

/// Chooses the answers that are tried first: `exact_probes_` are likely to need no rounding, so that they judge how
/// terms are aligned apart from how results are rounded; `dense_probes_` have only ordinary numbers, so that they judge
/// without regard to subnormals, zeros and the like.
void Fit::collect_probes() {
  exact_probes_.clear();
  dense_probes_.clear();
  constexpr std::size_t kMostExact = 120, kMostDense = 160;
  const Format& a = format(instruction_->a);
  const Format& b = format(instruction_->b);
  const Format& c = format(instruction_->c);
  const Format& d = format(instruction_->d);
  const auto normal = [](const Format& f, std::uint64_t code) {
    return decode(f, code).number_class == NumberClass::normal;
  };
  std::vector<std::size_t> exact, dense;
  for (std::size_t n = 0; n < evidence_.size(); ++n) {
    const std::string name = evidence_.name_of(n);
    if (name.starts_with("width") || name.starts_with("product exponent") || name.starts_with("block") ||
        name.starts_with("normalisation")) {
      exact.push_back(n);
      continue;
    }
    if (dense.size() >= 4000) continue;
    const Problem p = evidence_.problem(n);
    // An answer well inside the range promises that nothing on the way left it either.
    const Decoded answer = decode(d, evidence_.answer(n));
    bool all = normal(c, p.c) && answer.number_class == NumberClass::normal && answer.exponent > d.min_exponent() + 2 &&
               answer.exponent < d.max_exponent() - 2;
    for (std::size_t k = 0; all && k < p.a.size(); ++k) all = normal(a, p.a[k]) && normal(b, p.b[k]);
    if (all) dense.push_back(n);
  }
  if (dense.empty()) {
    for (std::size_t n = 0; n < evidence_.size(); ++n) dense.push_back(n);
  }
  const auto thin = [](const std::vector<std::size_t>& from, std::size_t most, std::vector<std::size_t>& to) {
    const std::size_t step = std::max<std::size_t>(1, from.size() / most);
    for (std::size_t i = 0; i < from.size(); i += step) to.push_back(from[i]);
  };
  thin(exact, kMostExact, exact_probes_);
  thin(dense, kMostDense, dense_probes_);
  dense_probes_.insert(dense_probes_.end(), exact_probes_.begin(), exact_probes_.end());
}

/// Whether no answer among `numbers` (tried in `order`, which learns) refutes the datapath. A wrong result is
/// inconclusive if it consulted any of `inconclusive`.
bool Fit::reproduces(const CpuEmulator& emulator, unsigned inconclusive, const std::vector<std::size_t>& numbers,
                     std::vector<std::size_t>& order) const {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t number = numbers[order[i]];
    if (evidence_.emulate(emulator, number) == evidence_.answer(number)) continue;
    unsigned consulted = 0;
    evidence_.emulate(emulator, number, space_.watch_exponent(), consulted);
    if ((consulted & inconclusive) != 0) continue;
    promote(order, i);
    return false;
  }
  return true;
}

/// An emulator whose units are the structure's roles, so that set_numerics(space_.numerics(…)) changes its numerics.
CpuEmulator Fit::emulator_of(const Choice& choice) const {
  Datapath d;
  d.tree = space_.structure(choice).tree;
  d.numerics = space_.numerics(choice);
  return CpuEmulator(d);
}

std::vector<Choice> Fit::cores_of(int structure) const {
  static thread_local std::vector<std::size_t> exact_order, dense_order;
  start_order(exact_order, exact_probes_.size());
  start_order(dense_order, dense_probes_.size());

  std::vector<Choice> cores;
  Choice c{};
  Space::set(c, Property::structure, structure);
  CpuEmulator emulator = emulator_of(c);
  // Every combination of the properties' values, the first varying slowest.
  const auto for_each = [&](auto&& self, std::span<const Property> properties, const auto& body) -> void {
    if (properties.empty()) return body();
    for (int v = 0; v < space_.count(properties.front()); ++v) {
      Space::set(c, properties.front(), v);
      self(self, properties.subspan(1), body);
    }
    Space::set(c, properties.front(), 0);
  };
  const auto judge_roundings = [&] {
    if (!space_.contains(c)) return;
    emulator.set_numerics(space_.numerics(c));
    if (reproduces(emulator, kConsultedEdges, dense_probes_, dense_order)) cores.push_back(c);
  };
  const auto judge_alignment = [&] {
    // Judge by the coarsest rounding of the variants: what it leaves alone, none of them rounds.
    Choice coarsest = c;
    Space::set(coarsest, Property::output_fraction_bits, space_.count(Property::output_fraction_bits) - 1);
    if (!space_.contains(coarsest)) coarsest = c;
    if (!space_.contains(coarsest)) return;
    emulator.set_numerics(space_.numerics(coarsest));
    if (reproduces(emulator, kConsultedEdges | kConsultedRounding, exact_probes_, exact_order)) {
      for_each(for_each, kRoundingProperties, judge_roundings);
    }
  };
  for_each(for_each, kAlignmentProperties, judge_alignment);
  return cores;
}

/// All datapaths with this core that explain every answer, canonical and each once.
std::vector<Fit::Survivor> Fit::expand(const Choice& core) const {
  CpuEmulator emulator = emulator_of(core);
  const auto judge = [&](std::size_t number, unsigned& consulted) {
    return evidence_.emulate(emulator, number, space_.watch_exponent(), consulted) == evidence_.answer(number);
  };

  // Answers that judge the core alone, and answers that depend on edge rules, with what each consulted.
  struct EdgeAnswer {
    std::size_t number;
    unsigned consulted;
  };
  std::vector<EdgeAnswer> edge_answers;
  unsigned consulted_by_any = 0;
  for (std::size_t number = 0; number < evidence_.size(); ++number) {
    unsigned consulted = 0;
    const bool right = judge(number, consulted);
    consulted &= kConsultedEdges;
    if (consulted != 0)
      edge_answers.push_back({number, consulted});
    else if (!right)
      return {};
    consulted_by_any |= consulted;
  }

  // Only what was consulted is worth branching on; under other values more may be.
  while (true) {
    std::vector<Property> tried, free;
    for (Property p : kEdgeRules) ((row_of(p).consulted & consulted_by_any) != 0 ? tried : free).push_back(p);
    // The answers that each decision lets judge for the first time.
    std::vector<std::vector<std::size_t>> judged(tried.size() + 1);
    for (const EdgeAnswer& answer : edge_answers) {
      std::size_t depth = 0;
      while ((answer.consulted & ~decided_by(tried, depth)) != 0) ++depth;
      judged[depth].push_back(answer.number);
    }

    std::vector<Survivor> found;
    std::set<Choice> seen;
    unsigned consulted_now = consulted_by_any;
    // Whether an answer refutes what is decided so far; `pending` collects those that cannot judge it yet.
    const auto refuted = [&](std::vector<std::size_t>& numbers, unsigned decided, std::vector<std::size_t>& pending) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        unsigned consulted = 0;
        const bool right = judge(numbers[i], consulted);
        consulted_now |= consulted & kConsultedEdges;
        if ((consulted & kConsultedEdges & ~decided) != 0) {
          pending.push_back(numbers[i]);
        } else if (!right) {
          promote(numbers, i);
          return true;
        }
      }
      return false;
    };
    const auto branch = [&](auto&& self, std::size_t depth, Choice c, std::vector<std::size_t> waiting) -> void {
      if (!space_.contains(c)) return;
      emulator.set_numerics(space_.numerics(c));
      std::vector<std::size_t> pending;
      const unsigned decided = decided_by(tried, depth);
      if (refuted(waiting, decided, pending) || refuted(judged[depth], decided, pending)) return;
      if (depth == tried.size()) {
        c = space_.canonical(c);
        if (seen.insert(c).second) found.push_back({c, free});
        return;
      }
      for (int v = 0; v < space_.count(tried[depth]); ++v) {
        Space::set(c, tried[depth], v);
        self(self, depth + 1, c, pending);
      }
    };
    branch(branch, 0, core, {});
    if (consulted_now == consulted_by_any) return found;
    consulted_by_any = consulted_now;
  }
}

void Fit::eliminate(FitResult& result) {
  collect_probes();
  std::vector<std::vector<Choice>> found(space_.structures().size());
  in_parallel(found.size(), options_.threads, [&](std::size_t s) { found[s] = cores_of(static_cast<int>(s)); });
  cores_.clear();
  for (const std::vector<Choice>& cores : found) cores_.insert(cores_.end(), cores.begin(), cores.end());
  thin_out(result);
  expand_all();
}

/// Keeps the cores that none of these answers refutes.
void Fit::filter_cores(const std::vector<std::size_t>& numbers) {
  std::vector<char> alive(cores_.size());
  in_parallel(cores_.size(), options_.threads, [&](std::size_t i) {
    // Most cores fall to an answer that felled another: those are tried first.
    static thread_local std::vector<std::size_t> order;
    start_order(order, numbers.size());
    alive[i] = reproduces(emulator_of(cores_[i]), kConsultedEdges, numbers, order) ? 1 : 0;
  });
  std::vector<Choice> left;
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    if (alive[i] != 0) left.push_back(cores_[i]);
  }
  if (!left.empty()) cores_ = std::move(left);  // else they are the nearest that there is
}

/// While there are too many cores to look at each: asks what separates some of them.
void Fit::thin_out(FitResult& result) {
  constexpr int kMostRounds = 40;
  constexpr std::size_t kPairs = 8 * kPackSide, kTiles = 8;
  for (int round = 0; live_ != nullptr && cores_.size() > kFewCores && round < kMostRounds; ++round) {
    RandomNumbers random(options_.seed, kThinningSeries, static_cast<std::uint64_t>(round));
    const auto any = [&] { return static_cast<std::size_t>(random.next64() % cores_.size()); };
    std::vector<Problem> problems;
    for (std::size_t n = 0; n < kPairs; ++n) {
      // Neighbours in the list differ in little, others in much.
      const std::size_t i = any(), j = n % 2 == 0 ? any() : (i + 1) % cores_.size();
      if (i == j) continue;
      if (auto problem = search(cores_[i], cores_[j], kTiles)) problems.push_back(*std::move(problem));
    }
    ++search_round_;
    if (problems.empty()) break;
    const std::size_t before = ask_separating(problems, result);
    filter_cores(numbers_between(before, evidence_.size()));
  }
}

/// Survivors of the cores that are left; forgets cores that have none. If there are too many cores and the first ones
/// have survivors, the others are left as they are, in unexpanded_.
void Fit::expand_all() {
  filter_cores(numbers_between(0, evidence_.size()));
  survivors_.clear();
  unexpanded_.clear();
  std::set<Choice> seen;
  std::vector<Choice> alive;
  for (std::size_t first = 0; first < cores_.size() && survivors_.empty(); first += kFewCores) {
    const std::size_t count = std::min(kFewCores, cores_.size() - first);
    std::vector<std::vector<Survivor>> found(count);
    in_parallel(count, options_.threads, [&](std::size_t i) { found[i] = expand(cores_[first + i]); });
    for (std::size_t i = 0; i < count; ++i) {
      if (!found[i].empty()) alive.push_back(cores_[first + i]);
      for (Survivor& survivor : found[i]) {
        if (seen.insert(survivor.choice).second) survivors_.push_back(std::move(survivor));
      }
    }
    if (!survivors_.empty())
      unexpanded_.assign(cores_.begin() + static_cast<std::ptrdiff_t>(first + count), cores_.end());
  }
  if (alive.empty()) return;  // then they are the nearest that there is
  cores_ = std::move(alive);
  cores_.insert(cores_.end(), unexpanded_.begin(), unexpanded_.end());
}

// ---------------------------------------------------------------------------------------------------------------------
// Separating

double Fit::survivors_in_all() const {
  double total = 0;
  for (const Survivor& s : survivors_) {
    double here = 1;
    for (Property p : s.free) here *= space_.count(p);
    total += here;
  }
  return total;
}

std::optional<Problem> Fit::search(const Choice& one, const Choice& other, std::size_t tiles) const {
  constexpr std::uint64_t kFirstSeed = 1000;  // apart from the families that every fit asks
  return separate(space_, one, other, options_.seed + kFirstSeed + search_round_, tiles);
}

/// Returns the number of the first new answer.
std::size_t Fit::ask_separating(const std::vector<Problem>& problems, FitResult& result) {
  result.separating += problems.size();
  const std::size_t before = evidence_.size();
  ask(problems, "separating");
  return before;
}

/// Looks for operands that separate what is left, and asks them. Returns whether anything was asked.
bool Fit::separate_survivors(FitResult& result) {
  std::vector<Problem> problems;
  const Choice& first = survivors_[0].choice;
  const std::size_t effort = options_.search_tiles * kPackSide * kPackSide;
  // Neighbours in the list mostly differ in one value: what separates them splits the rest well. Pairs for which a
  // search has failed are not tried again.
  std::size_t tries = 0;
  constexpr std::size_t kMostTries = 24;
  const auto attempt = [&](const Choice& x, const Choice& y) {
    if (inseparable_.contains({x, y})) return;
    ++tries;
    if (auto problem = search(x, y, options_.search_tiles)) {
      problems.push_back(*std::move(problem));
    } else {
      inseparable_.insert({x, y});
      result.search_effort += effort;
    }
  };
  const std::size_t stride = std::max<std::size_t>(1, survivors_.size() / kPackSide);
  for (std::size_t i = stride; i < survivors_.size() && problems.size() < kPackSide && tries < kMostTries;
       i += stride) {
    attempt(survivors_[i - stride].choice, survivors_[i].choice);
  }
  for (std::size_t i = 1; i < survivors_.size() && problems.empty() && tries < kMostTries; ++i) {
    attempt(first, survivors_[i].choice);
  }
  // Properties that no answer has consulted: any answer that does will tell.
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
  if (problems.empty()) return false;
  const std::size_t before = ask_separating(problems, result);
  if (!unexpanded_.empty() ||
      std::any_of(survivors_.begin(), survivors_.end(), [](const Survivor& s) { return !s.free.empty(); })) {
    expand_all();
    return true;
  }
  std::erase_if(survivors_, [&](const Survivor& s) {
    const CpuEmulator emulator(space_.datapath(s.choice));
    for (std::size_t number = before; number < evidence_.size(); ++number) {
      if (evidence_.emulate(emulator, number) != evidence_.answer(number)) return true;
    }
    return false;
  });
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------
// The verdict

FitResult Fit::run() {
  FitResult result;
  ask_battery();
  infer_order();
  eliminate(result);
  constexpr int kMostRounds = 40;
  for (int round = 0; live_ != nullptr && round < kMostRounds; ++round) {
    const bool undecided =
        survivors_.size() > 1 || !unexpanded_.empty() ||
        (survivors_.size() == 1 && std::any_of(survivors_[0].free.begin(), survivors_[0].free.end(),
                                               [&](Property p) { return space_.observable(survivors_[0].choice, p); }));
    if (!undecided) break;
    if (separate_survivors(result)) continue;
    // What a short search cannot separate, a longer one may: the fewer are left, the longer.
    constexpr std::array<std::size_t, 2> kFew = {16, 4}, kLonger = {32, 16};
    if (lengthened_ == kFew.size() || survivors_.size() > kFew[lengthened_]) break;
    options_.search_tiles *= kLonger[lengthened_++];
    inseparable_.clear();
  }
  result.considered = space_.size();
  if (survivors_.empty()) {
    find_nearest(result);
    return result;
  }
  result.surviving = survivors_in_all() + static_cast<double>(unexpanded_.size());
  result.classes = survivors_.size();  // they are canonical, and no two are the same
  result.choice = survivors_[0].choice;
  result.datapath = space_.datapath(result.choice);
  result.mismatches = mismatches(result.datapath);
  explain(result);
  result.verdict = result.undetermined.empty() ? Verdict::identified : Verdict::ambiguous;
  return result;
}

/// Whether a property shows in some datapath that is left, as far as a sample tells.
bool Fit::may_show(Property property) const {
  constexpr std::size_t kMostSurvivors = 64, kDraws = 32;
  RandomNumbers random(options_.seed, kThinningSeries, 1000);
  for (std::size_t i = 0; i < std::min(kMostSurvivors, survivors_.size()); ++i) {
    const Survivor& s = survivors_[i * survivors_.size() / std::min(kMostSurvivors, survivors_.size())];
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

/// For each property: what refutes its other values, or what of it is still open, or that it cannot show.
void Fit::explain(FitResult& result) {
  const std::vector<std::size_t> named = evidence_.named();
  const std::vector<std::size_t> all = numbers_between(0, evidence_.size());
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    std::set<int> open;
    for (const Survivor& s : survivors_) {
      open.insert(Space::value(s.choice, property));
      if (std::find(s.free.begin(), s.free.end(), property) != s.free.end() && space_.observable(s.choice, property)) {
        for (int v = 0; v < space_.count(property); ++v) open.insert(v);
      }
    }
    if (!is_edge_rule(property)) {
      for (const Choice& core : unexpanded_) open.insert(Space::value(core, property));
    }
    if (open.size() > 1) {
      Undetermined u{property, {}};
      for (int v : open) u.values.push_back(space_.value_text(property, v));
      result.undetermined.push_back(std::move(u));
      continue;
    }
    if (!space_.observable(result.choice, property) && may_show(property)) {
      Undetermined u{property, {}};
      for (int v = 0; v < space_.count(property); ++v) u.values.push_back(space_.value_text(property, v));
      result.undetermined.push_back(std::move(u));
      continue;
    }
    bool observable = false;
    for (int v = 0; v < space_.count(property); ++v) {
      Choice other = result.choice;
      Space::set(other, property, v);
      if (v == Space::value(result.choice, property) || !space_.contains(other) ||
          space_.canonical(other) == result.choice)
        continue;
      observable = true;
      CpuEmulator emulator(space_.datapath(other));
      // A crafted probe says more than a chance result.
      for (const auto* numbers : std::initializer_list<const std::vector<std::size_t>*>{&named, &all}) {
        const auto refuting = std::find_if(numbers->begin(), numbers->end(), [&](std::size_t number) {
          return evidence_.emulate(emulator, number) != evidence_.answer(number);
        });
        if (refuting == numbers->end()) continue;
        result.rejected.push_back({property, space_.value_text(property, v), *refuting,
                                   evidence_.emulate(emulator, *refuting), evidence_.answer(*refuting)});
        break;
      }
    }
    if (!observable && space_.count(property) > 1) result.unobservable.push_back(property);
  }
}

std::vector<std::size_t> Fit::wrong_answers(const Datapath& datapath) const {
  Tiles tiles = evidence_.all();
  const Codes observed = tiles.d;
  Emulator(datapath).run(tiles);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    if (tiles.d[i] != observed[i]) wrong.push_back(i);
  }
  return wrong;
}

std::size_t Fit::mismatches(const Datapath& datapath) const { return wrong_answers(datapath).size(); }

std::optional<std::size_t> Fit::first_mismatch(const Datapath& datapath) const {
  const std::vector<std::size_t> wrong = wrong_answers(datapath);
  return wrong.empty() ? std::nullopt : std::optional(wrong.front());
}

/// Coordinate descent from the datapaths that came furthest: the fewest wrong answers.
void Fit::find_nearest(FitResult& result) {
  // A sample of the answers is enough to compare by; all of them decide at the end.
  std::vector<std::size_t> sample;
  const std::size_t step = std::max<std::size_t>(1, evidence_.size() / 1500);
  for (std::size_t n = 0; n < evidence_.size(); n += step) sample.push_back(n);
  const auto wrong = [&](const Choice& c) {
    const CpuEmulator emulator(space_.datapath(c));
    std::size_t count = 0;
    for (std::size_t n : sample) count += evidence_.emulate(emulator, n) != evidence_.answer(n) ? 1 : 0;
    return count;
  };
  std::vector<Choice> starts = cores_;
  if (starts.size() > 4) starts.resize(4);
  if (starts.empty()) {
    // Nothing came far: one start for each structure, with middling numerics.
    std::vector<std::pair<std::size_t, Choice>> ranked;
    for (int s = 0; s < static_cast<int>(space_.structures().size()); ++s) {
      for (const int f : {space_.count(Property::fraction_bits) / 2, space_.count(Property::fraction_bits) - 1}) {
        Choice c{};
        Space::set(c, Property::structure, s);
        Space::set(c, Property::fraction_bits, f);
        if (space_.contains(c)) ranked.emplace_back(wrong(c), c);
      }
    }
    std::sort(ranked.begin(), ranked.end());
    for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) starts.push_back(ranked[i].second);
  }
  std::size_t fewest = sample.size() + 1;
  for (const Choice& start : starts) {
    Choice here = start;
    std::size_t best = wrong(here);
    for (bool improved = true; improved;) {
      improved = false;
      for (std::size_t i = 0; i < kProperties; ++i) {
        for (int v = 0; v < space_.count(static_cast<Property>(i)); ++v) {
          Choice other = here;
          Space::set(other, static_cast<Property>(i), v);
          if (other == here || !space_.contains(other)) continue;
          if (const std::size_t n = wrong(other); n < best) {
            best = n;
            here = other;
            improved = true;
          }
        }
      }
    }
    if (best < fewest) {
      fewest = best;
      result.choice = here;
    }
  }
  result.datapath = space_.datapath(result.choice);
  result.mismatches = mismatches(result.datapath);

  // The smallest problem that it gets wrong: the one with the fewest terms among the answers, then made smaller still.
  const CpuEmulator emulator(result.datapath);
  std::size_t smallest_terms = ~std::size_t{0};
  for (std::size_t n = 0; n < evidence_.size(); ++n) {
    const std::uint64_t expected = evidence_.emulate(emulator, n);
    if (expected == evidence_.answer(n)) continue;
    Problem p = evidence_.problem(n);
    std::size_t terms = p.c != 0 ? 1 : 0;
    for (std::size_t k = 0; k < p.a.size(); ++k) terms += p.a[k] != 0 && p.b[k] != 0 ? 1 : 0;
    if (terms >= smallest_terms) continue;
    smallest_terms = terms;
    result.counterexample = Counterexample{std::move(p), expected, evidence_.answer(n)};
  }
  if (result.counterexample && live_ != nullptr) {
    result.counterexample = minimise(*instruction_, *live_, Emulator(result.datapath), *result.counterexample);
  }
}

}  // namespace tcnum
