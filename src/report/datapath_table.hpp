// The datapaths of architectures as one compact table, as papers print it.
#pragma once

#include <vector>

#include "property_table.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {

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
    "bits "
    "kept below the largest exponent (24|32: of the first term 32). Cut, rounding: RZ, RN, RA, RU, RD: toward zero, to "
    "nearest even, to nearest away, up, down. Output bits: of the fraction, after each rounding in turn. Accumulator: "
    "aligned with the other terms, added after them, or the first of a chain. Zero exponent: a floor under the "
    "alignment; "
    "natural: zeros are aligned by the exponents of their operands.";

}  // namespace tcnum
