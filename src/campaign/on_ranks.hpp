// Campaigns on several ranks. Each rank does its share of the chunks and sends the outcomes to rank 0, which alone has
// the checkpoint, the records and the results. If a rank fails, the whole job ends, and a rerun with the same
// checkpoint does the chunks that are not in it.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "campaign.hpp"
#include "src/ranks/ranks.hpp"

namespace tcnum {

/// Called by rank 0 while a campaign goes on, from one thread at a time.
struct CampaignEvents {
  std::function<void()> after_chunk;
  std::function<void()> while_waiting;  ///< some times a second
};

/// The part of rank 0: sends the campaign to the other ranks, does its own share, and keeps the outcomes of all.
/// Returns when all ranks have finished; or at `stop`, after its own chunks at hand and without waiting for the other
/// ranks.
void lead_campaign(Campaign& campaign, Ranks& ranks, const MakeVerifier& make, std::size_t workers,
                   const std::atomic<bool>& stop, const CampaignEvents& events);

/// The part of another rank: does its share of the chunks that the checkpoint lacks, until `stop`. The checkpoint is
/// that of rank 0, which ranks.broadcast() returns. Throws InputError if it is not one of this campaign: the ranks then
/// have different programs, files or kinds of GPU.
void join_campaign(Campaign& campaign, Ranks& ranks, std::string_view checkpoint, const MakeVerifier& make,
                   std::size_t workers, const std::atomic<bool>& stop);

}  // namespace tcnum
