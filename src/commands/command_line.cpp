// How the commands and their options are spelled.
#include <fmt/ranges.h>

#include <algorithm>

#include "options.hpp"
#include "output.hpp"
#include "src/questions/stream.hpp"

namespace tcnum {
namespace {

constexpr const char* kJson = "Write the results as JSON (- for standard output)";
constexpr const char* kTable = "A table with a row for each instruction: text, md, csv or latex";
constexpr const char* kOwnDatapath =
    "Another datapath: a file, or ARCH:INSTRUCTION[:ACCOUNT] (default: the catalogue's)";
constexpr const char* kInstruction = "Instruction, by its name or its PTX spelling";

constexpr std::uint64_t kMostThreads = 4096;
constexpr const char* kElements =
    "a[0], a[1], ...: numbers such as 1.5, -2^30, 0x1.8p3, inf, nan, or codes such as 0x3c00 (the others are zero)";
constexpr const char* kTextIn = "Vector file, or a text of dot products: .csv, .hex, or x.{}.npy";
constexpr const char* kTextOut = "File to write: .safetensors, .csv, .hex, or x.{}.npy";
constexpr const char* kFormsOfFiles = "csv, hex, npy or safetensors (default: as the name ends)";

/// Of what reads dot problems and writes them.
template <class Options>
void add_problem_files(CLI::App& command, Options& options) {
  command.add_option("--arch", options.arch, "Architecture (default: what the file says)");
  command.add_option("--instr", options.instruction, "Instruction (default: what the file says)");
  command.add_option("--in", options.in, kTextIn);
  command.add_option("--in-form", options.in_form, kFormsOfFiles);
  add_output(command, "--out", options.out, kTextOut);
  command.add_option("--form", options.form, kFormsOfFiles);
}

/// Of --format, where one instruction is meant or several.
constexpr const char* kFormatExamples =
    "fp16, fp8e4m3, fp8 (every fp8 of the architecture), or nvfp4 (with its scales)";

/// A line for each distribution.
std::string distributions_help() {
  std::string text;
  for (const DistributionText& each : kDistributionTexts) text += fmt::format("\n{}: {}", each.name, each.sentence);
  return text;
}

std::string architecture_help() { return "Architecture: " + arch_names(); }

/// Of `--from exec:COMMAND`.
void add_program_options(CLI::App& command, ProgramCommandOptions& options) {
  command.add_option("--a", options.a, "With exec: and no --instr: format of a, such as fp16");
  command.add_option("--b", options.b, "Of b (default: --a)");
  command.add_option("--c", options.c, "Of c (default: --d)");
  command.add_option("--d", options.d, "Of d, such as fp32");
  command.add_option("--k", options.k, "Number of products");
  command.add_option("--scale-block", options.scale_block, "Of block scales: products that share one, such as 32");
  command.add_option("--scale-format", options.scale_format, "Of block scales: ue8m0 (default) or ue4m3");
  command.add_flag("--any-nan", options.any_nan, "With exec: of a NaN, do not look at the bits");
  need(command, {"--b", "--c", "--d", "--k", "--scale-block"}, "--a");
  for (const char* other : {"--d", "--k", "--from"}) need(command, {"--a"}, other);
  need(command, {"--scale-format"}, "--scale-block");
  exclude(command, {"--a"}, {"--arch", "--instr"});
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
  command.add_option(
      "--format", options->format,
      fmt::format("The instructions with this input format, such as {} (default: all)", kFormatExamples));
  command.add_option("--instr", options->instruction, "One instruction, by its name or its PTX spelling");
  command.add_option(
      "--from", options->from,
      "Who answers: gpu, recorded, a vector FILE, datapath:FILE, a datapath of the catalogue as "
      "ARCH:INSTRUCTION[:ACCOUNT], or exec:COMMAND, a program (default: the GPU if it is of that architecture, else "
      "recorded)");
  add_program_options(command, options->program);
  add_time_limit(command, options->program.time_limit);
  add_output(command, "--record", options->record,
             "Keep the answers: FILE.safetensors for one instruction, else a folder");
  command.add_option("--table", options->table, kTable);
  add_output(command, "--json", options->json, kJson);
  add_whole(command, "--seed", options->seed, "Seed of random operands");
}

void add_verify(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("verify", "Compare the emulator with recorded answers or with the GPU");
  const auto options = options_of(command, run_verify, action);
  command.add_option("--vectors", options->vectors,
                     "Vector files with recorded answers (default: those of --arch and --instr that tcnum has)");
  command.add_option("--count", options->count,
                     "Dot products of each instruction to compare with the GPU (1e12 will do)");
  command.add_option("--campaign", options->campaign, "Campaign records to check the emulator against");
  command.add_option("--arch", options->arch, architecture_help());
  command.add_option("--instr", options->instruction,
                     "Instruction, or a pattern such as 'mma.*' (default: all); 'wgmma.m64n*' takes every N of a "
                     "wgmma, 'wgmma.*' N = 8");
  command.add_option("--datapath", options->datapath, kOwnDatapath);
  add_whole(command, "--seed", options->seed, "Seed of the operands");
  command.add_option("--distribution", options->distributions,
                     fmt::format("What operands are like (default: all that are random):{}", distributions_help()));
  command.add_option(
      "--from", options->from,
      "What answers: gpu (default), datapath:FILE, ARCH:INSTRUCTION[:ACCOUNT], or exec:COMMAND, a program");
  add_program_options(command, options->program);
  add_time_limit(command, options->program.time_limit);
  command.add_option("--devices", options->devices,
                     "GPUs, such as 0 (default; of several processes each another), 0,1 or all");
  command.add_option(
      "--shard", options->shard,
      "i/n: the i-th of n parts of the work (default: of processes that mpirun or srun started, each its own)");
  command.add_option("--chunk", options->chunk, "Dot products to a digest (default: 16 digests for each distribution)");
  add_output(command, "--checkpoint", options->checkpoint, "File to go on from, and to keep up to date");
  add_output(command, "--record", options->record, "Campaign records to add the digests to");
  add_output(command, "--disagreements", options->disagreements,
             "Folder for vector files with the disagreements found");
  command.add_flag("--all", options->all, "With --campaign: check every chunk, not a small one of each record");
  add_output(command, "--json", options->json, kJson);
}

void add_emulate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("emulate", "Fill the results of a vector file without the hardware");
  const auto options = options_of(command, run_emulate, action);
  add_problem_files(command, *options);
  command.add_option("--datapath", options->datapath, kOwnDatapath);
  command.add_flag("--exact", options->exact, "Use the slow emulator that defines the meaning");
  add_number(command, "--threads", options->threads, "How many (default: as many as the machine has)",
             [](std::string_view option, std::string_view text) { return parse_whole(option, text, 1, kMostThreads); })
      ->default_str("");
  command.add_flag("--serve", options->serve,
                   "Answer batches on standard input, as what --from exec:COMMAND starts (docs/oracles.md)");
  exclude(command, {"--serve"}, {"--in", "--out"});
}

void add_generate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("generate", "Write dot products with the answers of a datapath");
  const auto options = options_of(command, run_generate, action);
  command.add_option("--arch", options->arch, architecture_help());
  command.add_option("--instr", options->instruction, kInstruction);
  command.add_option("--datapath", options->datapath, kOwnDatapath);
  command
      .add_option("--distribution", options->distribution,
                  fmt::format("What operands are like:\nbattery: The crafted problems that a fit asks.{}",
                              distributions_help()))
      ->capture_default_str();
  command.add_option("--count", options->count, "How many (default: 1000; of the battery, all)");
  add_whole(command, "--seed", options->seed, "Seed of the operands");
  add_output(command, "--out", options->out, kTextOut)->required();
  command.add_option("--form", options->form, kFormsOfFiles);
  command.add_flag("--exact", options->exact, "Use the slow emulator that defines the meaning");
}

