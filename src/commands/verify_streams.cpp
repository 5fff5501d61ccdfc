// tcnum verify --count: streams of dot problems by the trillion, against the GPU, another datapath or a program.
#include "emu/parallel.hpp"
#include "interrupt.hpp"
#include "io/json.hpp"
#include "io/printable.hpp"
#include "records.hpp"
#include "src/campaign/launch.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/layout.hpp"
#include "verify.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// --- What answers.

/// The hardware, or a datapath or a program in its place.
class Backend {
 public:
  /// Of several processes of a host, each takes one of its GPUs, in turn.
  Backend(const VerifyOptions& options, std::optional<ArchId> id) : arch_(id) {
    if (options.from.starts_with(kProgramPrefix)) {
      if (!options.devices.empty()) throw InputError("--devices: --from exec:COMMAND takes no GPU");
      program_ = program_of(options.from, options.program);
      nans_ = nan_bits(options.program);
      command_ = options.from.substr(kProgramPrefix.size());
      return;
    }
    if (file_ = datapath_of_source(options.from); !file_.empty()) {
      other_ = named_datapath(file_).datapath;
      if (!options.devices.empty()) throw InputError("--devices: --from datapath:FILE takes no GPU");
      return;
    }
    if (!options.from.empty() && options.from != "gpu") {
      throw InputError(
          fmt::format("--from: {}; expected gpu, datapath:FILE, ARCH:INSTRUCTION or exec:COMMAND", options.from));
    }
    gpu_ = gpu_info();
    constexpr std::string_view kInstead = "--from datapath:FILE compares with another datapath";
    if (!gpu_.present) {
      throw UnavailableError(fmt::format("verify --count: no GPU to compare with: {}; {}", gpu_.why_not, kInstead));
    }
    if (gpu_.arch != arch(*id).name) {
      throw UnavailableError(fmt::format("verify --count: the GPU ({}) is {}, not {}; {}", gpu_.device, gpu_.arch,
                                         arch(*id).name, kInstead));
    }
    const auto launched = launch();
    devices_ = parse_devices(launched && options.devices.empty() ? "all" : options.devices, gpu_count());
    if (launched) devices_ = {devices_[static_cast<std::size_t>(launched->local_rank) % devices_.size()]};
  }

  void check_fits(const Instruction& in) const {
    if (other_) check_datapath_fits(*other_, in, file_);
  }
  std::size_t workers() const { return std::max<std::size_t>(1, devices_.size()); }

  /// What answers, for a reader.
  Source source(const Instruction& in) const {
    const auto answers = oracle(in);
    return {answers->kind(), answers->device(), "", answers->provenance()};
  }
  /// All that tells it from another, of which the answers may differ.
  ordered_json identity() const {
    if (program_)
      return {{"kind", name(OracleKind::program)}, {"command", command_}, {"any_nan", nans_ == NanBits::any}};
    if (other_) return {{"kind", name(OracleKind::datapath)}, {"datapath", to_json(*other_)}};
    return {{"kind", name(OracleKind::gpu)}, {"device", gpu_.device}, {"driver", gpu_.driver}, {"cuda", gpu_.cuda}};
  }

  std::unique_ptr<Oracle> oracle(const Instruction& in) const {
    if (program_) return make_program_oracle(in, arch_, program_, nans_);
    if (other_) return std::make_unique<DatapathOracle>(*other_, in, printable(file_), all_threads());
    return make_gpu_dot_oracle(in, /*check_positions=*/false);
  }
  /// The CUDA emulator's, where it holds the datapath; else the GPU answers and the CPU emulates.
  std::unique_ptr<StreamVerifier> verifier(const Instruction& in, const Datapath& datapath, std::size_t worker) const {
    if (program_ || other_ || !stream_runs_on_gpu(datapath)) {
      if (worker > 0) throw UnavailableError("--devices: several GPUs only where the CUDA emulator holds the datapath");
      return make_cpu_stream_verifier(in, datapath, oracle(in), all_threads());
    }
    auto made = make_gpu_stream_verifier(in, datapath, devices_[worker]);
    if (made->device() == gpu_.device) return made;
    throw InputError(fmt::format("--devices: {} is {}; expected GPUs that are all {}, as records are a device's",
                                 devices_[worker], made->device(), gpu_.device));
  }

