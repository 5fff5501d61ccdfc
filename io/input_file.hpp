// What is read at any place: files, all of which are a stranger's, and what a program wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tcnum {

// --- What is read at any place: a file, or what a program wrote.

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// What messages about it begin with.
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;
  /// Fills `bytes` from that offset on; all must be there.
  virtual void read(std::uint64_t offset, std::span<std::byte> bytes) const = 0;
};

/// Bytes in memory, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes);

  const std::string& path() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> bytes) const override;

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

// --- Files that are read. All are a stranger's.

/// A regular file, open for reading. Nothing else will do: a pipe may have nothing to say, and a device no end.
class InputFile final : public ByteSource {
 public:
  /// Throws InputError if it cannot be read. `right` says what is expected, such as "a vector file".
  InputFile(std::string path, std::string_view right);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> bytes) const override;
  /// The next of its bytes, as many as there are at once; none at its end.
  std::size_t read_some(std::span<char> bytes) const;

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// All of a file; throws InputError if that is more than so many bytes.
std::string read_text(const std::string& path, std::string_view right, std::size_t most_bytes);

}  // namespace tcnum
