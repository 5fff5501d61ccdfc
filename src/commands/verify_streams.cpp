// tcnum verify --count: streams of dot problems by the trillion, against the GPU or another datapath.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <tuple>

#include "emu/parallel.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "src/campaign/campaign.hpp"
#include "src/campaign/record.hpp"
#include "src/fit/minimise.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/explain.hpp"
#include "src/report/layout.hpp"
#include "src/report/problem_text.hpp"
#include "src/report/source.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "verify.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// --- What the user asks for.

/// "1e8" and "100000000".
std::uint64_t parse_count(const std::string& option, const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  constexpr double kMost = 1e15;
  if (used != text.size() || !(value >= 1 && value <= kMost) || value != std::floor(value)) {
    throw InputError(fmt::format("{}: {}; right would be a whole number from 1 to 1e15, such as 1e8", option, text));
  }
  return static_cast<std::uint64_t>(value);
}

/// "2/5".
std::pair<std::uint64_t, std::uint64_t> parse_shard(const std::string& text) {
  std::uint64_t shard = 0, shards = 0;
  char slash = 0, more = 0;
  std::istringstream in(text);
  const bool read = static_cast<bool>(in >> shard >> slash >> shards) && !(in >> more);
  if (!read || slash != '/' || text.find('-') != std::string::npos || shard < 1 || shard > shards) {
    throw InputError(fmt::format("--shard: {}; right would be i/n with i from 1 to n, such as 2/5", text));
  }
  return {shard, shards};
}

// --- What answers.

/// The hardware, or a datapath in its place.
class Backend {
 public:
  Backend(const VerifyOptions& options, ArchId id) {
    if (options.from.starts_with(kDatapathPrefix)) {
      file_ = options.from.substr(kDatapathPrefix.size());
      other_ = read_datapath(file_);
      if (!options.devices.empty()) throw InputError("--devices: --from datapath:FILE takes no GPU");
      return;
    }
    if (!options.from.empty() && options.from != "gpu") {
      throw InputError(fmt::format("--from: {}; right would be gpu or datapath:FILE", options.from));
    }
    const GpuInfo gpu = gpu_info();
    if (!gpu.present) throw UnavailableError("verify --count: " + gpu.why_not);
    if (gpu.arch != arch(id).name) {
      throw UnavailableError(
          fmt::format("verify --count: the GPU ({}) is {}, not {}", gpu.device, gpu.arch, arch(id).name));
    }
    devices_ = parse_devices(options.devices, gpu_count());
  }

  void check_fits(const Instruction& in) const {
    if (other_) check_datapath_fits(*other_, in, file_);
  }
  std::size_t workers() const { return std::max<std::size_t>(1, devices_.size()); }

  std::unique_ptr<Oracle> oracle(const Instruction& in) const {
    if (other_) return std::make_unique<DatapathOracle>(*other_, in, file_, all_threads());
    return make_gpu_dot_oracle(in, /*check_positions=*/false);
  }
  /// The CUDA emulator's, where it holds the datapath; else the GPU answers and the CPU emulates.
  std::unique_ptr<StreamVerifier> verifier(const Instruction& in, const Datapath& datapath, std::size_t worker) const {
    if (other_ || !stream_runs_on_gpu(datapath)) {
      if (worker > 0) throw UnavailableError("--devices: several GPUs only where the CUDA emulator holds the datapath");
      return make_cpu_stream_verifier(in, datapath, oracle(in), all_threads());
    }
    return make_gpu_stream_verifier(in, datapath, devices_[worker]);
  }

 private:
  std::string file_;
  std::optional<Datapath> other_;
  std::vector<int> devices_;
};

// --- What is found.

/// A disagreement, made small.
struct Found {
  Disagreement at;
  Counterexample small;
};

Found shrink(const Disagreement& at, const Datapath& datapath, Oracle& oracle) {
  const Instruction& in = *at.instruction;
  const std::uint64_t problems = stream_shape(in).problems();
  Tiles tiles = make_stream_tiles(in, at.distribution, at.seed, at.index / problems, 1);
  const Emulator emulator(datapath);
  Tiles expected = tiles;
  oracle.answer(tiles);
  emulator.run(expected);
  const auto i = static_cast<std::size_t>(at.index % problems);
  const Counterexample found{problem_at(tiles, i), expected.d[i], tiles.d[i]};
  return {at, found.expected == found.observed ? found : minimise(in, oracle, emulator, found)};
}

