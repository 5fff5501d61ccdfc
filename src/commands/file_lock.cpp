#include "file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/failures.hpp"
#include "progress.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

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
