// Surveys of cuBLASLt's products that are recorded, and what they say of a product.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tcnum/gemm_fit.hpp"

namespace tcnum::test {

/// The surveys of Hopper's products that begin so, or those that begin otherwise, in the order of their names.
inline std::vector<std::string> surveys_that_begin(const std::vector<std::string>& beginnings, bool so = true) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(TCNUM_SOURCE_DIR "/vectors/sm_90")) {
    const std::string file = entry.path().filename().string();
    const bool begins_so =
        std::ranges::any_of(beginnings, [&](const std::string& each) { return file.starts_with(each); });
    if (file.starts_with("gemm") && begins_so == so) found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}
/// What algorithms do with alpha, C and a bias; the same of splits of k in which the library leaves products out, and
/// of vectors and matrices with gaps between columns; and algorithms of which CUSTOM_OPTION or SPLITK_NUM says what
/// they are.
inline const std::vector<std::string> kEpilogueSurveys = surveys_that_begin({"gemm_epilogues"}),
                                      kLeftOutSurveys = surveys_that_begin({"gemm_left_out"}),
                                      kGapsSurveys = surveys_that_begin({"gemm_gaps"}),
                                      kOptionsSurvey = surveys_that_begin({"gemm_options"});
/// All that the library offers for products of many formats, shapes and layouts.
inline const std::vector<std::string> kSurveys =
    surveys_that_begin({"gemm_epilogues", "gemm_left_out", "gemm_gaps", "gemm_options"}, false);
constexpr const char* kEpilogueSurveySchema = "tcnum.epilogue_survey/1";
constexpr const char* kSurveySchema = "tcnum.gemm_survey/1";

inline OperandFamily family_named(const std::string& text) {
  for (std::size_t i = 0; i < kOperandFamilies; ++i) {
    if (name(static_cast<OperandFamily>(i)) == text) return static_cast<OperandFamily>(i);
  }
  throw InputError("no family is called " + text);
}

inline GemmSubject subject_of(const nlohmann::ordered_json& entry) {
  const auto id = [&](const char* key) { return find_format(entry.at(key).get<std::string>()).value(); };
  return {"sm_90", id("a"), id("b"), id("d"), entry.at("m"), entry.at("n"), entry.at("k")};
}

}  // namespace tcnum::test