std::string found_text(const Found& found, const Datapath& datapath) {
  return fmt::format(
             "\n  {} {} of seed {}, made small:\n\n{}", name(found.at.distribution), found.at.index, found.at.seed,
             problem_text(*found.at.instruction, found.small.problem, found.small.expected, found.small.observed)) +
         "\n  By the datapath:\n\n" + explain_text(datapath, *found.at.instruction, found.small.problem);
}

/// One problem a tile, with what the hardware answered.
Vectors vectors_of(const std::vector<Found>& all, ArchId id, const Source& source) {
  const Instruction& in = *all.front().at.instruction;
  Vectors vectors;
  vectors.tiles = make_tiles(in.a, in.b, in.c, in.d, all.size(), 1, 1, static_cast<std::size_t>(in.products()));
  for (std::size_t t = 0; t < all.size(); ++t) {
    const Problem& p = all[t].small.problem;
    for (std::size_t k = 0; k < p.a.size(); ++k) {
      vectors.tiles.a.set(vectors.tiles.a_index(t, 0, k), p.a[k]);
      vectors.tiles.b.set(vectors.tiles.b_index(t, k, 0), p.b[k]);
    }
    vectors.tiles.c.set(t, p.c);
    vectors.tiles.d.set(t, all[t].small.observed);
  }
  vectors.tiles = scatter(in, std::move(vectors.tiles));
  vectors.instruction = in.name();
  vectors.arch = arch(id).name;
  vectors.device = source.device;
  vectors.metadata = source.provenance;
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["note"] = "disagreements with the datapath that was verified, made small";
  return vectors;
}

std::string provenance(const Source& source, const char* key) {
  const auto found = source.provenance.find(key);
  return found == source.provenance.end() ? "" : found->second;
}

/// Digests of what is done from a stream's beginning on.
std::optional<CampaignRecord> record_of(const StreamTask& task, const Source& source) {
  CampaignRecord r{task.instruction->name(),
                   task.distribution,
                   task.seed,
                   task.first,
                   0,
                   task.chunk,
                   {},
                   source.device,
                   provenance(source, "driver"),
                   provenance(source, "cuda"),
                   provenance(source, "date")};
  for (std::size_t i = 0; i < task.chunks.size() && task.chunks[i]; ++i) {
    r.digests.push_back(task.chunks[i]->digest);
    r.count += task.count_of(i);
  }
  if (r.count == 0) return std::nullopt;
  return r;
}

/// Adds records to those of a file, in place of those of the same problems on the same device.
void write_records(const std::string& path, const std::vector<CampaignRecord>& added) {
  std::vector<CampaignRecord> all;
  if (std::filesystem::exists(path)) all = read_campaigns(path);
  for (const CampaignRecord& r : added) {
    std::erase_if(all, [&](const CampaignRecord& old) {
      return old.instruction == r.instruction && old.distribution == r.distribution && old.seed == r.seed &&
             old.first == r.first && old.device == r.device;
    });
    all.push_back(r);
  }
  write_text(path, campaigns_text(std::move(all)));
}

// --- What is asked for, found to be right before the work starts.

struct StreamRequest {
  ArchId arch;
  CampaignPlan plan;
  std::map<const Instruction*, NamedDatapath> datapaths;
};

