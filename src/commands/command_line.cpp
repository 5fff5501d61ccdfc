// How the commands and their options are spelled. This is the one file that compiles CLI11, which takes long.
#include "command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "src/campaign/stream.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

constexpr const char* kJson = "Write the results as JSON (- for standard output)";
constexpr const char* kOwnDatapath = "Datapath of your own (default: the catalogue's)";
constexpr const char* kInstruction = "Instruction, by its name or its PTX spelling";

std::string architecture_help() { return "Architecture: " + arch_names(); }

/// Options that live as long as the action that is told them.
template <class Options>
std::shared_ptr<Options> options_of(CLI::App& command, int (*run)(const Options&), Action& action) {
  auto options = std::make_shared<Options>();
  command.callback([options, run, &action] { action = [options, run] { return run(*options); }; });
  return options;
}

/// An option whose text is read by a function of numbers.hpp.
template <class Number, class Parse>
void add_number(CLI::App& command, const std::string& name, Number& number, const std::string& help, Parse parse) {
  command
      .add_option_function<std::string>(
          name, [&number, name, parse](const std::string& text) { number = parse(name, text); }, help)
      ->type_name("NUMBER")
      ->default_str(fmt::format("{}", number));
}
void add_whole(CLI::App& command, const std::string& name, std::uint64_t& number, const std::string& help) {
  add_number(command, name, number, help,
             [](std::string_view option, std::string_view text) { return parse_whole(option, text); });
}

/// Of `--from exec:COMMAND`.
void add_program_options(CLI::App& command, ProgramCommandOptions& options) {
  command.add_option("--a", options.a, "With exec: and no --instr: format of a, such as fp16");
  command.add_option("--b", options.b, "Of b (default: --a)");
  command.add_option("--c", options.c, "Of c (default: --d)");
  command.add_option("--d", options.d, "Of d, such as fp32");
  command.add_option("--k", options.k, "Number of products");
  command.add_option("--scale-block", options.scale_block, "Products to a block scale (not in the space yet)");
  command.add_option("--scale-format", options.scale_format, "Format of block scales (likewise)");
  command.add_flag("--any-nan", options.any_nan, "With exec: of a NaN, do not look at the bits");
}
void add_time_limit(CLI::App& command, double& seconds) {
  constexpr double kMostSeconds = 1e6;
  add_number(command, "--time-limit", seconds, "With exec: seconds to wait for an answer",
             [](std::string_view option, std::string_view text) { return parse_positive(option, text, kMostSeconds); });
}

void add_probe(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("probe", "Infer the datapath of instructions, with the evidence");
  const auto options = options_of(command, run_probe, action);
  command.add_option("--arch", options->arch, architecture_help());
  command.add_option("--format", options->format,
                     "The instructions with this input format, such as fp16 or fp8e4m3 (default: all)");
  command.add_option("--instr", options->instruction, "One instruction, by its name or its PTX spelling");
  command.add_option(
      "--from", options->from,
      "Who answers: gpu, recorded, a vector FILE, datapath:FILE, or exec:COMMAND, a program (default: the "
      "GPU if it is of that architecture, else recorded)");
  add_program_options(command, options->program);
  add_time_limit(command, options->program.time_limit);
  command.add_option("--record", options->record,
                     "Keep the answers: FILE.safetensors for one instruction, else a folder");
  command.add_option("--json", options->json, kJson);
  add_whole(command, "--seed", options->seed, "Seed of random operands");
}

void add_verify(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("verify", "Compare the emulator with recorded answers or with the GPU");
  const auto options = options_of(command, run_verify, action);
  std::vector<std::string_view> distributions;
  for (std::size_t i = 0; i < kDistributions; ++i) distributions.push_back(name(static_cast<Distribution>(i)));
  command.add_option("--vectors", options->vectors, "Vector files with recorded answers");
  command.add_option("--count", options->count,
                     "Dot products of each instruction to compare with the GPU (1e12 will do)");
  command.add_option("--campaign", options->campaign, "Campaign records to check the emulator against");
  command.add_option("--arch", options->arch, architecture_help());
  command.add_option("--instr", options->instruction,
                     "Instruction, or a pattern such as 'mma.*' (default: all); 'wgmma.m64n*' takes every N of a "
                     "wgmma, 'wgmma.*' N = 8");
  command.add_option("--datapath", options->datapath, kOwnDatapath);
  add_whole(command, "--seed", options->seed, "Seed of the operands");
  command.add_option(
      "--distribution", options->distributions,
      fmt::format("What operands are like (default: all that are random): {}", fmt::join(distributions, ", ")));
  command.add_option("--from", options->from, "What answers: gpu (default), datapath:FILE, or exec:COMMAND, a program");
  add_program_options(command, options->program);
  add_time_limit(command, options->program.time_limit);
  command.add_option("--devices", options->devices, "GPUs, such as 0 (default), 0,1 or all");
  command.add_option("--shard", options->shard, "i/n: the i-th of n parts of the work");
  command.add_option("--chunk", options->chunk, "Dot products to a digest (default: 16 digests for each distribution)");
  command.add_option("--checkpoint", options->checkpoint, "File to go on from, and to keep up to date");
  command.add_option("--record", options->record, "Campaign records to add the digests to");
  command.add_option("--disagreements", options->disagreements, "Folder for vector files with the disagreements found");
  command.add_flag("--all", options->all, "With --campaign: check every chunk, not a small one of each record");
  command.add_option("--json", options->json, kJson);
}

