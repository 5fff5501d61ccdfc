// Numbers on the command line: what is meant, exactly, or an InputError that names the option and says what would be
// right.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tcnum {

/// Decimal digits alone: "-1", "010" and "0x10" mean different things to different people.
std::uint64_t parse_whole(std::string_view option, std::string_view text, std::uint64_t least = 0,
                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A whole number from 1 to 1e15: "100000000", "1e8", "2.5e9".
std::uint64_t parse_count(std::string_view option, std::string_view text);

/// A decimal number above 0, up to `most`.
double parse_positive(std::string_view option, std::string_view text, double most);

/// Any finite number: a decimal one, which is rounded ("0.75", "-1e-3"), or of fp64 another of those that
/// code_of_written() reads, but no code: "2^-14", "0x1.8p3".
double parse_number(std::string_view option, std::string_view text);

/// "2/5".
std::pair<std::uint64_t, std::uint64_t> parse_shard(std::string_view option, std::string_view text);

/// The parts between commas, empty ones too.
std::vector<std::string> split_at_commas(std::string_view text);

}  // namespace tcnum
