// What is said of the instruction that stands for a format where nobody names one.
#pragma once

#include <string>
#include <string_view>

#include "src/catalogue/classes.hpp"

namespace tcnum {

/// "mma.m16n8k32.f32.e4m3.e4m3.f32 (lowered to HMMA of fp16)".
std::string marked_name(std::string_view instruction, std::string_view lowered_to);
/// A line on why this instruction was chosen for a format, and which others have another datapath.
std::string choice_text(ArchId arch, const Instruction& chosen);

}  // namespace tcnum