StreamRequest checked_request(const VerifyOptions& options) {
  if (options.arch.empty()) throw InputError(fmt::format("--arch: missing; right would be one of {}", arch_names()));
  StreamRequest request{parse_arch(options.arch), {}, {}};
  CampaignPlan& plan = request.plan;
  plan.seed = options.seed;
  plan.distributions = parse_distributions(options.distributions);
  if (options.count.empty() && !std::ranges::all_of(plan.distributions, is_sweep))
    throw InputError("--count: missing; right would be a number of dot products, such as 1e8");
  if (!options.count.empty()) plan.count = parse_count("--count", options.count);
  if (!options.chunk.empty()) plan.chunk = parse_count("--chunk", options.chunk);
  if (!options.shard.empty()) std::tie(plan.shard, plan.shards) = parse_shard(options.shard);
  plan.instructions = matching_instructions(options.instruction, request.arch);
  if (!options.datapath.empty()) {
    plan.instructions = fitting_instructions(read_datapath(options.datapath), plan.instructions, options.datapath);
  }
  for (const Instruction* in : plan.instructions)
    request.datapaths.emplace(in, choose_datapath(options.datapath, request.arch, *in, "--instr"));
  for (const std::string& path : {options.checkpoint, options.record}) require_writable(path);
  if (!options.record.empty() && std::filesystem::exists(options.record))
    static_cast<void>(read_campaigns(options.record));
  return request;
}

/// The campaign of a request, with what its checkpoint has done already.
Campaign planned_campaign(const VerifyOptions& options, const StreamRequest& request) {
  Campaign campaign(plan(request.plan));
  if (campaign.tasks().empty())
    throw InputError("--distribution: none of the instructions has any of them, with this seed");
  ordered_json identity = {{"arch", arch(request.arch).name}, {"from", options.from.empty() ? "gpu" : options.from}};
  for (const auto& [in, datapath] : request.datapaths) identity["datapaths"][in->name()] = to_json(datapath.datapath);
  campaign.set_identity(identity);
  if (!options.checkpoint.empty()) campaign.resume(options.checkpoint);
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
    }
  }

  void after_chunk() {
    constexpr double kWorkToSaving = 50;  // so that checkpoints take 2 % of the time, at most
    if (seconds_since(saved_) >= kWorkToSaving * save_seconds_) save();
    const auto now = static_cast<double>(campaign_.done_now());
    line_.show(fmt::format("{} of {} dot products, {:.3g} a second, {:.0f} s left, {}",
                           count_text(static_cast<double>(before_) + now), count_text(static_cast<double>(total_)),
                           now / seconds(), (static_cast<double>(total_ - before_) - now) / now * seconds(),
                           plural_text(campaign_.disagreements().size(), "disagreement")));
  }
  void finish() {
    line_.clear();
    save();
  }
  double seconds() const { return std::max(seconds_since(start_), 1e-9); }
  std::uint64_t done_before() const { return before_; }

 private:
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
  std::uint64_t total_ = 0, before_ = 0;
};

// --- What came of it, instruction by instruction.

struct StreamResult {
  const Instruction* instruction;
  std::vector<StreamTask> tasks;
  std::uint64_t count = 0, mismatches = 0;
};

StreamResult result_of(const Campaign& campaign, const Instruction* in) {
  StreamResult result{in, {}};
  for (const StreamTask& task : campaign.tasks()) {
    if (task.instruction != in) continue;
    result.tasks.push_back(task);
    result.count += task.done();
    result.mismatches += task.mismatches();
  }
  return result;
}

std::string result_text(const StreamResult& result, const VerifyOptions& options, ArchId id,
                        const NamedDatapath& datapath, const Source& source, const std::vector<Found>& found) {
  std::string text =
      fmt::format("{} on {}: {} dot products, {} mismatches{}\n", result.instruction->name(), arch(id).name,
                  count_text(static_cast<double>(result.count)), count_text(static_cast<double>(result.mismatches)),
                  interrupted ? " (interrupted)" : "");
  text += table_text(
      {{"source", source_text(source)}, {"datapath", datapath_text(datapath)}, {"seed", std::to_string(options.seed)}});
  std::vector<std::vector<std::string>> rows = {{"distribution", "dot products", "mismatches"}};
  for (const StreamTask& task : result.tasks) {
    rows.push_back({std::string(name(task.distribution)), count_text(static_cast<double>(task.done())),
                    count_text(static_cast<double>(task.mismatches()))});
  }
  text += "\n" + table_text(rows);
  constexpr std::size_t kMostShown = 3;
  for (std::size_t i = 0; i < std::min(found.size(), kMostShown); ++i) text += found_text(found[i], datapath.datapath);
  return text + "\n";
}

