// What is written and said: results so that a file is never half written, failures, and how far the work is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "commands.hpp"
#include "tcnum/fit.hpp"

namespace tcnum {

// --- Writing results so that a file is never half written, and that standard output takes nothing else with it.

/// Writes lines to standard output at once, printable() whatever they hold. If that fails, the work goes on, and its
/// files and its status are what they would have been: finish_stdout() says what went wrong.
void say(std::string_view text);
/// Whether all that was said could be written; if not, a line on standard error says why. Where whoever read standard
/// output is gone, nobody is left to be told, and this is no error.
bool finish_stdout();

/// The next bytes of standard input, fewer than `most` only at its end. They are read in pieces, so that none but those
/// that come take memory.
std::vector<std::byte> read_standard_input(std::uint64_t most);

/// Whether the path leads to something that is no folder; not if that cannot be told.
bool is_file(const std::string& path);
/// Whether there is a file of that name. Throws InputError if it cannot be told: a loop of links, a name too long.
bool is_there(const std::string& path);

/// Writes a file that holds all of the lines, printable() as those of say(), or what it held before; "-" is standard
/// output. What is no regular file (a pipe, a device) is written directly. Throws as fail_system() does.
void write_text(const std::string& path, std::string_view text);
void write_json(const std::string& path, const nlohmann::ordered_json& json);
/// Says the text, unless standard output is where the JSON goes; writes the JSON, if there is a path for it.
void report(const std::string& json_path, std::string_view text, const nlohmann::ordered_json& json);

/// Fails before hours of work rather than after: throws InputError unless a file can be made or replaced there.
void require_writable(const std::string& path);
/// The same of a folder that is made when there is something to put into it.
void require_folder(const std::string& path);

/// An option, and the file that it names.
using NamedFile = std::pair<std::string, std::string>;
/// Of what is no text: throws InputError for "-", as what is shown of it elsewhere is for people and programs to read.
void require_no_stdout(const NamedFile& file);
/// Throws InputError if a file that is to be written is another one's too: what is written, or was there, would be
/// lost.
void require_different(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read);

// --- Failures: what becomes of an exception, and how the work goes on so that one failure hides and spoils nothing
// else.

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

// --- How far long work is, on standard error.

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
