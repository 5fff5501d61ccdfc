#include "sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "bench/measure/gemm/product_model.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/tensor.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

/// Whether this version still makes such records.
bool is_known(const Record& r) {
  return std::ranges::find(measurements(), r.measurement, &Measurement::name) != measurements().end() ||
         r.measurement == kProductModel || r.measurement == kSingleProductModel;
}

/// The measurements of records that no section shows any more, with the number of rows; empty if there are none.
std::string left_out(const Document& document) {
  std::map<std::string, int> rows;
  for (const Record& r : document.records) {
    if (!is_known(r)) ++rows[r.measurement];
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : rows) names.push_back(fmt::format("{} ({})", name, count));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Whether a record's spread is that of a sweep's worst point, or of times.
bool has_spread_of_points(const Record& r) {
  constexpr auto kMeasurements = std::to_array<std::string_view>(
      {"latency", "bandwidth", "streams", "copy latency", "copies", "gemm", "single gemm"});
  return std::ranges::find(kMeasurements, r.measurement) != kMeasurements.end();
}

/// A line of "At a glance": the smallest or largest value among some records, and whose it is.
struct Extreme {
  std::string what;
  const char* value;
  bool least;
  int digits;
  const char* unit;
  std::function<bool(const Record&)> of;
};

std::vector<Extreme> extremes() {
  const char *const share = "% of the peak at the measured clock", *const rate = "10¹² operations a second";
  const auto wgmma = [](bool sparse, const char* axis, const char* value, double least_n, double most_n) {
    return [=](const Record& r) {
      return is_wgmma(r) && is_sparse(r) == sparse && r.text(axis) == value && *r.number("N") >= least_n &&
             *r.number("N") <= most_n && r.number("percent_of_peak");
    };
  };
  std::vector<Extreme> all;
  for (const char* data : {"zeros", "random"}) {
    all.push_back({fmt::format("wgmma, N ≥ 64, {}: at least", data), "percent_of_peak", true, 1, share,
                   wgmma(false, "data", data, 64, kLargestN)});
  }
  all.push_back({"wgmma, A from registers, N = 32: at least", "percent_of_peak", true, 1, share,
                 wgmma(false, "source", "rs", 32, 32)});
  all.push_back({"wgmma.sp, A from registers, N ≥ 64: at least", "percent_of_peak", true, 1, share,
                 wgmma(true, "source", "rs", 64, kLargestN)});
  all.push_back({"wgmma.sp, A from shared memory: at most", "percent_of_peak", false, 1, share,
                 wgmma(true, "source", "ss", 0, kLargestN)});
  for (const char* name : {"mma", "wmma"}) {
    all.push_back({fmt::format("{}: the highest rate", name), "percent_of_peak", false, 1, share, of(name)});
  }
  all.push_back({"spread of the samples' cycles, at most (but of memories)", "spread_percent", false, 2, "%",
                 [](const Record& r) { return is_known(r) && !has_spread_of_points(r); }});
  for (const bool sparse : {false, true}) {
    all.push_back({fmt::format("the highest rate of {} with random operands", sparse ? "wgmma.sp" : "wgmma"),
                   "tera_ops", false, 0, rate, wgmma(sparse, "data", "random", 0, kLargestN)});
  }
  return all;
}

Section glance(const Document& document) {
  Section section{"At a glance", "", {{"what", "measured"}}, true};
  for (const Extreme& each : extremes()) {
    const std::vector<const Record*> records = select(document, each.of);
    const Record* found = nullptr;
    for (const Record* r : records) {
      const auto x = r->number(each.value);
      if (!x) continue;
      const auto best = found == nullptr ? std::nullopt : found->number(each.value);
      if (!best || (each.least ? *x < *best : *x > *best)) found = r;
    }
    if (found == nullptr) continue;
    section.table.push_back({each.what, fmt::format("{} {}, of {} ({} rows)", cell(*found, each.value, each.digits),
                                                    each.unit, found->subject, records.size())});
  }
  const auto wrong = std::ranges::count_if(document.records, [](const Record& r) { return !r.error.empty(); });
  section.table.push_back({"rows with wrong results", std::to_string(wrong)});
  return section;
}

/// Of its records: one, or the first and the last one.
std::string dates_of(const Document& document) {
  std::set<std::string> dates;
  for (const Record& r : document.records) dates.insert(r.date.empty() ? document.facts.date : r.date);
  if (dates.empty()) return document.facts.date;
  return dates.size() == 1 ? *dates.begin() : fmt::format("{} to {}", *dates.begin(), *dates.rbegin());
}

Section header(const Document& document) {
  const TimingFacts& f = document.facts;
  Section section{"", "", {{"", ""}}};
  auto& rows = section.table;
  rows.push_back({"device", fmt::format("{} ({}), {} SMs", f.device, f.arch, f.sms)});
  rows.push_back({"software", fmt::format("driver {}, CUDA {}, tcnum {}", f.driver, f.cuda, document.version)});
  rows.push_back({"date", dates_of(document)});
  if (f.max_sm_clock_mhz) rows.push_back({"highest SM clock", fmt::format("{:.0f} MHz", *f.max_sm_clock_mhz)});
  if (f.power_limit_watts) rows.push_back({"power limit", fmt::format("{:.0f} W", *f.power_limit_watts)});
  if (const std::string names = left_out(document); !names.empty()) {
    rows.push_back({"rows of measurements that this version does not have", names});
  }
  for (const Field& s : document.settings) {
    Record holder;
    holder.values.push_back(s);
    rows.push_back({s.name, holder.text(s.name)});
  }
  return section;
}

/// As sections_of() says.
void keep_titled(std::vector<Section>& all, std::string_view title) {
  const std::string wanted = in_lower_case(title);
  const auto keep = [&](const auto& fits) {
    const bool any = std::ranges::any_of(all, fits);
    if (any) std::erase_if(all, [&](const Section& s) { return !s.title.empty() && !fits(s); });
    return any;
  };
  if (keep([&](const Section& s) { return in_lower_case(s.title) == wanted; })) return;
  if (keep([&](const Section& s) { return in_lower_case(s.title).find(wanted) != std::string::npos; })) return;
  std::vector<std::string> titles;
  for (const Section& s : all) {
    if (!s.title.empty()) titles.push_back(s.title);
  }
  throw InputError(fmt::format("--section: {}; expected one of {}, or a part of it", title, fmt::join(titles, "; ")));
}

}  // namespace

std::vector<Section> sections_of(const Document& document, const SassTable& sass, std::string_view title) {
  std::vector<Section> all = {header(document), glance(document)};
  for (auto& sections : {instruction_sections(document, sass), memory_sections(document), copy_sections(document),
                         gemm_sections(document)}) {
    std::ranges::copy(sections, std::back_inserter(all));
  }
  // The model's take seconds to predict all products: not where another one was asked for.
  const auto is_asked = [&](const Section& s) { return in_lower_case(s.title) == in_lower_case(title); };
  if (title.empty() || std::ranges::none_of(all, is_asked))
    std::ranges::copy(model_sections(document), std::back_inserter(all));
  std::erase_if(all, [](const Section& s) { return s.table.size() < 2; });
  if (!title.empty()) keep_titled(all, title);
  return all;
}

std::string in_lower_case(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

std::string device_line(const Document& document) {
  const TimingFacts& f = document.facts;
  return fmt::format("{} ({}), {}, driver {}{}", f.device, f.arch, dates_of(document), f.driver,
                     f.max_sm_clock_mhz ? fmt::format(", SM clock at most {:.0f} MHz", *f.max_sm_clock_mhz) : "");
}

}  // namespace tcnum::bench
