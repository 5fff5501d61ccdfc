// The fit: finds the datapath behind an instruction's answers, with the evidence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum class Verdict : std::uint8_t {
  identified,   ///< one class of datapaths is left, which no input tells apart; it explains every answer
  ambiguous,    ///< more than one explains every answer
  unexplained,  ///< no datapath of the space does
};
/// "identified".
std::string_view name(Verdict verdict);

/// What a fit is at.
struct FitProgress {
  std::string_view phase;      ///< in plain words: a literal, which a NUL ends
  std::size_t done = 0;        ///< steps of the phase
  std::size_t all = 0;         ///< 0: nobody knows how many
  std::size_t candidates = 0;  ///< that explain all answers so far; 0: too early to say
};
/// A fit that its progress has stopped.
struct FitStopped : std::runtime_error {
  FitStopped() : std::runtime_error("the fit was stopped") {}
};

struct FitOptions {
  std::uint64_t seed = 1;  ///< of random operands
  unsigned threads = 1;
  /// Tiles of 8 × 8 of each distribution of random operands that a live oracle is asked beside the crafted problems.
  std::size_t tiles_per_distribution = 16;
  /// Tiles of each distribution that the search for a separating operand tries for one pair of datapaths.
  std::size_t search_tiles = 120;
  /// Called some times a second, by any thread but never by two at once. False: the fit ends with FitStopped.
  std::function<bool(const FitProgress&)> progress = {};
};

/// A problem that a datapath gets wrong.
struct Counterexample {
  Problem problem;
  std::uint64_t expected = 0;  ///< by the datapath
  std::uint64_t observed = 0;
};

/// A value of a property that an answer refutes. docs/space.md has the properties and what their values mean.
struct RefutedValue {
  std::string property, value;
  std::size_t answer = 0;  ///< its number, in the order in which answers came
  std::uint64_t expected = 0, observed = 0;
};

/// A property of which more than one value explains every answer.
struct OpenProperty {
  std::string property;
  std::vector<std::string> values;
};

struct FittedDatapath {
  Verdict verdict = Verdict::unexplained;
  Datapath datapath;           ///< one that explains every answer; if unexplained, the nearest that was found
  double considered = 0;       ///< datapaths in the space
  double surviving = 0;        ///< of them, those that explain every answer
  std::size_t mismatches = 0;  ///< answers that `datapath` gets wrong: 0, unless unexplained
  std::vector<RefutedValue> refuted;
  std::vector<OpenProperty> open;
  std::optional<Counterexample> counterexample;  ///< if unexplained
  Tiles answers;                                 ///< all dot problems that were asked or given, with what was answered
};

/// Asks a live oracle until one class of datapaths is left, or none, or no operand that separates what is left is
/// found. What the oracle does to operands does not matter. Throws what the oracle throws, and InputError if it leaves
/// fewer or more results than there are problems.
FittedDatapath fit_datapath(const Instruction& instruction, Oracle& oracle, const FitOptions& options = {});

/// The same from recorded answers alone: dense dot problems of the instruction's formats, as many products each as the
/// instruction has (of a sparse one: dot_problems() of sparse_tiles.hpp makes them). Throws InputError if they are
/// others.
FittedDatapath fit_datapath(const Instruction& instruction, Tiles recorded, const FitOptions& options = {});

}  // namespace tcnum
