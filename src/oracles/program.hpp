// Programs that answer requests: the process and its streams or files. What stands in requests and answers is not known
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/child.hpp"
#include "tcnum/program_oracle.hpp"

namespace tcnum {

class Program {
 public:
  explicit Program(std::string command) : command_(std::move(command)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  /// As the user wrote it: what messages begin with.
  const std::string& command() const { return command_; }

  /// The answer, which has at most so many bytes. A program that has failed once is not asked again, as nobody could tell
  /// what it would say next: it fails as before.
  std::vector<std::byte> exchange(std::span<const std::byte> request, std::uint64_t most_bytes);
  void finish();

 protected:
  virtual std::vector<std::byte> exchange_now(std::span<const std::byte> request, std::uint64_t most_bytes) = 0;
  virtual void finish_now() = 0;

 private:
  std::string command_;
  std::exception_ptr failure_;
};

/// Where the names of files go in a command.
inline constexpr std::string_view kInPlace = "{in}", kOutPlace = "{out}";

/// A program that is run anew for each request, with the names of two files.
class FileProgram final : public Program {
 public:
  /// A command without the places has the names appended.
  FileProgram(const std::string& command, const ProgramOptions& options);

  /// Writes the one file, runs the program, and reads the other. Both are gone afterwards.
  void run(const std::function<void(const std::string& in)>& write,
           const std::function<void(const std::string& out)>& read) const;

  std::vector<std::byte> exchange_now(std::span<const std::byte> request, std::uint64_t most_bytes) override;
  void finish_now() override {}

 private:
  std::vector<std::string> words_;
  ProgramOptions options_;
};

/// Throws InputError: "COMMAND: what it did; expected …; its standard error ends: …".
[[noreturn]] void fail_program(const std::string& command, const Child& child, std::string_view problem);
/// The same where it ran out of time or was stopped; does nothing if it was not.
void check_wait(const std::string& command, const Child& child, Child::Wait wait, const ProgramOptions& options);
/// Throws as fail_system() does if it cannot be started.
Child start_child(const std::string& command, std::vector<std::string> words, Child::Streams streams);

}  // namespace tcnum
