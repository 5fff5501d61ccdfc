// Reports of fits to recorded answers, kept under the user's cache folder, as a fit takes seconds and comes out the
// same each time. What cannot be read, written or believed there is as if it were not there: never an error.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/fit/fit.hpp"
#include "src/report/property_table.hpp"

namespace tcnum {

/// What is shown of a probe, which its fit is not needed for any more.
struct FinishedReport {
  Verdict verdict = Verdict::unexplained;
  std::string text;
  nlohmann::ordered_json json;
  TableRow row;
};

class KeptReports {
 public:
  KeptReports();

  /// Under which name the report is kept that this program makes of what the parts say: one for each build, so that
  /// none vouches for another's fits. Empty, where nothing can be kept.
  std::string key(const std::vector<std::string>& parts) const;
  std::optional<FinishedReport> find(const std::string& key) const;
  void keep(const std::string& key, const FinishedReport& report) const;

 private:
  std::filesystem::path folder_;  ///< this build's; empty if there is none
  std::string build_;
};

}  // namespace tcnum