void add_convert(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("convert", "Write dot products with their results in another form");
  const auto options = options_of(command, run_convert, action);
  add_problem_files(command, *options);
  command.add_option("--datapath", options->datapath,
                     "Of dot products of no instruction: a file, or ARCH:INSTRUCTION[:ACCOUNT]");
  for (const char* needed : {"--in", "--out"}) command.get_option(needed)->required();
}

void add_explain(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("explain", "Show one dot product bit by bit, of one datapath or several");
  const auto options = options_of(command, run_explain, action);
  command.add_option("--arch", options->archs, "Architectures: " + arch_names());
  command.add_option("--instr", options->instructions, "Instructions of these, by name or PTX spelling");
  command.add_option("--format", options->format,
                     "Or of both operands: the instruction that products of it are made of; also fp8, nvfp4, mxfp4, …");
  command.add_flag(
      "--all", options->all,
      "All architectures and instructions whose operands are of one format, or those for --format or --instr");
  command.add_option("--in", options->in, "Vector file with the problem");
  add_whole(command, "--index", options->index, "Number of the result in the file");
  command.add_option("--at", options->at, "Or its tile,row,column; with --plan its row,column")->excludes("--index");
  command.add_option(
      "--plan", options->plans,
      "--in has matrices, multiplied by this plan: a name that `tcnum gemm --help` shows, or a file; two "
      "plans: from the first step on that differs");
  add_number(command, "--alpha", options->alpha, "With --plan: D = alpha · A · B + beta · C + bias", parse_number);
  add_number(command, "--beta", options->beta, "Of C (default: 1 where there is a C)", parse_number);
  command.add_option("--a", options->a, kElements);
  command.add_option("--b", options->b, "b[0], b[1], ..., likewise");
  command.add_option("--c", options->c, "c, likewise");
  command.add_option("--d", options->d, "An answer, by its code or as printed: whose is it?");
  command.add_option("--sa", options->sa, "a's block scales, likewise (those left out are 1)");
  command.add_option("--sb", options->sb, "b's block scales");
  command.add_option(
      "--datapath", options->datapaths,
      "Datapaths by themselves: files, or ARCH:INSTRUCTION[:ACCOUNT]; with --in, in place of the catalogue's");
  add_output(command, "--json", options->json, kJson);
  exclude(command, {"--in"}, {"--a", "--b", "--c", "--sa", "--sb"});
  need(command, {"--at"}, "--in");
  need(command, {"--plan"}, "--at");
  exclude(command, {"--plan"}, {"--arch", "--instr", "--format", "--datapath", "--all", "--d"});
  need(command, {"--alpha", "--beta"}, "--plan");
  exclude(command, {"--all"}, {"--arch", "--in"});
}

