// tcnum probe: infers the datapath of instructions from answers of a GPU, of records, of a described datapath, or of a
// program.
#include <fmt/ranges.h>

#include "in_order.hpp"
#include "interrupt.hpp"
#include "io/printable.hpp"
#include "output.hpp"
#include "records.hpp"
#include "src/catalogue/names.hpp"
#include "src/fit/fit.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/layout.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

// --- Where answers come from ------------------------------------------------------------------------------------

/// One instruction and who answers for it: a live oracle, or a file of recorded answers.
struct Target {
  std::optional<ArchId> arch;  ///< none: what a program computes is no instruction
  const Instruction* instruction;
  std::string file = {};                                 ///< of recorded answers, or of the datapath that answers
  std::function<std::unique_ptr<Oracle>()> oracle = {};  ///< makes it; empty: the answers are recorded
};

/// What is to be probed, in order; and what cannot be because its answers are missing.
struct Plan {
  std::vector<Target> targets;
  std::vector<std::string> missing;
  std::string why_missing;
  std::vector<std::string> by_digest;  ///< of these only digests of the results are recorded
  std::string arch, format;
  ProgramSubject subject;            ///< of a program
  std::shared_ptr<Program> program;  ///< that answers; else null
  bool recorded = false;             ///< all answers are
};

std::vector<const Instruction*> chosen_instructions(const ProbeOptions& options, ArchId id) {
  std::optional<Operands> operands;
  if (!options.format.empty()) operands = parse_operands(options.format, id);
  if (options.instruction.empty()) return operands ? instructions_of(*operands) : instructions_of(id);
  const Instruction& instruction = parse_instruction(options.instruction, id);
  if (operands && !operands->are_of(instruction)) {
    throw InputError(fmt::format("--instr: {} has no {} operand; expected an instruction with one, or no --format",
                                 instruction.name(), operands->name));
  }
  return {&instruction};
}

void plan_file(const ProbeOptions& options, Plan& plan) {
  const VectorsInFile in = read_vectors_in(options.from, {.arch = options.arch, .instruction = options.instruction});
  if (!options.format.empty()) {
    const Operands operands = parse_operands(options.format, *in.arch);
    if (!operands.are_of(*in.instruction)) {
      throw InputError(fmt::format("{}: __metadata__.instruction: {} has no {} operand; expected one, as --format says",
                                   options.from, in.instruction->name(), operands.name));
    }
  }
  plan.arch = arch(*in.arch).name;
  plan.format = tcnum::format(in.instruction->a).name;
  plan.recorded = true;
  plan.targets.push_back({in.arch, in.instruction, options.from});
}

void plan_datapath(const std::string& file, ArchId id, const std::vector<const Instruction*>& instructions,
                   Plan& plan) {
  const auto datapath = std::make_shared<Datapath>(named_datapath(file).datapath);
  for (const Instruction* instruction : fitting_instructions(*datapath, instructions, file)) {
    plan.targets.push_back(
        {id, instruction, file,
         [=] { return std::make_unique<DatapathOracle>(*datapath, *instruction, printable(file), all_threads()); }});
  }
}

void plan_program(const ProbeOptions& options, Plan& plan) {
  if (!options.format.empty())
    throw InputError("--format: chooses instructions; expected --instr, or --a and --b, of what the program computes");
  plan.subject = program_subject(options.program, options.arch, options.instruction);
  plan.program = program_of(options.from, options.program);
  const std::optional<ArchId> id = plan.subject.arch;
  const Instruction* const instruction = plan.subject.instruction;
  if (id) plan.arch = arch(*id).name;
  plan.format = tcnum::format(instruction->a).name;
  plan.targets.push_back({id, instruction, "", [=, program = plan.program, nans = nan_bits(options.program)] {
                            return make_program_oracle(*instruction, id, program, nans);
                          }});
}

bool has_kernel(const Instruction& instruction) {
  try {
    make_gpu_oracle(instruction);
    return true;
  } catch (const UnavailableError&) {
    return false;
  }
}

void plan_gpu(ArchId id, const std::vector<const Instruction*>& instructions, const GpuInfo& gpu, Plan& plan) {
  if (!gpu.present) throw UnavailableError("--from gpu: " + gpu.why_not);
  if (gpu.arch != arch(id).name) {
    throw UnavailableError(fmt::format("--from gpu: the GPU ({}) is {}, not {}", gpu.device, gpu.arch, arch(id).name));
  }
  for (const Instruction* instruction : instructions) {
    if (instructions.size() > 1 && !has_kernel(*instruction)) {  // one by itself says why there is none
      plan.missing.push_back(instruction->name());
      plan.why_missing = "this build has no kernel for them";
    } else {
      plan.targets.push_back({id, instruction, "", [=] { return make_gpu_dot_oracle(*instruction); }});
    }
  }
}

