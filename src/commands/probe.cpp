// tcnum probe: infers the datapath of instructions from answers of a GPU, of records, or of a described datapath.
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "command.hpp"
#include "src/campaign/campaign.hpp"
#include "src/fit/fit.hpp"
#include "src/report/report.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kDatapathPrefix = "datapath:";
constexpr std::string_view kVectorFileExtension = ".safetensors";
constexpr std::string_view kCampaignsFile = "campaigns.json";

struct Options {
  std::string arch, format, instruction, from, record, json;
  std::uint64_t seed = 1;
};

// --- Where answers come from ------------------------------------------------------------------------------------

/// One instruction and who answers for it: a live oracle, or answers that were recorded.
struct Subject {
  ArchId arch;
  const Instruction* instruction;
  std::unique_ptr<Oracle> oracle;
  std::optional<Vectors> recorded;
  std::string file;

  Source source() const {
    if (oracle) return {oracle->kind(), oracle->device(), file, oracle->provenance()};
    Source s{"recorded", recorded->device, file, {}};
    for (const char* key : {"driver", "cuda", "date"}) {
      if (const auto found = recorded->metadata.find(key); found != recorded->metadata.end())
        s.provenance.insert(*found);
    }
    return s;
  }
};

/// As a user would write it from here.
std::string shown(const fs::path& file) {
  std::error_code failed;
  const fs::path relative = fs::proximate(file, failed);
  return failed || *relative.begin() == ".." ? file.string() : relative.string();
}

std::string record_name(const Instruction& instruction) {
  return instruction.name() + std::string(kVectorFileExtension);
}

std::optional<std::string> find_record(ArchId of, const Instruction& instruction) {
  for (const fs::path& folder : record_folders()) {
    const fs::path file = folder / arch(of).name / record_name(instruction);
    std::error_code ignored;
    if (fs::exists(file, ignored)) return shown(file);
  }
  return std::nullopt;
}

std::unique_ptr<Subject> subject_of_file(const std::string& file, const std::string& arch_text,
                                         const std::string& instruction) {
  auto subject = std::make_unique<Subject>();
  subject->recorded = read_vectors(file);
  const auto [id, found] = identity_of(file, *subject->recorded, arch_text, instruction);
  subject->arch = id;
  subject->instruction = found;
  subject->file = file;
  return subject;
}

/// What is to be probed, in order, opened one at a time; and what cannot be because its answers are missing.
struct Plan {
  std::vector<std::function<std::unique_ptr<Subject>()>> subjects;
  std::vector<std::string> missing;
  std::string why_missing;
  std::vector<std::string> by_digest;  ///< of these only digests of the results are recorded
  std::string arch, format;
};

std::vector<const Instruction*> chosen_instructions(const Options& options, ArchId id) {
  std::optional<FormatId> input;
  if (!options.format.empty()) input = parse_format(options.format, id);
  if (options.instruction.empty()) return instructions_of(id, input);
  const Instruction& instruction = parse_instruction(options.instruction, id);
  if (input && instruction.a != *input && instruction.b != *input) {
    throw InputError(
        fmt::format("--instr: {} has no {} operand; right would be an instruction with one, or no --format",
                    instruction.name(), tcnum::format(*input).name));
  }
  return {&instruction};
}

void plan_file(const Options& options, Plan& plan) {
  std::shared_ptr<Subject> subject = subject_of_file(options.from, options.arch, options.instruction);
  const Instruction& i = *subject->instruction;
  if (!options.format.empty()) {
    const FormatId input = parse_format(options.format, subject->arch);
    if (i.a != input && i.b != input) {
      throw InputError(
          fmt::format("{}: __metadata__.instruction: {} has no {} operand; right would be one, as --format says",
                      options.from, i.name(), tcnum::format(input).name));
    }
  }
  plan.arch = arch(subject->arch).name;
  plan.format = tcnum::format(i.a).name;
  plan.subjects.emplace_back([subject] { return std::make_unique<Subject>(std::move(*subject)); });
}

void plan_datapath(const std::string& file, ArchId id, const std::vector<const Instruction*>& instructions,
                   Plan& plan) {
  const auto datapath = std::make_shared<Datapath>(read_datapath(file));
  for (const Instruction* instruction : fitting_instructions(*datapath, instructions, file)) {
    plan.subjects.emplace_back([=] {
      auto subject = std::make_unique<Subject>();
      subject->arch = id;
      subject->instruction = instruction;
      subject->oracle = std::make_unique<DatapathOracle>(*datapath, *instruction, file, all_threads());
      subject->file = file;
      return subject;
    });
  }
}

