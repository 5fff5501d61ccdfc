#include "probe_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <compare>

#include "datapath_text.hpp"
#include "src/fit/description_diff.hpp"
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

/// The account with these fields as they were measured.
Datapath mended(Datapath account, const Datapath& measured, const std::vector<RefutedField>& fields) {
  for (const RefutedField& field : fields) {
    std::vector<DescriptionDiff> differences = description_diff(account, measured);
    const auto found = std::ranges::find(differences, field.field, &DescriptionDiff::field);
    if (found != differences.end() && found->exchanged) account = std::move(*found->exchanged);
  }
  return account;
}

/// The fields of an account that are refuted by themselves, if it explains every answer without them.
std::vector<RefutedField> refuted_fields(const Datapath& account, const Datapath& measured, const Evidence& evidence) {
  std::vector<RefutedField> fields;
  for (DescriptionDiff& each : description_diff(measured, account)) {
    if (!each.exchanged) return {};  // it goes with another part alone
    Judgement by = judge(*each.exchanged, evidence);
    if (by.refutation)
      fields.push_back({std::move(each.field), std::move(each.other), std::move(each.one), std::move(by)});
  }
  if (judge(mended(account, measured, fields), evidence).refutation) return {};
  return fields;
}

/// The operands, if they are few: "0x8400·0x0001, c 0x0200".
std::string operands_text(const Instruction& in, const Problem& problem) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> terms;
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    if (problem.a[k] != 0 || problem.b[k] != 0)
      terms.push_back(fmt::format("{}·{}", hex(format(in.a), problem.a[k]), hex(format(in.b), problem.b[k])));
  }
  if (problem.c != 0) terms.push_back(fmt::format("c {}", hex(format(in.c), problem.c)));
  return terms.size() > kMost ? plural(terms.size(), "term") : fmt::format("{}", fmt::join(terms, ", "));
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
    judgement.refutation = {number, {}, {}, tiles.d[number], evidence.answer(number)};
  }
  if (judgement.refutation) {
    Judgement::Refutation& refutation = *judgement.refutation;
    refutation.problem = evidence.problem(refutation.probe);
    if (evidence.purpose_of(refutation.probe)) refutation.name = evidence.name_of(refutation.probe);
  }
  return judgement;
}

std::string answer_text(const Instruction& instruction, const Judgement::Refutation& refutation,
                        std::string_view witness) {
  const Format& d = format(instruction.d);
  return fmt::format("#{} ({}): would give {}, {} gave {}", refutation.probe,
                     refutation.name.empty() ? operands_text(instruction, refutation.problem) : refutation.name,
                     hex(d, refutation.expected), witness, hex(d, refutation.observed));
}

std::vector<AccountFinding> judge_accounts(const Evidence& evidence, const std::vector<CatalogueEntry>& accounts,
                                           const Datapath* measured) {
  std::vector<AccountFinding> findings;
  for (const CatalogueEntry& entry : accounts) {
    if (entry.fitted) continue;
    AccountFinding& found = findings.emplace_back();
    found.account = entry.account;
    found.origin = entry.origin;
    found.standing = entry.standing_text();
    found.says = short_text(entry.datapath);
    found.by = judge(entry.datapath, evidence);
    if (found.by.refutation && measured != nullptr) found.fields = refuted_fields(entry.datapath, *measured, evidence);
  }
  return findings;
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
