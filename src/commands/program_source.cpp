#include "program_source.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "interrupt.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using DotOption = std::pair<std::string_view, std::string ProgramCommandOptions::*>;
constexpr std::array<DotOption, 7> kDotOptions = {{{"--a", &ProgramCommandOptions::a},
                                                   {"--b", &ProgramCommandOptions::b},
                                                   {"--c", &ProgramCommandOptions::c},
                                                   {"--d", &ProgramCommandOptions::d},
                                                   {"--k", &ProgramCommandOptions::k},
                                                   {"--scale-block", &ProgramCommandOptions::scale_block},
                                                   {"--scale-format", &ProgramCommandOptions::scale_format}}};

/// The first of these options that is given; null if none is.
const DotOption* given_option(const ProgramCommandOptions& options) {
  for (const DotOption& each : kDotOptions) {
    if (!(options.*each.second).empty()) return &each;
  }
  return nullptr;
}

FormatId format_of(std::string_view option, const std::string& text, const std::string& otherwise = {}) {
  const std::string& name = text.empty() ? otherwise : text;
  if (name.empty()) throw InputError(fmt::format("{}: missing; expected a format, such as fp16", option));
  return parse_any_format(option, name);
}

/// The block scales of a and b; none without --scale-block.
Scaling scaling_of(const ProgramCommandOptions& options, int k) {
  if (options.scale_block.empty()) {
    if (options.scale_format.empty()) return {};
    throw InputError("--scale-block: missing; expected how many products share a scale, such as 32");
  }
  return {ScaleKind::dot, format_of("--scale-format", options.scale_format, "ue8m0"),
          static_cast<int>(parse_whole("--scale-block", options.scale_block, 1, static_cast<std::uint64_t>(k)))};
}

Instruction dot_of(const ProgramCommandOptions& options) {
  if (options.k.empty()) throw InputError("--k: missing; expected the number of products, such as 16");
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
  if (const DotOption* const given = given_option(options)) {
    throw InputError(
        fmt::format("{}: says what a program computes; expected --from exec:COMMAND with it", given->first));
  }
  if (options.any_nan)
    throw InputError("--any-nan: is about a program's answers; expected --from exec:COMMAND with it");
  return false;
}

bool describes_dot(const ProgramCommandOptions& options) { return given_option(options) != nullptr; }

ProgramSubject program_subject(const ProgramCommandOptions& options, const std::string& arch,
                               const std::string& instruction) {
  ProgramSubject subject;
  const DotOption* const given = given_option(options);
  if (given != nullptr) {
    const std::string_view other = !instruction.empty() ? "--instr" : !arch.empty() ? "--arch" : "";
    if (!other.empty()) {
      throw InputError(fmt::format("{}: and {}; expected an instruction of an architecture, or the formats and k",
                                   other, given->first));
    }
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
