// tcnum verify --campaign: the emulator against the digests that are remembered of the hardware's results.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "emu/parallel.hpp"
#include "interrupt.hpp"
#include "io/printable.hpp"
#include "src/campaign/record.hpp"
#include "src/campaign/verifier.hpp"
#include "src/report/layout.hpp"
#include "verify.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// As the user says, or as the records' folder is called: vectors/ARCH/campaigns.json.
ArchId arch_of_campaign(const VerifyOptions& options) {
  if (!options.arch.empty()) return parse_arch(options.arch);
  std::error_code no_folder;  // the one that a relative name begins at may be gone
  const std::string folder = std::filesystem::absolute(options.campaign, no_folder).parent_path().filename().string();
  if (const auto id = find_arch(folder)) return *id;
  throw InputError(fmt::format("--arch: missing; expected that of {}, one of {}", options.campaign, arch_names()));
}

/// Which records the user wants checked.
class RecordFilter {
 public:
  RecordFilter(const VerifyOptions& options, ArchId id)
      : options_(options),
        instructions_(matching_instructions(options.instruction, id)),
        distributions_(parse_distributions(options.distributions)) {}

  bool wants(const CampaignRecord& r, const Instruction& in) const {
    if (!options_.instruction.empty() && std::ranges::find(instructions_, &in) == instructions_.end()) return false;
    const bool by_default = options_.distributions.empty() && is_sweep(r.distribution);
    if (!by_default && std::ranges::find(distributions_, r.distribution) == distributions_.end()) return false;
    constexpr std::uint64_t kSmall = 1u << 17;  // what a core does in a fraction of a second
    return options_.all || (r.chunk <= kSmall && !is_left_out(r, in));
  }

 private:
  /// A wgmma of 32 widths has one datapath: unless it was asked for, of each width but 8 every other distribution will
  /// do, and of each distribution every other width; the seed says which.
  bool is_left_out(const CampaignRecord& r, const Instruction& in) const {
    if (!options_.instruction.empty() || !options_.distributions.empty() || in.kind != InstructionKind::wgmma)
      return false;
    constexpr int kNarrowest = 8;
    const auto pair = static_cast<std::uint64_t>(in.n / kNarrowest) + static_cast<std::uint64_t>(r.distribution);
    return in.n != kNarrowest && (pair + options_.seed) % 2 != 0;
  }

  const VerifyOptions& options_;
  std::vector<const Instruction*> instructions_;
  std::vector<Distribution> distributions_;
};

/// What came of checking digests.
struct DigestSummary {
  std::uint64_t chunks = 0, problems = 0, wrong = 0;
  std::string disagreements_text;
  ordered_json json = ordered_json::array();  ///< the document's "records"
};

/// Some consecutive problems of a stream.
struct StreamPart {
  Distribution distribution;
  std::uint64_t seed, first, count;
  friend auto operator<=>(const StreamPart&, const StreamPart&) = default;
};

/// Checks chunks of records.
class DigestCheck {
 public:
  /// `records`: how many will be checked.
  DigestCheck(const VerifyOptions& options, ArchId id, std::size_t records)
      : options_(options), id_(id), records_(records) {
    show_progress();
  }

  /// One chunk of the record, which the seed chooses; or all.
  void check(const CampaignRecord& r, const Instruction& in) {
    if (verified_ != &in) {  // records of an instruction mostly follow each other
      const NamedDatapath datapath = choose_datapath(options_.datapath, id_, in, options_.campaign);
      verifier_ = make_cpu_stream_verifier(in, datapath.datapath, nullptr, all_threads());
      verified_ = &in;
      emulated_.clear();
    }
    const std::size_t from = options_.all ? 0 : options_.seed % r.digests.size();
    const std::size_t to = options_.all ? r.digests.size() : from + 1;
    for (std::size_t i = from; i < to && !interrupted; ++i) check_chunk(r, in, i);
    ++done_;
  }

  DigestSummary take_summary() {
    line_.clear();
    return std::move(summary_);
  }

