// Another program, running: its standard streams are pipes, and it and all that it starts end with this at the latest.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tcnum {

/// How long to wait for a program.
struct Deadline {
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;  ///< waits no longer once it is true; null: nothing stops it

  static Deadline of(std::chrono::duration<double> time, const std::atomic<bool>* stop = nullptr);
};

class Child {
 public:
  enum class Streams : unsigned char {
    none,    ///< it reads nothing, and what it writes is not looked at
    output,  ///< it reads nothing
    input_too,
  };
  /// Why a wait ended.
  enum class Wait : unsigned char {
    done,
    output_ended,  ///< it will write no more
    input_closed,  ///< it will read no more
    input_left,    ///< `take` was content before the program had read everything
    out_of_time,
    stopped,
  };
  /// Looks at what the program wrote; says whether that is all that is waited for.
  using Take = std::function<bool(std::span<const std::byte>)>;

  /// Starts the program that the first word names, which is looked for in PATH, with the others as its arguments. No
  /// shell sees them. Throws std::system_error if it cannot be started.
  Child(std::vector<std::string> words, Streams streams);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Writes `input`, and hands on what the program writes, until `take` is content.
  Wait talk(std::span<const std::byte> input, const Take& take, const Deadline& deadline);
  /// Closes its standard input, and waits until it has ended. What it writes meanwhile goes to `take`, whatever that
  /// says.
  Wait await_end(const Deadline& deadline, const Take& take = {});

  /// After await_end(): its exit status, 128 and more if a signal ended it; nothing if it runs on.
  std::optional<int> status() const;
  /// "ended with status 3", "was ended by signal 11 (Segmentation fault)".
  std::string end_text() const;
  /// The last of what it wrote to standard error.
  const std::string& last_words() const { return errors_tail_; }

 private:
  int spawn(std::vector<std::string>& words, int input, int output, int errors);
  void read_errors();
  bool has_ended();

  pid_t pid_ = 0;  ///< of the program, and of the group that it leads; 0: it has been waited for
  int input_ = -1, output_ = -1, errors_ = -1;
  std::optional<int> wait_status_;
  std::string errors_tail_;
};

}  // namespace tcnum
