#include "accounts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

/// What a datapath gives for the problem of an answer.
std::uint64_t result_of(const Datapath& datapath, const Evidence& evidence, std::size_t number) {
  const Instruction& in = evidence.instruction();
  const Problem problem = evidence.problem(number);
  Tiles one = make_tiles(in.a, in.b, in.c, in.d, 1, 1, 1, problem.a.size());
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    one.a.set(k, problem.a[k]);
    one.b.set(k, problem.b[k]);
  }
  one.c.set(0, problem.c);
  Emulator(datapath).run(one);
  return one.d[0];
}

/// Whether two instructions differ in no more than how their operands come in.
bool computes_the_same(const Instruction& one, const Instruction& other) {
  const auto formats = [](const Instruction& i) { return std::array{i.a, i.b, i.c, i.d}; };
  return one.name() != other.name() && formats(one) == formats(other) && one.products() == other.products() &&
         one.modifier == other.modifier;
}

}  // namespace

std::vector<AccountCheck> check_accounts(const Fit& fit, const std::vector<CatalogueEntry>& accounts) {
  std::vector<AccountCheck> checks;
  for (const CatalogueEntry& entry : accounts) {
    if (entry.fitted) continue;
    AccountCheck check{entry.account, entry.origin_and_standing(), fit.mismatches(entry.datapath), std::nullopt};
    if (const auto first = fit.first_mismatch(entry.datapath)) {
      check.refutation = {*first, result_of(entry.datapath, fit.evidence(), *first), fit.evidence().answer(*first)};
    }
    checks.push_back(std::move(check));
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