void plan_gpu(ArchId id, const std::vector<const Instruction*>& instructions, const GpuInfo& gpu, Plan& plan) {
  if (!gpu.present) throw UnavailableError("--from gpu: " + gpu.why_not);
  if (gpu.arch != arch(id).name) {
    throw UnavailableError(fmt::format("--from gpu: the GPU ({}) is {}, not {}", gpu.device, gpu.arch, arch(id).name));
  }
  for (const Instruction* instruction : instructions) {
    plan.subjects.emplace_back([=] {
      auto subject = std::make_unique<Subject>();
      subject->arch = id;
      subject->instruction = instruction;
      subject->oracle = make_gpu_dot_oracle(*instruction);
      return subject;
    });
  }
}

void plan_recorded(ArchId id, const std::vector<const Instruction*>& instructions, Plan& plan) {
  const bool one = instructions.size() == 1;
  std::string hint;
  for (const Instruction* instruction : instructions) {
    if (const auto file = find_record(id, *instruction)) {
      plan.subjects.emplace_back(
          [=] { return subject_of_file(*file, std::string(arch(id).name), instruction->name()); });
    } else if (const std::string other = recorded_as(*instruction); other != instruction->name() && !one) {
      plan.by_digest.push_back(instruction->name());
    } else {
      plan.missing.push_back(instruction->name());
      if (other != plan.missing.back()) hint = fmt::format("; right would be {}, which has the same datapath", other);
    }
  }
  std::vector<std::string> folders;
  for (const fs::path& folder : record_folders()) folders.push_back((folder / arch(id).name).string());
  plan.why_missing = fmt::format("no recorded answers in {}{}", fmt::join(folders, " or "), hint);
}

