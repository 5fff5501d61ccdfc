#include "records.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "io/failures.hpp"
#include "output.hpp"

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

// --- Locks

namespace {

/// Of the file that a name leads to: several names may lead to one.
std::string lock_file_of(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error), target = error ? fs::path(path) : found;
  return (target.parent_path() / fmt::format(".{}.lock", target.filename().string())).string();
}

/// NFS remembers for a while which files a folder has not: that another machine has made one is seen when the folder is
/// opened again.
void look_anew(const fs::path& folder) {
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) close(descriptor);
}

int lock(int descriptor, int operation) {
  while (flock(descriptor, operation) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

FileLock::FileLock(const std::string& path, IfHeld if_held) {
  const std::string file = lock_file_of(path);
  // For writing, as NFS locks nothing else; and no link that somebody left there is followed.
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  int error = descriptor_ < 0 ? errno : lock(descriptor_, LOCK_EX | LOCK_NB);
  if (error == EWOULDBLOCK && if_held == IfHeld::wait) {
    const ProgressLine line(fmt::format("waiting for another process to write {}", path));
    error = lock(descriptor_, LOCK_EX);
  }
  if (error == 0) {
    look_anew(fs::path(file).parent_path());
    return;
  }
  if (descriptor_ >= 0) close(descriptor_);
  if (error == EWOULDBLOCK) {
    throw InputError(fmt::format("{}: another run is keeping it; expected another file, or the end of that run", path));
  }
  if (error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP) {
    throw UnavailableError(
        fmt::format("{}: its file system has no locks: {}", file, std::generic_category().message(error)));
  }
  fail_system(file, "cannot be locked", error);
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace tcnum
