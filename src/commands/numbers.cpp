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
  throw InputError(fmt::format("{}: {}; right would be {}", option, text.empty() ? "is empty" : shown(text), right));
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

/// "2.5e9" as 2500000000; nothing if that is no whole number or beyond 64 bits.
std::optional<std::uint64_t> scientific(std::string_view text) {
  const std::size_t at_e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, at_e);
  std::string_view power = text.substr(std::min(at_e + 1, text.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  while (power.size() > 1 && power[0] == '0') power.remove_prefix(1);  // many programs write two digits
  const auto zeros = at_e == text.size() ? std::optional<std::uint64_t>(0) : whole(power);
  const std::size_t at_point = std::min(mantissa.find('.'), mantissa.size());
  const auto integer = whole(mantissa.substr(0, at_point));
  std::string_view fraction = mantissa.substr(std::min(at_point + 1, mantissa.size()));
  constexpr std::uint64_t kMostZeros = 19;  // of 64 bits
  if (!zeros || *zeros > kMostZeros || !integer || (at_point < mantissa.size() && !all_digits(fraction))) {
    return std::nullopt;
  }
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  if (fraction.size() > *zeros) return std::nullopt;  // digits are left behind the point
  std::string digits = fmt::format("{}{}{}", *integer, fraction, std::string(*zeros - fraction.size(), '0'));
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return whole(digits);
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
  constexpr std::uint64_t kMost = 1'000'000'000'000'000;
  const auto value = scientific(text);
  if (!value || *value < 1 || *value > kMost) refuse(option, text, "a whole number from 1 to 1e15, such as 1e8");
  return *value;
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
