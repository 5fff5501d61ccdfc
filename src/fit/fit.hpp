// The fit: removes from the space every datapath that disagrees with any answer, and asks for more answers until one
// class of datapaths is left, or none.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "space.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum class Verdict : std::uint8_t { identified, ambiguous, unexplained };
std::string_view name(Verdict verdict);

/// All answers so far, in the order in which they came. An answer's number is its place in that order, which is also
/// its place in the vector file that `probe --record` writes.
class Evidence {
 public:
  explicit Evidence(const Instruction& instruction) : instruction_(&instruction) {}

  void add(Tiles answered, std::string origin);

  std::size_t size() const { return size_; }
  std::uint64_t answer(std::size_t number) const;
  Problem problem(std::size_t number) const;
  /// The answer to a problem that was asked before.
  std::optional<std::size_t> find(const Problem& problem) const;
  /// What the emulator says. The emulator's operand rules are those of its numerics.
  std::uint64_t emulate(const CpuEmulator& emulator, std::size_t number) const;
  std::uint64_t emulate(const CpuEmulator& emulator, std::size_t number, int watch_exponent, unsigned& consulted) const;

  /// Where the answer came from: the name that the problem was given, or its origin ("recorded", a family).
  std::string name_of(std::size_t number) const;
  void set_name(std::size_t number, std::string name);
  /// Numbers of the answers that have a name of their own, ascending.
  std::vector<std::size_t> named() const;

  const Instruction& instruction() const { return *instruction_; }
  /// All tiles, as one, if they have the same m and n.
  Tiles all() const;

 private:
  struct Block {
    Tiles tiles;
    std::string origin;
    std::size_t first = 0;
    mutable std::array<std::unique_ptr<DecodedTiles>, 16> decoded;  // by operand rules, made when first needed
    mutable std::array<std::once_flag, 16> decoded_once;
  };
  struct Place {
    const Block& block;
    std::size_t t, i, j;
  };
  Place place(std::size_t number) const;
  static const DecodedTiles& decoded(const Block& block, const Numerics& numerics);

  const Instruction* instruction_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t size_ = 0;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
  std::unordered_map<std::size_t, std::string> names_;
};

struct FitOptions {
  std::uint64_t seed = 1;
  unsigned threads = 1;
  /// Tiles of 8 × 8 of each family that a live oracle is asked beside the battery.
  std::size_t tiles_per_family = 16;
  /// Tiles of each family that the search for a separating operand tries for one pair of datapaths.
  std::size_t search_tiles = 120;
};

/// An alternative that an answer refutes.
struct Rejection {
  Property property;
  std::string value;
  std::size_t probe = 0;  ///< number of the answer
  std::uint64_t expected = 0, observed = 0;
};

struct Undetermined {
  Property property;
  std::vector<std::string> values;
};

struct Counterexample {
  Problem problem;
  std::uint64_t expected = 0, observed = 0;
};

struct FitResult {
  Verdict verdict = Verdict::unexplained;
  Choice choice{};  ///< the datapath, or the nearest one if unexplained
  Datapath datapath;
  double considered = 0;  ///< datapaths in the space
  double surviving = 0;   ///< of them, those that explain every answer
  std::size_t classes = 0;
  std::size_t mismatches = 0;  ///< of `datapath`, among all answers
  std::vector<Rejection> rejected;
  std::vector<Property> unobservable;
  std::vector<Undetermined> undetermined;
  std::optional<Counterexample> counterexample;
  std::size_t separating = 0;     ///< operands that were found and asked because they separate two datapaths
  std::size_t search_effort = 0;  ///< dot problems tried in searches that found none
};

class Fit {
 public:
  /// `live` may be null: then only what is added by add_recorded() is known.
  Fit(const Instruction& instruction, Oracle* live, FitOptions options);

  void add_recorded(Tiles tiles) { evidence_.add(std::move(tiles), "recorded"); }
  FitResult run();

  const Evidence& evidence() const { return evidence_; }
  const Space& space() const { return space_; }

  /// Whether a datapath gives every answer; else the number of the first that it does not.
  std::optional<std::size_t> first_mismatch(const Datapath& datapath) const;
  std::size_t mismatches(const Datapath& datapath) const;

 private:
  struct Survivor {
    Choice choice;
    std::vector<Property> free;  ///< edge properties that no answer consulted: any value will do
  };

  std::vector<std::optional<std::uint64_t>> ask(const std::vector<Problem>& problems, const std::string& origin);
  void ask_battery();
  void infer_order();
  std::vector<std::vector<int>> blocks_by_swallowing();
  std::vector<std::vector<int>> blocks_by_clamping();
  void collect_probes();
  bool reproduces(const CpuEmulator& emulator, unsigned inconclusive, const std::vector<std::size_t>& numbers,
                  std::vector<std::size_t>& order) const;
  CpuEmulator emulator_of(const Choice& choice) const;
  std::vector<std::size_t> wrong_answers(const Datapath& datapath) const;
  std::vector<Choice> cores_of(int structure) const;
  std::vector<Survivor> expand(const Choice& core) const;
  void eliminate(FitResult& result);
  void filter_cores(const std::vector<std::size_t>& numbers);
  void thin_out(FitResult& result);
  void expand_all();
  std::optional<Problem> search(const Choice& one, const Choice& other, std::size_t tiles) const;
  std::size_t ask_separating(const std::vector<Problem>& problems, FitResult& result);
  bool separate_survivors(FitResult& result);
  bool may_show(Property property) const;
  void explain(FitResult& result);
  void find_nearest(FitResult& result);
  double survivors_in_all() const;

  const Instruction* instruction_;
  Oracle* live_;
  FitOptions options_;
  Space space_;
  Evidence evidence_;
  std::vector<std::size_t> exact_probes_, dense_probes_;  // answers that kill most datapaths, see collect_probes
  std::vector<Survivor> survivors_;
  std::vector<Choice>
      cores_;  // what the answers that consult no edge rule have left; if nothing survives, what came far
  std::vector<Choice> unexpanded_;                   // those of cores_ that were too many to look at
  std::set<std::pair<Choice, Choice>> inseparable_;  // as far as searches could tell
  std::uint64_t search_round_ = 0;
  std::size_t lengthened_ = 0;  // how often searches have been made longer
};

}  // namespace tcnum
