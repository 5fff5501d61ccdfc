// Custom number formats: each description has one row, in a list that only grows, so that rows stay where they are.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "io/printable.hpp"
#include "tcnum/error.hpp"
#include "tcnum/format.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kMostNameLength = 60;
/// Every number is a double: exponents of its smallest and its largest number.
constexpr int kLeastExponent = -1074, kMostExponent = 1023;
constexpr int kMostExponentBits = 11, kMostFractionBits = 52;

[[noreturn]] void fail(const OwnFormat& own, std::string_view field, const std::string& message) {
  throw InputError(fmt::format("formats.{}{}{}: {}", printable(own.name), field.empty() ? "" : ".", field, message));
}
void check_range(const OwnFormat& own, std::string_view field, int value, int low, int high) {
  if (value < low || value > high) fail(own, field, fmt::format("is {}; expected {}..{}", value, low, high));
}

void check_name(const OwnFormat& own) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (own.name.empty() || own.name.size() > kMostNameLength || !std::ranges::all_of(own.name, fits)) {
    fail(own, "", fmt::format("expected a name of 1 to {} letters, digits, _ and -", kMostNameLength));
  }
  if (const auto id = find_format(own.name)) {
    fail(own, "", fmt::format("{} is a format already; expected another name", format(*id).name));
  }
}

/// Its row. The name is the caller's.
Format checked_row(const OwnFormat& own) {
  check_name(own);
  const bool ieee = own.non_finite == NonFinite::ieee;
  // Of IEEE 754's kind, one exponent is that of subnormals, another that of infinity and NaN, which differ by a bit.
  check_range(own, "exponent_bits", own.exponent_bits, ieee ? 2 : 1, kMostExponentBits);
  check_range(own, "fraction_bits", own.fraction_bits, ieee ? 1 : 0, kMostFractionBits);
  if (own.non_finite == NonFinite::nan_negative_zero && !own.has_sign) {
    fail(own, "non_finite", "is nan_negative_zero; expected another, as the format has no sign");
  }
  Format row{};
  row.floating = true;
  row.has_sign = own.has_sign;
  row.storage_bits = (own.has_sign ? 1 : 0) + own.exponent_bits + own.fraction_bits;
  row.exponent_bits = own.exponent_bits;
  row.fraction_bits = own.fraction_bits;
  row.non_finite = own.non_finite;
  constexpr std::array<std::string_view, 9> kTypes = {"", "U8", "U16", "", "U32", "", "", "", "U64"};  // by bytes
  row.safetensors = kTypes[static_cast<std::size_t>(row.storage_bytes())];
  const int last_field = row.max_exponent();  // as the bias is still 0
  if (last_field < 1)
    fail(own, "exponent_bits", fmt::format("is {}; expected more, for normal numbers", own.exponent_bits));
  // One is among the numbers: it fills up blocks of scales, and products that have no partner.
  check_range(own, "bias", own.bias, 1, last_field);
  row.bias = own.bias;
  const int least = row.min_exponent() - row.fraction_bits, most = row.max_exponent();
  if (least < kLeastExponent || most > kMostExponent) {
    fail(own, "bias",
         fmt::format("is {}; its numbers lie between 2^{} and 2^{}, and expected are doubles, from 2^{} to "
                     "below 2^{}",
                     own.bias, least, most + 1, kLeastExponent, kMostExponent + 1));
  }
  return row;
}

bool same(const Format& x, const Format& y) {
  return x.name == y.name && x.has_sign == y.has_sign && x.exponent_bits == y.exponent_bits &&
         x.fraction_bits == y.fraction_bits && x.bias == y.bias && x.non_finite == y.non_finite;
}

// --- As one word

constexpr char kSeparator = ':';
constexpr std::array<std::string_view, 4> kNonFiniteNames = {"ieee", "nan_all_ones", "nan_negative_zero", "none"};
constexpr std::array<std::string_view, 2> kSigns = {"unsigned", "signed"};

std::string text_of(const Format& f) {
  return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}", kSeparator, f.name, f.exponent_bits, f.fraction_bits, f.bias,
                     kNonFiniteNames[static_cast<std::size_t>(f.non_finite)], kSigns[f.has_sign ? 1 : 0]);
}

/// Nothing if the text is no such word.
std::optional<OwnFormat> described_by(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(kSeparator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  constexpr std::size_t kParts = 6;
  if (parts.size() != kParts) return std::nullopt;
  OwnFormat own;
  own.name = parts[0];
  std::array<int*, 3> numbers = {&own.exponent_bits, &own.fraction_bits, &own.bias};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view part = parts[i + 1];
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), *numbers[i]);
    if (error != std::errc{} || stop != part.data() + part.size()) return std::nullopt;
  }
  const auto non_finite = std::ranges::find(kNonFiniteNames, parts[4]), sign = std::ranges::find(kSigns, parts[5]);
  if (non_finite == kNonFiniteNames.end() || sign == kSigns.end()) return std::nullopt;
  own.non_finite = static_cast<NonFinite>(non_finite - kNonFiniteNames.begin());
  own.has_sign = sign != kSigns.begin();
  return own;
}

/// Reading needs no lock: a row is there before its number is known to anyone.
class OwnFormats {
 public:
  FormatId named(const OwnFormat& own) {
    const FormatId id = described(own);
    const std::lock_guard lock(mutex_);
    by_name_.insert_or_assign(own.name, id);
    return id;
  }
  FormatId described(const OwnFormat& own) {
    Format row = checked_row(own);
    row.name = own.name;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < count_; ++i) {
      if (same(rows_[i]->format, row)) return rows_[i]->format.id;
    }
    if (count_ == rows_.size()) {
      fail(own, "", fmt::format("there are {} formats of one's own already, and expected no more", rows_.size()));
    }
    auto kept = std::make_unique<Row>(Row{own.name, text_of(row), row});
    kept->format.name = kept->format.ptx = kept->name;
    kept->format.id = static_cast<FormatId>(kFormats.size() + count_);
    rows_[count_] = std::move(kept);
    return rows_[count_++]->format.id;
  }
  std::optional<FormatId> find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  const Format& at(FormatId id) const { return row(id).format; }
  std::string_view text(FormatId id) const { return row(id).text; }

 private:
  struct Row {
    std::string name, text;
    Format format;
  };
  const Row& row(FormatId id) const { return *rows_[static_cast<std::size_t>(id) - kFormats.size()]; }

  std::mutex mutex_;
  std::array<std::unique_ptr<Row>, kMostOwnFormats> rows_;
  std::size_t count_ = 0;
  std::map<std::string, FormatId, std::less<>> by_name_;  ///< whose name it is now
};

OwnFormats& own_formats() {
  static OwnFormats all;
  return all;
}

}  // namespace

FormatId own_format(const OwnFormat& own) { return own_formats().named(own); }

std::optional<FormatId> find_format_or_own(std::string_view text) {
  if (const auto id = find_format(text)) return id;
  if (const auto own = described_by(text)) return own_formats().described(*own);
  return own_formats().find(text);
}

std::string_view format_text(FormatId id) { return is_own(id) ? own_formats().text(id) : format(id).name; }

const Format& detail::find_own_format(FormatId id) { return own_formats().at(id); }

}  // namespace tcnum