void add_identify(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("identify", "Tell which datapaths and plans give some answers");
  const auto options = options_of(command, run_identify, action);
  command.add_option("--format", options->format,
                     "Of a and b, such as fp16, or two of them: fp8e4m3:fp8e5m2 (default: what the file says)");
  command.add_option("--a", options->a, kElements);
  command.add_option("--b", options->b, "b[0], b[1], ..., likewise");
  command.add_option("--c", options->c, "c, likewise (default: +0)");
  command.add_option("--d", options->d, "The result: its code, or the number as it was printed");
  command.add_option("--output", options->output,
                     "Format of results (default: as long as the code is, fp32 of a number, or what the file says)");
  command.add_option("--sa", options->sa, "a's block scales, likewise (those left out are 1)");
  command.add_option("--sb", options->sb, "b's block scales");
  command.add_option("--scale-block", options->scale_block, "Products that share a scale (default: 32)");
  command.add_option("--scale-format", options->scale_format, "Of scales: ue8m0 (default) or ue4m3");
  command.add_option("--in", options->in,
                     "File of answers: vectors or matrices A, B, D (safetensors), .csv, .hex, or x.{}.npy");
  command.add_option("--in-form", options->in_form, kFormsOfFiles);
  command.add_option("--arch", options->archs, "Only these architectures: " + arch_names());
  command.add_flag("--all", options->all, "Show every datapath that does not agree, too");
  add_output(command, "--json", options->json, kJson);
  add_whole(command, "--seed", options->seed, "Seed of random inputs that are tried to tell apart what agrees");
  exclude(command, {"--in"}, {"--a", "--b", "--c", "--d", "--sa", "--sb"});
}

/// A line for each, with the formats of its operands.
std::string named_plans_text() {
  std::string text = "Named plans (docs/plans.md), and the formats of their operands:\n";
  for (const NamedPlan& plan : named_plans()) {
    std::vector<std::string_view> operands;
    for (const FormatId id : plan.operands) operands.push_back(format(id).name);
    text += fmt::format("  {:<18} {} ({})\n", plan.name, plan.does, fmt::join(operands, ", "));
  }
  return text;
}

