// Where two plans part, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tcnum/plan_diff.hpp"

namespace tcnum {

std::string plan_diff_text(const PlanDiff& diff, const std::string& one, const std::string& other);
/// tcnum.plan_diff/1 (docs/schemas).
nlohmann::ordered_json plan_diff_document(const PlanDiff& diff, const std::string& one, const std::string& other);

}  // namespace tcnum
