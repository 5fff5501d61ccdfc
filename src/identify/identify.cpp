#include "tcnum/identify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include "emu/parallel.hpp"
#include "separation.hpp"
#include "src/catalogue/classes.hpp"
#include "subjects.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

void compare(const Tiles& answered, const Codes& given, Suspect& suspect) {
  for (std::size_t i = 0; i < answered.d.size(); ++i) {
    if (same_result(answered.d_format, answered.d[i], given[i])) {
      ++suspect.agreeing;
    } else if (!suspect.first_wrong) {
      suspect.first_wrong = i;
      suspect.its_result = given[i];
    }
  }
}

/// Whether they differ in nothing but the number of products of a step, or the format of c.
bool computes_alike(const Datapath& one, Datapath other) {
  other.numerics.c.format = one.numerics.c.format;
  return same_chain(one, other);
}

/// Makes one of subjects that compute alike and gave the same results; the one whose steps can follow each other stands
/// for both.
void merge(std::vector<Subject>& subjects, std::vector<Codes>& given) {
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (subjects[i].suspect.plan) continue;
    for (std::size_t j = subjects.size(); --j > i;) {
      const Subject &one = subjects[i], &other = subjects[j];
      if (other.suspect.plan || given[i] != given[j] ||
          !computes_alike(one.suspect.of.front().datapath, other.suspect.of.front().datapath))
        continue;
      if (!one.repeats() && other.repeats()) std::swap(subjects[i], subjects[j]);
      std::ranges::move(subjects[j].suspect.of, std::back_inserter(subjects[i].suspect.of));
      const auto at = static_cast<std::ptrdiff_t>(j);
      subjects.erase(subjects.begin() + at);
      given.erase(given.begin() + at);
    }
  }
}

}  // namespace

std::size_t Identification::agreeing() const {
  return static_cast<std::size_t>(std::ranges::count_if(suspects, &Suspect::agrees));
}

Identification identify(const Tiles& answered, const IdentifyOptions& options) {
  std::vector<Subject> subjects = subjects_of(answered, options);
  if (subjects.empty()) {
    throw InputError(fmt::format(
        "no datapath of the catalogue takes {} and {} with a C of {}, for {} products and results of {}; expected "
        "formats that `tcnum list --known` shows together",
        format(answered.a_format).name, format(answered.b_format).name, format(answered.c_format).name, answered.k,
        format(answered.d_format).name));
  }
  std::vector<Codes> given(subjects.size());
  std::size_t done = 0;
  std::mutex telling;
  in_parallel(subjects.size(), all_threads(), [&](std::size_t i) {
    given[i] = subjects[i].results(answered);
    const std::lock_guard lock(telling);
    if (options.progress) options.progress(++done, subjects.size());
  });
  merge(subjects, given);
  for (std::size_t i = 0; i < subjects.size(); ++i) compare(answered, given[i], subjects[i].suspect);
  std::ranges::stable_sort(subjects, std::greater(), [](const Subject& each) { return each.suspect.agreeing; });

  Identification found{answered.size(), {}, {}};
  std::vector<const Subject*> agreeing;
  for (const Subject& each : subjects) {
    found.suspects.push_back(each.suspect);
    std::ranges::stable_sort(found.suspects.back().of, {}, &CatalogueEntry::arch);
    if (each.suspect.agrees()) agreeing.push_back(&each);
  }
  if (agreeing.size() > 1) found.separation = separate(answered, agreeing, options);
  return found;
}

}  // namespace tcnum
