// The evidence: all answers so far, what the emulator says of the same problems, and what each was asked for; and how
// more are asked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "emu/lazy.hpp"
#include "src/questions/battery.hpp"
#include "structure.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// first, first + 1, … last − 1.
std::vector<std::size_t> numbers_between(std::size_t first, std::size_t last);

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
  bool explained_by(const CpuEmulator& emulator, std::size_t number) const {
    return emulate(emulator, number) == answer(number);
  }
  /// Numbers of the answers that a datapath does not give, ascending.
  std::vector<std::size_t> wrong_answers(const Datapath& datapath) const;

  /// Says that an answer is a crafted problem's; of several that ask the same, the first counts.
  void set_crafted(std::size_t number, std::string name, ProblemPurpose purpose);
  /// The same of all of these that were asked.
  void set_crafted(const std::vector<CraftedProblem>& crafted);
  /// The same of the instruction's battery.
  void name_battery() { set_crafted(battery(*instruction_)); }
  /// Where the answer came from: the name of its problem, or its origin ("recorded", a distribution).
  std::string name_of(std::size_t number) const;
  /// What it was crafted for, if it was.
  std::optional<ProblemPurpose> purpose_of(std::size_t number) const;
  /// Numbers of the answers to crafted problems, ascending.
  std::vector<std::size_t> crafted() const;

  const Instruction& instruction() const { return *instruction_; }
  /// All tiles, as one, if they have the same m and n.
  Tiles all() const;

 private:
  struct Block {
    Tiles tiles;
    std::string origin;
    std::size_t first = 0;
    std::array<Lazy<DecodedTiles>, 16> decoded;  // by operand rules
  };
  struct Place {
    const Block& block;
    std::size_t t, i, j;
  };
  struct Crafted {
    std::string name;
    ProblemPurpose purpose;
  };
  Place place(std::size_t number) const;
  static const DecodedTiles& decoded(const Block& block, const Numerics& numerics);

  const Instruction* instruction_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t size_ = 0;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
  std::unordered_map<std::size_t, Crafted> crafted_;
};

class AnswersAlone final : public Oracle {
 public:
  explicit AnswersAlone(Oracle& oracle) : oracle_(oracle) {}

  void answer(Tiles& tiles) override;
  OracleKind kind() const override { return oracle_.kind(); }
  std::string device() const override { return oracle_.device(); }
  std::map<std::string, std::string> provenance() const override { return oracle_.provenance(); }

 private:
  Oracle& oracle_;
};

/// Asks a live oracle, or, without one, what the evidence holds already.
class Asker {
 public:
  Asker(Evidence& evidence, Oracle* live) : evidence_(&evidence), live_(live) {}

  bool live() const { return live_ != nullptr; }
  const Instruction& instruction() const { return evidence_->instruction(); }

  /// The answers, as far as there are any. What a live oracle answers joins the evidence, with that origin.
  std::vector<std::optional<std::uint64_t>> ask(const std::vector<Problem>& problems, const std::string& origin);
  /// The crafted problems; and of a live oracle random problems of every distribution.
  /// Crafted problems, by name.
  void ask_crafted(const std::vector<CraftedProblem>& crafted, const std::string& origin);
  void ask_battery(const FitOptions& options);

 private:
  Evidence* evidence_;
  Oracle* live_;
};

/// Which products share a block, and in which order the blocks come, as the answers suggest (block_order.cpp); none, if
/// there is one block or no telling.
Blocks find_blocks(Asker& asker);

}  // namespace tcnum
