// Surveys of cuBLASLt's products that are recorded, and what they say of a product.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "tcnum/gemm_fit.hpp"

namespace tcnum::test {

/// All that the library offers for products of many formats; for those of tf32 of which it divides k as it likes; for
/// those of fp32 that may be of tf32 or may not; for ragged ones; for vectors; for operands that lie otherwise; for
/// shapes that nobody had asked before, and for narrow ones; and for such shapes on an H200.
inline const std::array<std::string, 23> kSurveys = {TCNUM_SOURCE_DIR "/vectors/sm_90/gemm.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_tails.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_fp32.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_ragged.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_ragged_fp32.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_ragged_fp64.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_vectors_fp32.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_vectors_fp64.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_fp16.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_bf16.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_fp32.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_fp32_vectors.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_fp64.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_tf32.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_tf32_split.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_layouts_tf32_tails.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_shapes.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_narrow_half.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_narrow_full.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_h200_half.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_h200_tf32.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_h200_fp8.json",
                                                     TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_h200_fp64.json"};
/// What algorithms do with alpha, C and a bias.
inline const std::array<std::string, 15> kEpilogueSurveys = {
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_half.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_half32.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_half_split.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_vectors.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_fp32.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_tails.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_fp64.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_fp8.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_s8.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_few_half.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_few_full.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_narrow.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_narrow_fp32.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_more_fp8.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_epilogues_h200_fp8.json"};
/// The same of splits of k in which the library leaves products out.
inline const std::array<std::string, 4> kLeftOutSurveys = {TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_left_out_fp16_nt.json",
                                                           TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_left_out_fp16_tt.json",
                                                           TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_left_out_bf16_nn.json",
                                                           TCNUM_SOURCE_DIR
                                                           "/vectors/sm_90/gemm_left_out_bf16_nt.json"};
/// The same of vectors and matrices with gaps between columns.
inline const std::array<std::string, 4> kGapsSurveys = {
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_gaps_fp32.json", TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_gaps_fp64.json",
    TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_gaps_fp16.json", TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_gaps_bf16.json"};
/// Algorithms of which CUSTOM_OPTION or SPLITK_NUM says what they are.
inline const std::string kOptionsSurvey = TCNUM_SOURCE_DIR "/vectors/sm_90/gemm_options.json";
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
