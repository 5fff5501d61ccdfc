#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "io/printable.hpp"
#include "src/files/written_number.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view right) {
  throw InputError(fmt::format("{}: {}; expected {}", option, text.empty() ? "is empty" : shown(text), right));
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Decimal digits; no zeros before others.
std::optional<std::uint64_t> whole(std::string_view text) {
  if (!all_digits(text) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// "-2.5e-9", rounded to nearest; nothing if it is not finite, or has zeros before other digits.
std::optional<double> decimal(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::uint64_t parse_whole(std::string_view option, std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = whole(text);
  if (!value || *value < least || *value > most) {
    refuse(option, text, fmt::format("a whole number from {} to {}, in decimal digits", least, most));
  }
  return *value;
}

std::uint64_t parse_count(std::string_view option, std::string_view text) {
  constexpr double kMost = 1e15;
  const auto value = decimal(text);  // doubles hold all of these
  if (!value || *value < 1 || *value > kMost || *value != std::floor(*value))
    refuse(option, text, "a whole number from 1 to 1e15, such as 1e8");
  return static_cast<std::uint64_t>(*value);
}

double parse_positive(std::string_view option, std::string_view text, double most) {
  const auto value = decimal(text);
  if (!value || !(*value > 0 && *value <= most)) refuse(option, text, fmt::format("a number above 0, up to {}", most));
  return *value;
}

double parse_number(std::string_view option, std::string_view text) {
  if (const auto value = decimal(text)) return *value;
  constexpr std::string_view kRight = "a number, such as -0.75, 1e-3, 2^-14 or 0x1.8p3";
  // Nobody means a number's code here.
  const bool is_binary =
      text.find("0x") != std::string_view::npos && text.find_first_of(".pP") != std::string_view::npos;
  if (!is_binary && text.find('^') == std::string_view::npos) refuse(option, text, kRight);
  const auto value = std::bit_cast<double>(code_of_written(format(FormatId::fp64), text, option));
  if (!std::isfinite(value)) refuse(option, text, kRight);
  return value;
}

std::pair<std::uint64_t, std::uint64_t> parse_shard(std::string_view option, std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto shard = whole(text.substr(0, slash)), shards = whole(text.substr(std::min(slash + 1, text.size())));
  if (!shard || !shards || *shard < 1 || *shard > *shards) {
    refuse(option, text, "i/n with i from 1 to n, such as 2/5");
  }
  return {*shard, *shards};
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tcnum
