// What the user names and types: architectures, formats, instructions, datapaths, numbers, dot problems, programs. Each
// function throws an InputError that names the option and says what is expected.
#pragma once

#include <limits>

#include "commands.hpp"
#include "src/catalogue/operand_formats.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/program_oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

// --- Numbers: what is meant, exactly

/// Decimal digits alone: "-1", "010" and "0x10" mean different things to different people.
std::uint64_t parse_whole(std::string_view option, std::string_view text, std::uint64_t least = 0,
                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A whole number from 1 to 1e15: "100000000", "1e8", "2.5e9".
std::uint64_t parse_count(std::string_view option, std::string_view text);

/// A decimal number above 0, up to `most`.
double parse_positive(std::string_view option, std::string_view text, double most);

/// Any finite number: a decimal one, which is rounded ("0.75", "-1e-3"), or of fp64 another of those that
/// code_of_written() reads, but no code: "2^-14", "0x1.8p3".
double parse_number(std::string_view option, std::string_view text);

/// "2/5".
std::pair<std::uint64_t, std::uint64_t> parse_shard(std::string_view option, std::string_view text);

/// The parts between commas, or another character; empty ones too.
std::vector<std::string> split(std::string_view text, char at = ',');

// --- Names of architectures, formats, instructions, datapaths, plans and GPUs

/// As find_arch() does.
ArchId parse_arch(std::string_view text);

/// Throws InputError unless the text is a format's name, or a FormatName's.
void require_format_name(std::string_view option, std::string_view text);
/// Any format that there is; a name that stands for several is refused, and says for which.
FormatId parse_any_format(std::string_view option, std::string_view text);

/// What --format names, which some instruction of the architecture takes.
Operands parse_operands(std::string_view text, ArchId of);
/// The instruction of instructions_for(), of which there must be one.
const Instruction& parse_operands_of_one(std::string_view text, ArchId of);

/// An instruction that the architecture has.
const Instruction& parse_instruction(std::string_view text, ArchId of);

/// The instructions of the architecture whose names match a pattern ("mma.*"); all, if it is empty.
std::vector<const Instruction*> matching_instructions(const std::string& pattern, ArchId of);

/// What a vector file holds answers of.
struct InstructionOnArch {
  ArchId arch;
  const Instruction* instruction;
};
/// `arch_text` and `instruction_text` are what the user says it is, if anything; it must be that.
InstructionOnArch instruction_of_file(const std::string& path, const Vectors& vectors, const std::string& arch_text,
                                      const std::string& instruction_text);

/// What comes before the file's name where `--from` names a datapath.
inline constexpr std::string_view kDatapathPrefix = "datapath:";
/// What comes before the command where it names a program.
inline constexpr std::string_view kProgramPrefix = "exec:";
/// The datapath that `--from` names, for named_datapath(): after the prefix, or one of the catalogue. Empty, if none.
std::string datapath_of_source(std::string_view from);

/// A datapath and what it is called; `origin` says too how well it is known.
struct NamedDatapath {
  Datapath datapath;
  std::string account, origin;
  std::string lowered_to = {};  ///< CatalogueEntry
};
/// What the user calls it: the file's name, or "the fitted datapath".
std::string called(const NamedDatapath& datapath);
/// Wherever the user names a datapath: a file, or one of the catalogue as "sm_90:wgmma.m64n8k16.f32.f16.f16", with an
/// account after another colon if it is not to be the first.
NamedDatapath named_datapath(const std::string& text);
/// One so named that can be the instruction's.
NamedDatapath own_datapath(const std::string& name, const Instruction& instruction);
/// One so named, or if `name` is empty an account of the instruction: that of its name, or the first. `where` names
/// what asks for it, in errors.
NamedDatapath choose_datapath(const std::string& name, ArchId of, const Instruction& instruction,
                              std::string_view where, const std::string& account = {});

/// What --plan names: a plan by its name, for operands of that format (without one, throws InputError that asks for
/// --format), or a file. `output`: another format of D than the plan's.
GemmPlan parse_plan(const std::string& name, std::optional<FormatId> operands,
                    std::optional<FormatId> output = std::nullopt);

/// "3,0,12": a place below these extents, such as a tile's, a row's and a column's. `what` says what they are of.
std::vector<std::size_t> parse_place(std::string_view option, const std::string& text,
                                     const std::vector<std::size_t>& extents, std::string_view what);

/// Those of the instructions that the datapath can be of, at least one.
std::vector<const Instruction*> fitting_instructions(const Datapath& datapath,
                                                     const std::vector<const Instruction*>& instructions,
                                                     const std::string& file);

/// "0", "0,1" or "all", of so many GPUs.
std::vector<int> parse_devices(const std::string& text, int present);

// --- Dot problems on the command line: operands as numbers or codes, and places of results in files.

/// A dot problem as --a, --b, --c, --sa and --sb have it: each a list of what code_of_written() reads, between commas.
struct ProblemText {
  std::string a, b, c, sa = {}, sb = {};
};

/// The problem for a datapath. Elements that are left out are zeros, and block scales 1. Where there are more products
/// than the datapath takes, they are those of a chain, and the problem has as many as the chain takes. Throws
/// InputError that names the option.
Problem parse_problem(const Datapath& datapath, const ProblemText& text);
/// The same of as many products as the last function says, which is told the option with most elements, and how many
/// these are.
Problem parse_problem(const Numerics& numerics, const ProblemText& text,
                      const std::function<std::size_t(const std::string& option, std::size_t given)>& products);

/// A tile of 1 × 1 that is the problem, in the formats of the numerics.
Tiles tile_of(const Numerics& numerics, const Problem& problem);

// --- `--from exec:COMMAND`, where a program answers: what it is asked, and the program itself.

/// Whether `--from` names a program. Throws InputError if it does not, and options are given that only a program has.
bool names_program(std::string_view from, const ProgramCommandOptions& options);

/// Whether the options describe a dot product.
bool describes_dot(const ProgramCommandOptions& options);

/// What a program stands for.
struct ProgramSubject {
  const Instruction* instruction = nullptr;  ///< of the table, or `dot`
  std::optional<ArchId> arch;                ///< of an instruction's
  std::unique_ptr<const Instruction> dot;    ///< where it is none
};
/// An instruction of an architecture, or the dot product that the options describe. Throws InputError.
ProgramSubject program_subject(const ProgramCommandOptions& options, const std::string& arch,
                               const std::string& instruction);

inline NanBits nan_bits(const ProgramCommandOptions& options) {
  return options.any_nan ? NanBits::any : NanBits::as_they_are;
}

/// Starts the program of `--from exec:COMMAND`. Ctrl-C stops it, where an InterruptGuard lives.
std::shared_ptr<Program> program_of(std::string_view from, const ProgramCommandOptions& options);

}  // namespace tcnum
