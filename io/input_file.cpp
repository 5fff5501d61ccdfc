#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "failures.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kAttempt = "cannot be read";

/// read() or pread() of a file, again where a signal came between.
template <class Read>
std::size_t reading(const std::string& path, Read read) {
  for (;;) {
    const ssize_t n = read();
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) fail_system(path, kAttempt, errno);
  }
}

}  // namespace

InputFile::InputFile(std::string path, std::string_view right) : path_(std::move(path)) {
  // O_NONBLOCK: opening a pipe would wait for its writer.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info = {};
  if (descriptor_ < 0 || fstat(descriptor_, &info) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) close(descriptor_);
    fail_system(path_, kAttempt, error);
  }
  if (!S_ISREG(info.st_mode)) {
    close(descriptor_);
    if (S_ISDIR(info.st_mode)) fail_system(path_, kAttempt, EISDIR);
    throw InputError(fmt::format("{}: {}: not a regular file; expected {}", path_, kAttempt, right));
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::size_t n =
        reading(path_, [&] { return pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n == 0) throw InputError(fmt::format("{}: {}: the file became shorter while it was read", path_, kAttempt));
    bytes = bytes.subspan(n);
    offset += n;
  }
}

std::size_t InputFile::read_some(std::span<char> bytes) const {
  return reading(path_, [&] { return ::read(descriptor_, bytes.data(), bytes.size()); });
}

std::string read_text(const std::string& path, std::string_view right, std::size_t most_bytes) {
  const InputFile file(path, right);
  std::string text;
  std::array<char, 1 << 16> buffer;
  // To its end, whatever its size is said to be: files of /proc are said to be empty.
  while (const std::size_t n = file.read_some(buffer)) {
    text.append(buffer.data(), n);
    if (text.size() > most_bytes) {
      throw InputError(fmt::format("{}: is larger than {} MiB; expected {}", path, most_bytes >> 20, right));
    }
  }
  return text;
}

// --- Memory

MemorySource::MemorySource(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)), bytes_(bytes) {}

void MemorySource::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset)
    throw std::out_of_range("MemorySource: beyond the end of " + name_);
  std::ranges::copy(bytes_.subspan(offset, bytes.size()), bytes.begin());
}

}  // namespace tcnum
