// tcnum explain: one dot product, bit by bit.
#include <memory>
#include <sstream>

#include "command.hpp"
#include "src/report/explain.hpp"
#include "src/report/report.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

struct Options {
  std::string arch, instruction, in, datapath, a, b, c;
  std::uint64_t index = 0;
};

std::uint64_t parse_operand(const std::string& option, const std::string& text, const Format& f) {
  const auto code = parse_code(text);
  if (!code || (*code & ~f.code_mask()) != 0) {
    throw InputError(fmt::format("{}: {}; right would be codes of {} such as {}", option, text, f.name, hex(f, 1)));
  }
  return *code;
}

/// "0x3c00,0x4000": the first of so many codes, the others zero.
std::vector<std::uint64_t> parse_codes(const std::string& option, const std::string& text, const Format& f, int count) {
  std::vector<std::uint64_t> codes(static_cast<std::size_t>(count), 0);
  std::istringstream in(text);
  std::size_t used = 0;
  for (std::string part; std::getline(in, part, ',');) {
    if (used == codes.size())
      throw InputError(fmt::format("{}: too many codes; right would be {} or fewer", option, count));
    codes[used++] = parse_operand(option, part, f);
  }
  return codes;
}

int explain(const Options& options) {
  std::optional<ArchId> id;
  const Instruction* instruction = nullptr;
  Problem problem;
  std::optional<std::uint64_t> observed;
  if (!options.in.empty()) {
    if (!options.a.empty() || !options.b.empty() || !options.c.empty()) {
      throw InputError("explain: right would be either --in FILE or --a, --b and --c");
    }
    const Vectors vectors = read_vectors(options.in, false);
    const Identity identity = identity_of(options.in, vectors, options.arch, options.instruction);
    id = identity.arch;
    instruction = identity.instruction;
    const Tiles tiles = dot_problems(vectors.tiles, vectors.metadata);
    if (options.index >= tiles.size()) {
      throw InputError(fmt::format("--index: {}; right would be a number below {}, the results of {}", options.index,
                                   tiles.size(), options.in));
    }
    problem = problem_at(vectors.tiles, options.index);
    observed = vectors.tiles.d[options.index];
  } else {
    if (options.arch.empty() || options.instruction.empty()) {
      throw InputError("explain: --arch or --instr: missing; right would be both, or --in FILE");
    }
    id = parse_arch(options.arch);
    instruction = &parse_instruction(options.instruction, *id);
    problem.a = parse_codes("--a", options.a, format(instruction->a), instruction->products());
    problem.b = parse_codes("--b", options.b, format(instruction->b), instruction->products());
    problem.c = options.c.empty() ? 0 : parse_operand("--c", options.c, format(instruction->c));
  }
  const NamedDatapath datapath = choose_datapath(options.datapath, *id, *instruction, "--instr");
  std::string text = fmt::format("{} on {}, datapath {} ({})\n\n", instruction->name(), arch(*id).name,
                                 datapath.account, datapath.origin);
  text += explain_text(datapath.datapath, *instruction, problem);
  if (observed) text += fmt::format("  the file has {}\n", hex(format(instruction->d), *observed));
  say(text);
  return kAgreed;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("explain", "Show one dot product bit by bit");
  const auto options = std::make_shared<Options>();
  sub->add_option("--arch", options->arch, "Architecture: " + arch_names());
  sub->add_option("--instr", options->instruction, "Instruction, by its name or its PTX spelling");
  sub->add_option("--in", options->in, "Vector file with the problem");
  sub->add_option("--index", options->index, "Number of the result in the file")->capture_default_str();
  sub->add_option("--a", options->a, "Codes of a[0], a[1], ...: 0x3c00,0x4000 (the others are zero)");
  sub->add_option("--b", options->b, "Codes of b[0], b[1], ...");
  sub->add_option("--c", options->c, "Code of c");
  sub->add_option("--datapath", options->datapath, "Datapath of your own (default: the catalogue's)");
  sub->callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace tcnum
