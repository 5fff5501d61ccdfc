// What the user names on the command line: architectures, formats, instructions, datapaths, GPUs. Each function
// throws an InputError that says what is expected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/catalogue/operand_formats.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

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

}  // namespace tcnum