 private:
  void check_chunk(const CampaignRecord& r, const Instruction& in, std::size_t i) {
    const std::uint64_t tile = stream_shape(in).problems();
    const std::uint64_t first = r.first + i * r.chunk, count = std::min(r.chunk, r.count - i * r.chunk);
    const auto [emulated, is_new] = emulated_.try_emplace({r.distribution, r.seed, first, count});
    if (is_new) emulated->second = verifier_->verify(r.distribution, r.seed, first / tile, count / tile).digest;
    const std::uint64_t digest = emulated->second;
    ++summary_.chunks;
    summary_.problems += count;
    show_progress();
    const bool same = digest == r.digests[i];
    summary_.json.push_back({{"instruction", r.instruction},
                             {"distribution", name(r.distribution)},
                             {"seed", r.seed},
                             {"first", first},
                             {"count", count},
                             {"expected", fmt::format("{:#018x}", digest)},
                             {"observed", fmt::format("{:#018x}", r.digests[i])},
                             {"agrees", same}});
    if (same) return;
    ++summary_.wrong;
    summary_.disagreements_text += fmt::format(
        "  {} {}, seed {}, {} problems from {} on: the emulator's digest is {:#018x}, the hardware's {:#018x}\n",
        r.instruction, name(r.distribution), r.seed, count, first, digest, r.digests[i]);
  }

  void show_progress() {
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    const double left = done_ == 0 ? 0 : elapsed / static_cast<double>(done_) * static_cast<double>(records_ - done_);
    line_.show(fmt::format("{} of {} records, {} dot products{}", done_, records_, count_text(summary_.problems),
                           done_ == 0 ? "" : fmt::format(", {:.0f} s left", left)));
  }

  const VerifyOptions& options_;
  ArchId id_;
  std::size_t records_, done_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const Instruction* verified_ = nullptr;
  std::unique_ptr<StreamVerifier> verifier_;
  std::map<StreamPart, std::uint64_t> emulated_;  ///< of that instruction: several devices may have done the same
  DigestSummary summary_;
  ProgressLine line_;
};

/// What all the records hold, and what answered.
std::string records_text(const std::vector<CampaignRecord>& records) {
  std::set<std::string> instructions;
  std::map<std::string, std::set<std::string>> dates;  // by device and software
  std::uint64_t remembered = 0;
  for (const CampaignRecord& r : records) {
    instructions.insert(r.instruction);
    dates[fmt::format("{} (driver {}, CUDA {}, ", shown(r.device, kMostOfName), shown(r.driver), shown(r.cuda))].insert(
        shown(r.date));
    remembered += r.count;
  }
  std::vector<std::string> sources;
  for (const auto& [source, days] : dates) {
    sources.push_back(source + *days.begin() + (days.size() > 1 ? " to " + *days.rbegin() : "") + ")");
  }
  return table_text({{"records", fmt::format("{} dot products of {}, compared on the hardware", count_text(remembered),
                                             plural(instructions.size(), "instruction"))},
                     {"source", fmt::format("{}", fmt::join(sources, "; "))}});
}

}  // namespace

int verify_campaign(const VerifyOptions& options) {
  const ArchId id = arch_of_campaign(options);
  const std::vector<CampaignRecord> records = read_campaigns(options.campaign);
  const RecordFilter filter(options, id);
  const InterruptGuard guard;
  interrupted = false;
  std::vector<const CampaignRecord*> wanted;
  for (const CampaignRecord& r : records) {
    if (filter.wants(r, *find_instruction(r.instruction))) wanted.push_back(&r);  // read_campaigns checked it
  }
  DigestCheck check(options, id, wanted.size());
  Attempts attempts;
  const bool finished = attempts.attempt([&] {
    for (const CampaignRecord* r : wanted) {
      if (!interrupted) check.check(*r, *find_instruction(r->instruction));
    }
  });
  DigestSummary found = check.take_summary();
  if (found.chunks == 0 && finished && !interrupted) {
    throw InputError(fmt::format("{}: holds no chunk that was asked for{}", options.campaign,
                                 options.all ? "" : "; expected --all where all chunks are large"));
  }
  if (found.chunks == 0 && !finished) return attempts.finish(kAgreed);
  const bool all = finished && !interrupted;
  ordered_json document = new_verify_document();
  document["campaign"] = options.campaign;
  document["records"] = std::move(found.json);
  document["chunks"] = found.chunks;
  document["dot_products"] = found.problems;
  document["interrupted"] = !all;
  write_document(options, document, found.wrong, attempts);
  if (options.json != "-") {
    say(fmt::format("{}: {} of {} dot products checked, {} {}{}\n{}", printable(options.campaign),
                    plural(found.chunks, "chunk"), count_text(found.problems), count_text(found.wrong),
                    found.wrong == 1 ? "disagrees" : "disagree", all ? "" : " (interrupted)",
                    found.disagreements_text) +
        records_text(records));
  }
  return attempts.finish(earned_by(found.wrong));
}

}  // namespace tcnum
