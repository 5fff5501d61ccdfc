// Programs of the user's as oracles: simulators, other people's emulators, whatever reads operands and writes results.
// docs/oracles.md says what they read and write.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

struct ProgramOptions {
  double time_limit = 60;  ///< seconds to wait for an answer
  /// Whoever waits for an answer stops waiting, and the program, soon after this becomes true; null: nothing stops it.
  const std::atomic<bool>* stop = nullptr;
};

/// A program that answers one batch of problems after the other.
class Program;

/// `command` is split into words as a shell would, and no shell sees it. If it has "{in}" and "{out}", it is run for
/// each batch, with the names of two files in their place; else it is started here, reads batches from its standard
/// input and writes answers to its standard output. Throws InputError if it cannot be started.
std::shared_ptr<Program> start_program(const std::string& command, const ProgramOptions& options = {});

/// When nothing more will be asked: throws InputError if the program has written more than its answers, or ends with a
/// status other than 0. Asking it afterwards does, too.
void finish_program(Program& program);

/// What is made of the NaNs of a program's results.
enum class NanBits : unsigned char {
  as_they_are,
  any,  ///< every NaN is replaced with nan_code(): of software, what a NaN's bits are often nobody has decided
};

/// What reports say of it.
std::map<std::string, std::string> provenance_of(NanBits nans);
/// Replaces every NaN of the results with nan_code().
void make_nans_alike(Tiles& tiles);

/// The program as an oracle. Several may share one program, one at a time. `arch`: told to the program, beside the
/// instruction's name. answer() throws InputError where the program ends, takes too long, or answers with what is no D
/// of these problems; ContradictionError where it answers a batch otherwise the second time (the first batch and every
/// 16th after it are asked twice); UnavailableError when it is stopped.
std::unique_ptr<Oracle> make_program_oracle(const Instruction& instruction, std::optional<ArchId> arch,
                                            std::shared_ptr<Program> program, NanBits nans = NanBits::as_they_are);

}  // namespace tcnum
