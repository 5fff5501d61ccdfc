// Campaigns on several ranks. Rank 0 deals the chunks out and keeps what comes of them: it alone has the campaign, its
// checkpoint and its records. Every rank, rank 0 too, does chunks, as many at once as it has workers. A rank that
// fails, or of which nothing is heard any more, loses the chunks that it has at hand: others do them.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "campaign.hpp"
#include "src/ranks/ranks.hpp"

namespace tcnum {

/// What is to be told while the campaign goes on.
struct CampaignEvents {
  std::function<void()> after_chunk;
  std::function<void(const std::string&)> lost;  ///< a rank, and why
};

class ChunkWorkers;

/// Rank 0's part.
class CampaignOnRanks {
 public:
  /// `make` for this rank's own workers. All are used until the end.
  CampaignOnRanks(Campaign& campaign, Ranks& ranks, Campaign::MakeVerifier make, std::size_t workers);
  CampaignOnRanks(const CampaignOnRanks&) = delete;
  CampaignOnRanks& operator=(const CampaignOnRanks&) = delete;
  /// Waits for the chunks that its own workers have at hand.
  ~CampaignOnRanks();

  /// Returns when all chunks are done, or at `stop`, without those at hand: whoever stops a job gives its processes
  /// little time to keep what they have. Throws what its own workers throw, and what is a finding, whoever throws it.
  void run(const std::atomic<bool>& stop, const CampaignEvents& events);

 private:
  Campaign& campaign_;
  Ranks& ranks_;
  Campaign::MakeVerifier make_;
  std::size_t count_;
  std::unique_ptr<ChunkWorkers> workers_;
};
/// Sends the other ranks home, with the exit status of all, and leaves.
void dismiss(Ranks& ranks, int status);

/// Another rank's part: does chunks of the same campaign until rank 0 sends it home; returns the exit status. Throws
/// UnavailableError if rank 0 is gone. Sets `stop` then, for verifiers that can be stopped, and waits for the chunks at
/// hand, which are nobody's any more.
int work_for_rank_0(const Campaign& campaign, Ranks& ranks, const Campaign::MakeVerifier& make, std::size_t workers,
                    std::atomic<bool>& stop);
/// The same of a rank that cannot work, and why.
int fail_for_rank_0(Ranks& ranks, const std::exception_ptr& why);

}  // namespace tcnum
