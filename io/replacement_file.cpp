#include "replacement_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

#include "failures.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAttempt = "cannot be written";

/// What the path leads to, if there is something, as renaming to a symbolic link would replace the link.
fs::path resolved(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return path;
  if (error) fail_system(path, kAttempt, error.value());
  if (fs::is_directory(status)) fail_system(path, kAttempt, EISDIR);
  if (!fs::is_regular_file(status)) {
    throw InputError(fmt::format("{}: {}: not a regular file; expected a file that may be replaced", path, kAttempt));
  }
  const auto target = fs::canonical(path, error);
  return error ? fs::path(path) : target;
}

/// One that nobody can have foreseen, as others may write to the folder too.
std::string random_name() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<std::uint64_t>(getpid());
  return fmt::format(".tcnum-{:016x}.tmp", bits);
}

}  // namespace

int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(descriptor, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // a terminal or pipe that another program left so
      pollfd room = {descriptor, POLLOUT, 0};
      static_cast<void>(poll(&room, 1, -1));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

ReplacementFile::ReplacementFile(const std::string& path) : path_(path), target_(resolved(path)) {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries && descriptor_ < 0; ++i) {
    temporary_ = target_.parent_path() / random_name();
    // O_EXCL: neither a file nor a symbolic link has that name.
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  require(descriptor_ >= 0);
  struct stat replaced = {};
  constexpr mode_t kPermissions = 0777;
  if (stat(target_.c_str(), &replaced) == 0) require(fchmod(descriptor_, replaced.st_mode & kPermissions) == 0);
}

ReplacementFile::~ReplacementFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void ReplacementFile::write(std::span<const std::byte> bytes) {
  const int error = write_all(descriptor_, bytes);
  if (error != 0) fail_system(path_, kAttempt, error);
}

void ReplacementFile::commit() {
  // Before the rename, so that a power cut cannot leave the new name with no data.
  require(fsync(descriptor_) == 0);
  require(close(std::exchange(descriptor_, -1)) == 0);
  require(std::rename(temporary_.c_str(), target_.c_str()) == 0);
  temporary_.clear();
}

void ReplacementFile::require(bool done) const {
  if (!done) fail_system(path_, kAttempt, errno);
}

}  // namespace tcnum
