#include "probe_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace tcnum {
namespace {

std::string in_quotes(const std::string& value) {
  return value.find(' ') == std::string::npos ? value : fmt::format("\"{}\"", value);
}

/// "2 others".
std::string others(std::size_t n) { return fmt::format("{} other{}", n, n == 1 ? "" : "s"); }

}  // namespace

Finding::Finding(const Fit& fit, const FitResult& result, Property property)
    : space_(fit.space()), result_(result), evidence_(fit.evidence()), property_(property) {
  for (const Undetermined& each : result.undetermined) {
    if (each.property == property) open_ = &each;
  }
  for (const Rejection& each : result.rejected) {
    if (each.property == property) rejected_.push_back(&each);
  }
  unobservable_ = std::ranges::find(result.unobservable, property) != result.unobservable.end();
}

std::vector<std::string> Finding::equivalent() const {
  std::vector<std::string> values;
  if (open_ != nullptr || unobservable_) return values;
  for (int v = 0; v < space_.count(property_); ++v) {
    Choice other = result_.choice;
    Space::set(other, property_, v);
    if (v != chosen() && space_.contains(other) && space_.canonical(other) == result_.choice) {
      values.push_back(space_.value_text(property_, v));
    }
  }
  return values;
}

std::string Finding::value() const {
  if (open_ != nullptr) return "open";
  // Where nothing else is in the space, what the format has is known.
  if (property_ == Property::output_fraction_bits && (!unobservable_ || has_all_bits()))
    return std::to_string(space_.output_fraction_bits(result_.choice));
  if (unobservable_) return applies() ? "unobservable" : "does not apply";
  return space_.value_text(property_, chosen());
}

std::string Finding::open_values() const {
  constexpr std::size_t kMostShown = 8, kMostLetters = 100;  // structures take many letters each
  const std::vector<std::string> values = space_.value_texts(property_, open_->values);
  std::string text = in_quotes(values.front());
  std::size_t shown = 1;
  while (shown < std::min(kMostShown, values.size())) {
    const std::string more = fmt::format(", or {}", in_quotes(values[shown]));
    if (shown > 1 && text.size() + more.size() > kMostLetters) break;
    text += more;
    ++shown;
  }
  if (values.size() > shown) text += fmt::format(", or {}", others(values.size() - shown));
  return text;
}

std::string Finding::evidence(std::string_view witness) const {
  if (open_ != nullptr) return "still open: " + open_values();
  if (unobservable_) return applies() ? "every value gives the same results" : "the structure leaves no choice";
  const Rejection* const nearest = nearest_rejection();
  if (nearest == nullptr) return "no answer refutes another value";
  const Format& d = format(space_.instruction().d);
  std::string text =
      fmt::format("probe #{} ({}) refutes {}: would give {}, {} gave {}", nearest->probe,
                  evidence_.name_of(nearest->probe), in_quotes(space_.value_text(property_, nearest->value)),
                  hex(d, nearest->expected), witness, hex(d, nearest->observed));
  const std::size_t same = equivalent().size(), more = rejected_.size() - 1;
  if (same > 0) text += fmt::format("; {} no input tells from it", others(same));
  if (more > 0) text += fmt::format("; {} refuted", others(more));
  return text;
}

bool Finding::has_all_bits() const {
  return space_.output_fraction_bits(result_.choice) == format(space_.instruction().d).fraction_bits;
}

bool Finding::applies() const {
  for (int v = 0; v < space_.count(property_); ++v) {
    Choice other = result_.choice;
    Space::set(other, property_, v);
    if (v != chosen() && space_.contains(other)) return true;
  }
  return false;
}

/// Of two that are as near, that of the lower value.
const Rejection* Finding::nearest_rejection() const {
  const auto distance = [&](const Rejection* each) { return std::pair(std::abs(each->value - chosen()), each->value); };
  const auto nearest = std::ranges::min_element(rejected_, {}, distance);
  return nearest == rejected_.end() ? nullptr : *nearest;
}

}  // namespace tcnum
