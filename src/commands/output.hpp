// Writing results so that a file is never half written and a closed pipe is no error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tcnum {

/// Whoever read standard output is gone. Nobody is left to be told, so this is no error.
struct OutputClosed {};

/// Writes lines to standard output at once, printable() whatever they hold. Throws OutputClosed, or as fail_system()
/// does.
void say(std::string_view text);
void finish_stdout();

/// Writes a file that holds all of the text or what it held before; "-" is standard output. What is no regular file
/// (a pipe, a device) is written directly. Throws as say() does.
void write_text(const std::string& path, std::string_view text);
void write_json(const std::string& path, const nlohmann::ordered_json& json);

/// Fails before hours of work rather than after: throws InputError unless a file can be made there.
void require_writable(const std::string& path);

/// A line on standard error that is overwritten again and again: on a terminal only.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }
  void show(std::string_view text) const;
  void clear() const { show(""); }

 private:
  bool terminal_;
};

}  // namespace tcnum
