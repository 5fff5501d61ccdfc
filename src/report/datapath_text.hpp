// Datapaths in a few words, and as rows of a table.
#pragma once

#include "layout.hpp"
#include "src/catalogue/classes.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

// --- A datapath in a few words, for a line of a list: "1×16 F=25 RZ".

/// "2×8 F=24 RZ"; "2×16 F=25 RZ, +c RN"; "4×1 FMA RN".
std::string short_text(const Datapath& datapath);

/// "RN".
std::string_view short_text(Rounding mode);

/// What short_text() writes, in words.
inline constexpr std::string_view kShortTextLegend =
    "N×B: N sums of B products, the first with c unless it is added at the end (+c). F: bits that are kept below the "
    "largest exponent (24|32: of the first term 32); exact: all. RZ, RN, RA, RU, RD: rounded toward zero, to nearest "
    "even, to nearest away, up, down; m13: to 13 fraction bits. FMA: fused multiply-adds.";

// --- What is said of the instruction that stands for a format where nobody names one.

/// "mma.m16n8k32.f32.e4m3.e4m3.f32 (lowered to HMMA of fp16)".
std::string marked_name(std::string_view instruction, std::string_view lowered_to);
/// A line on why this instruction was chosen for a format, and which others have another datapath.
std::string choice_text(ArchId arch, const Instruction& chosen);

// --- The datapaths of architectures as one compact table, as papers print it.

/// An instruction of an architecture and what is known of it.
struct KnownInstruction {
  const Instruction* instruction;
  std::vector<CatalogueEntry> accounts;
};

/// A row for each datapath that instructions of the architecture have by their first accounts, as far as the columns
/// say what it is, whatever the formats of the operands and the length of k; those that a compiler lowers come last.
/// One row that says so, if there are no instructions, or no datapath is known of any.
std::vector<TableRow> datapath_rows(const Arch& arch, const std::vector<KnownInstruction>& instructions);

/// What its words mean, for a caption.
inline constexpr std::string_view kDatapathTableLegend =
    "Fused sum: terms aligned to the largest exponent, cut, added exactly and rounded. Block k: products in a sum. F: "
    "bits kept below the largest exponent (24|32: of the first term 32). Cut, rounding: RZ, RN, RA, RU, RD: toward "
    "zero, to "
    "nearest even, to nearest away, up, down. Output bits: of the fraction, after each rounding in turn. Accumulator: "
    "aligned with the other terms, added after them, or the first of a chain. Zero exponent: a floor under the "
    "alignment; natural: zeros are aligned by the exponents of their operands.";

}  // namespace tcnum