void add_factors(CLI::App& command, GemmCommandOptions& options) {
  command.add_option("--in", options.in,
                     "safetensors file with A [M, K] and B [K, N], perhaps C, bias, SA, SB, exact_A, exact_B and D");
  command.add_option("--a", options.a, "Or A, in a .npy file of its own")->excludes("--in");
  command.add_option("--b", options.b, "B, likewise")->needs("--a")->excludes("--in");
  command.get_option("--a")->needs("--b");
  command.add_option("--format", options.format, "Format of A and B, where their file has no type for it");
}

/// What a product has beside A and B.
void add_other_operands(CLI::App& command, GemmCommandOptions& options) {
  command.add_option("--c", options.c, "C, likewise");
  command.add_option("--bias", options.bias, "A bias of N elements, likewise");
  command.add_option("--scale-a", options.scale_a, "Scales of A, likewise: [1], or [1 or M, parts of K] of fp32");
  command.add_option("--scale-b", options.scale_b, "Scales of B: [1], or [parts of K, 1, N/128 or N]");
  command.add_option("--scale-format", options.scale_format, "Format of scales, likewise: ue8m0 or ue4m3");
  add_number(command, "--alpha", options.alpha, "D = alpha · A · B + beta · C + bias", parse_number);
  add_number(command, "--beta", options.beta, "Of C (default: 1 where there is a C)", parse_number);
}

void add_plan(CLI::App& command, GemmCommandOptions& options) {
  command.add_option("--plan", options.plan, "A plan's file, or one of the names below");
  add_output(command, "--out", options.out, "File to write: --in's with D, or D as .npy");
  command.add_option("--processor", options.processor, "With --plan: cpu (default), or gpu, which gives the same bits")
      ->check(CLI::IsMember({"cpu", "gpu"}));
  need(command, {"--out", "--processor"}, "--plan");
}

void add_output_format(CLI::App& command, GemmCommandOptions& options) {
  command.add_option("--output", options.output, "Format of D (default: the plan's, or what its file says)");
}

/// D, which somebody else computed.
void add_result(CLI::App& command, GemmCommandOptions& options) {
  command.add_option("--d", options.d, "D, likewise");
  add_output(command, "--json", options.json, kJson);
}

void add_error_options(CLI::App& command, GemmCommandOptions& options) {
  command.add_option("--exact-a", options.exact_a, "A before it was quantised, likewise");
  command.add_option("--exact-b", options.exact_b, "B before it was quantised, likewise");
}

void add_fit_options(CLI::App& command, GemmCommandOptions& options) {
  command.add_option(
      "--from", options.from,
      "Who multiplies: exec:COMMAND, which is run with a file that holds A and B and one to "
      "write D to, {in} and {out} in it or appended; plan:FILE; or cublaslt, the GPU's library, with all "
      "algorithms that it offers");
  command.add_flag("--epilogue", options.epilogue,
                   "With --from: also what becomes of alpha, C and a bias, which a program then finds in its file; "
                   "with cublaslt, whether its algorithms' plans say it, in place of all else");
  add_time_limit(command, options.time_limit);
  command.add_option(
      "--formats", options.formats,
      "With --from: A:D or A:B:D, such as fp16:fp32; +fast for fast accumulation of fp8, or fp32 as tf32");
  command.add_option("--shape", options.shapes, "With --from: M×N×K, such as 256×256×4096");
  command.add_option(
      "--layouts", options.layouts,
      "With cublaslt: how A and B lie, as BLAS says it: tn (default), both with k side by side, nn, nt, tt; nt+8 has 8 "
      "numbers between columns");
  command.add_option("--arch", options.arch, "Whose instructions")->capture_default_str();
  constexpr std::uint64_t kMostAlgorithms = 100'000;
  add_number(
      command, "--algorithms", options.algorithms, "With cublaslt: so many of each product",
      [](std::string_view option, std::string_view text) { return parse_whole(option, text, 1, kMostAlgorithms); });
  add_whole(command, "--seed", options.seed, "With --from: seed of the operands");
}

