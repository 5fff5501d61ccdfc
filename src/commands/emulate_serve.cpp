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
#include "src/files/batch.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

constexpr const char* kInput = "standard input";

/// Reads so many bytes, in pieces, so that none but those that come take memory; fewer at the end of the input.
std::vector<std::byte> read_bytes(std::uint64_t wanted) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  std::vector<std::byte> bytes;
  while (bytes.size() < wanted) {
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(std::min(kPiece, wanted - before)));
    const ssize_t n = read(STDIN_FILENO, bytes.data() + before, bytes.size() - before);
    const int error = errno;
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) break;
    if (n < 0 && error != EINTR) fail_system(kInput, "cannot be read", error);
  }
  return bytes;
}

/// The next question; nothing at the end of the input.
std::optional<std::vector<std::byte>> next_question(std::size_t number) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 34;
  std::uint64_t length = 0;
  const std::vector<std::byte> frame = read_bytes(sizeof length);
  if (frame.empty()) return std::nullopt;
  if (frame.size() == sizeof length) std::memcpy(&length, frame.data(), sizeof length);
  if (length > kMostBytes) {
    throw InputError(fmt::format("{}: question {}: its length is {} bytes; right would be at most {}", kInput, number,
                                 length, kMostBytes));
  }
  std::vector<std::byte> question = read_bytes(length);
  if (frame.size() < sizeof length || question.size() < length) {
    throw InputError(fmt::format("{}: question {}: ends after {} bytes; right would be 8 that hold its length, and {}",
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

/// What is served, and what questions to it look like.
struct Served {
  Datapath datapath;
  QuestionForm form;
  const Instruction* sparse = nullptr;  ///< the instruction, if it is that
};
Served served(const EmulateOptions& options) {
  if (options.arch.empty() != options.instruction.empty() || (options.arch.empty() && options.datapath.empty()))
    throw InputError("--serve: right would be --datapath FILE, or --arch and --instr, with it");
  if (options.arch.empty()) {
    Datapath own = named_datapath(options.datapath).datapath;
    const Numerics& n = own.numerics;
    QuestionForm form{n.a.format, n.b.format, n.c.format, n.result, static_cast<std::size_t>(own.tree.k)};
    if (n.scales) {
      form.scale_block = n.scales->block_k;
      form.scale_format = n.scales->format;
    }
    return {std::move(own), form, nullptr};
  }
  const ArchId id = parse_arch(options.arch);
  const Instruction& in = parse_instruction(options.instruction, id);
  const int group = make_operands(in, 1, 1, 1).sparse_group;
  return {choose_datapath(options.datapath, id, in, "--instr", options.account).datapath,
          {in.a, in.b, in.c, in.d, static_cast<std::size_t>(in.k), group, in.scales.block_k, in.scales.format},
          in.sparse() ? &in : nullptr};
}

}  // namespace

int serve_datapath(const EmulateOptions& options) {
  if (!options.in.empty() || !options.out.empty())
    throw InputError("--serve: reads standard input and writes standard output; right would be no --in and no --out");
  const auto [datapath, form, sparse] = served(options);
  const Emulator emulator(datapath);
  for (std::size_t number = 1;; ++number) {
    const std::optional<std::vector<std::byte>> question = next_question(number);
    if (!question) return kAgreed;
    Tiles tiles = read_question(MemorySource(fmt::format("{}: question {}", kInput, number), *question), form);
    if (sparse != nullptr && first_illegal_group(*sparse, tiles.e) != tiles.e.size()) {
      throw InputError(fmt::format("{}: question {}: tensor E: right would be positions that {} can have", kInput,
                                   number, sparse->name()));
    }
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
