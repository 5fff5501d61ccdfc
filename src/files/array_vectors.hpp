// Dot problems as NumPy arrays: a .npy file an operand, of the shapes and dtypes of a vector file's tensors.
#pragma once

#include <string>
#include <string_view>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Whether a path stands for several files: "golden.{}.npy" for golden.a.npy, golden.b.npy, golden.c.npy, golden.d.npy,
/// and where there are some golden.e.npy, golden.sa.npy and golden.sb.npy.
bool names_arrays(std::string_view path);
/// The file of one operand.
std::string array_path(const std::string& path, std::string_view operand);

/// Problems of an instruction of the table or of make_dot(). Of the files only that of d may be missing, unless results
/// are required. Throws InputError.
Tiles read_arrays(const std::string& path, const Instruction& instruction, bool results_required);
/// The files one after the other, each complete or not there.
void write_arrays(const std::string& path, const Tiles& tiles, const Instruction& instruction);

}  // namespace tcnum
