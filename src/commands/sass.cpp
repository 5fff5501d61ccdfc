// tcnum sass: the machine instructions that each instruction becomes, read from this program's own probes, or as they
// were recorded.
#include <fmt/ranges.h>

#include "io/input_file.hpp"
#include "io/printable.hpp"
#include "io/program.hpp"
#include "names.hpp"
#include "output.hpp"
#include "probes/lane_calls.hpp"
#include "program.hpp"
#include "records.hpp"
#include "src/report/layout.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

/// What cuobjdump writes of this program, or of tcnum-bench where it is there, which has the same probes and the
/// kernels of DPX functions.
void disassemble(ProbeSass& sass) {
  const std::string program =
      (has_bench_program() ? bench_program() : std::filesystem::read_symlink("/proc/self/exe")).string();
  if (run_program("cuobjdump", {"-sass", program}, [&](const std::string& line) { sass.read(line); }) != 0)
    throw UnavailableError("cuobjdump, of the CUDA toolkit, cannot read this program");
}

/// What it wrote elsewhere.
void read_disassembly(const std::string& path, ProbeSass& sass) {
  const InputFile file(path, "what `cuobjdump -sass` wrote");
  Lines lines(path, [&](const std::string& line) { sass.read(line); });
  std::array<char, 1 << 16> buffer;
  while (const std::size_t n = file.read_some(buffer)) lines.add(std::string_view(buffer.data(), n));
  lines.finish();
}

/// A table, and where it was read where that is a record.
struct FoundSass {
  SassTable table;
  std::string file = {};
};

/// What was read from the probes when they were recorded; `why` says why they are not read now.
FoundSass recorded_sass(ArchId id, const std::string& why) {
  const auto file = find_record(id, kSassFile);
  if (!file) {
    throw UnavailableError(
        fmt::format("{}, and no {} is recorded for {}; --text FILE reads what `cuobjdump -sass` wrote elsewhere", why,
                    kSassFile, arch(id).name));
  }
  return {read_sass(file->string()), file->string()};
}

FoundSass found_sass(const SassOptions& options, ArchId id) {
  const std::string nvcc = options.nvcc.empty() ? cuda_compiler() : options.nvcc;
  ProbeSass sass(lane_calls_of_a_kernel());
  if (!options.text.empty()) {
    if (nvcc.empty())
      throw InputError("--nvcc: missing; expected the version of nvcc that made the text, such as 13.0");
    read_disassembly(options.text, sass);
  } else if (nvcc.empty()) {
    return recorded_sass(id, "tcnum was built without nvcc, so that it has no probes to read");
  } else {
    try {
      disassemble(sass);
    } catch (const UnavailableError& error) {
      return recorded_sass(id, error.what());
    }
  }
  FoundSass found{sass.table(id, nvcc)};
  if (found.table.instructions.empty()) {
    throw InputError(fmt::format("{}: has no probe of an instruction of {}",
                                 options.text.empty() ? "this program" : options.text, arch(id).name));
  }
  return found;
}

}  // namespace

int run_sass(const SassOptions& options) {
  const ArchId id = parse_arch(options.arch);
  require_writable(options.json);
  const auto [table, file] = found_sass(options, id);
  if (!options.json.empty()) write_text(options.json, sass_text(table));
  if (options.json != "-") {
    std::vector<std::vector<std::string>> rows = {{"instruction", "SASS"}};
    for (const auto& [name, opcodes] : table.instructions)
      rows.push_back({name, fmt::format("{}", fmt::join(opcodes, ", "))});
    for (const auto& [name, opcodes] : table.functions) rows.push_back({name, table.function_opcodes(name)});
    say(table_text(rows, 64) + fmt::format("\nwith nvcc {}{}\n", shown(table.nvcc),
                                           file.empty() ? "" : fmt::format(", recorded in {}", printable(file))));
  }
  return kAgreed;
}

}  // namespace tcnum
