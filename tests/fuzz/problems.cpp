// One dot problem as a user writes it: lines of the architecture, the instruction, and the codes of a, b and c.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harnesses.hpp"
#include "src/commands/names.hpp"
#include "src/report/explain.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/emulator.hpp"
#include "tests/reference/edge_problems.hpp"

namespace tcnum::fuzz {

bool read_a_problem(std::string_view input) {
  Bytes bytes(input);
  const std::string arch_text(bytes.until('\n')), name(bytes.until('\n')), a(bytes.until('\n')), b(bytes.until('\n')),
      c(bytes.until('\n'));
  const Instruction* instruction = nullptr;
  NamedDatapath named;
  Problem problem;
  const bool taken = accepted([&] {
    const ArchId arch = parse_arch(arch_text);
    instruction = &parse_instruction(name, arch);
    named = choose_datapath("", arch, *instruction, "--instr");
    problem = parse_problem(named.datapath, {a, b, c});
  });
  if (!taken) return false;
  if (named.datapath.numerics.scales) return true;  // its scales would be 1
  const auto k = static_cast<std::size_t>(named.datapath.tree.k);
  const Emulator emulator(named.datapath);
  Tiles tile = make_tiles(instruction->a, instruction->b, instruction->c, instruction->d, 1, 1, 1, k);
  tile.c.set(0, problem.c);
  for (std::size_t first = 0; first < problem.a.size(); first += k) {
    if (first > 0) tile.c.set(0, tile.d[0]);
    for (std::size_t i = 0; i < k; ++i) {
      tile.a.set(i, problem.a[first + i]);
      tile.b.set(i, problem.b[first + i]);
    }
    emulator.run(tile);
  }
  const std::string text = explain_text(named.datapath, problem);
  if (text.find("d = " + hex(format(instruction->d), tile.d[0])) == std::string::npos)
    wrong("what is explained is not what is emulated", text);
  static_cast<void>(problem_text(*instruction, problem, {"one", tile.d[0]},
                                 {"other", ~tile.d[0] & format(instruction->d).code_mask()}));
  return true;
}

std::vector<std::string> problems() {
  std::vector<std::string> texts;
  for (const Instruction* instruction : instructions_of(ArchId::sm_90)) {
    const NamedDatapath named = choose_datapath("", ArchId::sm_90, *instruction, "--instr");
    test::EdgeProblems edges(named.datapath, texts.size());
    const Problem problem = edges.next();
    const auto list = [](FormatId id, std::span<const std::uint64_t> codes) {
      std::vector<std::string> texts_of_codes;
      for (const std::uint64_t code : codes) texts_of_codes.push_back(hex(format(id), code));
      return fmt::format("{}", fmt::join(texts_of_codes, ","));
    };
    texts.push_back(fmt::format("sm_90\n{}\n{}\n{}\n{}\n", instruction->name(), list(instruction->a, problem.a),
                                list(instruction->b, problem.b), hex(format(instruction->c), problem.c)));
  }
  return texts;
}

}  // namespace tcnum::fuzz
