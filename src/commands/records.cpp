#include "records.hpp"

#include <cstdlib>
#include <system_error>

namespace tcnum {

namespace fs = std::filesystem;

std::vector<fs::path> record_folders() {
  if (const char* folder = std::getenv("TCNUM_VECTORS"); folder != nullptr && *folder != '\0') return {folder};
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);  // an installed program's lie beside it
  return {program.parent_path().parent_path() / TCNUM_INSTALLED_VECTORS, TCNUM_VECTORS_DIR};
}

std::optional<fs::path> find_record(ArchId of, std::string_view file) {
  for (const fs::path& folder : record_folders()) {
    fs::path path = folder / arch(of).name / file;
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

SassTable find_sass(ArchId of) {
  const auto file = find_record(of, "sass.json");
  return file ? read_sass(file->string()) : SassTable{};
}

}  // namespace tcnum
