// How the options of the bench's commands are spelled.
#include <memory>
#include <string>
#include <string_view>

#include "bench.hpp"
#include "src/commands/options.hpp"
#include "src/commands/program.hpp"

namespace tcnum {
namespace {

void add_bench_suite(CLI::App& bench_app, const BenchSuite& suite, Action& action) {
  CLI::App& command = *bench_app.add_subcommand(suite.name, suite.meaning);
  const auto options = std::make_shared<BenchOptions>();
  command.callback([options, &suite, &action] { action = [options, &suite] { return run_bench(suite, *options); }; });
  command.add_flag("--list", options->list, "Show what can be measured, and along which axes");
  command.add_option("--instr", options->globs,
                     "Instructions or operations, names or globs such as 'wgmma.*'; '*' is all (default: all but those "
                     "that --list marks)");
  command.add_option("-a,--axis", options->axes, "Values of an axis, such as N=8,16,256 or source=ss,rs; repeatable")
      ->allow_extra_args(false);
  command.add_option("--arch", options->arch, "With --list: architecture (default: the GPU's)");
  constexpr double kMostSeconds = 60;
  add_number(command, "--seconds", options->seconds, "Steady load for each row, at least",
             [](std::string_view option, std::string_view text) { return parse_positive(option, text, kMostSeconds); });
  add_whole(command, "--seed", options->seed, "Seed of the operands");
  add_output(command, "--json", options->json, "Write the records as JSON (- for standard output)");
  add_output(command, "--checkpoint", options->checkpoint,
             "What --json or this wrote before: go on from it, without the rows that it has, and keep it up to "
             "date");
  if (std::string_view(suite.name) == "gemm") {
    command.add_option(
        "--shapes", options->shapes,
        "Products of your own in place of the sets: a file with one a line below the heading m,n,k (- for "
        "standard input)");
  }
}

constexpr const char* kDeviceHelp =
    "What `tcnum bench report --json` wrote, or part of the name of a recorded device (default: this machine's GPU; "
    "where it has no record, the first recorded device)";

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(kBenchCommand.name, kBenchCommand.help);
  command.require_subcommand(1);
  for (const BenchSuite& suite : bench_suites()) add_bench_suite(command, suite, action);
  CLI::App& report = *command.add_subcommand("report", "Make a report of recorded measurements, beside published ones");
  const auto options = options_of(report, run_bench_report, action);
  report.add_option("files", options->files,
                    "What --json wrote; of a row that several have, the last one's counts (default: a record)");
  report.add_option("--device", options->device, kDeviceHelp)->excludes("files");
  report.add_option("--section", options->section,
                    "Sections with this title, or this text in it, as text; with --markdown, in that");
  add_output(report, "--markdown", options->markdown, "Write it as Markdown (- for standard output)");
  add_output(report, "--json", options->json, "Write the records of all files as one (- for standard output)")
      ->excludes("--section");
}

void add_model(CLI::App& app, Action& action) {
  CLI::App& all = *app.add_subcommand(kModelCommand.name, kModelCommand.help);
  all.require_subcommand(1);
  CLI::App& command =
      *all.add_subcommand("gemm", "A matrix product: its time, what limits it, and which tile is fastest");
  const auto options = options_of(command, run_model_gemm, action);
  command.add_option("--device", options->device, kDeviceHelp);
  constexpr std::uint64_t kMostMhz = 10'000;
  const auto add_size = [&](const char* name, std::uint64_t& size, const char* help, std::uint64_t most) {
    command
        .add_option_function<std::string>(
            name, [&size, name, most](const std::string& text) { size = parse_whole(name, text, 1, most); }, help)
        ->type_name("NUMBER");
  };
  add_size("--m", options->m, "Rows of A and D", kMostProductLines);
  add_size("--n", options->n, "Columns of B and D", kMostProductLines);
  add_size("--k", options->k, "Columns of A, rows of B", kMostProductDepth);
  add_size("--clock", options->clock_mhz, "Clock that the SMs keep, in MHz (default: what their power leaves)",
           kMostMhz);
  command.add_flag("--single", options->single,
                   "One call at a time on a device that has rested (default: calls back to back)");
  command.add_option("--format", options->format, "Of A and B: fp16, bf16 or fp8e4m3")->capture_default_str();
  command.add_option("--tile", options->tile, "One tile of our kernel, such as 128x256/2x1 (default: all)");
  command.add_option("--shapes", options->shapes,
                     "In place of --m, --n, --k: a file with a product a line below the heading m,n,k or m,n,k,format "
                     "(- for standard input)");
  add_output(command, "--csv", options->csv, "Write a line for each product and tile (- for standard output)");
}

}  // namespace tcnum