void plan_recorded(ArchId id, const std::vector<const Instruction*>& instructions, Plan& plan) {
  const bool one = instructions.size() == 1;
  std::string hint;
  plan.recorded = true;
  for (const Instruction* instruction : instructions) {
    if (const auto found = find_record(id, record_name(*instruction))) {
      plan.targets.push_back({id, instruction, shown_path(*found)});
    } else if (const std::string other = recorded_as(*instruction); other != instruction->name() && !one) {
      plan.by_digest.push_back(instruction->name());
    } else {
      plan.missing.push_back(instruction->name());
      if (other != plan.missing.back()) hint = fmt::format("; expected {}, which has the same datapath", other);
    }
  }
  std::vector<std::string> folders;
  for (const fs::path& folder : record_folders()) folders.push_back((folder / arch(id).name).string());
  plan.why_missing = fmt::format("no recorded answers in {}{}", fmt::join(folders, " or "), hint);
}

/// Which operands are looked at, as the results say it.
std::string format_of(const ProbeOptions& options, ArchId id, const Instruction& first) {
  if (!options.format.empty()) return parse_operands(options.format, id).name;
  return std::string(options.instruction.empty() ? "all" : tcnum::format(first.a).name);
}

/// A datapath of the catalogue says whose it is, where the user does not.
ProbeOptions with_named_instruction(ProbeOptions options) {
  const auto name = catalogue_name_of(datapath_of_source(options.from));
  if (!name || !options.arch.empty() || !options.instruction.empty() || !options.format.empty()) return options;
  options.arch = arch(name->arch).name;
  options.instruction = name->instruction;
  return options;
}

Plan make_plan(const ProbeOptions& given) {
  const ProbeOptions options = with_named_instruction(given);
  Plan plan;
  const std::string_view from = options.from;
  if (names_program(from, options.program)) {
    plan_program(options, plan);
    return plan;
  }
  const std::string datapath = datapath_of_source(from);
  if (!from.empty() && from != "gpu" && from != "recorded" && datapath.empty()) {
    plan_file(options, plan);
    return plan;
  }
  if (options.arch.empty()) throw InputError(fmt::format("--arch: missing; expected one of {}", arch_names()));
  const ArchId id = parse_arch(options.arch);
  const std::vector<const Instruction*> instructions = chosen_instructions(options, id);
  plan.arch = arch(id).name;
  if (instructions.empty()) throw UnavailableError(fmt::format("--arch: no instruction of {} is known", plan.arch));
  plan.format = format_of(options, id, *instructions.front());
  if (!datapath.empty()) {
    plan_datapath(datapath, id, instructions, plan);
    return plan;
  }
  const GpuInfo gpu = from == "recorded" ? GpuInfo{} : gpu_info();
  if (from == "gpu" || (from.empty() && gpu.present && gpu.arch == arch(id).name)) {
    plan_gpu(id, instructions, gpu, plan);
    return plan;
  }
  plan_recorded(id, instructions, plan);
  if (from.empty()) {
    plan.why_missing = fmt::format("no GPU of {} ({}), and {}", plan.arch,
                                   gpu.present ? "this one is " + gpu.arch : gpu.why_not, plan.why_missing);
  }
  return plan;
}

// --- Records ----------------------------------------------------------------------------------------------------

bool names_one_file(const std::string& path) { return path.ends_with(kVectorFileExtension); }

void require_recordable(const ProbeOptions& options, const Plan& plan) {
  if (options.record.empty()) return;
  if (plan.subject.dot) {
    throw InputError(
        "--record: a vector file is of an instruction; expected --arch and --instr, for which the program stands "
        "in");
  }
  require_no_stdout({"--record", options.record});
  if (names_one_file(options.record)) {
    if (plan.targets.size() > 1) {
      throw InputError(fmt::format("--record: {} is one file, for {} instructions; expected a folder, or --instr NAME",
                                   options.record, plan.targets.size()));
    }
    require_writable(options.record);
    return;
  }
  if (text_form_of(options.record) || options.record.ends_with(".npy"))
    throw InputError(fmt::format("--record: {}; expected FILE{} or a folder", options.record, kVectorFileExtension));
  if (is_file(options.from)) {  // which may have the name that its answers are to be kept under
    const fs::path folder = fs::absolute(options.from).parent_path();
    require_different({{"--record", options.record}}, {{"--from", folder.string()}});
  }
  std::error_code error;
  fs::create_directories(options.record, error);
  if (error) throw InputError(fmt::format("{}: cannot be made a folder: {}", options.record, error.message()));
}

