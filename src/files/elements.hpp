// Elements of arrays in files: the types that containers declare, which formats' codes may stand in them, and how.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tcnum/error.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

// --- What messages about a file begin with.

/// The file that messages are about.
struct Subject {
  std::string path;

  /// "PATH: FIELD: what is wrong; expected …", as an InputError.
  template <class... Args>
  [[noreturn]] void fail(std::string_view field, fmt::format_string<Args...> problem, Args&&... args) const {
    throw InputError(fmt::format("{}: {}: {}", path, field, fmt::format(problem, std::forward<Args>(args)...)));
  }
};

// --- The types that files declare their elements to have, and which formats' codes may stand in them.

/// A row of a container's table of types.
struct ElementType {
  std::string_view name;           ///< as the container spells it
  int bits;                        ///< of one element
  std::optional<FormatId> format;  ///< that its elements have where nothing else is said; nothing: it must be said
  /// An integer, or opaque: may hold the codes of any format of that size. All others hold what they say.
  bool any_codes;

  bool can_hold(FormatId id) const {
    if (any_codes && tcnum::format(id).storage_bytes() * 8 == bits) return true;
    if (id == FormatId::tf32) return format == FormatId::fp32;      // all 32 bits, as given to the hardware
    if (id == FormatId::ue4m3) return format == FormatId::fp8e4m3;  // it is that without a sign
    return format == id;
  }
};

inline const ElementType* find_element_type(std::span<const ElementType> types, std::string_view name) {
  const auto found = std::ranges::find(types, name, &ElementType::name);
  return found == types.end() ? nullptr : &*found;
}

/// "fp16, bf16": those that can stand in the type.
std::string formats_in(const ElementType& type);
/// "F16, U16": those that can hold the format.
std::string types_for(std::span<const ElementType> types, FormatId id);
/// All of them.
std::string names_of(std::span<const ElementType> types);

/// Bytes of an array, of which the last may be used in part; nothing where they are beyond 64 bits.
std::optional<std::uint64_t> byte_size(const std::vector<std::uint64_t>& shape, int bits_each);

// --- Codes as files hold them: little-endian, those of sub-byte formats one a byte. There signed integers are 8-bit
// numbers, so that others can compute with them; of all other formats it is the bare code, and the rest of the byte is
// zero.

/// So many bytes are read or written at once where not all need be in memory.
inline constexpr std::size_t kStretchBytes = std::size_t{1} << 20;

/// From a file's bytes to codes, in place. Throws InputError for a byte that is no element of `field`.
void unpack_codes(const Subject& subject, std::string_view field, const Format& f, std::span<std::byte> bytes);

using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// Hands on the bytes that a file holds for these codes, in stretches.
void pack_codes(const Format& f, std::span<const std::byte> codes, const WriteBytes& write);

}  // namespace tcnum
