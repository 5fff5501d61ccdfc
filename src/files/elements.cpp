#include "elements.hpp"

#include <bit>
#include <cstring>

namespace tcnum {
namespace {

/// Between commas, the names of those that are so.
template <class Row, class IsSo>
std::string list_of(std::span<const Row> all, const IsSo& is_so) {
  std::string list;
  for (const Row& each : all) {
    if (is_so(each)) list.append(list.empty() ? "" : ", ").append(each.name);
  }
  return list;
}

}  // namespace

std::string formats_in(const ElementType& type) {
  return list_of(std::span<const Format>(kFormats), [&](const Format& each) { return type.can_hold(each.id); });
}

std::string types_for(std::span<const ElementType> types, FormatId id) {
  return list_of(types, [&](const ElementType& each) { return each.can_hold(id); });
}

std::string names_of(std::span<const ElementType> types) {
  return list_of(types, [](const ElementType&) { return true; });
}

std::optional<std::uint64_t> byte_size(const std::vector<std::uint64_t>& shape, int bits_each) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
  }
  const uint128 bytes = (uint128{elements} * static_cast<unsigned>(bits_each) + 7) / 8;
  return bytes >> 64 != 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(bytes));
}

// --- Codes as files hold them

namespace {

static_assert(std::endian::native == std::endian::little, "files and Codes are little-endian");

bool fills_its_bytes(const Format& f) { return f.storage_bits == 8 * f.storage_bytes(); }
bool is_signed_integer(const Format& f) { return !f.floating && f.has_sign; }

/// What a file holds for a code that fills its bytes not.
std::uint64_t stored(const Format& f, std::uint64_t code) {
  const std::uint64_t mask = f.code_mask();
  const bool negative = is_signed_integer(f) && ((code >> (f.storage_bits - 1)) & 1) != 0;
  const std::uint64_t all = negative ? code | ~mask : code & mask;
  return all & detail::low_mask(8 * f.storage_bytes());
}

/// Calls each(code) for the codes in `bytes`, which are little-endian and of so many bytes, and puts what it gives in
/// their place.
template <class Each>
void replace_codes(std::span<std::byte> bytes, std::size_t bytes_each, const Each& each) {
  for (; !bytes.empty(); bytes = bytes.subspan(bytes_each)) {
    std::uint64_t code = 0;
    std::memcpy(&code, bytes.data(), bytes_each);
    code = each(code);
    std::memcpy(bytes.data(), &code, bytes_each);
  }
}

}  // namespace

void unpack_codes(const Subject& subject, std::string_view field, const Format& f, std::span<std::byte> bytes) {
  if (fills_its_bytes(f)) return;
  std::size_t number = 0;
  replace_codes(bytes, static_cast<std::size_t>(f.storage_bytes()), [&](std::uint64_t code) {
    if (stored(f, code) != code) {
      subject.fail(field, "element {} is 0x{:0{}x}, which is no {}; expected {} bits{}", number, code,
                   2 * f.storage_bytes(), f.name, f.storage_bits,
                   is_signed_integer(f) ? ", sign-extended" : ", the rest zero");
    }
    ++number;
    return code & f.code_mask();
  });
}

void pack_codes(const Format& f, std::span<const std::byte> codes, const WriteBytes& write) {
  if (fills_its_bytes(f)) return write(codes);
  std::vector<std::byte> bytes(std::min(codes.size(), kStretchBytes));
  while (!codes.empty()) {
    const std::span<std::byte> stretch = std::span(bytes).first(std::min(codes.size(), kStretchBytes));
    std::ranges::copy(codes.first(stretch.size()), stretch.begin());
    replace_codes(stretch, static_cast<std::size_t>(f.storage_bytes()),
                  [&](std::uint64_t code) { return stored(f, code); });
    write(stretch);
    codes = codes.subspan(stretch.size());
  }
}

}  // namespace tcnum
