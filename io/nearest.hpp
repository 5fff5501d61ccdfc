// What somebody may have meant by a name that there is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcnum {

/// The few of the names that are most like the text: those that it is the beginning of, then those that it is in, then
/// by how many letters differ; capital letters are small ones. In words: "a, b or c"; empty if there are no names.
std::string nearest_names(std::string_view text, const std::vector<std::string>& names);

}  // namespace tcnum
