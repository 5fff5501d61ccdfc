// How far long work is, on standard error.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "tcnum/fit.hpp"

namespace tcnum {

/// Says what the work is at in one line that is overwritten again and again, where standard error is a terminal. Any
/// thread may call it.
class ProgressLine {
 public:
  explicit ProgressLine(std::string_view text = "");
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }
  void show(std::string_view text) const;
  /// Until show() is called again, nothing is said.
  void clear() const { show(""); }

 private:
  bool terminal_;
  mutable std::mutex mutex_;
};

/// "comparing plans 120 of 4000, 4000 left".
std::string progress_text(const FitProgress& progress);

}  // namespace tcnum
