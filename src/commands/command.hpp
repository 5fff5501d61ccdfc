// What the commands of the command line share: finding what the user named, and writing results so that a file is
// never half written and a closed pipe is no error.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "src/catalogue/sass.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum ExitStatus : int { kAgreed = 0, kDisagreed = 1, kWrongInput = 2, kUnavailable = 3 };

/// What the parsed command line is to do. Each add_… function adds a subcommand that sets it.
using Action = std::function<int()>;
void add_probe(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_emulate(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_sass(CLI::App& app, Action& action);

// --- What is recorded -------------------------------------------------------------------------------------------

/// The folders of recorded answers, the one to prefer first.
inline std::vector<std::filesystem::path> record_folders() {
  if (const char* folder = std::getenv("TCNUM_VECTORS"); folder != nullptr && *folder != '\0') return {folder};
  std::error_code ignored;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", ignored);  // an installed program's lie beside it
  return {program.parent_path().parent_path() / TCNUM_INSTALLED_VECTORS, TCNUM_VECTORS_DIR};
}

/// The machine instructions that were seen, of that architecture; an empty table if none were.
inline SassTable find_sass(ArchId of) {
  for (const std::filesystem::path& folder : record_folders()) {
    const std::filesystem::path file = folder / arch(of).name / "sass.json";
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return read_sass(file.string());
  }
  return {};
}

// --- Names that the user gives ----------------------------------------------------------------------------------

inline ArchId parse_arch(std::string_view text) {
  if (const auto id = find_arch(text)) return *id;
  throw InputError(fmt::format("--arch: {} is unknown; right would be one of {}", text, arch_names()));
}

/// A format that some instruction of the architecture takes.
inline FormatId parse_format(std::string_view text, ArchId of) {
  std::vector<std::string_view> known;
  const auto id = find_format(text);
  for (const Instruction* i : instructions_of(of)) {
    for (FormatId input : {i->a, i->b}) {
      if (input == id) return input;
      if (std::ranges::find(known, format(input).name) == known.end()) known.push_back(format(input).name);
    }
  }
  if (known.empty()) {
    throw InputError(
        fmt::format("--arch: tcnum knows no instruction of {} yet; `tcnum list` shows what it knows", arch(of).name));
  }
  throw InputError(fmt::format("--format: {} {}; right would be one of {}", text,
                               id ? fmt::format("is no input format of {}", arch(of).name) : "is unknown",
                               fmt::join(known, ", ")));
}

inline const Instruction& parse_instruction(std::string_view text, ArchId of) {
  const Instruction* found = find_instruction(text);
  const auto known = [&] {
    const auto all = instructions_of(of);
    return all.empty()
               ? std::string("an instruction that `tcnum list` shows")
               : fmt::format("one that `tcnum list --arch {}` shows, such as {}", arch(of).name, all.front()->name());
  };
  if (found == nullptr) throw InputError(fmt::format("--instr: {} is unknown; right would be {}", text, known()));
  if (!found->archs.contains(of)) {
    throw InputError(
        fmt::format("--instr: {} does not have {}; right would be {}", arch(of).name, found->name(), known()));
  }
  return *found;
}

/// What a vector file says that it is, against what the user says, if anything.
struct Identity {
  ArchId arch;
  const Instruction* instruction;
};
inline Identity identity_of(const std::string& path, const Vectors& vectors, const std::string& arch_text,
                            const std::string& instruction_text) {
  const Identity identity{*find_arch(vectors.arch),
                          find_instruction(vectors.instruction)};  // read_vectors checked them
  if (!arch_text.empty() && parse_arch(arch_text) != identity.arch) {
    throw InputError(
        fmt::format("{}: __metadata__.arch: {}; right would be {}, as --arch says", path, vectors.arch, arch_text));
  }
  if (!instruction_text.empty() && &parse_instruction(instruction_text, identity.arch) != identity.instruction) {
    throw InputError(fmt::format("{}: __metadata__.instruction: {}; right would be {}, as --instr says", path,
                                 vectors.instruction, instruction_text));
  }
  return identity;
}

/// A datapath and what it is called.
struct NamedDatapath {
  Datapath datapath;
  std::string account, origin;
};
/// The user's file, or the first account of the catalogue. `where` names what asks for it, in errors.
inline NamedDatapath choose_datapath(const std::string& file, ArchId of, const Instruction& instruction,
                                     std::string_view where) {
  if (!file.empty()) {
    Datapath datapath = read_datapath(file);
    check_datapath_fits(datapath, instruction, file);
    return {std::move(datapath), "datapath", file};
  }
  std::vector<CatalogueEntry> accounts = catalogue(of, instruction);
  if (accounts.empty()) {
    throw InputError(
        fmt::format("{}: the catalogue has no datapath of {} on {}; right would be --datapath FILE, or what "
                    "`tcnum list --arch {}` shows",
                    where, instruction.name(), arch(of).name, arch(of).name));
  }
  return {std::move(accounts[0].datapath), std::move(accounts[0].account), std::move(accounts[0].origin)};
}

/// Those of the instructions that the datapath can be of; throws InputError if it is of none.
inline std::vector<const Instruction*> fitting_instructions(const Datapath& datapath,
                                                            const std::vector<const Instruction*>& instructions,
                                                            const std::string& file) {
  std::vector<const Instruction*> fitting;
  std::string mismatch = file + ": the architecture has no instruction that it could be of";
  for (const Instruction* instruction : instructions) {
    try {
      check_datapath_fits(datapath, *instruction, file);
      fitting.push_back(instruction);
    } catch (const InputError& error) {
      mismatch = error.what();
    }
  }
  if (fitting.empty() && instructions.size() > 1) {
    const Numerics& n = datapath.numerics;
    mismatch = fmt::format(
        "{}: k, operands and result ({}; {}, {}, {}; {}) are of none of the {} instructions asked for; "
        "right would be --instr NAME, one that it describes",
        file, datapath.tree.k, format(n.a.format).name, format(n.b.format).name, format(n.c.format).name,
        format(n.result).name, instructions.size());
  }
  if (fitting.empty()) throw InputError(mismatch);
  return fitting;
}

/// "0", "0,1" or "all", of so many GPUs.
inline std::vector<int> parse_devices(const std::string& text, int present) {
  std::vector<int> devices;
  if (text == "all") {
    for (int i = 0; i < present; ++i) devices.push_back(i);
    return devices;
  }
  std::istringstream in(text.empty() ? "0" : text);
  for (std::string part; std::getline(in, part, ',');) {
    const bool digits = !part.empty() && part.size() < 4 && part.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(part) >= present) {
      throw InputError(fmt::format("--devices: {}; right would be all, or numbers below {}, such as 0", text, present));
    }
    if (std::ranges::find(devices, std::stoi(part)) == devices.end()) devices.push_back(std::stoi(part));
  }
  if (devices.empty()) throw InputError("--devices: right would be all, or numbers such as 0,1");
  return devices;
}

inline unsigned all_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

// --- Output -----------------------------------------------------------------------------------------------------

/// Whoever read standard output is gone. Nobody is left to be told, so this is no error.
struct OutputClosed {};

[[noreturn]] inline void fail_writing(std::string_view what, int error) {
  if (error == EPIPE) throw OutputClosed{};
  throw InputError(fmt::format("{}: cannot be written: {}", what, std::generic_category().message(error)));
}

inline void finish_stdout() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_writing("standard output", errno);
}

