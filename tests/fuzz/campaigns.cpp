// Records and checkpoints of campaigns: what reads is written and read back the same.
#include "src/campaign/campaign.hpp"

#include <atomic>
#include <nlohmann/json.hpp>

#include "harnesses.hpp"
#include "io/json.hpp"
#include "src/campaign/record.hpp"

namespace tcnum::fuzz {
namespace {

using nlohmann::ordered_json;

/// A run of two instructions that a checkpoint may be of.
Campaign campaign() {
  CampaignPlan request;
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "wgmma.m64n8k32.f32.e4m3.e4m3"})
    request.instructions.push_back(find_instruction(name));
  request.distributions = {Distribution::narrow, Distribution::edges};
  request.count = 1 << 14;
  request.chunk = 1 << 12;
  Campaign made(plan(request));
  made.set_identity({{"arch", "sm_90"}, {"seed", 1}});
  return made;
}

/// Whose results are made up, some of them wrong.
class MadeUp : public StreamVerifier {
 public:
  StreamOutcome verify(Distribution, std::uint64_t seed, std::uint64_t first_tile, std::uint64_t) override {
    const bool agrees = first_tile == 0;
    return {seed + first_tile, agrees ? 0u : 1u,
            agrees ? std::vector<std::uint64_t>{} : std::vector{first_tile * 4096}};
  }
  OracleKind kind() const override { return OracleKind::datapath; }
  std::string device() const override { return "made up"; }
  std::map<std::string, std::string> provenance() const override { return {}; }
};

/// After so many chunks.
std::string checkpoint_after(int chunks) {
  Campaign made = campaign();
  std::atomic<bool> stop = chunks == 0;
  int done = 0;
  made.run([](const Instruction&, std::size_t) { return std::make_unique<MadeUp>(); }, 1, stop,
           [&] { stop = ++done == chunks; });
  return made.checkpoint();
}

}  // namespace

bool read_campaign_records(std::string_view input) {
  std::vector<CampaignRecord> records;
  {
    const InputPath file(input);
    if (!accepted([&] { records = read_campaigns(file.path()); }, file.path())) return false;
  }
  const std::string text = campaigns_text(records);
  const InputPath file(text);
  if (campaigns_text(read_campaigns(file.path())) != text) wrong("records change when they are written and read", text);
  return true;
}

namespace {

/// With the checksum of what it holds, which no search would find.
std::string sealed(std::string_view input) {
  try {
    ordered_json json = parse_json(input, "");
    if (!json.is_object()) return std::string(input);
    json.erase("checksum");
    return sealed_checkpoint(json);
  } catch (const InputError&) {
    return std::string(input);
  }
}

}  // namespace

bool read_a_checkpoint(std::string_view input) {
  Campaign resumed = campaign(), again = campaign();
  for (const bool as_it_is : {true, false}) {
    const InputPath file(as_it_is ? std::string(input) : sealed(input));
    if (accepted([&] { resumed.resume(file.path()); }, file.path())) break;
    if (!as_it_is) return false;
  }
  const std::string text = resumed.checkpoint();
  const InputPath file(text);
  again.resume(file.path());
  if (again.checkpoint() != text) wrong("a checkpoint changes when it is written and read", text);
  for (const StreamTask& task : resumed.tasks()) {
    if (task.done() > task.count) wrong("more was done than there is", text);
  }
  return true;
}

/// Of each instruction and distribution the first digest, a few to a file.
std::vector<std::string> campaign_files() {
  constexpr std::size_t kEvery = 257, kInAFile = 3;
  std::vector<CampaignRecord> some;
  std::vector<std::string> files;
  const std::vector<CampaignRecord> all = read_campaigns(TCNUM_SOURCE_DIR "/vectors/sm_90/campaigns.json");
  for (std::size_t i = 0; i < all.size(); i += kEvery) {
    CampaignRecord record = all[i];
    record.count = std::min(record.count, record.chunk);
    record.digests.resize(1);
    some.push_back(std::move(record));
    if (some.size() == kInAFile) files.push_back(campaigns_text(std::exchange(some, {})));
  }
  return files;
}

std::vector<std::string> checkpoints() {
  std::vector<std::string> texts;
  for (const int chunks : {0, 1, 3, 100}) texts.push_back(checkpoint_after(chunks));
  return texts;
}

}  // namespace tcnum::fuzz
