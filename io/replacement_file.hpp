// Files that are written, so that none is ever half of what it should be.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tcnum {

/// A file beside another that takes its place at commit(), with all that was written to it, or vanishes. Throws as
/// fail_system() does; then, too, it vanishes.
class ReplacementFile {
 public:
  /// Follows symbolic links. Refuses to replace what is no regular file, such as /dev/null or a folder.
  explicit ReplacementFile(const std::string& path);
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;
  ~ReplacementFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  void require(bool done) const;

  std::string path_;
  std::filesystem::path target_, temporary_;
  int descriptor_ = -1;
};

/// Writes all of it to an open file: 0, or errno.
int write_all(int descriptor, std::span<const std::byte> bytes);

}  // namespace tcnum
