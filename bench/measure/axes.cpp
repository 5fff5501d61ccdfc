#include "measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    parts.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

void check_value(const std::string& value, const Axis& axis, const std::string& where) {
  if (std::ranges::find(axis.values, value) != axis.values.end()) return;
  throw InputError(fmt::format("{}: {} is no value of {}; expected values among {}", where,
                               value.empty() ? "nothing" : value, axis.name, fmt::join(axis.values, ", ")));
}

}  // namespace

std::vector<std::string> numbers(std::initializer_list<unsigned> list) {
  std::vector<std::string> values;
  for (const unsigned each : list) values.push_back(std::to_string(each));
  return values;
}
std::vector<std::string> numbers_by(unsigned step, unsigned least, unsigned most) {
  std::vector<std::string> values;
  for (unsigned each = least; each <= most; each += step) values.push_back(std::to_string(each));
  return values;
}
std::vector<std::string> doubled(unsigned least, unsigned most) {
  std::vector<std::string> values;
  for (unsigned each = least; each <= most; each *= 2) values.push_back(std::to_string(each));
  return values;
}

Selection parse_axes(const std::vector<std::string>& texts, const std::vector<Axis>& axes, std::string_view option) {
  Selection selection;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto axis = std::ranges::find(axes, name, &Axis::name);
    if (equals == std::string::npos || axis == axes.end()) {
      std::vector<std::string> known;
      for (const Axis& each : axes) known.push_back(each.name);
      throw InputError(
          fmt::format("{}: {}; expected AXIS=VALUE,… with an axis among {}", option, text, fmt::join(known, ", ")));
    }
    const std::string where = fmt::format("{} {}", option, text);
    std::vector<std::string>& chosen = selection[name];
    for (std::string& value : split_at_commas(text.substr(equals + 1))) {
      check_value(value, *axis, where);
      if (std::ranges::find(chosen, value) == chosen.end()) chosen.push_back(std::move(value));
    }
  }
  for (const Axis& axis : axes) selection.try_emplace(axis.name, axis.defaults);
  return selection;
}

bool matches(const std::vector<std::string>& globs, const std::string& name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) {
           return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

}  // namespace tcnum::bench
