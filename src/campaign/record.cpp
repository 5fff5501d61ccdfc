#include "record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "src/files/json_fields.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

constexpr const char* kCampaignsSchema = "tcnum.campaigns/1";

CampaignRecord read_record(const nlohmann::ordered_json& json, const std::string& where) {
  const JsonFields fields(json, where);
  CampaignRecord r;
  r.instruction = fields.text("instruction");
  const Instruction* in = find_instruction(r.instruction);
  if (in == nullptr)
    fields.fail("instruction", r.instruction + " is unknown; expected one that `tcnum list` shows");
  const std::string distribution = fields.text("distribution");
  const auto found = find_distribution(distribution);
  if (!found) fields.fail("distribution", distribution + " is unknown");
  r.distribution = *found;
  r.seed = fields.whole("seed");
  r.first = fields.whole("first");
  r.count = fields.whole("count");
  r.chunk = fields.whole("chunk");
  const std::uint64_t tile = stream_shape(*in).problems();
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;
  const auto whole_tiles = [&](const char* key, std::uint64_t value, std::uint64_t least) {
    if (value < least || value > kMost || value % tile != 0) {
      fields.fail(key, fmt::format("{}; expected a multiple of {}, the problems of a tile", value, tile));
    }
  };
  whole_tiles("first", r.first, 0);
  whole_tiles("count", r.count, tile);
  whole_tiles("chunk", r.chunk, tile);
  if (is_sweep(r.distribution)) {
    const auto size = sweep_size(*in, r.distribution, r.seed);
    if (!size) fields.fail("distribution", distribution + " is not of this instruction, with this seed");
    if (r.first + r.count > *size) fields.fail("count", fmt::format("{} goes beyond the sweep's {}", r.count, *size));
  }
  const auto& digests = fields.array("digests");
  if (digests.size() != (r.count + r.chunk - 1) / r.chunk) {
    fields.fail("digests", fmt::format("{}; expected one for each chunk, {}", digests.size(),
                                       (r.count + r.chunk - 1) / r.chunk));
  }
  for (std::size_t i = 0; i < digests.size(); ++i)
    r.digests.push_back(fields.bits(digests[i], fmt::format("digests[{}]", i)));
  r.device = fields.text("device");
  r.driver = fields.text("driver");
  r.cuda = fields.text("cuda");
  r.date = fields.text("date");
  return r;
}

bool begin_alike(const CampaignRecord& x, const CampaignRecord& y) {
  return x.instruction == y.instruction && x.distribution == y.distribution && x.seed == y.seed && x.first == y.first &&
         x.device == y.device;
}

enum class Comparison { same, other, unknown };

/// The results of the problems that two records both have, which begin alike. Of chunks of other sizes only the sums
/// over all can be compared, if they are as many.
Comparison compare(const CampaignRecord& x, const CampaignRecord& y) {
  bool same = false;
  if (x.chunk == y.chunk) {
    const std::size_t whole =
        x.count == y.count ? x.digests.size() : static_cast<std::size_t>(std::min(x.count, y.count) / x.chunk);
    same = std::equal(x.digests.begin(), x.digests.begin() + static_cast<std::ptrdiff_t>(whole), y.digests.begin());
  } else if (x.count == y.count) {
    const auto sum = [](const CampaignRecord& r) {
      return std::accumulate(r.digests.begin(), r.digests.end(), std::uint64_t{0});
    };
    same = sum(x) == sum(y);
  } else {
    return Comparison::unknown;
  }
  return same ? Comparison::same : Comparison::other;
}

}  // namespace

std::vector<CampaignRecord> read_campaigns(const std::string& path) {
  const nlohmann::ordered_json json = read_json_file(path, kCampaignsSchema);
  std::vector<CampaignRecord> records;
  const auto& all = JsonFields(json, path).array("campaigns");
  for (std::size_t i = 0; i < all.size(); ++i)
    records.push_back(read_record(all[i], fmt::format("{}: campaigns[{}]", path, i)));
  return records;
}

bool add_record(std::vector<CampaignRecord>& records, CampaignRecord added) {
  const bool agrees = std::ranges::none_of(records, [&](const CampaignRecord& old) {
    return begin_alike(old, added) && compare(old, added) == Comparison::other;
  });
  const auto stands_for = [&](const CampaignRecord& longer, const CampaignRecord& shorter) {
    if (!begin_alike(longer, shorter) || longer.count < shorter.count) return false;
    const Comparison found = compare(longer, shorter);
    return found == Comparison::same || (found == Comparison::unknown && agrees);
  };
  const auto is_part = [&](const CampaignRecord& old) { return old.count > added.count && stands_for(old, added); };
  if (std::ranges::any_of(records, is_part)) return agrees;
  std::erase_if(records, [&](const CampaignRecord& old) { return stands_for(added, old); });
  records.push_back(std::move(added));
  return agrees;
}

std::string campaigns_text(std::vector<CampaignRecord> records) {
  std::ranges::stable_sort(records, {}, [](const CampaignRecord& r) {
    return std::tuple(r.instruction, r.distribution, r.seed, r.first, r.device);
  });
  // A record a line: one that is added changes one line.
  std::string text = fmt::format("{{\n  \"schema\": \"{}\",\n  \"campaigns\": [", kCampaignsSchema);
  for (const CampaignRecord& r : records) {
    nlohmann::ordered_json json = {{"instruction", r.instruction},
                                   {"distribution", name(r.distribution)},
                                   {"seed", r.seed},
                                   {"first", r.first},
                                   {"count", r.count},
                                   {"chunk", r.chunk},
                                   {"digests", nlohmann::ordered_json::array()},
                                   {"device", r.device},
                                   {"driver", r.driver},
                                   {"cuda", r.cuda},
                                   {"date", r.date}};
    for (const std::uint64_t digest : r.digests) json["digests"].push_back(fmt::format("{:#018x}", digest));
    text += (&r == records.data() ? "\n    " : ",\n    ") + json.dump();
  }
  return text + "\n  ]\n}\n";
}

}  // namespace tcnum
