// What an instruction really is: the machine instructions (SASS) that a compiler makes of it, as a disassembler shows
// them in the kernels that probe it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tcnum/instruction.hpp"

namespace tcnum {

/// vectors/ARCH/sass.json. For each instruction, by name, its machine instructions: the tensor cores' and the
/// floating-point arithmetic and conversions beside them, each once. For each function of the CUDA math API that is
/// timed, those of one call, as often as there are.
struct SassTable {
  std::string arch, nvcc;
  std::map<std::string, std::vector<std::string>> instructions;
  std::map<std::string, std::vector<std::string>> functions = {};

  /// "HMMA.16816.F32, HADD2.F32"; empty if it is not there. A wgmma is looked up at its own N, then at N = 8.
  std::string opcodes(const Instruction& instruction) const;
  /// The same with the compiler: "HMMA.16816.F32 (nvcc 13.0.48)".
  std::string text(const Instruction& instruction) const;
  /// "2 VIMNMX, PRMT"; empty if it is not there.
  std::string function_opcodes(const std::string& name) const;
};

/// From what `cuobjdump -sass` writes of this program, line by line.
class ProbeSass {
 public:
  /// `calls`: of a function, in the kernel that times it.
  explicit ProbeSass(int calls) : calls_(calls) {}
  void read(const std::string& line);
  /// Of those instructions of the architecture that have been read.
  SassTable table(ArchId arch, std::string nvcc) const;

 private:
  int calls_;
  std::map<std::string, std::map<std::string, int>> counts_;     ///< by kernel type
  std::map<std::string, std::map<std::string, int>> functions_;  ///< by name
  std::map<std::string, int>* current_ = nullptr;
  bool every_ = false;  ///< opcode counts, not only those that do the work of tensor cores
};

/// The name of the type that an instruction's probe is made for, as its mangled name has it.
std::string probe_type_of(const Instruction& instruction);

/// Throws InputError naming the file and the field.
SassTable read_sass(const std::string& path);
std::string sass_text(const SassTable& table);

}  // namespace tcnum
