#include "failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "printable.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// Far more than any message has that quotes little.
constexpr std::size_t kMostMessageBytes = 2000;

}  // namespace

InputError::InputError(std::string_view message) : std::runtime_error(shortened(message, kMostMessageBytes)) {}
UnavailableError::UnavailableError(std::string_view message)
    : std::runtime_error(shortened(message, kMostMessageBytes)) {}
ContradictionError::ContradictionError(std::string_view message)
    : std::runtime_error(shortened(message, kMostMessageBytes)) {}

void fail_system(std::string_view path, std::string_view attempt, int error) {
  constexpr std::array kMachines = {ENOSPC, EDQUOT, EFBIG, EIO, ENOMEM, EMFILE, ENFILE, ENODEV, ENXIO, EAGAIN};
  const std::string message = fmt::format("{}: {}: {}", path, attempt, std::generic_category().message(error));
  if (std::ranges::find(kMachines, error) != kMachines.end()) throw UnavailableError(message);
  throw InputError(message);
}

}  // namespace tcnum
