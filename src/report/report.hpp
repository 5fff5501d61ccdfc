// Reports: what a fit found, as text for a paper's appendix and as JSON for programs (schema tcnum.probe/1).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/fit/fit.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {

/// No line of a text report is longer, but for a single word that is.
inline constexpr std::size_t kReportWidth = 110;

/// Where answers come from.
struct Source {
  std::string kind;  ///< "gpu", "recorded" or "datapath"
  std::string device;
  std::string file;                               ///< that holds the answers or the datapath, if any
  std::map<std::string, std::string> provenance;  ///< of driver, cuda and date, those that are known
  friend bool operator==(const Source&, const Source&) = default;
};

/// A published account of an instruction against the answers.
struct AccountCheck {
  std::string account, origin;
  std::size_t mismatches = 0;
  /// The first answer that refutes it; none: it survives.
  struct Refutation {
    std::size_t probe;
    std::uint64_t expected, observed;
  };
  std::optional<Refutation> refutation;
};

/// Checks the published entries among `accounts`; those fitted here are left out.
std::vector<AccountCheck> check_accounts(const Fit& fit, const std::vector<CatalogueEntry>& accounts);

/// Another instruction of the architecture with the same formats and number of products, as fitted here, against the
/// answers.
struct Relative {
  std::string instruction;
  std::size_t mismatches = 0;
};
std::vector<Relative> check_relatives(const Fit& fit, ArchId arch);

/// What campaigns (tcnum/campaign.hpp) have compared with the hardware.
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
  std::string arch;
  Source source;
  std::vector<AccountCheck> accounts;
  std::vector<Relative> relatives;
  std::optional<Compared> compared;
  std::string sass;  ///< the machine instructions that it becomes, if they are known
};

/// How the products and c become the result, in one sentence.
std::string structure_sentence(const Space& space, const Choice& choice);

std::string text_report(const ProbeReport& report);
/// An element of "instructions".
nlohmann::ordered_json json_report(const ProbeReport& report);
nlohmann::ordered_json json_source(const Source& source);
/// One line: "recorded answers of NVIDIA … (driver …, CUDA …, 2026-01-31)".
std::string source_text(const Source& source);

/// A code as 0x…, padded to the format's width.
std::string hex(const Format& f, std::uint64_t code);
/// Its value: decimal digits that read back to the same number, "inf", "nan".
std::string value_text(const Format& f, std::uint64_t code);
/// One dot problem term by term, each line indented by two; terms whose codes are both zero are left out.
std::string problem_text(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                         std::uint64_t observed);
nlohmann::ordered_json json_problem(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                                    std::uint64_t observed);

/// Rows of cells as aligned columns, the first row a heading. Cells of the last column are wrapped at kReportWidth; the
/// others from `wide` characters on. Each line is indented by two.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t wide = 32);
/// Wraps text at kReportWidth, each line indented.
std::string wrapped(std::string_view text, std::size_t indent);

/// 12345678 as "12,345,678"; datapaths of a space, which may be fewer than exact, as "1.2e+12".
std::string count_text(double count);

}  // namespace tcnum
