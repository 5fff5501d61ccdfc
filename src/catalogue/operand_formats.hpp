// What --format names: one number format, several of one width, or operands with block scales; and the instructions of
// an architecture that take them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// A name for several formats of operands, or for operands with block scales.
struct FormatName {
  std::string_view name;
  std::span<const FormatId> formats;  ///< that A and B may have
  std::optional<ScaleRule> scales = {};
  std::span<const ScaleKind> kinds = {};  ///< of instructions with such scales, the one to prefer first
};
std::span<const FormatName> format_names();
/// The scales that an instruction has, for the elements of A that are stored; nothing if it has none.
std::optional<ScaleRule> scales_of(const Instruction& instruction);
/// Null if it is none of them.
const FormatName* find_format_name(std::string_view text);
/// "fp8e4m3 or fp8e5m2 with a ue8m0 scale for each 32 elements".
std::string meaning_of(const FormatName& name);

/// What such a name, or a number format's, stands for on an architecture.
struct Operands {
  ArchId arch;
  std::string name;                  ///< as people know it: "fp8", "fp8e4m3"
  std::vector<FormatId> formats;     ///< those that the architecture has
  ScaleKind kind = ScaleKind::none;  ///< of block scales; none: with or without
  ScaleRule scales = {};             ///< of the elements that are stored

  /// Whether an operand is of one of the formats; of block scales, both.
  bool are_of(const Instruction& instruction) const;
};
/// Nothing if the text is no such name, or no instruction of the architecture takes what it stands for.
std::optional<Operands> find_operands(std::string_view text, ArchId arch);

/// Those that take the operands, in the order of the architecture's. The wgmma rows are represented by N = 8.
std::vector<const Instruction*> instructions_of(const Operands& operands);
/// One for each of the formats, which both its operands have: what instruction_for() takes; with block scales the dense
/// one that it would take. Throws InputError if no datapath is known of any.
std::vector<const Instruction*> instructions_for(const Operands& operands);

}  // namespace tcnum
