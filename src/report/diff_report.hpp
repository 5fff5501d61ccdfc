// Where two datapaths or two plans part, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "tcnum/diff.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/plan_diff.hpp"

namespace tcnum {

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

}  // namespace tcnum
