#include "datapath_oracle.hpp"

#include <fmt/format.h>

#include <utility>

#include "emu/check_tiles.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
void check_datapath_fits(const Datapath& datapath, const Instruction& instruction, std::string_view where) {
  const Numerics& n = datapath.numerics;
  if (datapath.tree.k != instruction.products()) {
    throw InputError(fmt::format("{}: k: {}; expected {}, {} of {}", where, datapath.tree.k, instruction.products(),
                                 instruction.sparse() ? "half the k" : "the k", instruction.name()));
  }
  struct Rule {
    std::string_view field;
    FormatId rule, operand;
  };
  for (const Rule& r :
       {Rule{"operands.a.format", n.a.format, instruction.a}, Rule{"operands.b.format", n.b.format, instruction.b},
        Rule{"operands.c.format", n.c.format, instruction.c}, Rule{"result", n.result, instruction.d}}) {
    if (reads_codes_of(r.rule, r.operand)) continue;
    throw InputError(fmt::format("{}: {}: {}; expected {}, as {} has it", where, r.field, format(r.rule).name,
                                 format(r.operand).name, instruction.name()));
  }
  if (n.scales && !instruction.scaled()) {
    throw InputError(
        fmt::format("{}: scales: {} has none; expected a datapath without scales", where, instruction.name()));
  }
  const ScaleRule wanted{instruction.scales.format, instruction.products_per_scale()};
  if (instruction.scaled() && n.scales != wanted) {
    throw InputError(fmt::format("{}: scales: expected {} for every {} products, as {} has them", where,
                                 format(wanted.format).name, wanted.block_k, instruction.name()));
  }
}

Instruction dot_of(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  Instruction dot{InstructionKind::dot, 1, 1, datapath.tree.k, n.result, n.a.format, n.b.format, n.c.format, ArchSet{}};
  if (n.scales) dot.scales = {ScaleKind::dot, n.scales->format, n.scales->block_k};
  return dot;
}

DatapathOracle::DatapathOracle(const Datapath& datapath, const Instruction& instruction, std::string where,
                               unsigned threads)
    : where_(std::move(where)), emulator_(datapath), threads_(threads) {
  check_datapath_fits(datapath, instruction, where_);
}

void DatapathOracle::answer(Tiles& tiles) { emulator_.run(tiles, threads_); }

}  // namespace tcnum