Plan make_plan(const Options& options) {
  Plan plan;
  const std::string_view from = options.from;
  if (!from.empty() && from != "gpu" && from != "recorded" && !from.starts_with(kDatapathPrefix)) {
    plan_file(options, plan);
    return plan;
  }
  if (options.arch.empty()) throw InputError(fmt::format("--arch: missing; right would be one of {}", arch_names()));
  const ArchId id = parse_arch(options.arch);
  if (options.format.empty() && options.instruction.empty()) {
    throw InputError("--format or --instr: both missing; right would be one of them, such as --format fp16");
  }
  const std::vector<const Instruction*> instructions = chosen_instructions(options, id);
  plan.arch = arch(id).name;
  plan.format = options.format.empty() ? tcnum::format(instructions.front()->a).name
                                       : tcnum::format(parse_format(options.format, id)).name;
  if (from.starts_with(kDatapathPrefix)) {
    plan_datapath(options.from.substr(kDatapathPrefix.size()), id, instructions, plan);
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

void require_recordable(const Options& options, const Plan& plan) {
  if (options.record.empty()) return;
  if (names_one_file(options.record)) {
    if (plan.subjects.size() > 1) {
      throw InputError(
          fmt::format("--record: {} is one file, for {} instructions; right would be a folder, or --instr NAME",
                      options.record, plan.subjects.size()));
    }
    require_writable(options.record);
    return;
  }
  std::error_code error;
  fs::create_directories(options.record, error);
  if (error) throw InputError(fmt::format("{}: cannot be made a folder: {}", options.record, error.message()));
}

void record(const Options& options, const Subject& subject, const Fit& fit) {
  Vectors vectors;
  vectors.tiles = scatter(*subject.instruction, fit.evidence().all());
  vectors.instruction = subject.instruction->name();
  vectors.arch = arch(subject.arch).name;
  vectors.device = subject.oracle->device();
  vectors.metadata = subject.oracle->provenance();
  vectors.metadata.try_emplace("date", today_utc());
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["seed"] = std::to_string(options.seed);
  const std::string path = names_one_file(options.record)
                               ? options.record
                               : (fs::path(options.record) / record_name(*subject.instruction)).string();
  write_vectors(path, vectors);
}

/// The campaigns beside the recorded answers.
struct Campaigns {
  std::string file;
  std::vector<CampaignRecord> records;
};
Campaigns find_campaigns(ArchId of) {
  for (const fs::path& folder : record_folders()) {
    const fs::path file = folder / arch(of).name / kCampaignsFile;
    std::error_code ignored;
    if (fs::exists(file, ignored)) return {shown(file), read_campaigns(file.string())};
  }
  return {};
}

/// What they have compared of an instruction.
std::optional<Compared> compared_by(const Campaigns& campaigns, const Instruction& instruction) {
  Compared compared{.file = campaigns.file};
  std::set<int> widths;
  for (const CampaignRecord& record : campaigns.records) {
    const Instruction* const other = find_instruction(record.instruction);
    if (other == nullptr || other->kind != instruction.kind) continue;
    Instruction at_this_width = *other;
    at_this_width.n = instruction.n;
    if (at_this_width.name() != instruction.name()) continue;
    if (other->n == instruction.n) {
      compared.here += static_cast<double>(record.count);
    } else if (instruction.kind == InstructionKind::wgmma) {
      compared.other_widths += static_cast<double>(record.count);
      widths.insert(other->n);
    }
  }
  compared.widths = widths.size();
  if (compared.here == 0 && compared.widths == 0) return std::nullopt;
  return compared;
}

// --- The command ------------------------------------------------------------------------------------------------

int probe(const Options& options) {
  const Plan plan = make_plan(options);
  if (plan.subjects.empty()) {
    throw UnavailableError(fmt::format("{}: {}", fmt::join(plan.missing, ", "), plan.why_missing));
  }
  require_recordable(options, plan);
  require_writable(options.json);
  const bool text = options.json != "-";

  ordered_json document = {
      {"schema", "tcnum.probe/1"}, {"version", TCNUM_VERSION}, {"arch", plan.arch}, {"format", plan.format}};
  document["source"] = nullptr;
  document["instructions"] = ordered_json::array();
  std::optional<Source> first_source;
  std::optional<Campaigns> campaigns;
  std::optional<SassTable> machine_code;
  bool disagreed = false;
  const ProgressLine progress;
  for (std::size_t i = 0; i < plan.subjects.size(); ++i) {
    const std::unique_ptr<Subject> subject = plan.subjects[i]();
    progress.show(fmt::format("probing {} ({} of {})", subject->instruction->name(), i + 1, plan.subjects.size()));
    if (!options.record.empty() && !subject->oracle) {
      throw InputError("--record: the answers are recorded already; right would be --from gpu or --from datapath:FILE");
    }
    FitOptions fit_options;
    fit_options.threads = all_threads();
    fit_options.seed = options.seed;
    Fit fit(*subject->instruction, subject->oracle.get(), fit_options);
    Source source = subject->source();
    if (subject->recorded)
      fit.add_recorded(dot_problems(std::move(subject->recorded->tiles), subject->recorded->metadata));
    const FitResult result = fit.run();
    // Published accounts are of the hardware.
    std::vector<AccountCheck> accounts;
    std::vector<Relative> relatives;
    std::optional<Compared> compared;
    std::string sass;
    if (source.kind != "datapath") {
      accounts = check_accounts(fit, catalogue(subject->arch, *subject->instruction));
      relatives = check_relatives(fit, subject->arch);
      if (!campaigns) campaigns = find_campaigns(subject->arch);
      compared = compared_by(*campaigns, *subject->instruction);
      if (!machine_code) machine_code = find_sass(subject->arch);
      sass = machine_code->text(*subject->instruction);
    }
    disagreed = disagreed || result.verdict == Verdict::unexplained;
    if (!options.record.empty()) record(options, *subject, fit);

    const ProbeReport report{fit,
                             result,
                             plan.arch,
                             std::move(source),
                             std::move(accounts),
                             std::move(relatives),
                             std::move(compared),
                             std::move(sass)};
    progress.clear();
    if (text) say((i == 0 ? "" : "\n\n") + text_report(report));
    ordered_json one = json_report(report);
    if (!first_source) {
      first_source = report.source;
      document["source"] = json_source(report.source);
    } else if (report.source != *first_source) {
      one["source"] = json_source(report.source);
    }
    document["instructions"].push_back(std::move(one));
  }
  if (!plan.missing.empty()) document["missing"] = plan.missing;
  if (!plan.by_digest.empty()) document["by_digest"] = plan.by_digest;
  if (text && !plan.by_digest.empty()) {
    say("\n\n" + wrapped(fmt::format("Not probed, as only digests of their results are recorded, which `tcnum verify "
                                     "--campaign` checks: {}.",
                                     fmt::join(plan.by_digest, ", ")),
                         0));
  }
  if (!options.json.empty()) write_json(options.json, document);
  if (disagreed) return kDisagreed;
  if (!plan.missing.empty()) {
    throw UnavailableError(fmt::format("not probed: {}: {}", fmt::join(plan.missing, ", "), plan.why_missing));
  }
  return kAgreed;
}

}  // namespace

void add_probe(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("probe", "Infer the datapath of instructions, with the evidence");
  const auto options = std::make_shared<Options>();
  sub->add_option("--arch", options->arch, "Architecture: " + arch_names());
  sub->add_option("--format", options->format, "All instructions with this input format, such as fp16 or fp8e4m3");
  sub->add_option("--instr", options->instruction, "One instruction, by its name or its PTX spelling");
  sub->add_option("--from", options->from,
                  "Who answers: gpu, recorded, a vector FILE, or datapath:FILE (default: the GPU if it is of that "
                  "architecture, else recorded)");
  sub->add_option("--record", options->record, "Keep the answers: FILE.safetensors for one instruction, else a folder");
  sub->add_option("--json", options->json, "Write the results as JSON (- for standard output)");
  sub->add_option("--seed", options->seed, "Seed of random operands")->capture_default_str();
  sub->callback([options, &action] { action = [options] { return probe(*options); }; });
}

}  // namespace tcnum
