// How far long work is, on standard error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tcnum/fit.hpp"

namespace tcnum {

/// Says on standard error what the work is at: on a terminal in one line that is overwritten again and again; else, as
/// in a pipe or a log, in a line of its own every few seconds, which begins with the seconds since the work began. Any
/// thread may call it. Of several ranks, only the first says something.
class ProgressLine {
 public:
  static constexpr std::chrono::milliseconds kInterval{5000};

  /// `interval`: between lines where standard error is no terminal.
  explicit ProgressLine(std::string_view text = "", std::chrono::milliseconds interval = kInterval);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }
  void show(std::string_view text) const;
  /// Until show() is called again, nothing is said.
  void clear() const { show(""); }

 private:
  void say_now_and_then(const std::stop_token& stop, std::chrono::milliseconds interval) const;

  bool terminal_ = false;
  mutable std::mutex mutex_;
  mutable std::string text_;
  mutable std::condition_variable_any stopped_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::jthread speaker_;  ///< where there is no terminal; the last member, as it uses the others
};

/// "comparing plans 120 of 4000, 4000 left".
std::string progress_text(const FitProgress& progress);

}  // namespace tcnum
