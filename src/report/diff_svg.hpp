// Which of many datapaths differ, as a picture.
#pragma once

#include <string>
#include <vector>

namespace tcnum {

/// What became of two datapaths.
struct DiffCell {
  enum class Kind { same, none_found, different, other_formats };
  Kind kind = Kind::same;
  double share = 0;  ///< of the dot products that were tried, those that differ

  /// "same", "20 %".
  std::string text() const;
};

/// SVG of a matrix: row i and column j are names[i] and names[j], and cells[i][j], for j < i, what became of them.
std::string diff_svg(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<std::vector<DiffCell>>& cells);

}  // namespace tcnum
