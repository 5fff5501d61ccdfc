// What the operating system refuses, as an error of the user's or of this machine.
#pragma once

#include <string_view>

namespace tcnum {

/// "PATH: cannot be written: No space left on device". Throws UnavailableError where another path would not help, as
/// there is no space, no memory or no device that works; else InputError. `error` is an errno.
[[noreturn]] void fail_system(std::string_view path, std::string_view attempt, int error);

}  // namespace tcnum
