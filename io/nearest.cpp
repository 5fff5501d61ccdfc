#include "nearest.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tcnum {
namespace {

constexpr std::size_t kMostNames = 3;
/// Of a longer text only the beginning is looked at: no name is as long.
constexpr std::size_t kMostLetters = 200;

std::string small_letters(std::string_view text) {
  std::string small(text.substr(0, kMostLetters));
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return small;
}

/// How many letters must be changed, left out or put in (Levenshtein's distance).
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_names(std::string_view text, const std::vector<std::string>& names) {
  const std::string meant = small_letters(text);
  std::vector<std::tuple<int, std::size_t, std::size_t>> ranked;  // likeness, distance, which
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = small_letters(names[i]);
    const std::size_t at = meant.empty() ? std::string::npos : name.find(meant);
    ranked.emplace_back(at == 0 ? 0 : at != std::string::npos ? 1 : 2, distance(meant, name), i);
  }
  const std::size_t shown = std::min(kMostNames, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(shown), ranked.end());
  std::string words;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string_view joint = i == 0 ? "" : i + 1 == shown ? " or " : ", ";
    words.append(joint).append(names[std::get<2>(ranked[i])]);
  }
  return words;
}

}  // namespace tcnum
