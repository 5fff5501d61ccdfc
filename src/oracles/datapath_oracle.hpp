// The oracle that runs a datapath on the emulator: answers from a description instead of from hardware.
#pragma once

#include <string>
#include <string_view>

#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// Throws InputError, with `where` in front and the field's name, if the datapath cannot be the instruction's: another
/// k, or other formats. (An fp32 operand rule fits a tf32 operand, whose storage is an fp32.)
void check_datapath_fits(const Datapath& datapath, const Instruction& instruction, std::string_view where);

/// The dot product that a datapath computes, as an instruction that is none: unlike make_dot(), of any k and formats.
Instruction dot_of(const Datapath& datapath);

class DatapathOracle final : public Oracle {
 public:
  /// `where` names the datapath: a file.
  DatapathOracle(const Datapath& datapath, const Instruction& instruction, std::string where, unsigned threads = 1);

  void answer(Tiles& tiles) override;
  OracleKind kind() const override { return OracleKind::datapath; }
  std::string device() const override { return "tcnum's emulator, datapath " + where_; }

 private:
  std::string where_;
  Emulator emulator_;
  unsigned threads_;
};

}  // namespace tcnum
