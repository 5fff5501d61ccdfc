// Failures: what becomes of an exception, and how the work goes on so that one failure hides and spoils nothing else.
#pragma once

#include <exception>
#include <string_view>
#include <vector>

#include "commands.hpp"

namespace tcnum {

/// One line on standard error, whatever the message holds.
void complain(std::string_view message);

/// Says what the exception is; the exit status of its kind, which is that of a disagreement only where who answers
/// disagrees with himself.
ExitStatus report_failure(const std::exception_ptr& failure);

/// Steps of which each is tried, whatever became of those before.
class Attempts {
 public:
  /// Whether the step could be done.
  template <class Step>
  bool attempt(const Step& step) {
    try {
      step();
      return true;
    } catch (...) {
      failed(std::current_exception());
      return false;
    }
  }
  /// What fails several steps, as a program that has ended or a full disk does, is said once.
  void failed(const std::exception_ptr& why);
  /// Says what failed. The status that the work has earned, or the first failure's: that something could not be done
  /// does not hide a disagreement.
  ExitStatus finish(ExitStatus earned) const;

 private:
  std::vector<std::exception_ptr> failures_;
};

}  // namespace tcnum
