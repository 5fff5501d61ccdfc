// Codes as files hold them: little-endian, those of sub-byte formats one a byte. There signed integers are 8-bit
// numbers, so that others can compute with them; of all other formats it is the bare code, and the rest of the byte is
// zero.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "subject.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// So many bytes are read or written at once where not all need be in memory.
inline constexpr std::size_t kStretchBytes = std::size_t{1} << 20;

/// From a file's bytes to codes, in place. Throws InputError for a byte that is no element; the first byte is element
/// number `first` of `field`.
void unpack_codes(const Subject& subject, std::string_view field, const Format& f, std::span<std::byte> bytes,
                  std::size_t first = 0);

using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// Hands on the bytes that a file holds for these codes, in stretches.
void pack_codes(const Format& f, std::span<const std::byte> codes, const WriteBytes& write);

}  // namespace tcnum
