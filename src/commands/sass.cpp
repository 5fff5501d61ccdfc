// tcnum sass: the machine instructions that each instruction becomes, read from this program's own probes.
#include "src/catalogue/sass.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "names.hpp"
#include "output.hpp"
#include "src/report/layout.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

/// What cuobjdump writes of this program.
void disassemble(ProbeSass& sass) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::FILE* const pipe = popen(fmt::format("cuobjdump -sass '{}' 2>/dev/null", program).c_str(), "r");
  if (pipe == nullptr) throw UnavailableError("cuobjdump cannot be started");
  std::array<char, 4096> line;
  while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) sass.read(line.data());
  if (pclose(pipe) != 0)
    throw UnavailableError("cuobjdump, of the CUDA toolkit, is not in PATH, or cannot read this program");
}

}  // namespace

int run_sass(const SassOptions& options) {
  const ArchId id = parse_arch(options.arch);
  require_writable(options.json);
  const std::string nvcc = options.nvcc.empty() ? cuda_compiler() : options.nvcc;
  if (nvcc.empty()) {
    throw UnavailableError(
        "tcnum was built without nvcc, so that it has no probes to read; --text FILE reads another's");
  }
  ProbeSass sass;
  if (options.text.empty()) {
    disassemble(sass);
  } else {
    std::ifstream file(options.text);
    if (!file) throw InputError(options.text + ": cannot be read; right would be what `cuobjdump -sass` wrote");
    for (std::string line; std::getline(file, line);) sass.read(line);
  }
  const SassTable table = sass.table(id, nvcc);
  if (table.instructions.empty()) {
    throw InputError(fmt::format("{}: has no probe of an instruction of {}",
                                 options.text.empty() ? "this program" : options.text, arch(id).name));
  }
  if (!options.json.empty()) write_text(options.json, sass_text(table));
  if (options.json != "-") {
    std::vector<std::vector<std::string>> rows = {{"instruction", "SASS"}};
    for (const auto& [name, opcodes] : table.instructions)
      rows.push_back({name, fmt::format("{}", fmt::join(opcodes, ", "))});
    say(table_text(rows, 64) + fmt::format("\nwith nvcc {}\n", nvcc));
  }
  return kAgreed;
}

}  // namespace tcnum
