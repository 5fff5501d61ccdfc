// Numbers as people write them, as codes of a format.
#pragma once

#include "tcnum/format.hpp"

namespace tcnum {

/// The code of a number, which the format must have: "1.5", "-3e-5", "2^-14", "-1.5*2^30", C's "0x1.8p3", "inf", "nan";
/// or a code itself, "0x3c00", which is what has neither a point nor a p. Nothing is rounded: throws InputError that
/// begins with `where` and says which of the format's numbers are nearest.
std::uint64_t code_of_written(const Format& f, std::string_view text, std::string_view where);
/// The same of a result that somebody printed: a number that the format does not have stands for its nearest.
std::uint64_t code_of_printed(const Format& f, std::string_view text, std::string_view where);

/// A code as 0x…, padded to the format's width.
std::string hex(const Format& f, std::uint64_t code);
/// Its number: decimal digits that read back to the same one, "inf", "nan".
std::string number_text(const Format& f, std::uint64_t code);

}  // namespace tcnum
