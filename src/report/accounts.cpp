#include "accounts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <utility>

#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

/// How much there is to look at.
struct Size {
  int terms = 0, bits = 0;
  friend auto operator<=>(const Size&, const Size&) = default;
};

Size size_of(const Problem& problem) {
  Size size{problem.c != 0 ? 1 : 0, std::popcount(problem.c)};
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    size.terms += problem.a[k] != 0 || problem.b[k] != 0 ? 1 : 0;
    size.bits += std::popcount(problem.a[k]) + std::popcount(problem.b[k]);
  }
  return size;
}

/// Whether two instructions differ in no more than how their operands come in.
bool computes_the_same(const Instruction& one, const Instruction& other) {
  const auto formats = [](const Instruction& i) { return std::array{i.a, i.b, i.c, i.d}; };
  return one.name() != other.name() && formats(one) == formats(other) && one.products() == other.products() &&
         one.modifier == other.modifier;
}

}  // namespace

Judgement judge(const Datapath& datapath, const Evidence& evidence) {
  Tiles tiles = evidence.all();
  Emulator(datapath).run(tiles);
  Judgement judgement;
  Size smallest;
  for (std::size_t number = 0; number < evidence.size(); ++number) {
    if (tiles.d[number] == evidence.answer(number)) continue;
    ++judgement.mismatches;
    const Size size = size_of(evidence.problem(number));
    if (judgement.refutation && size >= smallest) continue;
    smallest = size;
    judgement.refutation = {number, tiles.d[number], evidence.answer(number)};
  }
  return judgement;
}

std::vector<AccountCheck> check_accounts(const Evidence& evidence, const std::vector<CatalogueEntry>& accounts) {
  std::vector<AccountCheck> checks;
  for (const CatalogueEntry& entry : accounts) {
    if (!entry.fitted) checks.push_back({judge(entry.datapath, evidence), entry.account, entry.origin_and_standing()});
  }
  return checks;
}

std::vector<Relative> check_relatives(const Fit& fit, ArchId arch) {
  const Instruction& own = fit.space().instruction();
  std::vector<Relative> relatives;
  std::vector<std::pair<Datapath, std::size_t>> known;  // most have one of few datapaths
  for (const Instruction* other : instructions_of(arch)) {
    if (!computes_the_same(*other, own)) continue;
    const std::vector<CatalogueEntry> entries = catalogue(arch, *other);
    if (entries.empty() || !entries[0].fitted) continue;
    auto found = std::ranges::find(known, entries[0].datapath, &std::pair<Datapath, std::size_t>::first);
    if (found == known.end()) {
      known.emplace_back(entries[0].datapath, fit.mismatches(entries[0].datapath));
      found = known.end() - 1;
    }
    relatives.push_back({other->name(), found->second});
  }
  return relatives;
}

}  // namespace tcnum