/// Writes to standard output at once.
inline void say(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_writing("standard output", errno);
  finish_stdout();
}

/// Writes a file that holds all of the text or what it held before; "-" is standard output. What is no regular file
/// (a pipe, a device) is written directly.
inline void write_text(const std::string& path, std::string_view text) {
  if (path == "-") return say(text);
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool direct = fs::exists(status) && !fs::is_regular_file(status);
  const fs::path target = fs::is_regular_file(status) ? fs::canonical(path, ignored) : fs::path(path);
  const fs::path temporary = target.parent_path() / fmt::format(".tcnum-{}.tmp", getpid());
  const std::string written = direct ? path : temporary.string();

  const int descriptor =
      open(written.c_str(), direct ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_writing(path, errno);
  int error = 0;
  for (std::string_view rest = text; error == 0 && !rest.empty();) {
    const ssize_t n = write(descriptor, rest.data(), rest.size());
    if (n >= 0)
      rest.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && !direct && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && !direct && std::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (!direct) unlink(temporary.c_str());
  fail_writing(path, error);
}

inline void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  // Names of files may hold anything.
  write_text(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

/// Fails before hours of work rather than after: whether a file can be made there.
inline void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail_writing(path, EISDIR);
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::exists(path, ignored) && access(folder.c_str(), W_OK) != 0) fail_writing(path, errno);
}

/// A line on standard error that is overwritten again and again: on a terminal only.
class ProgressLine {
 public:
  ProgressLine() = default;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }
  void show(std::string_view text) const {
    if (terminal_) static_cast<void>(std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(text.size()), text.data()));
  }
  void clear() const { show(""); }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
};

}  // namespace tcnum
