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

std::string record_name(const Instruction& instruction) {
  return instruction.name() + std::string(kVectorFileExtension);
}

std::string shown_path(const fs::path& file) {
  std::error_code failed;
  const fs::path relative = fs::proximate(file, failed);
  return failed || *relative.begin() == ".." ? file.string() : relative.string();
}

namespace {
/// The same for all widths of an instruction.
std::string without_width(Instruction instruction) {
  instruction.n = 0;
  return instruction.name();
}
}  // namespace

ComparedResults::ComparedResults(ArchId of) {
  const auto file = find_record(of, kCampaignsFile);
  if (!file) return;
  file_ = shown_path(*file);
  for (const CampaignRecord& record : read_campaigns(file->string())) {
    if (const Instruction* const instruction = find_instruction(record.instruction))
      compared_[without_width(*instruction)][instruction->n] += static_cast<double>(record.count);
  }
}

std::optional<Compared> ComparedResults::of(const Instruction& instruction) const {
  const auto found = compared_.find(without_width(instruction));
  if (found == compared_.end()) return std::nullopt;
  Compared compared{.file = file_};
  for (const auto& [n, count] : found->second) {
    if (n == instruction.n) {
      compared.here += count;
    } else if (instruction.kind == InstructionKind::wgmma) {
      compared.other_widths += count;
      ++compared.widths;
    }
  }
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
