#include "asked_products.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// "M×N×K" or "MxNxK".
std::array<std::size_t, 3> parse_shape(std::string_view text) {
  std::array<std::size_t, 3> shape{};
  std::string plain(text);
  for (std::size_t at = plain.find("×"); at != std::string::npos; at = plain.find("×"))
    plain.replace(at, std::string_view("×").size(), "x");
  const char* at = plain.data();
  const char* const end = plain.data() + plain.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, shape[i]);
    const bool separated = i + 1 == shape.size() ? stop == end : stop != end && *stop == 'x';
    if (error != std::errc{} || !separated || shape[i] == 0 || shape[i] > (std::size_t{1} << 24))
      throw InputError(fmt::format("--shape: {}; expected M×N×K, such as 256×256×4096", text));
    at = stop + 1;
  }
  return shape;
}

ProductFormats parse_formats(std::string_view text) {
  const std::string_view right =
      "expected A:D or A:B:D, such as fp16:fp32, and +fast for fp8's fast accumulation or fp32 as tf32";
  ProductFormats formats{};
  std::string_view left = text;
  if (left.ends_with("+fast")) {
    formats.fast = true;
    left.remove_suffix(std::string_view("+fast").size());
  }
  std::vector<FormatId> ids;
  while (true) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const auto id = find_format(left.substr(0, end));
    if (!id) throw InputError(fmt::format("--formats: {}; {}", text, right));
    ids.push_back(*id);
    if (end == left.size()) break;
    left.remove_prefix(end + 1);
  }
  if (ids.size() != 2 && ids.size() != 3) throw InputError(fmt::format("--formats: {}; {}", text, right));
  formats.a = ids[0];
  formats.b = ids[ids.size() - 2 == 0 ? 0 : 1];
  formats.d = ids.back();
  return formats;
}

OperandLayout parse_layout(const std::string& text) {
  constexpr std::array<std::string_view, 4> kNames = {"tn", "tt", "nn", "nt"};
  constexpr std::size_t kMostBetween = 1 << 16;
  const std::size_t end = std::min(text.find('+'), text.size());
  const bool is_known = std::ranges::find(kNames, text.substr(0, end)) != kNames.end();
  std::size_t gap = 0;
  bool is_number = true;
  if (end < text.size()) {
    const auto [stop, error] = std::from_chars(text.data() + end + 1, text.data() + text.size(), gap);
    is_number = error == std::errc{} && stop == text.data() + text.size() && 1 <= gap && gap <= kMostBetween;
  }
  if (!is_known || !is_number) {
    throw InputError(fmt::format("--layouts: {}; expected {}, or one with a gap of 1 to {} between columns: nt+8", text,
                                 fmt::join(kNames, ", "), kMostBetween));
  }
  return {text, text[0] == 'n', text[1] == 't', gap};
}

}  // namespace

std::vector<AskedShape> asked_shapes(const GemmCommandOptions& options) {
  const std::vector<std::string> usual = {"tn"};
  std::vector<AskedShape> asked;
  for (const std::string& formats : options.formats) {
    for (const std::string& shape : options.shapes) {
      for (const std::string& layout : options.layouts.empty() ? usual : options.layouts)
        asked.push_back({parse_formats(formats), parse_shape(shape), parse_layout(layout)});
    }
  }
  return asked;
}

}  // namespace tcnum
