// Axes: what a measurement can be varied along, and which of it the user asks for.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tcnum::bench {

struct Axis {
  std::string name, meaning;
  std::vector<std::string> values;             ///< all that there are
  std::vector<std::string> defaults = values;  ///< those that are measured unless the user says otherwise
  bool swept = false;  ///< a row goes over all of them; otherwise each value has rows of its own
};

inline Axis swept(Axis axis) {
  axis.swept = true;
  return axis;
}

/// "1", "2", "4" …: numbers as values of an axis.
std::vector<std::string> numbers(std::initializer_list<unsigned> list);
/// Those from `least` to `most`, each the one before plus `step`, or times two.
std::vector<std::string> numbers_by(unsigned step, unsigned least, unsigned most);
std::vector<std::string> doubled(unsigned least, unsigned most);

/// Values of axes, by name.
using Selection = std::map<std::string, std::vector<std::string>>;

/// Reads "N=8,16,…,256" and "source=rs": for each axis its name, then values; "…" or "..." between numbers goes on in
/// the same steps. An axis may be given twice: both lists count. Axes that are not given have their defaults. Throws
/// InputError naming `option`.
Selection parse_axes(const std::vector<std::string>& texts, const std::vector<Axis>& axes,
                     std::string_view option = "-a");

/// Whether one of the globs matches; with none, all do.
bool matches(const std::vector<std::string>& globs, const std::string& name);

}  // namespace tcnum::bench
