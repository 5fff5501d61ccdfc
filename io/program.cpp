#include "program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>

#include "tcnum/error.hpp"

extern char** environ;

namespace tcnum {
namespace {

[[noreturn]] void fail_starting(const std::string& program, int error) {
  throw UnavailableError(fmt::format("{}: cannot be started: {}", program, std::generic_category().message(error)));
}

/// A program that runs, and what it writes. It has ended when this has.
class Child {
 public:
  Child(const std::string& program, const std::vector<std::string>& arguments) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_starting(program, errno);
    output_ = ends[0];
    const int error = spawn(program, arguments, ends[1]);
    close(ends[1]);
    if (error == 0) return;
    close(output_);
    fail_starting(program, error);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { static_cast<void>(finish()); }

  int output() const { return output_; }

  /// Its exit status. It writes into nothing from now on, which ends it if it has not.
  int finish() {
    if (pid_ == 0) return status_;
    close(output_);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = 0;
    return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  /// 0, or errno.
  int spawn(const std::string& program, const std::vector<std::string>& arguments, int writing_end) {
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), program);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, writing_end, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // It may not know how to live without the signals that this program ignores.
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawnp(&pid_, program.c_str(), &files, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) pid_ = 0;
    return error;
  }

  pid_t pid_ = 0;  ///< 0: none, or none any more
  int output_ = -1, status_ = 0;
};

}  // namespace

int run_program(const std::string& program, const std::vector<std::string>& arguments, const Lines::Take& take) {
  Child child(program, arguments);
  Lines lines(program, take);
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = read(child.output(), buffer.data(), buffer.size());
    if (n > 0) {
      lines.add(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  lines.finish();
  return child.finish();
}

}  // namespace tcnum
