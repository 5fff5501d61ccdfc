#include "byte_source.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tcnum {

MemorySource::MemorySource(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)), bytes_(bytes) {}

void MemorySource::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (offset > bytes_.size() || bytes.size() > bytes_.size() - offset)
    throw std::out_of_range("MemorySource: beyond the end of " + name_);
  std::ranges::copy(bytes_.subspan(offset, bytes.size()), bytes.begin());
}

}  // namespace tcnum
