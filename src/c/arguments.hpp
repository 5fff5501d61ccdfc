// What callers in C hand over, checked: pointers that must be there, names, structures of another version, codes. Each
// function throws an InputError that names the argument and says what would be right.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/tcnum.h"

namespace tcnum {

/// What an argument points to. `right` says what that would be.
template <class T>
T& required(T* pointer, std::string_view argument, std::string_view right) {
  if (pointer == nullptr) throw InputError(fmt::format("{}: is NULL; right would be {}", argument, right));
  return *pointer;
}

/// Where a result goes: nothing is there until there is one.
template <class T>
T*& result_of(T** result, std::string_view argument) {
  T*& at = required(result, argument, "where the result is to go");
  at = nullptr;
  return at;
}

/// A text that must be there.
std::string_view text_of(const char* text, std::string_view argument, std::string_view right);
/// Or need not be.
inline std::string_view text_or_none(const char* text) { return text == nullptr ? std::string_view() : text; }

/// Reports and files take no other.
bool is_utf8(std::string_view text);

/// A text as callers get it, who free it.
char* new_text(std::string_view text);

// --- Names ------------------------------------------------------------------------------------------------------

ArchId arch_of(const char* name, std::string_view argument = "arch");
const Format& format_of(const char* name, std::string_view argument);
/// An instruction that the architecture has.
const Instruction& instruction_of(ArchId arch, const char* name);

/// A format as callers may hand it back: format_text().
inline const char* c_name(FormatId id) { return format_text(id).data(); }

// --- Structures that may grow -----------------------------------------------------------------------------------

/// The size that the first version had. When a structure grows, a specialisation keeps it.
template <class T>
inline constexpr std::size_t kFirstSize = sizeof(T);
template <>
inline constexpr std::size_t kFirstSize<tcnum_matmul_options> = offsetof(tcnum_matmul_options, a_scales);
template <>
inline constexpr std::size_t kFirstSize<tcnum_datapath_info> = offsetof(tcnum_datapath_info, standing);
template <>
inline constexpr std::size_t kFirstSize<tcnum_probe_options> = offsetof(tcnum_probe_options, any_nan);
template <>
inline constexpr std::size_t kFirstSize<tcnum_gemm_fit_options> = offsetof(tcnum_gemm_fit_options, progress);
template <>
inline constexpr std::size_t kFirstSize<tcnum_dot> = offsetof(tcnum_dot, scale_block);

void check_size(std::size_t size, std::size_t least, std::string_view argument);
/// Throws where a caller who knows more than this library asks for it.
void check_rest(std::span<const std::byte> unknown, std::string_view argument);

/// The caller's structure as this library knows it; all zero if there is none.
template <class T>
T options_of(const T* given, std::string_view argument) {
  T options = {};
  if (given == nullptr) return options;
  check_size(given->size, kFirstSize<T>, argument);
  std::memcpy(&options, given, std::min(given->size, sizeof(T)));
  if (given->size > sizeof(T)) {
    check_rest({reinterpret_cast<const std::byte*>(given) + sizeof(T), given->size - sizeof(T)}, argument);
  }
  return options;
}

/// Fills as much of the caller's structure as both know.
template <class T>
void hand_back(T value, T* to, std::string_view argument) {
  const std::size_t size = required(to, argument, "where the result is to go").size;
  check_size(size, kFirstSize<T>, argument);
  value.size = size;
  std::memcpy(to, &value, std::min(size, sizeof(T)));
}

// --- Codes ------------------------------------------------------------------------------------------------------

/// Throws if a code has bits that its format has not.
void check_codes(std::span<const std::byte> codes, const Format& format, std::string_view argument);

/// `bytes` bytes at that address.
std::span<const std::byte> bytes_at(const void* codes, std::size_t bytes, std::string_view argument);

MatrixView view_of(const tcnum_view* view, std::string_view argument);

}  // namespace tcnum
