// Ctrl-C, and a terminal that is closed: long work ends early and keeps what it has finished.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

namespace tcnum {

inline std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

/// While this lives, Ctrl-C, a polite kill and the end of the terminal (not under nohup) end the work after the chunks
/// at hand; a second one, a second later or more, ends the program. (Some programs send a signal to a child and to its
/// group: that is twice at once.)
class InterruptGuard {
 public:
  InterruptGuard() {
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
      static std::atomic<std::time_t> first = 0;
      static_assert(std::atomic<std::time_t>::is_always_lock_free);
      if (!interrupted) first = std::time(nullptr);
      if (interrupted && std::time(nullptr) - first > 1) _exit(128 + signal);
      interrupted = true;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
    sigaction(SIGHUP, &action, &hang_up_);
    if (hang_up_.sa_handler == SIG_IGN) sigaction(SIGHUP, &hang_up_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGHUP, &hang_up_, nullptr);
  }

 private:
  struct sigaction interrupt_ = {}, terminate_ = {}, hang_up_ = {};
};

}  // namespace tcnum