void add_emulate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("emulate", "Fill the results of a vector file without the hardware");
  const auto options = options_of(command, run_emulate, action);
  command.add_option("--arch", options->arch, "Architecture (default: what the file says)");
  command.add_option("--instr", options->instruction, "Instruction (default: what the file says)");
  command.add_option("--in", options->in, "Vector file with A, B and C");
  command.add_option("--out", options->out, "Vector file to write: the same with D");
  command.add_option("--datapath", options->datapath, kOwnDatapath);
  command.add_flag("--exact", options->exact, "Use the slow emulator that defines the meaning");
  command.add_flag("--serve", options->serve,
                   "Answer batches on standard input, as what --from exec:COMMAND starts (docs/oracles.md)");
}

void add_explain(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("explain", "Show one dot product bit by bit");
  const auto options = options_of(command, run_explain, action);
  command.add_option("--arch", options->arch, architecture_help());
  command.add_option("--instr", options->instruction, kInstruction);
  command.add_option("--in", options->in, "Vector file with the problem");
  add_whole(command, "--index", options->index, "Number of the result in the file");
  command.add_option("--a", options->a, "Codes of a[0], a[1], ...: 0x3c00,0x4000 (the others are zero)");
  command.add_option("--b", options->b, "Codes of b[0], b[1], ...");
  command.add_option("--c", options->c, "Code of c");
  command.add_option("--datapath", options->datapath, kOwnDatapath);
}

void add_gemm(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("gemm", "Multiply whole matrices as a kernel does, or find out how one does");
  const auto options = options_of(command, run_gemm, action);
  std::vector<std::string_view> plans;
  for (const NamedPlan& plan : named_plans()) plans.push_back(plan.name);
  command.add_option("--in", options->in, "safetensors file with A [M, K] and B [K, N], perhaps C and bias");
  command.add_option("--a", options->a, "Or A, in a .npy file of its own");
  command.add_option("--b", options->b, "B, likewise");
  command.add_option("--c", options->c, "C, likewise");
  command.add_option("--d", options->d, "With --fit or --error: D, likewise");
  command.add_option("--bias", options->bias, "A bias of N elements, likewise");
  command.add_option("--format", options->format, "Format of A and B, where their file has no type for it");
  command.add_option("--plan", options->plan, fmt::format("A plan's file, or its name: {}", fmt::join(plans, ", ")));
  command.add_option("--out", options->out, "File to write: --in's with D, or D as .npy");
  command.add_option("--output", options->output, "Format of D (default: the plan's)");
  add_number(command, "--alpha", options->alpha, "D = alpha · A · B + beta · C + bias", parse_number);
  add_number(command, "--beta", options->beta, "Of C", parse_number);
  command.add_flag("--keep-rows", options->keep_rows, "Where it is interrupted, write the rows that are finished");
  command.add_flag("--error", options->error,
                   "Compare D with the exact product: that of --plan, or without one the D that is given");
  command.add_flag("--fit", options->fit, "Find the plan of the product in --in, or of whatever --from names");
  command.add_option(
      "--from", options->from,
      "With --fit, who multiplies: exec:COMMAND, which is run with a file that holds A and B and one to "
      "write D to, {in} and {out} in it or appended; plan:FILE; or cublaslt, the GPU's library, with all "
      "algorithms that it offers");
  add_time_limit(command, options->time_limit);
  command.add_option("--formats", options->formats,
                     "With --from: A:D or A:B:D, such as fp16:fp32; +fast for fast accumulation of fp8");
  command.add_option("--shape", options->shapes, "With --from: M×N×K, such as 256×256×4096");
  command.add_option("--arch", options->arch, "With --fit: whose instructions")->capture_default_str();
  constexpr std::uint64_t kMostAlgorithms = 100'000;
  add_number(
      command, "--algorithms", options->algorithms, "With cublaslt: so many of each product",
      [](std::string_view option, std::string_view text) { return parse_whole(option, text, 1, kMostAlgorithms); });
  add_whole(command, "--seed", options->seed, "With --from: seed of the operands");
  command.add_option("--json", options->json, kJson);
}

