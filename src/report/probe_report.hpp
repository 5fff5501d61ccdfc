// What is reported of one probe: as text for a paper's appendix, and as JSON for programs (schema tcnum.probe/1).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounts.hpp"
#include "source.hpp"
#include "src/fit/fit.hpp"

namespace tcnum {

/// What campaigns (src/campaign/record.hpp) have compared with the hardware.
struct Compared {
  std::string file;
  double here = 0;          ///< dot products of this instruction
  double other_widths = 0;  ///< of this wgmma at other N
  std::size_t widths = 0;   ///< how many those are
};

/// Everything that is reported of one instruction.
struct ProbeReport {
  const Fit& fit;
  const FitResult& result;
  std::string arch;  ///< empty: what was probed is no instruction
  Source source;
  std::vector<AccountFinding> accounts;
  std::vector<Relative> relatives;
  std::optional<Compared> compared;
  std::string sass;  ///< the machine instructions that it becomes, if they are known
};

std::string text_report(const ProbeReport& report);
/// An element of "instructions".
nlohmann::ordered_json json_report(const ProbeReport& report);

/// All of a probe, in JSON.
class ProbeDocument {
 public:
  /// `format`: the operands that are looked at.
  ProbeDocument(std::string_view arch, std::string_view format);

  /// What json_report() says of an instruction, and who answered.
  void add(nlohmann::ordered_json report, const Source& source);

  bool empty() const { return sources_.empty(); }
  /// Its source has what those of all instructions have in common; each that has more has all of its own.
  nlohmann::ordered_json json() const;

 private:
  nlohmann::ordered_json json_;
  std::vector<nlohmann::ordered_json> sources_;  ///< of the instructions
};

}  // namespace tcnum
