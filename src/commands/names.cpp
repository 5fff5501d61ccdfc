#include "names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "numbers.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

std::uint64_t parse_operand(const std::string& option, const std::string& text, const Format& f) {
  const auto code = parse_code(text);
  if (!code || (*code & ~f.code_mask()) != 0) {
    throw InputError(fmt::format("{}: {}; right would be codes of {} such as {}", option, text, f.name, hex(f, 1)));
  }
  return *code;
}

/// "0x3c00,0x4000": the first of so many codes, the others zero.
std::vector<std::uint64_t> parse_codes(const std::string& option, const std::string& text, const Format& f, int count) {
  std::vector<std::uint64_t> codes(static_cast<std::size_t>(count), 0);
  if (text.empty()) return codes;
  std::size_t used = 0;
  for (const std::string& part : split_at_commas(text)) {
    if (used == codes.size())
      throw InputError(fmt::format("{}: too many codes; right would be {} or fewer", option, count));
    codes[used++] = parse_operand(option, part, f);
  }
  return codes;
}

}  // namespace

ArchId parse_arch(std::string_view text) {
  if (const auto id = find_arch(text)) return *id;
  throw InputError(fmt::format("--arch: {} is unknown; right would be one of {}", text, arch_names()));
}

FormatId parse_format(std::string_view text, ArchId of) {
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

const Instruction& parse_instruction(std::string_view text, ArchId of) {
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

std::vector<const Instruction*> matching_instructions(const std::string& pattern, ArchId of) {
  std::vector<const Instruction*> all = instructions_of(of);
  if (pattern.empty()) return all;
  if (pattern.find_first_of("*?[") == std::string::npos) return {&parse_instruction(pattern, of)};
  if (pattern.find("m64n") != std::string::npos) {  // it speaks of the width of a wgmma, so it may mean others than 8
    all.clear();
    for (const Instruction& i : instructions()) {
      if (i.archs.contains(of)) all.push_back(&i);
    }
  }
  std::vector<const Instruction*> matching;
  for (const Instruction* i : all) {
    if (fnmatch(pattern.c_str(), i->name().c_str(), 0) == 0) matching.push_back(i);
  }
  if (matching.empty()) {
    throw InputError(fmt::format(
        "--instr: {} matches no instruction of {}; right would be a pattern of names that `tcnum list --arch {}` shows",
        pattern, arch(of).name, arch(of).name));
  }
  return matching;
}

Problem parse_problem(const Instruction& instruction, const std::string& a, const std::string& b,
                      const std::string& c) {
  return {parse_codes("--a", a, format(instruction.a), instruction.products()),
          parse_codes("--b", b, format(instruction.b), instruction.products()),
          c.empty() ? 0 : parse_operand("--c", c, format(instruction.c))};
}

InstructionOnArch instruction_of_file(const std::string& path, const Vectors& vectors, const std::string& arch_text,
                                      const std::string& instruction_text) {
  const InstructionOnArch found{*find_arch(vectors.arch),
                                find_instruction(vectors.instruction)};  // read_vectors checked them
  if (!arch_text.empty() && parse_arch(arch_text) != found.arch) {
    throw InputError(
        fmt::format("{}: __metadata__.arch: {}; right would be {}, as --arch says", path, vectors.arch, arch_text));
  }
  if (!instruction_text.empty() && &parse_instruction(instruction_text, found.arch) != found.instruction) {
    throw InputError(fmt::format("{}: __metadata__.instruction: {}; right would be {}, as --instr says", path,
                                 vectors.instruction, instruction_text));
  }
  return found;
}

std::string file_of_source(std::string_view from) {
  if (from == "gpu" || from == "recorded" || from.starts_with(kProgramPrefix)) return "";
  if (from.starts_with(kDatapathPrefix)) from.remove_prefix(kDatapathPrefix.size());
  return std::string(from);
}

NamedDatapath own_datapath(const std::string& file, const Instruction& instruction) {
  Datapath datapath = read_datapath(file);
  check_datapath_fits(datapath, instruction, file);
  return {std::move(datapath), "datapath", file};
}

NamedDatapath choose_datapath(const std::string& file, ArchId of, const Instruction& instruction,
                              std::string_view where) {
  if (!file.empty()) return own_datapath(file, instruction);
  std::vector<CatalogueEntry> accounts = catalogue(of, instruction);
  if (accounts.empty()) {
    throw InputError(
        fmt::format("{}: the catalogue has no datapath of {} on {}; right would be --datapath FILE, or what "
                    "`tcnum list --arch {}` shows",
                    where, instruction.name(), arch(of).name, arch(of).name));
  }
  return {std::move(accounts[0].datapath), std::move(accounts[0].account), std::move(accounts[0].origin)};
}

std::vector<const Instruction*> fitting_instructions(const Datapath& datapath,
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

std::vector<int> parse_devices(const std::string& text, int present) {
  std::vector<int> devices;
  if (text == "all") {
    for (int i = 0; i < present; ++i) devices.push_back(i);
    return devices;
  }
  for (const std::string& part : split_at_commas(text.empty() ? "0" : text)) {
    const auto last = static_cast<std::uint64_t>(std::max(present, 1) - 1);
    const auto device = static_cast<int>(parse_whole("--devices", part, 0, last));
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

}  // namespace tcnum