  /// Whether all that ask it ask one process, which answers one of them at a time.
  bool answers_one_at_a_time() const { return program_ != nullptr; }

  /// When nothing more will be asked.
  void finish() const {
    if (program_) finish_program(*program_);
  }

 private:
  std::optional<ArchId> arch_;
  std::shared_ptr<Program> program_;
  std::string command_;
  NanBits nans_ = NanBits::as_they_are;
  std::string file_;  ///< of the datapath, or its name
  std::optional<Datapath> other_;
  GpuInfo gpu_;
  std::vector<int> devices_;
};

// --- What is remembered.

/// Digests of what is done from a stream's beginning on.
std::optional<CampaignRecord> record_of(const StreamTask& task, Source source) {
  CampaignRecord r{task.instruction->name(),
                   task.distribution,
                   task.seed,
                   task.first,
                   0,
                   task.chunk,
                   {},
                   source.device,
                   source.provenance["driver"],
                   source.provenance["cuda"],
                   source.provenance["date"]};
  for (std::size_t i = 0; i < task.chunks.size() && task.chunks[i]; ++i) {
    r.digests.push_back(task.chunks[i]->digest);
    r.count += task.count_of(i);
  }
  if (r.count == 0) return std::nullopt;
  return r;
}

/// Of a file of records with so many bytes.
void require_readable(const std::string& path, std::size_t bytes) {
  constexpr std::size_t kMost = JsonLimits{}.bytes;
  if (bytes <= kMost) return;
  throw InputError(
      fmt::format("--record: {}: would have more than {} MiB with this run's records, and is not read again then; "
                  "expected another file",
                  path, kMost >> 20));
}

/// Adds records to those of a file; several processes may do so at once.
void write_records(const std::string& path, std::vector<CampaignRecord> added) {
  if (path == "-") return write_text(path, campaigns_text(std::move(added)));
  const FileLock lock(path, FileLock::IfHeld::wait);
  std::vector<CampaignRecord> all;
  if (is_there(path)) all = read_campaigns(path);
  for (CampaignRecord& r : added) {
    const std::string what = fmt::format("{} {} from {} on", r.instruction, name(r.distribution), r.first);
    if (!add_record(all, std::move(r))) {
      complain(fmt::format("{}: {}: the same device gave other results before; both records are kept", path, what));
    }
  }
  const std::string text = campaigns_text(std::move(all));
  require_readable(path, text.size());
  write_text(path, text);
}

// --- What is asked for, found to be right before the work starts.

struct StreamRequest {
  std::optional<ArchId> arch;              ///< none: what a program computes is no instruction
  std::unique_ptr<const Instruction> dot;  ///< but this
  CampaignPlan plan;
  std::map<const Instruction*, NamedDatapath> datapaths;
  std::size_t record_bytes = 0;  ///< of the records that are there, to which more are added
};

