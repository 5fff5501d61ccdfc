
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <tuple>

#include "io/printable.hpp"
#include "names.hpp"
#include "src/files/written_number.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/questions/packing.hpp"

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

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// --- Dot problems

namespace {

/// More products are a matrix, not something to type.
constexpr std::size_t kMostProducts = 4096;

std::vector<std::uint64_t> codes_of(const std::string& option, const std::string& text, FormatId id) {
  std::vector<std::uint64_t> codes;
  if (text.empty()) return codes;
  const std::vector<std::string> parts = split(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string where = parts.size() == 1 ? option : fmt::format("{}[{}]", option, i);
    codes.push_back(code_of_written(format(id), parts[i], where));
  }
  return codes;
}

/// How many products a chain of the datapath takes that takes so many.
std::size_t products_of_chain(const Datapath& datapath, const std::string& option, std::size_t given) {
  const Numerics& n = datapath.numerics;
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  if (given > k && n.c.format != n.result) {
    throw InputError(
        fmt::format("{}: has {} elements; expected {} or fewer, as no result of {} can be the next c of {}", option,
                    given, k, format(n.result).name, format(n.c.format).name));
  }
  if (given > kMostProducts)
    throw InputError(fmt::format("{}: has {} elements; expected {} or fewer", option, given, kMostProducts));
  return std::max(k, (given + k - 1) / k * k);
}

}  // namespace

Problem parse_problem(const Datapath& datapath, const ProblemText& text) {
  return parse_problem(datapath.numerics, text, [&](const std::string& option, std::size_t given) {
    return products_of_chain(datapath, option, given);
  });
}

Problem parse_problem(const Numerics& n, const ProblemText& text,
                      const std::function<std::size_t(const std::string& option, std::size_t given)>& products) {
  Problem problem{codes_of("--a", text.a, n.a.format), codes_of("--b", text.b, n.b.format), 0};
  const bool a_is_longer = problem.a.size() >= problem.b.size();
  const std::size_t k = products(a_is_longer ? "--a" : "--b", a_is_longer ? problem.a.size() : problem.b.size());
  problem.a.resize(k, zero_code(format(n.a.format), false));
  problem.b.resize(k, zero_code(format(n.b.format), false));
  if (!text.c.empty()) problem.c = code_of_written(format(n.c.format), text.c, "--c");
  for (const auto& [option, scales_text, scales] :
       {std::tuple{"--sa", &text.sa, &problem.sa}, std::tuple{"--sb", &text.sb, &problem.sb}}) {
    if (!n.scales) {
      if (scales_text->empty()) continue;
      throw InputError(fmt::format("{}: the datapath has no block scales; expected to leave it out", option));
    }
    *scales = codes_of(option, *scales_text, n.scales->format);
    const std::size_t blocks = k / static_cast<std::size_t>(n.scales->block_k);
    if (scales->size() > blocks) {
      throw InputError(fmt::format("{}: has {} scales; expected {} or fewer, one for every {} of {} products", option,
                                   scales->size(), blocks, n.scales->block_k, k));
    }
    scales->resize(blocks, code_of_written(format(n.scales->format), "1", option));
  }
  return problem;
}

Tiles tile_of(const Numerics& numerics, const Problem& problem) {
  const Instruction dot = dot_of(Datapath{numerics, {}, {static_cast<int>(problem.a.size()), {}}});
  return tiles_of(dot, 1, 1, 1, [&](std::size_t) { return problem; });
}

}  // namespace tcnum