ordered_json result_json(const StreamResult& result, ArchId id, const NamedDatapath& datapath,
                         const std::vector<Found>& found) {
  ordered_json out = {{"name", result.instruction->name()},  {"arch", arch(id).name},
                      {"datapath", datapath_json(datapath)}, {"count", result.count},
                      {"mismatches", result.mismatches},     {"distributions", ordered_json::object()},
                      {"examples", ordered_json::array()}};
  for (const StreamTask& task : result.tasks) {
    out["distributions"][std::string(name(task.distribution))] = {{"count", task.done()},
                                                                  {"mismatches", task.mismatches()}};
  }
  for (const Found& each : found) {
    ordered_json example =
        json_problem(*result.instruction, each.small.problem, each.small.expected, each.small.observed);
    example["distribution"] = name(each.at.distribution);
    example["index"] = each.at.index;
    out["examples"].push_back(std::move(example));
  }
  return out;
}

void keep_disagreements(const std::string& folder, const std::vector<Found>& found, ArchId id, const Source& source) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("--disagreements: {}: {}", folder, error.message()));
  const std::string file = found.front().at.instruction->name() + ".safetensors";
  write_vectors((std::filesystem::path(folder) / file).string(), vectors_of(found, id, source));
}

/// Reports every instruction that had its turn, and gathers the records of its digests. Returns the mismatches.
std::uint64_t report_results(const VerifyOptions& options, const StreamRequest& request, const Backend& backend,
                             const Campaign& campaign, ordered_json& document, std::vector<CampaignRecord>& records) {
  std::uint64_t mismatches = 0;
  for (const Instruction* in : request.plan.instructions) {
    const StreamResult result = result_of(campaign, in);
    if (result.count == 0) continue;  // interrupted before its turn
    mismatches += result.mismatches;
    const NamedDatapath& datapath = request.datapaths.at(in);
    const auto oracle = backend.oracle(*in);
    const Source source{oracle->kind(), oracle->device(), "", oracle->provenance()};
    std::vector<Found> found;
    for (const Disagreement& each : campaign.disagreements()) {
      if (each.instruction == in) found.push_back(shrink(each, datapath.datapath, *oracle));
    }
    for (const StreamTask& task : result.tasks) {
      if (auto record = record_of(task, source)) records.push_back(*std::move(record));
    }
    if (options.json != "-") say(result_text(result, options, request.arch, datapath, source, found));
    if (!options.disagreements.empty() && !found.empty())
      keep_disagreements(options.disagreements, found, request.arch, source);
    document["source"] = json_source(source);
    document["instructions"].push_back(result_json(result, request.arch, datapath, found));
  }
  return mismatches;
}

}  // namespace

int verify_streams(const VerifyOptions& options) {
  const StreamRequest request = checked_request(options);
  const Backend backend(options, request.arch);
  for (const Instruction* in : request.plan.instructions) backend.check_fits(*in);
  Campaign campaign = planned_campaign(options, request);

  const InterruptGuard guard;
  interrupted = false;
  CampaignObserver observer(campaign, options.checkpoint);
  campaign.run([&](const Instruction& in,
                   std::size_t worker) { return backend.verifier(in, request.datapaths.at(&in).datapath, worker); },
               backend.workers(), interrupted, [&] { observer.after_chunk(); });
  observer.finish();
  const double seconds = observer.seconds();

  ordered_json document = new_verify_document();
  document["seed"] = options.seed;
  document["instructions"] = ordered_json::array();
  std::vector<CampaignRecord> records;
  const std::uint64_t mismatches = report_results(options, request, backend, campaign, document, records);
  if (!options.record.empty()) write_records(options.record, records);
  const double dots = static_cast<double>(campaign.done_now()) / seconds,
               multiply_adds = campaign.multiply_adds_now() / seconds;
  if (options.json != "-") {
    const std::uint64_t before = observer.done_before();
    say(fmt::format("{:.3g} dot products a second, {:.3g} multiply-adds emulated a second{}\n", dots, multiply_adds,
                    before == 0 ? "" : fmt::format("; {} were done before", count_text(static_cast<double>(before)))));
  }
  document["dot_products_per_second"] = dots;
  document["multiply_adds_per_second"] = multiply_adds;
  document["interrupted"] = interrupted.load();
  return finish_verification(options, document, mismatches);
}

}  // namespace tcnum