/// The dot product of a datapath that stands alone. Streams have operands of all floating-point formats with a sign,
/// and of the integers that make_dot() takes.
Instruction dot_of_datapath(const std::string& name) {
  const Instruction dot = dot_of(named_datapath(name).datapath);
  const auto known = [](FormatId id) {
    const Format& f = format(id);
    return f.floating && f.has_sign ? FormatId::fp32 : id;
  };
  try {
    static_cast<void>(make_dot(known(dot.d), known(dot.a), known(dot.b), known(dot.c),
                               dot.scaled() ? dot.scales.block_k : 1, dot.scales));
  } catch (const InputError& error) {  // it names the operand
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
  return dot;
}

/// What is compared: a program's dot product or a datapath's, or instructions of an architecture.
void choose_subject(const VerifyOptions& options, StreamRequest& request) {
  std::vector<const Instruction*>& chosen = request.plan.instructions;
  const bool pattern = options.instruction.find_first_of("*?[") != std::string::npos;
  const bool by_program = names_program(options.from, options.program);
  const bool has_other = by_program || !datapath_of_source(options.from).empty();
  if (has_other && options.arch.empty() && options.instruction.empty() && !options.datapath.empty() &&
      !describes_dot(options.program)) {
    request.dot = std::make_unique<const Instruction>(dot_of_datapath(options.datapath));
    chosen = {request.dot.get()};
  } else if (by_program && (!pattern || describes_dot(options.program))) {
    ProgramSubject subject = program_subject(options.program, options.arch, options.instruction);
    request.arch = subject.arch;
    request.dot = std::move(subject.dot);
    chosen = {subject.instruction};
  } else {
    if (options.arch.empty()) throw InputError(fmt::format("--arch: missing; expected one of {}", arch_names()));
    request.arch = parse_arch(options.arch);
    chosen = matching_instructions(options.instruction, *request.arch);
  }
  if (!options.datapath.empty())
    chosen = fitting_instructions(named_datapath(options.datapath).datapath, chosen, options.datapath);
  if (!request.dot) return;
  if (options.datapath.empty())
    throw InputError("--datapath: missing; expected the datapath that the program should have");
  for (const auto& [option, value] :
       {NamedFile{"--record", options.record}, {"--disagreements", options.disagreements}}) {
    if (value.empty()) continue;
    throw InputError(
        fmt::format("{}: is kept of instructions alone; expected --arch and --instr, for which {} stands in", option,
                    by_program ? "the program" : "the datapath"));
  }
}

StreamRequest checked_request(const VerifyOptions& options) {
  StreamRequest request;
  choose_subject(options, request);
  CampaignPlan& plan = request.plan;
  plan.seed = options.seed;
  plan.distributions = parse_distributions(options.distributions);
  if (options.count.empty() && !std::ranges::all_of(plan.distributions, is_sweep))
    throw InputError("--count: missing; expected a number of dot products, such as 1e8");
  if (!options.count.empty()) plan.count = parse_count("--count", options.count);
  if (!options.chunk.empty()) plan.chunk = parse_count("--chunk", options.chunk);
  if (!options.shard.empty()) std::tie(plan.shard, plan.shards) = parse_shard("--shard", options.shard);
  for (const Instruction* in : plan.instructions) {
    NamedDatapath datapath = request.arch ? choose_datapath(options.datapath, *request.arch, *in, "--instr")
                                          : own_datapath(options.datapath, *in);
    if (options.program.any_nan && format(in->d).floating)
      datapath.datapath.numerics.nan = {.code = nan_code(format(in->d))};
    request.datapaths.emplace(in, std::move(datapath));
  }
  if (options.checkpoint == "-") throw InputError("--checkpoint: -; expected a file, as it is read again");
  for (const std::string& path : {options.checkpoint, options.record}) require_writable(path);
  if (!options.record.empty() && options.record != "-" && is_there(options.record))
    request.record_bytes = campaigns_text(read_campaigns(options.record)).size();
  return request;
}

ordered_json json_arch(std::optional<ArchId> id) { return id ? ordered_json(arch(*id).name) : ordered_json(nullptr); }

/// Asks a program for the first chunk that the checkpoint holds: the command's words say nothing of what the program is
/// by now. Throws InputError if its answers are others than they were.
void ask_again(const std::string& checkpoint, const Campaign& campaign, const StreamRequest& request,
               const Backend& backend) {
  for (const StreamTask& task : campaign.tasks()) {
    const auto done = std::ranges::find_if(task.chunks, [](const auto& chunk) { return chunk.has_value(); });
    if (done == task.chunks.end()) continue;
    const auto chunk = static_cast<std::size_t>(done - task.chunks.begin());
    const auto verifier = backend.verifier(*task.instruction, request.datapaths.at(task.instruction).datapath, 0);
    const StreamOutcome now = verify_chunk(*verifier, task, chunk);
    if (now.digest == (*done)->digest && now.mismatches == (*done)->mismatches) return;
    throw InputError(
        fmt::format("{}: digest of {} {}, {} dot products from {} on: {:#018x}, but the program now gives {:#018x}; "
                    "expected the program that the run began with, or another file",
                    checkpoint, task.instruction->name(), name(task.distribution), task.count_of(chunk),
                    task.first_of(chunk), (*done)->digest, now.digest));
  }
}

/// The campaign of a request, with what its checkpoint has done already.
Campaign planned_campaign(const VerifyOptions& options, const StreamRequest& request, const Backend& backend) {
  CampaignPlan some = request.plan;
  some.count = std::min<std::uint64_t>(some.count, 1);
  some.chunk.reset();
  some.shard = some.shards = 1;
  if (plan(some).empty()) throw InputError("--distribution: none of the instructions has any of them, with this seed");
  Campaign campaign(plan(request.plan));
  // All that the results are a function of, beside the streams.
  ordered_json identity = {
      {"version", TCNUM_VERSION}, {"arch", json_arch(request.arch)}, {"source", backend.identity()}};
  for (const Instruction* in : request.plan.instructions)
    identity["datapaths"][in->name()] = to_json(request.datapaths.at(in).datapath);
  campaign.set_identity(identity);
  if (options.checkpoint.empty() || !is_there(options.checkpoint)) return campaign;
  campaign.resume(options.checkpoint);
  if (backend.answers_one_at_a_time()) ask_again(options.checkpoint, campaign, request, backend);
  for (const Instruction* in : request.plan.instructions) {
    const std::vector<Disagreement> found = campaign.disagreements();
    if (std::ranges::find(found, in, &Disagreement::instruction) == found.end()) continue;
    check_again(options.checkpoint, found, *in, request.datapaths.at(in).datapath, *backend.oracle(*in));
  }
  return campaign;
}

// --- The work.

/// Saves the checkpoint now and then, and shows how far the campaign is.
class CampaignObserver {
 public:
  CampaignObserver(const Campaign& campaign, std::string checkpoint)
      : campaign_(campaign), checkpoint_(std::move(checkpoint)) {
    for (const StreamTask& task : campaign.tasks()) {
      total_ += task.count;
      before_ += task.done();
      mismatches_before_ += task.mismatches();
    }
    line_.show(fmt::format("{} of {} dot products", count_text(before_), count_text(total_)));
  }

  void after_chunk() {
    if (is_due()) save();
    const auto now = static_cast<double>(campaign_.done_now());
    line_.show(fmt::format("{} of {} dot products, {:.3g} a second, {:.0f} s left, {}",
                           count_text(static_cast<double>(before_) + now), count_text(total_), now / seconds(),
                           (static_cast<double>(total_ - before_) - now) / now * seconds(),
                           plural(mismatches_before_ + campaign_.mismatches_now(), "disagreement")));
  }
  void finish() {
    line_.clear();
    save();
  }
  double seconds() const { return std::max(seconds_since(start_), 1e-9); }
  std::uint64_t done_before() const { return before_; }

 private:
  bool is_due() const {
    constexpr double kWorkToSaving = 50;  // so that checkpoints take 2 % of the time, at most
    return seconds_since(saved_) >= kWorkToSaving * save_seconds_;
  }
  void save() {
    const auto begun = Clock::now();
    if (!checkpoint_.empty()) write_text(checkpoint_, campaign_.checkpoint());
    saved_ = Clock::now();
    save_seconds_ = seconds_since(begun);
  }

  const Campaign& campaign_;
  std::string checkpoint_;
  ProgressLine line_;
  Clock::time_point start_ = Clock::now(), saved_ = start_;
  double save_seconds_ = 0;  ///< that the last checkpoint took
  std::uint64_t total_ = 0, before_ = 0, mismatches_before_ = 0;
};

// --- What came of it, instruction by instruction.

struct StreamResult {
  const Instruction* instruction = nullptr;
  std::vector<StreamTask> tasks;
  std::uint64_t count = 0, mismatches = 0;
  std::vector<Found> found;
};

StreamResult result_of(const Campaign& campaign, const Instruction* in) {
  StreamResult result;
  result.instruction = in;
  for (const StreamTask& task : campaign.tasks()) {
    if (task.instruction != in) continue;
    result.tasks.push_back(task);
    result.count += task.done();
    result.mismatches += task.mismatches();
  }
  return result;
}

std::string result_text(const StreamResult& result, const VerifyOptions& options, std::optional<ArchId> id,
                        const NamedDatapath& datapath, const Source& source, bool all) {
  std::string text = fmt::format("{}{}: {} dot products, {} mismatches{}\n", result.instruction->name(),
                                 id ? fmt::format(" on {}", arch(*id).name) : "", count_text(result.count),
                                 count_text(result.mismatches), all ? "" : " (interrupted)");
  text += table_text(
      {{"source", source_text(source)}, {"datapath", datapath_text(datapath)}, {"seed", std::to_string(options.seed)}});
  std::vector<std::vector<std::string>> rows = {{"distribution", "dot products", "mismatches"}};
  for (const StreamTask& task : result.tasks) {
    rows.push_back({std::string(name(task.distribution)), count_text(task.done()), count_text(task.mismatches())});
  }
  text += "\n" + table_text(rows);
  constexpr std::size_t kMostShown = 3;
  for (std::size_t i = 0; i < std::min(result.found.size(), kMostShown); ++i)
    text += found_text(result.found[i], datapath.datapath, called(datapath), answerer(source));
  return text + "\n";
}

ordered_json result_json(const StreamResult& result, std::optional<ArchId> id, const NamedDatapath& datapath) {
  ordered_json out = {{"name", result.instruction->name()},  {"arch", json_arch(id)},
                      {"datapath", datapath_json(datapath)}, {"count", result.count},
                      {"mismatches", result.mismatches},     {"distributions", ordered_json::object()},
                      {"examples", ordered_json::array()}};
  for (const StreamTask& task : result.tasks) {
    out["distributions"][std::string(name(task.distribution))] = {{"count", task.done()},
                                                                  {"mismatches", task.mismatches()}};
  }
  for (const Found& each : result.found) {
    ordered_json example =
        json_problem(*result.instruction, each.small.problem, each.small.expected, each.small.observed);
    example["distribution"] = name(each.at.distribution);
    example["index"] = each.at.index;
    out["examples"].push_back(std::move(example));
  }
  return out;
}

/// Of every instruction that had its turn. What is to be asked again is made small; that takes a while, and may fail.
std::vector<StreamResult> results_of(const Campaign& campaign, const StreamRequest& request, const Backend& backend,
                                     Attempts& attempts) {
  std::vector<StreamResult> results;
  for (const Instruction* in : request.plan.instructions) {
    StreamResult result = result_of(campaign, in);
    if (result.count == 0) continue;  // interrupted before its turn
    attempts.attempt([&] {
      std::unique_ptr<Oracle> oracle;
      for (const Disagreement& each : campaign.disagreements()) {
        if (each.instruction != in) continue;
        if (!oracle) oracle = backend.oracle(*in);
        result.found.push_back(shrink(each, request.datapaths.at(in).datapath, *oracle));
      }
    });
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<CampaignRecord> records_of(const Campaign& campaign, const Source& source) {
  std::vector<CampaignRecord> records;
  for (const StreamTask& task : campaign.tasks()) {
    if (auto record = record_of(task, source)) records.push_back(*std::move(record));
  }
  return records;
}

/// Before the work: whether what it leaves, if all of it is done, has room among the records that are there.
void require_room(const VerifyOptions& options, const StreamRequest& request, const Campaign& campaign,
                  const Source& source) {
  if (request.record_bytes == 0) return;
  std::vector<CampaignRecord> records;
  for (StreamTask task : campaign.tasks()) {
    std::ranges::fill(task.chunks, ChunkResult{});
    if (auto record = record_of(task, source)) records.push_back(*std::move(record));
  }
  require_readable(options.record, request.record_bytes + campaigns_text(std::move(records)).size());
}

}  // namespace

int verify_streams(const VerifyOptions& options) {
  const StreamRequest request = checked_request(options);
  interrupted = false;
  std::optional<InterruptGuard> guard;
  if (names_program(options.from, options.program)) guard.emplace();  // before there is one to stop
  const Backend backend(options, request.arch);
  for (const Instruction* in : request.plan.instructions) backend.check_fits(*in);
  std::optional<FileLock> lock;  // two runs with one checkpoint would each undo what the other has done
  if (!options.checkpoint.empty()) lock.emplace(options.checkpoint, FileLock::IfHeld::refuse);
  Campaign campaign = planned_campaign(options, request, backend);
  const Source source = backend.source(*request.plan.instructions.front());
  require_room(options, request, campaign, source);

  if (!guard) guard.emplace();
  CampaignObserver observer(campaign, options.checkpoint);
  Attempts attempts;
  const MakeVerifier make = [&](const Instruction& in, std::size_t worker) {
    return backend.verifier(in, request.datapaths.at(&in).datapath, worker);
  };
  const bool finished =
      attempts.attempt([&] { campaign.run(make, backend.workers(), interrupted, [&] { observer.after_chunk(); }); });
  const double seconds = observer.seconds();
  if (!finished && campaign.done_now() + observer.done_before() == 0) return attempts.finish(kAgreed);
  attempts.attempt([&] { observer.finish(); });
  if (!options.record.empty()) attempts.attempt([&] { write_records(options.record, records_of(campaign, source)); });

  const bool all = finished && campaign.unfinished().empty();
  const std::vector<StreamResult> results = results_of(campaign, request, backend, attempts);
  if (all) attempts.attempt([&] { backend.finish(); });
  ordered_json document = new_verify_document();
  document["seed"] = options.seed;
  document["source"] = json_source(source);
  document["instructions"] = ordered_json::array();
  std::string text;
  std::uint64_t mismatches = 0;
  for (const StreamResult& result : results) {
    const NamedDatapath& datapath = request.datapaths.at(result.instruction);
    mismatches += result.mismatches;
    text += result_text(result, options, request.arch, datapath, source, all);
    document["instructions"].push_back(result_json(result, request.arch, datapath));
    if (options.disagreements.empty() || result.found.empty()) continue;
    attempts.attempt([&] { keep_disagreements(options.disagreements, result.found, *request.arch, source); });
  }
  const double dots = static_cast<double>(campaign.done_now()) / seconds,
               multiply_adds = campaign.multiply_adds_now() / seconds;
  const std::uint64_t before = observer.done_before();
  text += fmt::format("{:.3g} dot products a second, {:.3g} multiply-adds emulated a second{}\n", dots, multiply_adds,
                      before == 0 ? "" : fmt::format("; {} were done before", count_text(before)));
  if (campaign.tasks().empty()) {
    text = fmt::format("nothing to do: there are fewer chunks than shards, and none is of --shard {}\n", options.shard);
  }
  document["dot_products_per_second"] = dots;
  document["multiply_adds_per_second"] = multiply_adds;
  document["interrupted"] = !all;
  write_document(options, document, mismatches, attempts);
  if (options.json != "-") say(text);
  return attempts.finish(earned_by(mismatches));
}

}  // namespace tcnum
