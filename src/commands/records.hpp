// The folders of recorded answers, and what lies there beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/campaign/record.hpp"
#include "src/catalogue/sass.hpp"
#include "src/report/probe_report.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// The campaigns beside the recorded answers.
inline constexpr std::string_view kCampaignsFile = "campaigns.json";

/// The one to prefer first: what TCNUM_VECTORS names, alone; else an installed program's, and the source tree's.
std::vector<std::filesystem::path> record_folders();

/// A file of the architecture, in the first folder that has it.
std::optional<std::filesystem::path> find_record(ArchId of, std::string_view file);

/// Of vector files.
inline constexpr std::string_view kVectorFileExtension = ".safetensors";
/// The file of an instruction's recorded answers.
std::string record_name(const Instruction& instruction);

/// A path as a user would write it from here.
std::string shown_path(const std::filesystem::path& file);

/// How many results of an architecture's instructions the campaigns have compared.
class ComparedResults {
 public:
  explicit ComparedResults(ArchId of);
  /// Nothing if these are none.
  std::optional<Compared> of(const Instruction& instruction) const;
  /// Of a wgmma, at every N.
  std::uint64_t count(const Instruction& instruction) const;

 private:
  std::string file_;
  /// By the instruction's name without its width, then by the width: results compared.
  std::map<std::string, std::map<int, double>> compared_;
};

/// Beside the recorded answers.
inline constexpr const char* kSassFile = "sass.json";
/// The machine instructions that were seen, of that architecture; an empty table if none were.
SassTable find_sass(ArchId of);

}  // namespace tcnum
