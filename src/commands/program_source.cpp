#include "program_source.hpp"

#include <fmt/format.h>

#include "interrupt.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
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
