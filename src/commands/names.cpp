#include "names.hpp"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "interrupt.hpp"
#include "io/nearest.hpp"
#include "io/printable.hpp"
#include "output.hpp"
#include "src/catalogue/names.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

/// The account of a datapath that is a file's.
constexpr std::string_view kOfFile = "datapath";

}  // namespace

ArchId parse_arch(std::string_view text) {
  if (const auto id = find_arch(text)) return *id;
  throw InputError(fmt::format("--arch: {} is unknown; expected {}", text, expected_archs(text)));
}

void require_format_name(std::string_view option, std::string_view text) {
  if (find_format_or_own(text) || find_format_name(text) != nullptr) return;
  std::vector<std::string> names;
  for (const Format& f : kFormats) names.emplace_back(f.name);
  for (const FormatName& each : format_names()) names.emplace_back(each.name);
  throw InputError(fmt::format("{}: {} is unknown; expected a format that `tcnum list` shows, such as {}", option, text,
                               nearest_names(text, names)));
}

FormatId parse_any_format(std::string_view option, std::string_view text) {
  require_format_name(option, text);
  if (const FormatName* const several = find_format_name(text)) {
    throw InputError(fmt::format("{}: {} is {}; expected one number format, such as {}", option, text,
                                 meaning_of(*several), format(several->formats.front()).name));
  }
  return *find_format_or_own(text);
}

Operands parse_operands(std::string_view text, ArchId of) {
  if (std::optional<Operands> operands = find_operands(text, of)) return std::move(*operands);
  std::vector<std::string_view> known;
  const auto add = [&](std::string_view name) {
    if (find_operands(name, of)) known.push_back(name);
  };
  for (const Format& each : kFormats) add(each.name);
  for (const FormatName& each : format_names()) add(each.name);
  const bool exists = find_format(text) || find_format_name(text) != nullptr;
  throw InputError(fmt::format("--format: {} {}; expected one of {}", text,
                               exists ? fmt::format("is no input format of {}", arch(of).name) : "is unknown",
                               fmt::join(known, ", ")));
}

const Instruction& parse_operands_of_one(std::string_view text, ArchId of) {
  const Operands operands = parse_operands(text, of);
  const std::vector<const Instruction*> found = instructions_for(operands);
  if (found.size() == 1) return *found.front();
  std::vector<std::string> names;
  for (const Instruction* each : found)
    names.push_back(operands.kind == ScaleKind::none ? std::string(format(each->a).name) : each->name());
  throw InputError(fmt::format("--format: {} stands for several on {}; expected {} {}", text, arch(of).name,
                               operands.kind == ScaleKind::none ? "--format" : "--instr", fmt::join(names, " or ")));
}

const Instruction& parse_instruction(std::string_view text, ArchId of) {
  return instruction_named("--instr", text, of);
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
        "--instr: {} matches no instruction of {}; expected a pattern of names that `tcnum list --arch {}` shows",
        pattern, arch(of).name, arch(of).name));
  }
  return matching;
}

InstructionOnArch instruction_of_file(const std::string& path, const Vectors& vectors, const std::string& arch_text,
                                      const std::string& instruction_text) {
  const InstructionOnArch found{*find_arch(vectors.arch),
                                find_instruction(vectors.instruction)};  // read_vectors checked them
  if (!arch_text.empty() && parse_arch(arch_text) != found.arch) {
    throw InputError(
        fmt::format("{}: __metadata__.arch: {}; expected {}, as --arch says", path, vectors.arch, arch_text));
  }
  if (!instruction_text.empty() && &parse_instruction(instruction_text, found.arch) != found.instruction) {
    throw InputError(fmt::format("{}: __metadata__.instruction: {}; expected {}, as --instr says", path,
                                 vectors.instruction, instruction_text));
  }
  return found;
}

std::string datapath_of_source(std::string_view from) {
  if (from.starts_with(kDatapathPrefix)) return std::string(from.substr(kDatapathPrefix.size()));
  return catalogue_name_of(from) ? std::string(from) : std::string();
}

std::string called(const NamedDatapath& datapath) {
  return datapath.account == kOfFile ? shown(datapath.origin) : fmt::format("the {} datapath", datapath.account);
}

NamedDatapath own_datapath(const std::string& name, const Instruction& instruction) {
  NamedDatapath named = named_datapath(name);
  check_datapath_fits(named.datapath, instruction, name);
  if (catalogue_name_of(name)) named.origin = fmt::format("{}: {}", name, named.origin);
  return named;
}

NamedDatapath named_datapath(const std::string& text) {
  const std::optional<CatalogueName> name = catalogue_name_of(text);
  if (!name) return {read_datapath(text), std::string(kOfFile), text};
  return choose_datapath({}, name->arch, parse_instruction(name->instruction, name->arch), "--datapath", name->account);
}

