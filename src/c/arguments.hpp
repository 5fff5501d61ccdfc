// What the calls of the C interface share: checks of what callers hand over (pointers, names, sizes of structures,
// codes), which throw an InputError that names the argument and says what was expected; and what turns exceptions into
// a status and a message.
#pragma once

#include <fmt/format.h>

#include "tcnum/error.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/tcnum.h"

namespace tcnum {

// --- Checks of pointers

/// The pointee of an argument that may not be NULL. The message ends with `expected`.
template <class T>
T& required(T* pointer, std::string_view argument, std::string_view expected) {
  if (pointer == nullptr) throw InputError(fmt::format("{}: is NULL; expected {}", argument, expected));
  return *pointer;
}

inline constexpr std::string_view kResultAddress = "the address that the result goes to";

/// The place of a result. It holds NULL until the call has succeeded.
template <class T>
T*& result_of(T** result, std::string_view argument) {
  T*& at = required(result, argument, kResultAddress);
  at = nullptr;
  return at;
}

/// `of`: what there are so many of, "the formats".
inline void check_index(std::size_t index, std::size_t count, std::string_view of) {
  if (index < count) return;
  throw InputError(fmt::format("index: is {}; expected a number below {}, {}", index, count, of));
}

/// A text that may not be NULL.
std::string_view text_of(const char* text, std::string_view argument, std::string_view expected);
/// A text that may be NULL, which is the empty one.
inline std::string_view text_or_none(const char* text) { return text == nullptr ? std::string_view() : text; }

/// Reports and files hold UTF-8 alone.
bool is_utf8(std::string_view text);

/// A copy of the text that the caller frees by tcnum_free().
char* new_text(std::string_view text);

// --- Names ------------------------------------------------------------------------------------------------------

ArchId arch_of(const char* name, std::string_view argument = "arch");
const Format& format_of(const char* name, std::string_view argument);
/// The instruction of that name, which the architecture must have.
const Instruction& instruction_of(ArchId arch, const char* name);

/// The text by which callers can name a format in later calls: format_text().
inline const char* c_name(FormatId id) { return format_text(id).data(); }

// --- Structures -------------------------------------------------------------------------------------------------

/// Every structure that begins with `size` has the size of this library's version of it: no other is taken.
template <class T>
void check_size(const T& given, std::string_view argument) {
  if (given.size == sizeof(T)) return;
  throw InputError(fmt::format("{0}->size: is {1}; expected sizeof(*{0}), which is {2} in the tcnum.h of tcnum {3}",
                               argument, given.size, sizeof(T), tcnum_version()));
}

/// The caller's options; all zero where the pointer is NULL.
template <class T>
T options_of(const T* given, std::string_view argument) {
  if (given == nullptr) return {};
  check_size(*given, argument);
  return *given;
}

/// Fills the caller's structure.
template <class T>
void hand_back(T value, T* to, std::string_view argument) {
  check_size(required(to, argument, kResultAddress), argument);
  value.size = sizeof(T);
  *to = value;
}

// --- Codes ------------------------------------------------------------------------------------------------------

/// Throws if a code has a bit set beyond those of its format.
void check_codes(std::span<const std::byte> codes, const Format& format, std::string_view argument);

/// The bytes at that address, which may be NULL if there are none.
std::span<const std::byte> bytes_at(const void* codes, std::size_t bytes, std::string_view argument);

MatrixView view_of(const tcnum_view* view, std::string_view argument);

// --- Exceptions, of which none reaches callers in C

/// Thrown where a callback asks to stop.
struct Stopped {};

/// The status of the exception that is being handled; keeps its message for the thread.
tcnum_status keep_failure() noexcept;

template <class Call>
tcnum_status guarded(const Call& call) noexcept {
  try {
    call();
    return TCNUM_OK;
  } catch (...) {
    return keep_failure();
  }
}

/// A call that hands back what `make` makes through `to`, which holds NULL until it has succeeded.
template <class T, class Make>
tcnum_status handed_back(T** to, std::string_view argument, const Make& make) noexcept {
  return guarded([&] {
    T*& result = result_of(to, argument);
    result = make();
  });
}

// --- The progress of a fit, told to a callback in C that may stop it.

/// `Options`: tcnum_probe_options or tcnum_gemm_fit_options.
template <class Options>
std::function<bool(const FitProgress&)> fit_progress_of(const Options& given) {
  if (given.progress == nullptr) return {};
  return [tell = given.progress, user = given.progress_user](const FitProgress& at) {
    return tell(user, at.phase.data(), at.done, at.all) == 0;  // phases are literals
  };
}

}  // namespace tcnum
