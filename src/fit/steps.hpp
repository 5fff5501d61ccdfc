// The steps of a fit, in the order in which it takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "evidence.hpp"
#include "fit.hpp"
#include "space.hpp"
#include "watch.hpp"

namespace tcnum {

/// An emulator whose units are the structure's roles, so that set_numerics(space.numerics(…)) changes its numerics.
CpuEmulator emulator_of(const Space& space, const Choice& choice);

// --- Cores: everything of a datapath but its edge rules. Answers that depend on no edge rule judge them alone.

struct FoundCores {
  std::vector<Choice> cores;
  std::size_t judged;  ///< by so many of the answers: all, or none but a sample
};
/// The cores that no answer of the evidence refutes, of structures from that one on, in the order of the space; of
/// those that differ in what nothing uses, the first. If every core is refuted: those that come far, which no answer of
/// a sample refutes. Integers have few cores, which little but overflow tells apart: they are judged by a sample alone,
/// and by the rest when their edge rules are decided.
FoundCores find_cores(const Space& space, const Evidence& evidence, unsigned threads, FitWatch& watch,
                      int first_structure = 0);
/// Those of the cores that no answer from `first_answer` on refutes; all, if every one is refuted.
std::vector<Choice> unrefuted(const Space& space, const Evidence& evidence, std::vector<Choice> cores,
                              std::size_t first_answer, unsigned threads);

// --- Edge rules: what happens to subnormals, zeros, overflow and NaN. They are decided for one core at a time.

/// A datapath that explains every answer.
struct Survivor {
  Choice choice;               ///< canonical
  std::vector<Property> free;  ///< edge rules that no answer consulted: any value will do
};

/// All datapaths with this core that explain every answer, each class once.
std::vector<Survivor> decide_edge_rules(const Space& space, const Evidence& evidence, const Choice& core);

// --- The search for operands that separate two datapaths.

/// A problem for which the two datapaths give different results, or nothing if none is found among `tiles` tiles of 8 ×
/// 8 of each distribution that reaches what they differ in, and eight times as many of problems at their own
/// boundaries. Calls `go_on` now and then, which may throw.
std::optional<Problem> separate(const Space& space, const Choice& one, const Choice& other, std::uint64_t seed,
                                std::size_t tiles, const std::function<void()>& go_on = {});

// --- What is said of each property.

/// What a fit has left.
struct Remaining {
  std::span<const Survivor> survivors;  ///< at least one; the first is the result's choice
  std::span<const Choice> unexpanded;   ///< cores whose edge rules were not decided
};

/// For each property: what refutes its other values, or what of it is still open, or that it cannot show. `result` has
/// its choice. The seed is for drawing samples of what is left.
void judge_properties(const Space& space, const Evidence& evidence, const Remaining& left, std::uint64_t seed,
                      FitResult& result);

// --- Where nothing in the space explains every answer: what comes nearest, and a small problem that it gets wrong.

/// Sets the choice, the datapath, its mismatches, what of it is unobservable and the counterexample of `result`, by
/// coordinate descent from the cores that came far. A live oracle (which may be null) makes the counterexample smaller.
void find_nearest(const Space& space, const Evidence& evidence, const std::vector<Choice>& cores, Oracle* live,
                  FitResult& result);

/// All of them, until one class of datapaths is left, or none. The space may gain structures and the evidence answers;
/// `live` may be null.
FitResult eliminate(Space& space, Evidence& evidence, Oracle* live, const FitOptions& options);

}  // namespace tcnum
