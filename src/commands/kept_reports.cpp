#include "kept_reports.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/input_file.hpp"
#include "io/replacement_file.hpp"
#include "io/sha256.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kSchema = "tcnum.kept_report/1";
constexpr std::size_t kMostBytes = std::size_t{1} << 24;  // a report has some 50 KiB
constexpr std::size_t kMostBuilds = 4, kMostReports = 4096;

/// Where the XDG Base Directory Specification has it; empty if the environment does not say.
fs::path cache_folder() {
  const auto absolute = [](const char* variable) {
    const char* const value = std::getenv(variable);
    const fs::path path = value == nullptr ? "" : value;
    return path.is_absolute() ? path : fs::path();
  };
  if (const fs::path cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache / "tcnum";
  if (const fs::path home = absolute("HOME"); !home.empty()) return home / ".cache" / "tcnum";
  return {};
}

/// A folder or file that only this user can have written.
bool is_ours(const fs::path& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

/// Makes the folder and those above it that are missing, as the specification wants them: for this user alone.
void make_private(const fs::path& folder) {
  std::error_code ignored;
  if (folder.has_parent_path() && !fs::exists(folder.parent_path(), ignored)) make_private(folder.parent_path());
  mkdir(folder.c_str(), S_IRWXU);
}

/// Removes the oldest of what has names of so many characters, until so many are left.
void thin_out(const fs::path& folder, std::size_t name_length, std::size_t most) {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, fs::path>> there;
  for (fs::directory_iterator each(folder, failed); !failed && each != fs::directory_iterator();
       each.increment(failed)) {
    if (each->path().filename().string().size() != name_length) continue;
    std::error_code gone;  // another run thins out too
    const fs::file_time_type written = fs::last_write_time(each->path(), gone);
    if (!gone) there.emplace_back(written, each->path());
  }
  if (there.size() <= most) return;
  std::ranges::sort(there);
  for (std::size_t i = 0; i < there.size() - most; ++i) fs::remove_all(there[i].second, failed);
}

ordered_json json_of(const FinishedReport& report) {
  ordered_json row = ordered_json::array();
  for (const auto& [name, value] : report.row.cells) row.push_back({name, value});
  return {{"verdict", report.verdict}, {"text", report.text}, {"json", report.json}, {"row", std::move(row)}};
}

FinishedReport report_of(const ordered_json& json) {
  FinishedReport report{json.at("verdict").get<Verdict>(), json.at("text").get<std::string>(), json.at("json"), {}};
  for (const ordered_json& cell : json.at("row")) {
    report.row.cells.emplace_back(cell.at(0).get<std::string>(), cell.at(1).get<std::string>());
  }
  return report;
}

/// In one line, as the checksum is of it.
std::string line_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

KeptReports::KeptReports() {
  try {
    const fs::path folder = cache_folder();
    if (folder.empty()) return;
    build_ = sha256_of_file("/proc/self/exe", "this program");
    folder_ = folder / "fits" / build_.substr(0, 16);
  } catch (const std::exception&) {  // then nothing is kept
  }
}

std::string KeptReports::key(const std::vector<std::string>& parts) const {
  if (folder_.empty()) return "";
  Sha256 hash;
  hash.add(build_);
  for (const std::string& part : parts) {
    hash.add(fmt::format("{}:", part.size()));
    hash.add(part);
  }
  return hash.hex();
}

std::optional<FinishedReport> KeptReports::find(const std::string& key) const {
  if (key.empty()) return std::nullopt;
  try {
    const fs::path path = folder_ / key;
    if (!is_ours(folder_) || !is_ours(path)) return std::nullopt;
    const ordered_json kept = ordered_json::parse(read_text(path.string(), "a kept report", kMostBytes));
    const ordered_json& report = kept.at("report");
    const bool whole =
        kept.at("schema") == kSchema && kept.at("key") == key && kept.at("checksum") == sha256(line_of(report));
    return whole ? std::optional(report_of(report)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void KeptReports::keep(const std::string& key, const FinishedReport& report) const {
  if (key.empty()) return;
  try {
    std::error_code failed;
    if (!fs::exists(folder_, failed)) {
      make_private(folder_);
      thin_out(folder_.parent_path(), folder_.filename().string().size(), kMostBuilds);
    }
    if (!is_ours(folder_)) return;
    thin_out(folder_, key.size(), kMostReports - 1);
    const ordered_json json = json_of(report);
    ReplacementFile file((folder_ / key).string());
    file.write(line_of({{"schema", kSchema}, {"key", key}, {"checksum", sha256(line_of(json))}, {"report", json}}) +
               "\n");
    file.commit();
  } catch (const std::exception&) {  // a full disk, a folder that may not be written: then nothing is kept
  }
}

}  // namespace tcnum
