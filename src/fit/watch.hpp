// What a fit says while it works to whoever waits for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>

#include "tcnum/fit.hpp"

namespace tcnum {

/// Tells a function what is done, now and then, and ends the fit where it says so: begin() and step() then throw
/// FitStopped.
class FitWatch {
 public:
  explicit FitWatch(std::function<bool(const FitProgress&)> tell) : tell_(std::move(tell)) {}

  /// A phase of so many steps; 0: nobody knows. `left`: as of FitProgress. Told at once.
  void begin(std::string_view phase, std::size_t steps, std::size_t left = 0) {
    const std::lock_guard lock(mutex_);
    at_ = {phase, 0, steps, left};
    tell();
  }
  /// One more is done. Any thread may call it.
  void step() {
    constexpr auto kInterval = std::chrono::milliseconds(50);
    const std::lock_guard lock(mutex_);
    ++at_.done;
    if (std::chrono::steady_clock::now() - told_ >= kInterval) tell();
  }

 private:
  void tell() {
    told_ = std::chrono::steady_clock::now();
    if (tell_ && !tell_(at_)) throw FitStopped();
  }

  std::function<bool(const FitProgress&)> tell_;
  std::mutex mutex_;  // of what follows
  FitProgress at_;
  std::chrono::steady_clock::time_point told_;
};

}  // namespace tcnum
