// Which machine instructions this program's timing kernels are made of: PTX beside SASS.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tcnum/instruction.hpp"

namespace tcnum::bench {

/// The name of the type that an instruction's timing kernel is made for, as its mangled name has it.
std::string kernel_type_of(const Instruction& instruction);

/// "…mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEv…" → "mma_m16n8k16_f32_f16_f16_f32"; empty if it is none.
std::string kernel_type_in(const std::string& symbol);
/// Of a line with one: the machine instruction, without predicate, operands and encoding.
std::string opcode_in(const std::string& line);
/// HMMA, IMMA, BMMA, DMMA, QMMA, HGMMA, QGMMA, IGMMA, BGMMA; but not HFMA2.MMA, which moves constants.
bool is_tensor_opcode(const std::string& opcode);

/// For each kernel type, how often each machine instruction occurs.
using SassCounts = std::map<std::string, std::map<std::string, int>>;

/// Reads what `cuobjdump -sass` writes, line by line. Predicates, operands and encodings are left out.
class SassReader {
 public:
  void read(const std::string& line);
  const SassCounts& counts() const { return counts_; }

 private:
  SassCounts counts_;
  std::map<std::string, int>* current_ = nullptr;
};

/// What does the work: the tensor-core instructions among them, else the most frequent arithmetic, most frequent first.
std::string work_of(const std::map<std::string, int>& counts);

/// For each instruction, work_of() its kernel, as far as cuobjdump is at hand and says. Never throws.
std::map<std::string, std::string> sass_of(const std::vector<const Instruction*>& instructions);

}  // namespace tcnum::bench
