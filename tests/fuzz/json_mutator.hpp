// Changes JSON as JSON, so that what comes of it is mostly JSON still, and gets past the parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tcnum::fuzz {

/// The text with a value, a key or an element changed, copied or removed; what follows a zero byte stays as it is.
/// Empty if the text is no JSON.
std::string mutated_json(std::string_view text, std::uint32_t seed);

}  // namespace tcnum::fuzz
