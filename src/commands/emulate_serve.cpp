// tcnum emulate --serve: a datapath as a program that answers, for whoever asks programs; docs/oracles.md has what it
// reads and writes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "emu/parallel.hpp"
#include "emulate.hpp"
#include "io/byte_source.hpp"
#include "io/failures.hpp"
#include "io/replacement_file.hpp"
#include "names.hpp"
#include "output.hpp"
#include "src/files/batch.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

constexpr const char* kInput = "standard input";

/// The next question; nothing at the end of the input.
std::optional<std::vector<std::byte>> next_question(std::size_t number) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 34;
  std::uint64_t length = 0;
  const std::vector<std::byte> frame = read_standard_input(sizeof length);
  if (frame.empty()) return std::nullopt;
  if (frame.size() == sizeof length) std::memcpy(&length, frame.data(), sizeof length);
  if (length > kMostBytes) {
    throw InputError(fmt::format("{}: question {}: its length is {} bytes; expected at most {}", kInput, number, length,
                                 kMostBytes));
  }
  std::vector<std::byte> question = read_standard_input(length);
  if (frame.size() < sizeof length || question.size() < length) {
    throw InputError(fmt::format("{}: question {}: ends after {} bytes; expected 8 that hold its length, and {}",
                                 kInput, number, frame.size() + question.size(), length));
  }
  return question;
}

/// Whether somebody reads it.
bool write_answer(const Tiles& tiles) {
  const std::vector<std::byte> answer = answer_bytes(tiles);
  const std::uint64_t length = answer.size();
  int error = write_all(STDOUT_FILENO, std::as_bytes(std::span(&length, 1)));
  if (error == 0) error = write_all(STDOUT_FILENO, answer);
  if (error != 0 && error != EPIPE) fail_system("standard output", "cannot be written", error);
  return error == 0;
}

/// What is served, and the dot product that questions are of.
struct Served {
  Datapath datapath;
  Instruction instruction;  ///< of the table, or the datapath's own
};
Served served(const EmulateOptions& options) {
  if (options.arch.empty() != options.instruction.empty() || (options.arch.empty() && options.datapath.empty()))
    throw InputError("--serve: expected --datapath FILE, or --arch and --instr, with it");
  if (options.arch.empty()) {
    Datapath own = named_datapath(options.datapath).datapath;
    return {own, dot_of(own)};
  }
  const ArchId id = parse_arch(options.arch);
  const Instruction& in = parse_instruction(options.instruction, id);
  return {choose_datapath(options.datapath, id, in, "--instr", options.account).datapath, in};
}

}  // namespace

int serve_datapath(const EmulateOptions& options) {
  if (!options.in.empty() || !options.out.empty())
    throw InputError("--serve: reads standard input and writes standard output; expected no --in and no --out");
  const auto [datapath, instruction] = served(options);
  const Emulator emulator(datapath);
  for (std::size_t number = 1;; ++number) {
    const std::optional<std::vector<std::byte>> question = next_question(number);
    if (!question) return kAgreed;
    Tiles tiles = read_question(MemorySource(fmt::format("{}: question {}", kInput, number), *question), instruction);
    Tiles problems = gather(tiles);
    if (options.exact)
      emulate_exact(datapath, problems);
    else
      emulator.run(problems, threads_of(options));
    tiles.d = std::move(problems.d);
    if (!write_answer(tiles)) return kAgreed;
  }
}

}  // namespace tcnum
