#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "io/failures.hpp"
#include "io/input_file.hpp"
#include "io/printable.hpp"
#include "io/replacement_file.hpp"
#include "io/words.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

namespace fs = std::filesystem;

namespace {

/// What messages begin with: commands may be long.
std::string shown_command(const std::string& command) { return shown(command, kMostOfName); }

/// The end of what a program complained of, as part of a message.
std::string complaint(const Child& child) {
  constexpr std::size_t kMostQuoted = 240;
  std::string_view text = child.last_words();
  while (!text.empty() && std::strchr(" \t\r\n", text.back()) != nullptr) text.remove_suffix(1);
  if (text.empty()) return "its standard error is empty";
  const bool cut = text.size() > kMostQuoted;
  if (cut) text.remove_prefix(text.size() - kMostQuoted);
  return fmt::format("its standard error ends: {}{}", cut ? "…" : "", printable(text));
}

// --- Pipes ------------------------------------------------------------------------------------------------------

constexpr std::size_t kLengthBytes = 8;
/// A program that has answered everything and does not end when its input does is ended after so long.
constexpr std::chrono::seconds kPartingTime{5};

/// Puts an answer together. Its length is a stranger's word: nothing is allocated for it before the bytes are there.
class AnswerReader {
 public:
  explicit AnswerReader(std::uint64_t most) : most_(most) {}

  /// Whether all is there, or no more is wanted.
  bool add(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    if (!length_ && bytes_.size() >= kLengthBytes) {
      length_.emplace();
      std::memcpy(&*length_, bytes_.data(), kLengthBytes);
    }
    return length_ && (too_long() || bytes_.size() - kLengthBytes >= *length_);
  }

  bool too_long() const { return length_ && *length_ > most_; }
  std::uint64_t length() const { return length_.value_or(0); }
  std::size_t extra() const { return bytes_.size() - kLengthBytes - length(); }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() && {
    bytes_.erase(bytes_.begin(), bytes_.begin() + kLengthBytes);
    return std::move(bytes_);
  }

 private:
  std::uint64_t most_;
  std::optional<std::uint64_t> length_;
  std::vector<std::byte> bytes_;
};

/// A program that is started once, and reads requests and writes answers, each with its length before it.
class PipedProgram final : public Program {
 public:
  PipedProgram(const std::string& command, std::vector<std::string> words, const ProgramOptions& options)
      : Program(command),
        options_(options),
        child_(start_child(command, std::move(words), Child::Streams::input_too)) {}

  std::vector<std::byte> exchange_now(std::span<const std::byte> request, std::uint64_t most_bytes) override;
  void finish_now() override;

 private:
  [[noreturn]] void fail(const std::string& problem) { fail_program(command(), child_, problem); }
  [[noreturn]] void fail_extra(std::size_t bytes) {
    fail(fmt::format("wrote {} bytes that are no part of an answer; expected answers alone on standard output", bytes));
  }

  /// It has ended, or has closed one of its streams.
  [[noreturn]] void fail_early_end(Child::Wait wait, const AnswerReader& answer) {
    // Where it has closed a stream because it is about to end, its status says more.
    constexpr std::chrono::seconds kLastMoments{1};
    const bool ended = child_.await_end(Deadline::of(kLastMoments, options_.stop)) == Child::Wait::done;
    const std::string what = ended                               ? child_.end_text()
                             : wait == Child::Wait::input_closed ? "closed its standard input"
                                                                 : "closed its standard output";
    fail(fmt::format("{} {} answer {}; expected to answer until its standard input ends", what,
                     answer.size() == 0 ? "before" : fmt::format("after {} bytes of", answer.size()), asked_));
  }

  ProgramOptions options_;
  Child child_;
  std::size_t asked_ = 0;
};

std::vector<std::byte> PipedProgram::exchange_now(std::span<const std::byte> request, std::uint64_t most_bytes) {
  const Deadline deadline = Deadline::of(std::chrono::duration<double>(options_.time_limit), options_.stop);
  std::vector<std::byte> framed(kLengthBytes + request.size());
  const std::uint64_t length = request.size();
  std::memcpy(framed.data(), &length, kLengthBytes);
  std::ranges::copy(request, framed.begin() + kLengthBytes);

  ++asked_;
  AnswerReader answer(most_bytes);
  const Child::Wait wait = child_.talk(
      framed, [&](auto bytes) { return answer.add(bytes); }, deadline);
  check_wait(command(), child_, wait, options_);
  if (answer.too_long()) {
    fail(fmt::format(
        "begins answer {} with a length of {} bytes; expected 8 bytes that hold, little-endian, the length of "
        "the safetensors file after them, at most {}, and nothing else on standard output",
        asked_, answer.length(), most_bytes));
  }
  if (wait == Child::Wait::input_left)
    fail(fmt::format("gave answer {} before it had read the question; expected to read it first", asked_));
  if (wait != Child::Wait::done) fail_early_end(wait, answer);
  if (answer.extra() > 0) fail_extra(answer.extra());
  return std::move(answer).take();
}

void PipedProgram::finish_now() {
  std::size_t extra = 0;
  const Child::Wait wait = child_.await_end(Deadline::of(kPartingTime, options_.stop), [&](auto bytes) {
    extra += bytes.size();
    return false;
  });
  if (wait == Child::Wait::stopped) check_wait(command(), child_, wait, options_);
  if (extra > 0) fail_extra(extra);
  if (child_.status().value_or(0) != 0) {
    fail(fmt::format("{} after its last answer; expected status 0 when its standard input ends", child_.end_text()));
  }
}

// --- Files ------------------------------------------------------------------------------------------------------

/// A folder of its own, which vanishes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "tcnum-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail_system(name, "cannot be made a folder", errno);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

bool has(const std::vector<std::string>& words, std::string_view place) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word.find(place) != std::string::npos; });
}

