#include "kept_reports.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "io/input_file.hpp"
#include "io/replacement_file.hpp"
#include "io/sha256.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{1} << 24;  // a report has some 50 KiB

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
    const ordered_json kept = ordered_json::parse(read_text((folder_ / key).string(), "a kept report", kMostBytes));
    if (kept.at("key") != key) return std::nullopt;
    return FinishedReport{kept.at("verdict"), kept.at("text"), kept.at("json"), {kept.at("row")}};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void KeptReports::keep(const std::string& key, const FinishedReport& report) const {
  if (key.empty()) return;
  try {
    if (!fs::exists(folder_)) fs::remove_all(folder_.parent_path());  // what other builds have left
    fs::create_directories(folder_);
    const ordered_json json = {{"key", key},
                               {"verdict", report.verdict},
                               {"text", report.text},
                               {"json", report.json},
                               {"row", report.row.cells}};
    ReplacementFile file((folder_ / key).string());
    file.write(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    file.commit();
  } catch (const std::exception&) {  // a full disk, a folder that may not be written: then nothing is kept
  }
}

}  // namespace tcnum
