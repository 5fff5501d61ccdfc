#include "stored_codes.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tcnum {
namespace {

static_assert(std::endian::native == std::endian::little, "files and Codes are little-endian");

bool is_sub_byte(const Format& f) { return f.storage_bits < 8; }
bool is_signed_integer(const Format& f) { return !f.floating && f.has_sign; }

/// The byte that a file holds for a code of a sub-byte format.
std::uint8_t stored_byte(const Format& f, std::uint8_t code) {
  const auto mask = static_cast<std::uint8_t>(f.code_mask());
  const bool negative = is_signed_integer(f) && ((code >> (f.storage_bits - 1)) & 1) != 0;
  return static_cast<std::uint8_t>(negative ? code | ~mask : code & mask);
}

}  // namespace

void unpack_codes(const Subject& subject, std::string_view field, const Format& f, std::span<std::byte> bytes,
                  std::size_t first) {
  if (!is_sub_byte(f)) return;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = std::to_integer<std::uint8_t>(bytes[i]);
    if (stored_byte(f, byte) != byte) {
      subject.fail(field, "element {} is {:#04x}, which is no {}; right would be {} bits{}", first + i, byte, f.name,
                   f.storage_bits, is_signed_integer(f) ? ", sign-extended" : ", the rest zero");
    }
    bytes[i] &= static_cast<std::byte>(f.code_mask());
  }
}

void pack_codes(const Format& f, std::span<const std::byte> codes, const WriteBytes& write) {
  if (!is_sub_byte(f)) return write(codes);
  std::vector<std::byte> bytes(std::min(codes.size(), kStretchBytes));
  while (!codes.empty()) {
    const std::span<std::byte> stretch = std::span(bytes).first(std::min(codes.size(), kStretchBytes));
    std::ranges::transform(codes.first(stretch.size()), stretch.begin(), [&](std::byte code) {
      return std::byte{stored_byte(f, std::to_integer<std::uint8_t>(code))};
    });
    write(stretch);
    codes = codes.subspan(stretch.size());
  }
}

}  // namespace tcnum
