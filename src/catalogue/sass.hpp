// What an instruction really is: the machine instructions (SASS) that a compiler makes of it, as a disassembler shows
// them in the kernels that probe it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tcnum/instruction.hpp"

namespace tcnum {

/// vectors/ARCH/sass.json. For each instruction, by name, its machine instructions: the tensor cores' and the
/// floating-point arithmetic and conversions beside them, each once.
struct SassTable {
  std::string arch, nvcc;
  std::map<std::string, std::vector<std::string>> instructions;

  /// "HMMA.16816.F32, HADD2.F32"; empty if it is not there. A wgmma is looked up at its own N, then at N = 8.
  std::string opcodes(const Instruction& instruction) const;
  /// The same with the compiler: "HMMA.16816.F32 (nvcc 13.0.48)".
  std::string text(const Instruction& instruction) const;
};

/// From what `cuobjdump -sass` writes of this program, line by line.
class ProbeSass {
 public:
  void read(const std::string& line);
  /// Of those instructions of the architecture that have been read.
  SassTable table(ArchId arch, std::string nvcc) const;

 private:
  std::map<std::string, std::map<std::string, int>> counts_;  ///< by kernel type
  std::map<std::string, int>* current_ = nullptr;
};

/// The name of the type that an instruction's probe is made for, as its mangled name has it.
std::string probe_type_of(const Instruction& instruction);

/// Throws InputError naming the file and the field.
SassTable read_sass(const std::string& path);
std::string sass_text(const SassTable& table);

}  // namespace tcnum