void record(const ProbeOptions& options, const Target& target, const Oracle& oracle, const Fit& fit) {
  Vectors vectors;
  vectors.tiles = scatter(*target.instruction, fit.evidence().all());
  vectors.instruction = target.instruction->name();
  vectors.arch = arch(*target.arch).name;
  vectors.device = oracle.device();
  vectors.metadata = oracle.provenance();
  vectors.metadata.try_emplace("date", today_utc());
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["seed"] = std::to_string(options.seed);
  const std::string path = names_one_file(options.record)
                               ? options.record
                               : (fs::path(options.record) / record_name(*target.instruction)).string();
  write_vectors(path, vectors);
}

// --- The command ------------------------------------------------------------------------------------------------

/// What is known of the plan's architecture beside its answers. Each part is read by the first thread that asks for it.
struct Surroundings {
  explicit Surroundings(std::optional<ArchId> of) {
    if (!of) return;
    compared = std::async(std::launch::deferred, [of] { return ComparedResults(*of); });
    machine_code = std::async(std::launch::deferred, find_sass, *of);
  }

  std::shared_future<ComparedResults> compared;
  std::shared_future<SassTable> machine_code;
};

/// The report of a fit that has run.
ProbeReport report_of(const Target& target, Source source, const Fit& fit, const FitResult& result,
                      const std::string& arch_name, const Surroundings& surroundings) {
  ProbeReport report{fit, result, arch_name, std::move(source), {}, {}, {}, {}};
  if (report.source.kind == OracleKind::datapath)
    return report;  // published accounts and campaigns are of the hardware
  if (!target.arch) return report;
  report.accounts = judge_accounts(fit.evidence(), catalogue(*target.arch, *target.instruction),
                                   result.verdict == Verdict::identified ? &result.datapath : nullptr);
  report.relatives = check_relatives(fit, *target.arch);
  if (report.source.kind == OracleKind::program) return report;  // which may be nothing like the hardware
  report.compared = surroundings.compared.get().of(*target.instruction);
  report.sass = surroundings.machine_code.get().text(*target.instruction);
  return report;
}

/// What --json writes.
ordered_json finished_document(const ProbeDocument& document, const Plan& plan, bool finished) {
  ordered_json json = document.json();
  if (!finished) json["interrupted"] = true;
  if (!plan.missing.empty()) json["missing"] = plan.missing;
  if (!plan.by_digest.empty()) json["by_digest"] = plan.by_digest;
  return json;
}

/// What shows how far the work is.
class ProbeProgress {
 public:
  explicit ProbeProgress(std::size_t count) : count_(count) {}

  void begins(const std::string& name) { show(name, ""); }
  void at(const std::string& name, const FitProgress& fit) { show(name, ": " + progress_text(fit)); }
  void ends() {
    const std::lock_guard lock(mutex_);
    ++done_;
  }
  /// Says something where the line stood.
  void interrupt(const std::function<void()>& say_it) {
    const std::lock_guard lock(mutex_);
    line_.clear();
    say_it();
  }

 private:
  void show(const std::string& name, const std::string& phase) {
    const std::lock_guard lock(mutex_);
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    const double left = done_ == 0 ? 0 : elapsed / static_cast<double>(done_) * static_cast<double>(count_ - done_);
    constexpr double kWorthSaying = 2;
    line_.show(fmt::format("probing {} ({} of {} done{}){}", name, done_, count_,
                           left < kWorthSaying ? "" : fmt::format(", {:.0f} s left", left), phase));
  }

  std::mutex mutex_;
  ProgressLine line_;
  std::size_t count_, done_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// What is shown of a target, which its fit is not needed for any more.
struct ProbedTarget {
  Source source;
  Verdict verdict = Verdict::unexplained;
  std::string text;
  ordered_json json;
  TableRow row;
};

/// Fits the datapaths of targets.
class Prober {
 public:
  Prober(const ProbeOptions& options, const Plan& plan)
      : options_(options), plan_(plan), surroundings_(plan.targets.front().arch), progress_(plan.targets.size()) {}

  ProbedTarget probe(std::size_t i) {
    const Target& target = plan_.targets[i];
    progress_.begins(target.instruction->name());
    ProbedTarget probed = target.oracle ? probe_oracle(target) : probe_recorded(target);
    progress_.ends();
    return probed;
  }
  ProbeProgress& progress() { return progress_; }

