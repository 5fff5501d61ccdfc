// tcnum explain: one dot product, bit by bit.
#include <fmt/format.h>

#include <optional>

#include "commands.hpp"
#include "names.hpp"
#include "output.hpp"
#include "src/report/explain.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/error.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// A dot problem, of which instruction, and what a file has for its result.
struct Question {
  InstructionOnArch of;
  Problem problem;
  std::optional<std::uint64_t> observed;
};

Question question_of_file(const ExplainOptions& options) {
  if (!options.a.empty() || !options.b.empty() || !options.c.empty()) {
    throw InputError("explain: right would be either --in FILE or --a, --b and --c");
  }
  const Vectors vectors = read_vectors(options.in, false);
  const InstructionOnArch of = instruction_of_file(options.in, vectors, options.arch, options.instruction);
  const Tiles tiles = dot_problems(vectors.tiles, vectors.metadata);
  if (options.index >= tiles.size()) {
    throw InputError(fmt::format("--index: {}; right would be a number below {}, the results of {}", options.index,
                                 tiles.size(), options.in));
  }
  return {of, problem_at(tiles, options.index), vectors.tiles.d[options.index]};
}

Question question_of_codes(const ExplainOptions& options) {
  if (options.arch.empty() || options.instruction.empty()) {
    throw InputError("explain: --arch or --instr: missing; right would be both, or --in FILE");
  }
  const ArchId id = parse_arch(options.arch);
  const Instruction& in = parse_instruction(options.instruction, id);
  return {{id, &in}, parse_problem(in, options.a, options.b, options.c), std::nullopt};
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const Question question = options.in.empty() ? question_of_codes(options) : question_of_file(options);
  const auto& [id, instruction] = question.of;
  const NamedDatapath datapath = choose_datapath(options.datapath, id, *instruction, "--instr");
  std::string text = fmt::format("{} on {}, datapath {} ({})\n\n", instruction->name(), arch(id).name, datapath.account,
                                 datapath.origin);
  text += explain_text(datapath.datapath, question.problem);
  if (question.observed) text += fmt::format("  the file has {}\n", hex(format(instruction->d), *question.observed));
  say(text);
  return kAgreed;
}

}  // namespace tcnum
