// Cores: everything of a datapath but its edge rules. Answers that depend on no edge rule judge them alone.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "evidence.hpp"
#include "space.hpp"
#include "watch.hpp"

namespace tcnum {

/// An emulator whose units are the structure's roles, so that set_numerics(space.numerics(…)) changes its numerics.
CpuEmulator emulator_of(const Space& space, const Choice& choice);

/// Answers in the order in which they are tried. What refutes often comes to be tried early.
class TrialOrder {
 public:
  TrialOrder() = default;
  explicit TrialOrder(std::vector<std::size_t> numbers) : numbers_(std::move(numbers)) {}
  std::size_t size() const { return numbers_.size(); }
  std::size_t operator[](std::size_t at) const { return numbers_[at]; }
  /// Moves what is at `at` towards the front.
  void promote(std::size_t at) {
    if (at > 0) std::swap(numbers_[at], numbers_[at / 2]);
  }

 private:
  std::vector<std::size_t> numbers_;
};

/// Finds the cores that no answer of the evidence, as it is now, refutes.
class CoreSearch {
 public:
  /// Of structures from `first_structure` on.
  CoreSearch(const Space& space, const Evidence& evidence, unsigned threads, FitWatch& watch, int first_structure = 0);

  struct Found {
    std::vector<Choice> cores;
    std::size_t judged;  ///< by so many of the answers: all, or none but a sample
  };
  /// Cores of these structures, in the order of the space; of those that differ in what nothing uses, the first. If
  /// every core is refuted: those that come far, which no answer of a sample refutes. Integers have few cores, which
  /// little but overflow tells apart: they are judged by a sample alone, and by the rest when their edge rules are
  /// decided.
  Found find();

 private:
  /// Each worker's own, and kept for the next structure.
  struct Orders {
    TrialOrder alignment, all;
  };
  class Structurewise;
  /// What an answer can judge of sums that are apart from c.
  struct Shape {
    std::size_t number;
    std::vector<int> products;  ///< those that are not zero
    bool c_is_zero;
  };

  void find_shapes();
  void choose_first();
  std::vector<Choice> find_by(const std::vector<std::size_t>& numbers);
  Orders take_orders(const std::vector<std::size_t>& numbers);

  const Space& space_;
  const Evidence& evidence_;
  unsigned threads_;
  FitWatch& watch_;
  int first_structure_;
  std::vector<std::size_t> alignment_, first_;  // numbers of answers: see choose_first
  std::vector<Shape> shapes_;                   // where structures sum apart from c
  std::vector<Orders> orders_;                  // that no worker has at the moment
  std::mutex mutex_;
};

/// Those of the cores that no answer from `first_answer` on refutes; all, if every one is refuted.
std::vector<Choice> unrefuted(const Space& space, const Evidence& evidence, std::vector<Choice> cores,
                              std::size_t first_answer, unsigned threads);

}  // namespace tcnum
