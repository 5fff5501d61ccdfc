// Which instruction stands for a format where nobody names one, and which others there are with another datapath.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tcnum/catalogue.hpp"

namespace tcnum {

/// Dense instructions of one shape of operands and results whose datapaths are the same for every length of k.
struct DatapathClass {
  std::vector<CatalogueEntry> entries;  ///< the first of each instruction's; one that libraries use is the first

  const CatalogueEntry& front() const { return entries.front(); }
};

/// Those of an architecture that take and give what the instruction does: its own class first.
std::vector<DatapathClass> classes_like(ArchId arch, const Instruction& instruction);
/// Those of all architectures for a format of both operands, with the widest result that an architecture has for it.
std::vector<DatapathClass> classes_of(FormatId operands);

/// "mma.m16n8k32.f32.e4m3.e4m3.f32 (lowered to HMMA of fp16)".
std::string marked_name(std::string_view instruction, std::string_view lowered_to);
/// A line on why this instruction was chosen for a format, and which others have another datapath.
std::string choice_text(ArchId arch, const Instruction& chosen);

}  // namespace tcnum
