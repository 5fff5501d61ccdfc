#include "arguments.hpp"

#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "io/memory.hpp"
#include "io/printable.hpp"
#include "src/catalogue/names.hpp"

namespace tcnum {

std::string_view text_of(const char* text, std::string_view argument, std::string_view expected) {
  return &required(text, argument, expected);
}

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

char* new_text(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

ArchId arch_of(const char* name, std::string_view argument) {
  const std::string_view text = text_of(name, argument, "one of " + arch_names());
  if (const auto id = find_arch(text)) return *id;
  throw InputError(fmt::format("{}: {} is unknown; expected {}", argument, in_quotes(text), expected_archs(text)));
}

const Format& format_of(const char* name, std::string_view argument) {
  std::string expected;
  for (const Format& f : kFormats) expected += (expected.empty() ? "one of " : ", ") + std::string(f.name);
  const std::string_view text = text_of(name, argument, expected);
  if (const auto id = find_format_or_own(text)) return format(*id);
  throw InputError(fmt::format("{}: {} is unknown; expected {}", argument, in_quotes(text), expected));
}

const Instruction& instruction_of(ArchId id, const char* name) {
  return instruction_named("instruction", text_of(name, "instruction", "the name of an instruction"), id);
}

void check_codes(std::span<const std::byte> codes, const Format& f, std::string_view argument) {
  const auto each = static_cast<std::size_t>(f.storage_bytes());
  if (f.storage_bits == static_cast<int>(8 * each)) return;
  for (std::size_t i = 0; i < codes.size() / each; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, &codes[i * each], each);
    if ((code & ~f.code_mask()) == 0) continue;
    throw InputError(fmt::format("{}: code {} is 0x{:0{}x}, which is no {}; expected {} bits, the rest zero", argument,
                                 i, code, 2 * each, f.name, f.storage_bits));
  }
}

std::span<const std::byte> bytes_at(const void* codes, std::size_t bytes, std::string_view argument) {
  if (bytes == 0) return {};
  required(static_cast<const std::byte*>(codes), argument, fmt::format("{} bytes of codes", bytes));
  return {static_cast<const std::byte*>(codes), bytes};
}

MatrixView view_of(const tcnum_view* given, std::string_view argument) {
  const tcnum_view& view = required(given, argument, "a matrix");
  const Format& f = format_of(view.format, fmt::format("{}->format", argument));
  if (view.layout != TCNUM_ROW_MAJOR && view.layout != TCNUM_COLUMN_MAJOR) {
    throw InputError(
        fmt::format("{}->layout: is {}; expected TCNUM_ROW_MAJOR or TCNUM_COLUMN_MAJOR", argument, view.layout));
  }
  const std::span<const std::byte> codes = bytes_at(view.codes, view.bytes, fmt::format("{}->codes", argument));
  try {
    const MatrixView checked(codes, view.rows, view.columns, f.id,
                             view.layout == TCNUM_ROW_MAJOR ? Layout::row_major : Layout::column_major);
    check_codes(codes, f, fmt::format("{}->codes", argument));
    return checked;
  } catch (const InputError& error) {  // a matrix does not know what it is called
    const std::string_view message = error.what();
    constexpr std::string_view kSubject = "matrix: ";
    if (!message.starts_with(kSubject)) throw;
    throw InputError(fmt::format("{}: {}", argument, message.substr(kSubject.size())));
  }
}

// --- Statuses

namespace {

/// The message of this thread. An array, so that no memory is needed to say that there is none. Messages of InputError
/// are shorter.
constinit thread_local std::array<char, 2048> t_message = {};

tcnum_status keep(tcnum_status status, std::string_view message) noexcept {
  const std::size_t bytes = std::min(message.size(), t_message.size() - 1);
  std::memcpy(t_message.data(), message.data(), bytes);
  t_message[bytes] = '\0';
  return status;
}

}  // namespace

tcnum_status keep_failure() noexcept {
  try {
    throw;
  } catch (const Stopped&) {
    return keep(TCNUM_STOPPED, "stopped, as a callback said");
  } catch (const FitStopped&) {
    return keep(TCNUM_STOPPED, "stopped, as a callback said");
  } catch (const InputError& error) {
    return keep(TCNUM_INVALID, error.what());
  } catch (const MemoryError& error) {
    return keep(TCNUM_NO_MEMORY, error.what());
  } catch (const UnavailableError& error) {
    return keep(TCNUM_UNAVAILABLE, error.what());
  } catch (const std::bad_alloc&) {
    return keep(TCNUM_NO_MEMORY, "not enough memory on this machine; expected smaller arguments");
  } catch (const std::length_error&) {  // a size that no allocation can have
    return keep(TCNUM_NO_MEMORY, "more than a memory can hold; expected smaller arguments");
  } catch (const std::exception& error) {
    return keep(TCNUM_INTERNAL, error.what());
  } catch (...) {
    return keep(TCNUM_INTERNAL, "an exception without a message");
  }
}

}  // namespace tcnum

const char* tcnum_message() { return tcnum::t_message.data(); }

const char* tcnum_version() { return TCNUM_VERSION; }

const char* tcnum_status_text(tcnum_status status) {
  static constexpr std::array<const char*, 6> kTexts = {"done",
                                                        "stopped by a callback",
                                                        "wrong argument or file",
                                                        "this machine lacks what was asked for",
                                                        "not enough memory",
                                                        "a bug of tcnum"};
  const auto number = static_cast<std::size_t>(status);
  return number < kTexts.size() ? kTexts[number] : "not a status of tcnum";
}

void tcnum_free(char* text) { std::free(text); }