void add_gemm(CLI::App& app, Action& action) {
  CLI::App& product = *app.add_subcommand("gemm", "Multiply whole matrices as a kernel does, or find out how one does");
  const auto options = options_of(product, run_gemm, action);
  add_factors(product, *options);
  add_other_operands(product, *options);
  add_plan(product, *options);
  add_output_format(product, *options);

  CLI::App& fit = *product.add_subcommand("fit", "Find the plan of a product, or of whatever --from names");
  fit.callback([options] { options->fit = true; });
  add_factors(fit, *options);
  add_result(fit, *options);
  add_output_format(fit, *options);
  add_fit_options(fit, *options);

  CLI::App& error = *product.add_subcommand(
      "error", "Compare with the exact product: that of a plan, or without one the D that is given");
  error.callback([options] { options->error = true; });
  add_factors(error, *options);
  add_other_operands(error, *options);
  add_result(error, *options);
  add_error_options(error, *options);
  add_plan(error, *options);
  add_output_format(error, *options);

  product.footer(named_plans_text());
  error.footer(named_plans_text());

  for (CLI::App* const job : {&fit, &error}) {
    for (CLI::Option* const each : product.get_options()) {
      if (each != product.get_help_ptr()) job->excludes(each);
    }
  }

  // As both were spelled before they were commands: --fit and --error, beside the product's options.
  const std::size_t shown = product.get_options().size();
  product.add_flag("--fit", options->fit);
  product.add_flag("--error", options->error);
  add_result(product, *options);
  add_fit_options(product, *options);
  add_error_options(product, *options);
  const std::vector<CLI::Option*> all = product.get_options();
  for (CLI::Option* const each : std::span(all).subspan(shown)) each->group("");
}

void add_diff(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("diff", "Show where two datapaths part, or two plans of whole products");
  const auto options = options_of(command, run_diff, action);
  command.add_option("--arch", options->archs, "Of the one and of the other; one for both");
  command.add_option(
      "--format", options->format,
      "Of both operands: the instruction that products of it are made of; also nvfp4, mxfp4, …, with scales");
  command.add_option("--instr", options->instructions, "Of the one and of the other; one for both");
  command.add_option("--datapath", options->datapaths,
                     "Files, or ARCH:INSTRUCTION[:ACCOUNT], in place of the first, or of both");
  command.add_option("--plan", options->plans, "Two plans, names or files, in place of all these; names with --format");
  command.add_option("--output", options->output, "With --plan: format of both products (default: the plans')");
  command.add_option("--most-k", options->most_k, "With --plan: products of up to so many along k (default: 65536)");
  command.add_flag("--all", options->all, "All architectures that have instructions for --format, each beside each");
  add_output(command, "--svg", options->svg, "With --all: draw the matrix (- for standard output)");
  add_whole(command, "--seed", options->seed, "Of random operands");
  add_output(command, "--json", options->json, kJson);
  exclude(command, {"--plan", "--all"}, {"--arch", "--instr", "--datapath"});
  exclude(command, {"--plan"}, {"--all"});
  need(command, {"--all"}, "--format");
  need(command, {"--svg"}, "--all");
}

void add_list(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("list", "Show architectures, formats, instructions and known datapaths");
  const auto options = options_of(command, run_list, action);
  command.add_option("--arch", options->archs, "Architectures, or devices that have them: " + arch_names());
  command.add_option("--instr", options->instruction, "Instruction, or a pattern such as 'mma.*'");
  command.add_option("--format", options->formats,
                     fmt::format("The instructions with one of these input formats, such as {}", kFormatExamples));
  command.add_flag("--known", options->known, "Those of which a datapath is known");
  command.add_flag("--measured", options->measured, "Those of which it was measured here");
  command.add_flag("--works", options->works, "What others have published of them, held against the recorded answers");
  command.add_option("--table", options->table,
                     "One table with a row for each architecture and datapath: text, md, csv or latex (with booktabs)");
  add_output(command, "--json", options->json, "Write the list as JSON, and nothing else (- for standard output)");
  command.add_flag("--evaluators", options->evaluators,
                   "Who evaluates the datapath of --arch and --instr, or --datapath, and why others do not");
  command.add_option("--datapath", options->datapath,
                     "Write that datapath as JSON, or with --evaluators show theirs: a file, or "
                     "ARCH:INSTRUCTION[:ACCOUNT]");
  exclude(command, {"--datapath"}, {"--arch", "--instr"});
  exclude(command, {"--works"}, {"--evaluators", "--known", "--measured", "--datapath", "--table"});
  exclude(command, {"--table"}, {"--json"});
}