/// The word with every place replaced.
std::string filled(std::string word, std::string_view place, const std::string& name) {
  for (std::size_t at = word.find(place); at != std::string::npos; at = word.find(place, at + name.size()))
    word.replace(at, place.size(), name);
  return word;
}

std::vector<std::string> words_with_places(const std::string& command) {
  std::vector<std::string> words = split_words(command, shown_command(command));
  const bool in = has(words, kInPlace), out = has(words, kOutPlace);
  if (in != out) {
    throw InputError(fmt::format("{}: has {} and no {}; expected both, for files, or neither", shown_command(command),
                                 in ? kInPlace : kOutPlace, in ? kOutPlace : kInPlace));
  }
  if (!in) words.insert(words.end(), {std::string(kInPlace), std::string(kOutPlace)});
  return words;
}

}  // namespace

void fail_program(const std::string& command, const Child& child, std::string_view problem) {
  throw InputError(fmt::format("{}: {}; {}", shown_command(command), problem, complaint(child)));
}

void check_wait(const std::string& command, const Child& child, Child::Wait wait, const ProgramOptions& options) {
  if (wait == Child::Wait::stopped) throw UnavailableError(fmt::format("{}: interrupted", shown_command(command)));
  if (wait == Child::Wait::out_of_time) {
    fail_program(
        command, child,
        fmt::format("gave no answer in {} s; expected a faster program, or a longer time limit", options.time_limit));
  }
}

Child start_child(const std::string& command, std::vector<std::string> words, Child::Streams streams) try {
  return Child(std::move(words), streams);
} catch (const std::system_error& error) {
  fail_system(shown_command(command), "cannot be started", error.code().value());
}

std::vector<std::byte> Program::exchange(std::span<const std::byte> request, std::uint64_t most_bytes) {
  if (failure_) std::rethrow_exception(failure_);
  try {
    return exchange_now(request, most_bytes);
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void Program::finish() {
  if (failure_) std::rethrow_exception(failure_);
  finish_now();
}

FileProgram::FileProgram(const std::string& command, const ProgramOptions& options)
    : Program(command), words_(words_with_places(command)), options_(options) {}

void FileProgram::run(const std::function<void(const std::string& in)>& write,
                      const std::function<void(const std::string& out)>& read) const {
  const TemporaryFolder folder;
  const std::string in = folder.file("in.safetensors"), out = folder.file("out.safetensors");
  write(in);
  std::vector<std::string> words;
  for (const std::string& word : words_) words.push_back(filled(filled(word, kInPlace, in), kOutPlace, out));
  Child child = start_child(command(), std::move(words), Child::Streams::none);
  check_wait(command(), child,
             child.await_end(Deadline::of(std::chrono::duration<double>(options_.time_limit), options_.stop)),
             options_);
  if (child.status() != 0) fail_program(command(), child, fmt::format("{}; expected status 0", child.end_text()));
  std::error_code error;
  if (!fs::exists(out, error))
    fail_program(command(), child, fmt::format("wrote no file {}; expected its results there", kOutPlace));
  read(out);
}

std::vector<std::byte> FileProgram::exchange_now(std::span<const std::byte> request, std::uint64_t most_bytes) {
  std::vector<std::byte> answer;
  run(
      [&](const std::string& in) {
        ReplacementFile file(in);
        file.write(request);
        file.commit();
      },
      [&](const std::string& out) {
        const InputFile file(out, "a safetensors file");
        if (file.size() > most_bytes) {
          throw InputError(fmt::format("{}: wrote a file of {} bytes; expected at most {}", shown_command(command()),
                                       file.size(), most_bytes));
        }
        answer.resize(file.size());
        file.read(0, answer);
      });
  return answer;
}

std::shared_ptr<Program> start_program(const std::string& command, const ProgramOptions& options) {
  std::vector<std::string> words = split_words(command, shown_command(command));
  if (has(words, kInPlace) || has(words, kOutPlace)) return std::make_shared<FileProgram>(command, options);
  return std::make_shared<PipedProgram>(command, std::move(words), options);
}

void finish_program(Program& program) { program.finish(); }

}  // namespace tcnum
