#include "axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    parts.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool is_ellipsis(const std::string& text) { return text == "..." || text == "…"; }

void check_value(const std::string& value, const Axis& axis, const std::string& where) {
  if (std::ranges::find(axis.values, value) != axis.values.end()) return;
  throw InputError(fmt::format("{}: {} is no value of {}; expected values among {}", where,
                               value.empty() ? "nothing" : value, axis.name, fmt::join(axis.values, ", ")));
}

/// The numbers that "a,b,…,z" leaves out. All three must be values of the axis, so that they are few.
std::vector<std::string> between(const std::vector<std::string>& parts, std::size_t at, const Axis& axis,
                                 const std::string& where) {
  const auto fail = [&]() -> std::vector<std::string> {
    throw InputError(where + ": … stands between two numbers and a third that goes on in their steps, as in 8,16,…,64");
  };
  if (at < 2 || at + 1 >= parts.size()) return fail();
  for (const std::string& part : {parts[at - 2], parts[at - 1], parts[at + 1]}) check_value(part, axis, where);
  const auto first = number(parts[at - 2]), second = number(parts[at - 1]), last = number(parts[at + 1]);
  if (!first || !second || !last) return fail();
  const int step = *second - *first;
  if (step <= 0 || *last <= *second || (*last - *second) % step != 0) return fail();
  std::vector<std::string> values;
  for (int v = *second + step; v < *last; v += step) values.push_back(std::to_string(v));
  return values;
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
    const std::vector<std::string> parts = split(std::string_view(text).substr(equals + 1));
    std::vector<std::string>& chosen = selection[name];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::vector<std::string> values = {parts[i]};
      if (is_ellipsis(parts[i])) values = between(parts, i, *axis, where);
      for (std::string& value : values) {
        check_value(value, *axis, where);
        if (std::ranges::find(chosen, value) == chosen.end()) chosen.push_back(std::move(value));
      }
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
