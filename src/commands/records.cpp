#include "records.hpp"

#include <cstdlib>
#include <system_error>

#include "src/campaign/record.hpp"

namespace tcnum {

namespace fs = std::filesystem;
namespace {

Instruction narrowest(Instruction in) {
  if (in.kind == InstructionKind::wgmma) in.n = 8;
  return in;
}

}  // namespace

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

std::string record_name(const Instruction& instruction) {
  return instruction.name() + std::string(kVectorFileExtension);
}

std::string shown_path(const fs::path& file) {
  std::error_code failed;
  const fs::path relative = fs::proximate(file, failed);
  return failed || *relative.begin() == ".." ? file.string() : relative.string();
}

ComparedResults::ComparedResults(ArchId of) {
  const auto file = find_record(of, kCampaignsFile);
  if (!file) return;
  for (const CampaignRecord& record : read_campaigns(file->string())) {
    if (const Instruction* const in = find_instruction(record.instruction))
      counts_[narrowest(*in).name()] += record.count;
  }
}

std::uint64_t ComparedResults::of(const Instruction& instruction) const {
  const auto found = counts_.find(narrowest(instruction).name());
  return found == counts_.end() ? 0 : found->second;
}

SassTable find_sass(ArchId of) {
  const auto file = find_record(of, kSassFile);
  return file ? read_sass(file->string()) : SassTable{};
}

}  // namespace tcnum
