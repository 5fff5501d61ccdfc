// Blind recovery of the datapaths of the catalogue, hidden behind an oracle: of each kind the one with the fewest
// products, where that takes a fit no more than seconds, and of one kind in twelve, which the seed says, the one with
// the most. Those of docs/datapaths are hidden by blind_test.
// Labels: long-parts parts=4
#include <cctype>
#include <utility>
#include <vector>

#include "blind.hpp"
#include "labels.hpp"
#include "seed_of_run.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum::catalogue_blind_test {
namespace {

struct Known {
  std::string name;  ///< of the first account that is this
  Datapath datapath;
  friend void PrintTo(const Known& known, std::ostream* out) { *out << known.name; }
};

/// Of the datapaths of a kind, which differ only in how many products they take and, if their operands have at most
/// eight bits, in the formats of these: the one with the fewest products, and the one with the most and of these with
/// the fewest bits; else the first in the catalogue.
struct Kind {
  Known shortest, longest;
};

std::vector<Kind> kinds() {
  constexpr int kNarrow = 8;
  const auto operand_bits = [](const Datapath& d) {
    return std::max(format(d.numerics.a.format).storage_bits, format(d.numerics.b.format).storage_bits);
  };
  const auto alike = [&](const Datapath& one, const Datapath& other) {
    Numerics mine = one.numerics;
    if (operand_bits(one) <= kNarrow && operand_bits(other) <= kNarrow) {
      mine.a.format = other.numerics.a.format;
      mine.b.format = other.numerics.b.format;
    }
    return mine == other.numerics;
  };
  const auto longer = [&](const Datapath& one, const Datapath& other) {
    return std::pair(one.tree.k, -operand_bits(one)) > std::pair(other.tree.k, -operand_bits(other));
  };
  std::vector<Kind> all;
  for (const Arch& arch : kArchs) {
    for (const CatalogueEntry& entry : catalogue(arch.id)) {
      std::string name = fmt::format("{} {} {}", arch.name, entry.instruction->name(), entry.account);
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      const Known known{std::move(name), entry.datapath};
      const auto kind =
          std::ranges::find_if(all, [&](const Kind& each) { return alike(each.shortest.datapath, entry.datapath); });
      if (kind == all.end()) {
        all.push_back({known, known});
      } else {
        if (entry.datapath.tree.k < kind->shortest.datapath.tree.k) kind->shortest = known;
        if (longer(entry.datapath, kind->longest.datapath)) kind->longest = known;
      }
    }
  }
  return all;
}

/// Those that a fit finds in a second or so, or in five, where sums are apart from c.
bool takes_seconds(const Datapath& datapath) {
  constexpr int kMost = 8, kMostApart = 4;
  const bool apart = std::ranges::any_of(datapath.numerics.units,
                                         [](const Unit& unit) { return unit.first_fraction_bits.has_value(); });
  return datapath.tree.k <= (apart ? kMostApart : kMost);
}

std::vector<Known> quick_ones() {
  std::vector<Known> all;
  for (Kind& kind : kinds()) {
    if (takes_seconds(kind.shortest.datapath)) all.push_back(std::move(kind.shortest));
  }
  return all;
}
std::vector<Known> longest_ones() {
  std::vector<Known> all;
  for (Kind& kind : kinds()) {
    const bool tried_already = takes_seconds(kind.shortest.datapath) && kind.longest.name == kind.shortest.name;
    if (!tried_already) all.push_back(std::move(kind.longest));
  }
  return test::those_of_run(std::move(all), 12);
}

class CatalogueBlind : public testing::TestWithParam<Known> {};
using CatalogueBlindLong = CatalogueBlind;

TEST_P(CatalogueBlind, IsIdentifiedAsWhatItIs) { expect_identified(GetParam().datapath); }
TEST_P(CatalogueBlindLong, IsIdentifiedAsWhatItIs) {
  TCNUM_TAKES_LONG();
  expect_identified(GetParam().datapath);
}

const auto kName = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Kinds, CatalogueBlind, testing::ValuesIn(quick_ones()), kName);
INSTANTIATE_TEST_SUITE_P(Kinds, CatalogueBlindLong, testing::ValuesIn(longest_ones()), kName);

}  // namespace
}  // namespace tcnum::catalogue_blind_test
