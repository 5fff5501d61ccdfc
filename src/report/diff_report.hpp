// Where datapaths or plans part, for people and for programs, and as a picture.
#pragma once

#include "tcnum/diff.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/plan_diff.hpp"

namespace tcnum {

// --- Where two datapaths or two plans part, for people and for programs.

/// One of the two: "sm_80 mma.m16n8k16.f32.f16.f16.f32", and which account or file its datapath is.
struct DiffSide {
  std::string name, origin;
  const Datapath* datapath = nullptr;
};

std::string diff_text(const DatapathDiff& diff, const DiffSide& one, const DiffSide& other);
/// tcnum.diff/1.
nlohmann::ordered_json diff_document(const DatapathDiff& diff, const DiffSide& one, const DiffSide& other);

std::string plan_diff_text(const PlanDiff& diff, const std::string& one, const std::string& other);
/// tcnum.plan_diff/1.
nlohmann::ordered_json plan_diff_document(const PlanDiff& diff, const std::string& one, const std::string& other);

// --- Which of many datapaths differ, as a picture.

/// What became of two datapaths.
struct DiffCell {
  enum class Kind : std::uint8_t { same, none_found, other_formats, different };
  Kind kind = Kind::same;
  double share = 0;  ///< of the dot products that were tried, those that differ

  /// "same", "20 %".
  std::string text() const;
};

/// SVG of a matrix: row i and column j are names[i] and names[j], and cells[i][j], for j < i, what became of them.
std::string diff_svg(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<std::vector<DiffCell>>& cells);

}  // namespace tcnum