 private:
  ProbedTarget probe_oracle(const Target& target) {
    const std::unique_ptr<Oracle> oracle = target.oracle();
    Fit fit(*target.instruction, oracle.get(), fit_options(target));
    ProbedTarget probed = fitted(target, {oracle->kind(), oracle->device(), target.file, oracle->provenance()}, fit);
    if (!options_.record.empty()) record(options_, target, *oracle, fit);
    return probed;
  }

  ProbedTarget probe_recorded(const Target& target) {
    if (!options_.record.empty()) {
      throw InputError(
          "--record: the answers are recorded already; expected --from gpu, datapath:FILE or exec:COMMAND");
    }
    Vectors recorded = read_vectors_in(target.file, {.arch = std::string(arch(*target.arch).name),
                                                     .instruction = target.instruction->name()})
                           .vectors;
    Fit fit(*target.instruction, nullptr, fit_options(target));
    fit.add_recorded(dot_problems(std::move(recorded.tiles), recorded.metadata));
    return fitted(target, source_of(recorded, target.file), fit);
  }

  FitOptions fit_options(const Target& target) {
    FitOptions fit_options;
    // All: some fits take a hundred times as long as others, and the last one shall not be left with one core.
    fit_options.threads = all_threads();
    fit_options.seed = options_.seed;
    fit_options.progress = [this, name = target.instruction->name()](const FitProgress& at) {
      progress_.at(name, at);
      return true;
    };
    return fit_options;
  }

  ProbedTarget fitted(const Target& target, Source source, Fit& fit) {
    const FitResult result = fit.run();
    const ProbeReport report = report_of(target, source, fit, result, plan_.arch, surroundings_);
    return {std::move(source), result.verdict, text_report(report), json_report(report), table_row(report)};
  }

  const ProbeOptions& options_;
  const Plan& plan_;
  Surroundings surroundings_;
  ProbeProgress progress_;
};

std::optional<TableStyle> table_style(const ProbeOptions& options) {
  if (options.table.empty()) return std::nullopt;
  if (options.json == "-") throw InputError("--table: --json - writes to standard output; expected --json FILE");
  return parse_table_style(options.table);
}

}  // namespace

int run_probe(const ProbeOptions& options) {
  std::optional<InterruptGuard> guard;
  if (names_program(options.from, options.program)) guard.emplace();  // Ctrl-C stops the program, and with it the fit
  const std::optional<TableStyle> table = table_style(options);
  const Plan plan = make_plan(options);
  if (plan.targets.empty()) {
    throw UnavailableError(fmt::format("{}: {}{}", fmt::join(plan.missing, ", "), plan.why_missing,
                                       table ? "; `tcnum list --table` has what is published" : ""));
  }
  require_recordable(options, plan);
  require_writable(options.json);
  const bool text = options.json != "-" && !table;

  ProbeDocument document(plan.arch, plan.format);
  std::vector<TableRow> rows;
  bool disagreed = false;
  Attempts attempts;
  // Who answers now is asked for one instruction at a time; recorded instructions are fitted side by side.
  const unsigned threads =
      plan.recorded ? static_cast<unsigned>(std::min<std::size_t>(all_threads(), plan.targets.size())) : 1;
  Prober prober(options, plan);
  const bool finished = attempts.attempt([&] {
    in_order<ProbedTarget>(
        plan.targets.size(), threads, [&](std::size_t i) { return prober.probe(i); },
        [&](std::size_t i, ProbedTarget probed) {
          if (text) {
            prober.progress().interrupt([&] { say((i == 0 ? "" : "\n\n") + probed.text); });
          }
          if (table) rows.push_back(std::move(probed.row));
          document.add(std::move(probed.json), probed.source);
          disagreed = disagreed || probed.verdict == Verdict::unexplained;
        });
  });
  prober.progress().interrupt([&] {
    if (table) say(property_table(rows, *table));
  });
  if (finished && plan.program) attempts.attempt([&] { finish_program(*plan.program); });
  if (finished && !plan.missing.empty()) {
    attempts.failed(std::make_exception_ptr(
        UnavailableError(fmt::format("not probed: {}: {}", fmt::join(plan.missing, ", "), plan.why_missing))));
  }
  if (finished || !document.empty()) {  // what was found before a failure is kept
    if (!options.json.empty())
      attempts.attempt([&] { write_json(options.json, finished_document(document, plan, finished)); });
  }
  if (text && finished && !plan.by_digest.empty()) {
    say("\n\n" + wrapped(fmt::format("Not probed, as only digests of their results are recorded, which `tcnum verify "
                                     "--campaign` checks: {}.",
                                     fmt::join(plan.by_digest, ", ")),
                         0));
  }
  return attempts.finish(disagreed ? kDisagreed : kAgreed);
}

}  // namespace tcnum
