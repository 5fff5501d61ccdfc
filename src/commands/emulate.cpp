// tcnum emulate: fills the results of a vector file; or with --serve, a datapath as a program that answers.
#include <unistd.h>

#include <cerrno>

#include "emu/parallel.hpp"
#include "io/failures.hpp"
#include "io/input_file.hpp"
#include "io/replacement_file.hpp"
#include "output.hpp"
#include "src/files/batch.hpp"
#include "src/report/layout.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {
namespace {

/// How many compute.
unsigned threads_of(const EmulateOptions& options) {
  return options.threads == 0 ? all_threads() : static_cast<unsigned>(options.threads);
}

// --- A datapath as a program that answers, for whoever asks programs; docs/oracles.md has what it reads and writes.

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

/// Answers until the input ends.
int serve_datapath(const EmulateOptions& options) {
  const auto served = named_subject(options.arch, options.instruction, options.datapath);
  if (!served) throw InputError("--serve: expected --datapath FILE, or --arch and --instr, with it");
  const Instruction& instruction = *served->instruction;
  const Datapath datapath = datapath_for(*served, "--serve", options.datapath).datapath;
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

}  // namespace

int run_emulate(const EmulateOptions& options) {
  if (options.serve) return serve_datapath(options);
  if (options.in.empty()) throw InputError("--in: missing; expected a vector file with A, B and C, or --serve");
  if (options.out.empty()) throw InputError("--out: missing; expected a file to write");
  require_vectors_writable(options.out, options.form);
  VectorsInFile file = read_vectors_in(options.in, {.arch = options.arch,
                                                    .instruction = options.instruction,
                                                    .datapath = options.datapath,
                                                    .form = options.in_form,
                                                    .results = false});
  const NamedDatapath chosen = datapath_for(file, options.in, options.datapath);
  Vectors& vectors = file.vectors;
  Tiles problems = dot_problems(vectors.tiles, vectors.metadata);
  const ProgressLine progress(fmt::format("emulating {}", plural(problems.size(), "dot product")));
  if (options.exact)
    emulate_exact(chosen.datapath, problems);
  else
    Emulator(chosen.datapath).run(problems, threads_of(options));
  vectors.tiles.d = std::move(problems.d);
  attribute_to_emulator(vectors, fmt::format("{}: {}", chosen.account, chosen.origin));
  write_vectors_of(file, options.out, vectors, options.form);
  return kAgreed;
}

}  // namespace tcnum
