#include "child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>

extern char** environ;

namespace tcnum {
namespace {

using Clock = std::chrono::steady_clock;

/// What a flag that is set by a signal to another thread, or the end of a program that keeps its pipes open, is noticed
/// after.
constexpr std::chrono::milliseconds kLongestNap{50}, kShortestNap{1};
/// Of standard error: enough for the end of a traceback.
constexpr std::size_t kMostLastWords = 4096;

void close_pipe_end(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

struct Pipe {
  int reading = -1, writing = -1;

  Pipe() {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
    reading = ends[0];
    writing = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_pipe_end(reading);
    close_pipe_end(writing);
  }
};

/// Takes an end over, for reading or writing as much as there is at once.
int take_over(int& end) {
  const int descriptor = end;
  end = -1;
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  return descriptor;
}

/// While this lives, writing into a pipe that nobody reads fails, and does not end this program: not every program that
/// uses the library ignores the signal.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigemptyset(&broken_);
    sigaddset(&broken_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &broken_, &before_);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;
  ~NoBrokenPipes() {
    constexpr timespec kAtOnce = {};
    while (!was_pending_ && sigtimedwait(&broken_, nullptr, &kAtOnce) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t broken_, before_;
  bool was_pending_;
};

bool is_over(int error) { return error != EAGAIN && error != EINTR; }

/// poll()'s timeout.
int milliseconds_until(Clock::time_point until, Clock::time_point now, std::chrono::milliseconds most) {
  const auto left = until - now;
  if (left >= most) return static_cast<int>(most.count());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

Deadline Deadline::of(std::chrono::duration<double> time, const std::atomic<bool>* stop) {
  constexpr std::chrono::duration<double> kForever = std::chrono::hours(24 * 365);
  return {Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min(time, kForever)), stop};
}

Child::Child(std::vector<std::string> words, Streams streams) {
  Pipe input, output, errors;
  const bool reads = streams == Streams::input_too, writes = streams != Streams::none;
  const int error = spawn(words, reads ? input.reading : -1, writes ? output.writing : -1, errors.writing);
  if (error != 0) throw std::system_error(error, std::generic_category());
  if (reads) input_ = take_over(input.writing);
  if (writes) output_ = take_over(output.reading);
  errors_ = take_over(errors.reading);
}

/// 0, or errno.
int Child::spawn(std::vector<std::string>& words, int input, int output, int errors) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const auto connect = [&](int end, int stream, int mode) {
    if (end >= 0)
      posix_spawn_file_actions_adddup2(&files, end, stream);
    else
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", mode, 0);
  };
  connect(input, STDIN_FILENO, O_RDONLY);
  connect(output, STDOUT_FILENO, O_WRONLY);
  connect(errors, STDERR_FILENO, O_WRONLY);

  // It may not know how to live without the signals that this program ignores, or with those that a thread of it has
  // blocked. A group of its own: what it starts can be ended with it, and Ctrl-C is for this program to act on.
  posix_spawnattr_t attributes;
  sigset_t defaults, none;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&pid_, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) pid_ = 0;
  return error;
}

Child::~Child() {
  close_pipe_end(input_);
  close_pipe_end(output_);
  close_pipe_end(errors_);
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Child::read_errors() {
  std::array<char, 1 << 14> buffer;
  const ssize_t n = read(errors_, buffer.data(), buffer.size());
  if (n > 0) {
    errors_tail_.append(buffer.data(), static_cast<std::size_t>(n));
    if (errors_tail_.size() > kMostLastWords) errors_tail_.erase(0, errors_tail_.size() - kMostLastWords);
  } else if (n == 0 || is_over(errno)) {
    close_pipe_end(errors_);
  }
}

Child::Wait Child::talk(std::span<const std::byte> input, const Take& take, const Deadline& deadline) {
  const NoBrokenPipes guard;
  std::array<std::byte, 1 << 16> buffer;
  for (;;) {
    if (deadline.stop != nullptr && *deadline.stop) return Wait::stopped;
    const Clock::time_point now = Clock::now();
    if (now >= deadline.until) return Wait::out_of_time;
    // poll() looks away from descriptors that are negative, and says of all others when their other end is gone.
    std::array<pollfd, 3> ends = {
        {{input_, static_cast<short>(input.empty() ? 0 : POLLOUT), 0}, {output_, POLLIN, 0}, {errors_, POLLIN, 0}}};
    const int ready = poll(ends.data(), ends.size(), milliseconds_until(deadline.until, now, kLongestNap));
    if (ready == 0 && has_ended()) return Wait::output_ended;  // what it has started may keep its pipes open
    if (ready <= 0) continue;
    const auto& [to_write, to_read, complaints] = ends;
    if (complaints.revents != 0) read_errors();
    if (to_read.revents != 0) {
      const ssize_t n = read(output_, buffer.data(), buffer.size());
      if (n == 0 || (n < 0 && is_over(errno))) return Wait::output_ended;
      if (n > 0 && take(std::span(buffer).first(static_cast<std::size_t>(n))))
        return input.empty() ? Wait::done : Wait::input_left;
    } else if ((to_write.revents & POLLERR) != 0) {
      return Wait::input_closed;
    }
    if ((to_write.revents & POLLOUT) != 0 && !input.empty()) {
      const ssize_t n = write(input_, input.data(), input.size());
      if (n < 0 && is_over(errno) && errno != EPIPE) return Wait::input_closed;
      if (n > 0) input = input.subspan(static_cast<std::size_t>(n));
    }
  }
}

/// Leaves it a zombie, which keeps the number of its group from others until what it has started is ended.
bool Child::has_ended() {
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
  return info.si_pid == pid_;
}

Child::Wait Child::await_end(const Deadline& deadline, const Take& take) {
  close_pipe_end(input_);
  if (pid_ == 0) return Wait::done;
  std::array<std::byte, 1 << 16> buffer;
  const auto read_output = [&] {
    const ssize_t n = read(output_, buffer.data(), buffer.size());
    if (n > 0 && take) static_cast<void>(take(std::span(buffer).first(static_cast<std::size_t>(n))));
    if (n == 0 || (n < 0 && is_over(errno))) close_pipe_end(output_);
  };
  std::chrono::milliseconds nap = kShortestNap;
  for (bool ended = false;;) {
    if (deadline.stop != nullptr && *deadline.stop) return Wait::stopped;
    const Clock::time_point now = Clock::now();
    if (now >= deadline.until) return Wait::out_of_time;
    // What it wrote before it ended is in the pipes when it has: once more then, until they are empty.
    ended = ended || has_ended();
    std::array<pollfd, 2> ends = {{{output_, POLLIN, 0}, {errors_, POLLIN, 0}}};
    const int ready = poll(ends.data(), ends.size(), ended ? 0 : milliseconds_until(deadline.until, now, nap));
    if (ready > 0) {
      if (ends[0].revents != 0) read_output();
      if (ends[1].revents != 0) read_errors();
    } else if (ended) {
      break;
    } else {
      nap = std::min(2 * nap, kLongestNap);
    }
  }
  kill(-pid_, SIGKILL);  // what it has left behind
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  wait_status_ = status;
  pid_ = 0;
  return Wait::done;
}

std::optional<int> Child::status() const {
  if (!wait_status_) return std::nullopt;
  return WIFEXITED(*wait_status_) ? WEXITSTATUS(*wait_status_) : 128 + WTERMSIG(*wait_status_);
}

std::string Child::end_text() const {
  if (!wait_status_) return "runs on";
  if (WIFEXITED(*wait_status_)) return fmt::format("ended with status {}", WEXITSTATUS(*wait_status_));
  const int signal = WTERMSIG(*wait_status_);
  return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
}

}  // namespace tcnum
