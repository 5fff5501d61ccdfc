#include <fmt/format.h>

#include <map>
#include <utility>

#include "io/input_file.hpp"
#include "io/printable.hpp"
#include "program.hpp"
#include "src/files/batch.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// The first batch is asked twice, and so is every one that is so many after it.
constexpr std::size_t kAskedTwice = 16;

class ProgramOracle final : public Oracle {
 public:
  ProgramOracle(const Instruction& instruction, std::optional<ArchId> id, std::shared_ptr<Program> program,
                NanBits nans)
      : program_(std::move(program)), nans_(nans) {
    if (instruction.kind != InstructionKind::dot) about_["instruction"] = instruction.name();
    if (id) about_["arch"] = arch(*id).name;
    if (!instruction.scaled()) return;
    about_[kScaleFormatKey] = format(instruction.scales.format).name;
    about_[kScaleBlockKey] = std::to_string(instruction.scales.block_k);
  }

  void answer(Tiles& tiles) override {
    ++batch_;
    const std::vector<std::byte> question = question_bytes(tiles, about_);
    ask(question, tiles);
    if (batch_ % kAskedTwice != 1) return;
    const Codes first = std::move(tiles.d);
    ask(question, tiles);
    if (first != tiles.d) fail_contradiction(tiles, first);
  }

  OracleKind kind() const override { return OracleKind::program; }
  std::string device() const override { return program_->command(); }
  std::map<std::string, std::string> provenance() const override { return provenance_of(nans_); }

 private:
  void ask(const std::vector<std::byte>& question, Tiles& tiles) {
    const std::vector<std::byte> answer = program_->exchange(question, most_answer_bytes(tiles, question.size()));
    const std::string name = fmt::format("{}: answer to batch {}", shown(program_->command(), kMostOfName), batch_);
    read_answer(MemorySource(name, answer), tiles);
    if (nans_ == NanBits::any) make_nans_alike(tiles);
  }

  [[noreturn]] void fail_contradiction(const Tiles& tiles, const Codes& first) const {
    std::size_t at = 0;
    while (first[at] == tiles.d[at]) ++at;
    const int digits = 2 * first.bytes_each();
    throw ContradictionError(fmt::format(
        "{}: answers differently the second time: batch {}, tile {}, element ({}, {}) is 0x{:0{}x} at first and "
        "0x{:0{}x} then; expected answers that depend on the operands alone",
        shown(program_->command(), kMostOfName), batch_, at / (tiles.m * tiles.n), at / tiles.n % tiles.m, at % tiles.n,
        first[at], digits, tiles.d[at], digits));
  }

  std::shared_ptr<Program> program_;
  NanBits nans_;
  Metadata about_;
  std::size_t batch_ = 0;
};

}  // namespace

std::map<std::string, std::string> provenance_of(NanBits nans) {
  if (nans == NanBits::any) return {{"nan", "any"}};
  return {};
}

void make_nans_alike(Tiles& tiles) {
  const Format& d = format(tiles.d_format);
  if (!d.floating) return;
  for (std::size_t i = 0; i < tiles.d.size(); ++i) {
    if (decode(d, tiles.d[i]).number_class == NumberClass::nan) tiles.d.set(i, nan_code(d));
  }
}

std::unique_ptr<Oracle> make_program_oracle(const Instruction& instruction, std::optional<ArchId> arch,
                                            std::shared_ptr<Program> program, NanBits nans) {
  auto oracle = std::make_unique<ProgramOracle>(instruction, arch, std::move(program), nans);
  if (!instruction.sparse()) return oracle;
  return make_scattering_oracle(instruction, std::move(oracle));
}

}  // namespace tcnum