void add_bench_suite(CLI::App& bench_app, const BenchSuite& suite, Action& action) {
  CLI::App& command = *bench_app.add_subcommand(suite.name, suite.meaning);
  const auto options = std::make_shared<BenchOptions>();
  command.callback([options, &suite, &action] { action = [options, &suite] { return run_bench(suite, *options); }; });
  command.add_flag("--list", options->list, "Show what can be measured, and along which axes");
  command.add_option("--instr", options->globs,
                     "Instructions or operations, names or globs such as 'wgmma.*'; '*' is all (default: not those "
                     "that only say otherwise what another is)");
  command.add_option("-a,--axis", options->axes, "Values of an axis, such as N=8,16,…,256 or source=ss,rs; repeatable")
      ->allow_extra_args(false);
  command.add_option("--arch", options->arch, "With --list: architecture (default: the GPU's)");
  constexpr double kMostSeconds = 60;
  add_number(command, "--seconds", options->seconds, "Steady load for each row, at least",
             [](std::string_view option, std::string_view text) { return parse_positive(option, text, kMostSeconds); });
  add_whole(command, "--seed", options->seed, "Seed of the operands");
  command.add_option("--devices", options->devices, "GPUs, such as 0, 0,1 or all")->capture_default_str();
  command.add_option("--json", options->json, "Write the records as JSON (- for standard output)");
  command.add_option("--csv", options->csv, "Write the records as CSV (- for standard output)");
}

void add_bench(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("bench", "Measure latency, throughput and energy");
  command.require_subcommand(1);
  for (const BenchSuite& suite : bench_suites()) add_bench_suite(command, suite, action);
  CLI::App& report = *command.add_subcommand("report", "Make a report of recorded measurements, beside published ones");
  const auto options = options_of(report, run_bench_report, action);
  report.add_option("files", options->files, "What --json wrote; of a row that several have, the last one's counts")
      ->required();
  report.add_option("--markdown", options->markdown, "Write it as Markdown (- for standard output)");
  report.add_option("--html", options->html, "Write it as one HTML page with plots (- for standard output)");
  report.add_option("--json", options->json, "Write the records of all files as one (- for standard output)");
}

void add_list(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("list", "Show architectures, formats, instructions and known datapaths");
  const auto options = options_of(command, run_list, action);
  command.add_option("--arch", options->arch, "One architecture: " + arch_names());
  command.add_option("--json", options->json, "Write the list as JSON (- for standard output)");
  command.add_flag("--evaluators", options->evaluators, "Who evaluates a datapath, and why others do not");
  command.add_option("--datapath", options->datapath, "That datapath: a file");
  command.add_option("--instr", options->instruction, "Or the catalogue's of that instruction of the architecture");
}

void add_sass(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("sass", "Show which machine instructions each instruction becomes");
  const auto options = options_of(command, run_sass, action);
  command.add_option("--arch", options->arch, architecture_help())->required();
  command.add_option("--text", options->text, "What `cuobjdump -sass` wrote of a tcnum (default: runs it on this one)");
  command.add_option("--nvcc", options->nvcc, "The version of nvcc that made it (default: this program's)");
  command.add_option("--json", options->json, "Write the table as JSON (- for standard output)");
}

/// An option of the command that took another option for its value, in words; empty if none did.
std::string misread_option(const CLI::App& command) {
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& value : each->results()) {
      if (value.starts_with('-') && command.get_option_no_throw(value) != nullptr) {
        return fmt::format("{} needs a value, and {} is an option", each->get_name(), value);
      }
    }
  }
  return "";
}

/// What is wrong, and what would be right.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (const auto strays = app.remaining(); chosen.empty() && !strays.empty() && !strays.front().starts_with('-')) {
    std::vector<std::string> known;
    for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(each->get_name());
    return fmt::format("{} is no command; right would be one of {}", strays.front(), fmt::join(known, ", "));
  }
  const std::string misread = chosen.empty() ? "" : misread_option(*chosen.front());
  return fmt::format("{}; `tcnum {}--help` shows what would be right", misread.empty() ? error.what() : misread,
                     chosen.empty() ? std::string() : chosen.front()->get_name() + " ");
}

/// An empty value is a shell's variable that nobody set, and not an option that was left out on purpose.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* each : command->get_options()) {
      if (std::ranges::find(each->results(), "") != each->results().end()) {
        throw InputError(fmt::format("{}: is empty; right would be a value, or to leave it out", each->get_name()));
      }
    }
    refuse_empty_values(*command);
  }
}

Action saying(std::string text) {
  return [text = std::move(text)] {
    say(text);
    return kAgreed;
  };
}

}  // namespace

Action parse_command_line(int argc, char** argv) {
  CLI::App app("tcnum tells, with evidence, what a tensor core computes, and computes the same bits without one.",
               "tcnum");
  app.set_version_flag("--version", "tcnum " TCNUM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done and all agreed; 1 a disagreement was found; 2 wrong usage or input;\n"
      "3 this machine lacks what was asked for: a GPU, answers, memory, space.");
  Action action;
  for (const auto add : {add_probe, add_verify, add_emulate, add_explain, add_gemm, add_bench, add_list, add_sass})
    add(app, action);
  try {
    app.parse(argc, argv);
    refuse_empty_values(app);
  } catch (const CLI::CallForHelp&) {
    return saying(app.help());  // of the subcommand, if one was named
  } catch (const CLI::CallForVersion& version) {
    return saying(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    throw InputError(usage_error(app, error));
  }
  return action;
}

}  // namespace tcnum
