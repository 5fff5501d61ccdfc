// Records of campaigns: digests of the hardware's results, which a machine without the hardware can check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/questions/stream.hpp"

namespace tcnum {

/// Some consecutive problems of one stream, and the digests of the hardware's results, one for each `chunk` of them
/// (the last may be of fewer).
struct CampaignRecord {
  std::string instruction;
  Distribution distribution = Distribution::narrow;
  std::uint64_t seed = 0, first = 0, count = 0, chunk = 0;
  std::vector<std::uint64_t> digests;
  std::string device, driver, cuda, date;
};

/// vectors/ARCH/campaigns.json. Reading throws InputError naming the file, the field and what is expected.
std::vector<CampaignRecord> read_campaigns(const std::string& path);
/// Adds a record to others. Of two of the same problems on the same device, the one that has more of them stays; if
/// they have as many, the new one. Where their results differ both stay, and this returns false.
bool add_record(std::vector<CampaignRecord>& records, CampaignRecord added);
/// As text, for whoever writes the file. Records come in order: instruction, distribution, seed, first, device.
std::string campaigns_text(std::vector<CampaignRecord> records);

}  // namespace tcnum
