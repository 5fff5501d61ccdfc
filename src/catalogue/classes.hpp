// Instructions of the catalogue that compute the same, whatever their shapes.
#pragma once

#include <string_view>
#include <vector>

#include "tcnum/catalogue.hpp"

namespace tcnum {

/// Whether chains of them that take as many products are the same: of 8 and of 16 products, for instance.
bool same_chain(const Datapath& one, const Datapath& other);

/// Dense instructions of one shape of operands and results whose datapaths are the same for every length of k.
struct DatapathClass {
  std::vector<CatalogueEntry> entries;  ///< the first of each instruction's; one that libraries use is the first

  const CatalogueEntry& front() const { return entries.front(); }
};

/// Those of an architecture that take and give what the instruction does: its own class first.
std::vector<DatapathClass> classes_like(ArchId arch, const Instruction& instruction);
/// Those of all architectures for what --format names, of both operands, with the widest result that an architecture
/// has for it.
std::vector<DatapathClass> classes_of(std::string_view operands);

}  // namespace tcnum