NamedDatapath choose_datapath(const std::string& name, ArchId of, const Instruction& instruction,
                              std::string_view where, const std::string& account) {
  if (!name.empty()) return own_datapath(name, instruction);
  CatalogueEntry entry = account_named(where, fmt::format("{}: account", where), of, instruction, account);
  std::string origin = entry.origin_and_standing();
  return {std::move(entry.datapath), std::move(entry.account), std::move(origin), std::string(entry.lowered_to)};
}

GemmPlan parse_plan(const std::string& name, std::optional<FormatId> operands, std::optional<FormatId> output) {
  const auto plans = named_plans();
  if (std::ranges::find(plans, name, &NamedPlan::name) != plans.end()) {
    if (operands) return named_plan(name, *operands, output);
    throw InputError(fmt::format("--format: missing; expected the format of A and B, which {} is for", name));
  }
  if (!is_there(name)) {
    std::vector<std::string_view> names;
    for (const NamedPlan& plan : plans) names.push_back(plan.name);
    throw InputError(fmt::format("--plan: {} is neither a plan's name nor a file; expected one of {}, or a file", name,
                                 fmt::join(names, ", ")));
  }
  GemmPlan plan = read_plan(name);
  plan.output = output.value_or(plan.output);
  return plan;
}

std::vector<std::size_t> parse_place(std::string_view option, const std::string& text,
                                     const std::vector<std::size_t>& extents, std::string_view what) {
  std::vector<std::size_t> place;
  try {
    for (const std::string& part : split(text))
      place.push_back(parse_whole(option, part, 0, extents.at(place.size()) - 1));
  } catch (const std::exception&) {
    place.clear();
  }
  if (place.size() == extents.size()) return place;
  throw InputError(fmt::format("{}: {}; expected {}, below {}", option, text, what, fmt::join(extents, ",")));
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
    mismatch =
        fmt::format("{}: is of none of the {} instructions asked for; expected --instr NAME, one that it describes",
                    file, instructions.size());
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
  for (const std::string& part : split(text.empty() ? "0" : text)) {
    const auto last = static_cast<std::uint64_t>(std::max(present, 1) - 1);
    const auto device = static_cast<int>(parse_whole("--devices", part, 0, last));
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

// --- Programs

namespace {

FormatId format_of(std::string_view option, const std::string& text, const std::string& otherwise = {}) {
  return parse_any_format(option, text.empty() ? otherwise : text);
}

/// The block scales of a and b; none without --scale-block.
Scaling scaling_of(const ProgramCommandOptions& options, int k) {
  if (options.scale_block.empty()) return {};
  return {ScaleKind::dot, format_of("--scale-format", options.scale_format, "ue8m0"),
          static_cast<int>(parse_whole("--scale-block", options.scale_block, 1, static_cast<std::uint64_t>(k)))};
}

Instruction dot_of(const ProgramCommandOptions& options) {
  const auto k = static_cast<int>(parse_whole("--k", options.k, 1, 1'000'000));
  const FormatId a = format_of("--a", options.a), d = format_of("--d", options.d);
  const FormatId b = format_of("--b", options.b, options.a), c = format_of("--c", options.c, options.d);
  const Scaling scales = scaling_of(options, k);
  try {
    return make_dot(d, a, b, c, k, scales);
  } catch (const InputError& error) {  // it names the operand, as the option does
    throw InputError(fmt::format("--{}", error.what()));
  }
}

}  // namespace

bool names_program(std::string_view from, const ProgramCommandOptions& options) {
  if (from.starts_with(kProgramPrefix)) return true;
  if (describes_dot(options) || options.any_nan) {
    throw InputError(fmt::format("{}: is of a program; expected --from exec:COMMAND with it",
                                 options.any_nan ? "--any-nan" : "--a"));
  }
  return false;
}

bool describes_dot(const ProgramCommandOptions& options) { return !options.a.empty(); }

ProgramSubject program_subject(const ProgramCommandOptions& options, const std::string& arch,
                               const std::string& instruction) {
  ProgramSubject subject;
  if (describes_dot(options)) {
    subject.dot = std::make_unique<const Instruction>(dot_of(options));
    subject.instruction = subject.dot.get();
    return subject;
  }
  if (instruction.empty() || arch.empty()) {
    throw InputError(
        fmt::format("{}: missing; expected what the program computes: --arch and --instr, or --a, --b, --c, --d "
                    "and --k such as --a fp16 --d fp32 --k 16",
                    instruction.empty() ? "--instr" : "--arch"));
  }
  subject.arch = parse_arch(arch);
  subject.instruction = &parse_instruction(instruction, *subject.arch);
  return subject;
}

std::shared_ptr<Program> program_of(std::string_view from, const ProgramCommandOptions& options) {
  return start_program(std::string(from.substr(kProgramPrefix.size())),
                       {.time_limit = options.time_limit, .stop = &interrupted});
}

}  // namespace tcnum
