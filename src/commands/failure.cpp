#include "failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>

#include "io/printable.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// Of a path that the user gave: no such file, a loop of links, a name too long.
bool is_wrong_path(const std::filesystem::filesystem_error& error) {
  constexpr std::array kWrong = {ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EACCES, EPERM, EEXIST, EROFS, EINVAL};
  return !error.path1().empty() && std::ranges::find(kWrong, error.code().value()) != kWrong.end();
}

/// Empty if it has none.
std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "";
  }
}

}  // namespace

void complain(std::string_view message) {
  constexpr std::size_t kMostBytes = 4000;
  static_cast<void>(std::fprintf(stderr, "tcnum: %s\n", shortened(message, kMostBytes).c_str()));
}

ExitStatus report_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const InputError& error) {
    complain(error.what());
    return kWrongInput;
  } catch (const ContradictionError& error) {
    complain(error.what());
    return kDisagreed;
  } catch (const std::filesystem::filesystem_error& error) {
    complain(error.what());
    return is_wrong_path(error) ? kWrongInput : kUnavailable;
  } catch (const std::bad_alloc&) {  // for the line too, perhaps
    static_cast<void>(std::fputs("tcnum: not enough memory on this machine\n", stderr));
  } catch (const std::exception& error) {
    complain(error.what());
  } catch (...) {
    complain("failed, and nothing says why");
  }
  return kUnavailable;
}

void Attempts::failed(const std::exception_ptr& why) {
  const auto is_why = [&](const std::exception_ptr& other) {
    return other == why || (!message_of(why).empty() && message_of(other) == message_of(why));
  };
  if (std::ranges::none_of(failures_, is_why)) failures_.push_back(why);
}

ExitStatus Attempts::finish(ExitStatus earned) const {
  for (const std::exception_ptr& failure : failures_) {
    const ExitStatus status = report_failure(failure);
    if (earned == kAgreed) earned = status;
  }
  return earned;
}

}  // namespace tcnum
