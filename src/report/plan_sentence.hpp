// What a plan does, for people.
#pragma once

#include <string>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// Clauses with semicolons between them: "made of wgmma.m64n8k16.f32.f16.f16 of sm_90; promotes every 64 products to
/// fp32; k in 3 parts as equal as can be, added in order; results rounded to fp16". Fields that say nothing of a
/// product of A and B alone are left out. Throws InputError if there is no such instruction.
std::string plan_sentence(const GemmPlan& plan);

/// A number of the sums' format becomes one of D: "rounded to fp16 (toward_zero)".
std::string output_text(const GemmPlan& plan);

}  // namespace tcnum
