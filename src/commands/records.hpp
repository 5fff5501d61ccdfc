// The folders of recorded answers, what lies there beside them, and files that several processes add to.
#pragma once

#include <filesystem>

#include "src/campaign/record.hpp"
#include "src/catalogue/sass.hpp"
#include "src/report/probe_report.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

// --- Records

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

// --- One process at a time: for files that are read, added to and written again, and for those that one run keeps.

/// While this lives, no other process has a lock of the same file, on any machine that shares the folder. The lock is
/// the kernel's, of a file beside it (.NAME.lock): it ends with the process, whatever ends that, so the file, which
/// stays, says nothing. (That file is never replaced, as the other is; and if it were removed, another machine could go
/// on locking the one that it remembers.) On NFS, Linux makes of flock() a lock of the server's, unless
/// the folder was mounted with local_lock=flock, local_lock=all or nolock: then nothing tells that it is this
/// machine's.
class FileLock {
 public:
  enum class IfHeld { wait, refuse };

  /// Throws InputError if another process has the lock and `refuse` is wanted, or if the folder is not writable;
  /// UnavailableError if its file system has no locks.
  FileLock(const std::string& path, IfHeld if_held);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace tcnum
