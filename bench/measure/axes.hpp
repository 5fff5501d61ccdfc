// Axes: what a measurement can be varied along, and which of it the user asks for.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tcnum::bench {

struct Axis {
  std::string name, meaning;
  std::vector<std::string> values;    ///< all that there are
  std::vector<std::string> defaults;  ///< those that are measured unless the user says otherwise
};

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
