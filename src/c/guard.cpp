#include "guard.hpp"

#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "io/memory.hpp"
#include "tcnum/error.hpp"
#include "tcnum/fit.hpp"

namespace tcnum {
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
