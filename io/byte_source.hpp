// What is read at any place: a file, or what a program wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tcnum {

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

}  // namespace tcnum
