// How much memory there is, asked before work that needs more than that begins.
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "tcnum/error.hpp"

namespace tcnum {

/// Less memory than the work takes, found before it began.
struct MemoryError : UnavailableError {
  using UnavailableError::UnavailableError;
};

/// Bytes that this process may still take without moving anything else out of memory: what the system, its control
/// group and the limit on its addresses (ulimit -v) leave. All that 64 bits can say where nobody knows.
std::uint64_t available_memory();

/// Throws MemoryError, "SUBJECT: takes 30.1 GB of memory; this machine has 22.9 GB to spare", if there is less. What
/// is so little that an allocation tells is not asked about.
void require_memory(std::string_view subject, double bytes);

/// What `make` returns. Throws MemoryError, "SUBJECT: larger than the memory of this machine", if there is no room.
template <class Make>
auto with_room_for(const std::string& subject, const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw MemoryError(subject + ": larger than the memory of this machine");
}

}  // namespace tcnum