void add_sass(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("sass", "Show which machine instructions each instruction becomes");
  const auto options = options_of(command, run_sass, action);
  command.add_option("--arch", options->arch, architecture_help())->required();
  command.add_option("--text", options->text, "What `cuobjdump -sass` wrote of a tcnum (default: runs it on this one)");
  command.add_option("--nvcc", options->nvcc, "The version of nvcc that made it (default: this program's)");
  add_output(command, "--json", options->json, "Write the table as JSON (- for standard output)");
}

/// Of an option that --help leaves out, too, whose get_name() is empty.
std::string name_of(const CLI::Option& option) {
  return option.get_group().empty() ? "--" + option.get_lnames().front() : option.get_name();
}

/// An option of the command that took another option for its value, in words; empty if none did.
std::string misread_option(const CLI::App& command) {
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& value : each->results()) {
      if (value.starts_with('-') && command.get_option_no_throw(value) != nullptr)
        return fmt::format("{} needs a value, and {} is an option", name_of(*each), value);
    }
  }
  return "";
}

/// What is wrong, and what is expected.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (const auto strays = app.remaining(); chosen.empty() && !strays.empty() && !strays.front().starts_with('-')) {
    std::vector<std::string> known;
    for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(each->get_name());
    return fmt::format("{} is no command; expected one of {}", strays.front(), fmt::join(known, ", "));
  }
  const std::string misread = chosen.empty() ? "" : misread_option(*chosen.front());
  return fmt::format("{}; `tcnum {}--help` shows what is expected", misread.empty() ? error.what() : misread,
                     chosen.empty() ? std::string() : chosen.front()->get_name() + " ");
}

/// An empty value is a shell's variable that nobody set, and not an option that was left out on purpose.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* each : command->get_options()) {
      if (std::ranges::find(each->results(), "") != each->results().end()) {
        throw InputError(fmt::format("{}: is empty; expected a value, or to leave it out", name_of(*each)));
      }
    }
    refuse_empty_values(*command);
  }
}

/// An input that an output may take the place of, as the output is the input with more added.
struct Replaced {
  std::string_view input, output;
};
constexpr std::array<Replaced, 2> kReplaced = {{{"--in", "--out"}, {"files", "--json"}}};

/// Throws InputError if two options write the same file, or one writes what another one names. Any value of any option
/// that leads to a file counts as an input, also behind a word such as datapath: or plan:.
void refuse_lost_files(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    std::vector<NamedFile> written;
    for (const CLI::Option* each : command->get_options()) {
      if (each->get_type_name() != kWritten) continue;
      for (const std::string& path : each->results()) written.emplace_back(name_of(*each), path);
    }
    require_different(written, {});
    for (const NamedFile& output : written) {
      std::vector<NamedFile> read;
      for (const CLI::Option* each : command->get_options()) {
        const auto is_it = [&](const Replaced& r) { return r.input == name_of(*each) && r.output == output.first; };
        if (each->get_type_name() == kWritten || std::ranges::any_of(kReplaced, is_it)) continue;
        for (const std::string& value : each->results()) {
          for (const std::string& path : {value, value.substr(value.find(':') + 1)}) {
            if (path != "-" && is_file(path)) read.emplace_back(name_of(*each), path);
          }
        }
      }
      require_different({output}, read);
    }
    refuse_lost_files(*command);
  }
}

Action saying(std::string text) {
  return [text = std::move(text)] {
    say(text);
    return kAgreed;
  };
}

template <const NamedCommand& kCommand>
void add_named(CLI::App& app, Action&) {
  app.add_subcommand(kCommand.name, kCommand.help);
}

}  // namespace

const BenchCommands kNamedBenchCommands = {add_named<kBenchCommand>, add_named<kModelCommand>};

Action parse_command_line(int argc, char** argv, const BenchCommands& bench) {
  CLI::App app("tcnum tells, with evidence, what a tensor core computes, and computes the same bits without one.",
               "tcnum");
  app.set_version_flag("--version", "tcnum " TCNUM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done and all agreed; 1 a disagreement was found; 2 wrong usage or input;\n"
      "3 this machine lacks what was asked for: a GPU, answers, memory, space.");
  Action action;
  for (const auto add : {add_probe, add_verify, add_emulate, add_generate, add_convert, add_explain, add_identify,
                         add_diff, add_gemm, bench.add_bench, bench.add_model, add_list, add_sass})
    add(app, action);
  try {
    app.parse(argc, argv);
    refuse_empty_values(app);
    refuse_lost_files(app);
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
