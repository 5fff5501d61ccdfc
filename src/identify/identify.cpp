#include "tcnum/identify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "emu/parallel.hpp"
#include "producers.hpp"
#include "src/catalogue/classes.hpp"
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

/// Makes one of producers that compute alike and gave the same results; the one whose steps can follow each other
/// stands for both.
void merge(std::vector<Producer>& producers, std::vector<Codes>& given) {
  for (std::size_t i = 0; i < producers.size(); ++i) {
    if (producers[i].suspect.plan) continue;
    for (std::size_t j = producers.size(); --j > i;) {
      const Producer &one = producers[i], &other = producers[j];
      if (other.suspect.plan || given[i] != given[j] ||
          !computes_alike(one.suspect.of.front().datapath, other.suspect.of.front().datapath))
        continue;
      if (!one.repeats() && other.repeats()) std::swap(producers[i], producers[j]);
      std::ranges::move(producers[j].suspect.of, std::back_inserter(producers[i].suspect.of));
      const auto at = static_cast<std::ptrdiff_t>(j);
      producers.erase(producers.begin() + at);
      given.erase(given.begin() + at);
    }
  }
}

}  // namespace

std::size_t Identification::agreeing() const {
  return static_cast<std::size_t>(std::ranges::count_if(suspects, &Suspect::agrees));
}

Identification identify(const Tiles& answered, const IdentifyOptions& options) {
  std::vector<Producer> producers = producers_of(answered, options);
  if (producers.empty()) {
    throw InputError(fmt::format(
        "no datapath of the catalogue takes {} and {} with a C of {}, for {} products and results of {}; expected "
        "formats that `tcnum list --known` shows together",
        format(answered.a_format).name, format(answered.b_format).name, format(answered.c_format).name, answered.k,
        format(answered.d_format).name));
  }
  std::vector<Codes> given(producers.size());
  std::size_t done = 0;
  std::mutex telling;
  in_parallel(producers.size(), all_threads(), [&](std::size_t i) {
    given[i] = producers[i].results(answered);
    const std::lock_guard lock(telling);
    if (options.progress) options.progress(++done, producers.size());
  });
  merge(producers, given);
  for (std::size_t i = 0; i < producers.size(); ++i) compare(answered, given[i], producers[i].suspect);
  std::ranges::stable_sort(producers, std::greater(), [](const Producer& each) { return each.suspect.agreeing; });

  Identification found{answered.size(), {}, {}};
  std::vector<const Producer*> agreeing;
  for (const Producer& each : producers) {
    found.suspects.push_back(each.suspect);
    std::ranges::stable_sort(found.suspects.back().of, {}, &CatalogueEntry::arch);
    if (each.suspect.agrees()) agreeing.push_back(&each);
  }
  if (agreeing.size() > 1) found.separation = separate(answered, agreeing, options);
  return found;
}

}  // namespace tcnum
