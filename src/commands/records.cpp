#include "records.hpp"

#include <cstdlib>
#include <set>
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
  file_ = shown_path(*file);
  records_ = read_campaigns(file->string());
}

std::optional<Compared> ComparedResults::of(const Instruction& instruction) const {
  Compared compared{.file = file_};
  std::set<int> widths;
  for (const CampaignRecord& record : records_) {
    const Instruction* const other = find_instruction(record.instruction);
    if (other == nullptr || other->kind != instruction.kind) continue;
    Instruction at_this_width = *other;
    at_this_width.n = instruction.n;
    if (at_this_width.name() != instruction.name()) continue;
    if (other->n == instruction.n) {
      compared.here += static_cast<double>(record.count);
    } else if (instruction.kind == InstructionKind::wgmma) {
      compared.other_widths += static_cast<double>(record.count);
      widths.insert(other->n);
    }
  }
  compared.widths = widths.size();
  if (compared.here == 0 && compared.widths == 0) return std::nullopt;
  return compared;
}

std::uint64_t ComparedResults::count(const Instruction& instruction) const {
  const std::optional<Compared> compared = of(instruction);
  return compared ? static_cast<std::uint64_t>(compared->here + compared->other_widths) : 0;
}

SassTable find_sass(ArchId of) {
  const auto file = find_record(of, kSassFile);
  return file ? read_sass(file->string()) : SassTable{};
}

}  // namespace tcnum
