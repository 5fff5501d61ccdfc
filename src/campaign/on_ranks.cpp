#include "on_ranks.hpp"

#include <chrono>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tcnum {
namespace {

using Json = nlohmann::json;

/// A rank sends one message for each of its chunks, and this one when it does no more.
constexpr const char* kEnded = "";

std::string message_of(const ChunkNumber& number, const StreamOutcome& outcome) {
  return Json{{"stream", number.stream},
              {"chunk", number.chunk},
              {"digest", outcome.digest},
              {"mismatches", outcome.mismatches},
              {"examples", outcome.examples}}
      .dump();
}

void keep(const std::string& message, Campaign& campaign) {
  const Json json = Json::parse(message);
  campaign.finish({json.at("stream").get<std::size_t>(), json.at("chunk").get<std::size_t>()},
                  {json.at("digest").get<std::uint64_t>(), json.at("mismatches").get<std::uint64_t>(),
                   json.at("examples").get<std::vector<std::uint64_t>>()});
}

/// Unfinished chunks are dealt out in turn, so that each rank has as much of every stream.
std::vector<ChunkNumber> own_chunks(const Campaign& campaign, const Ranks& ranks) {
  const std::vector<ChunkNumber> all = campaign.unfinished();
  std::vector<ChunkNumber> own;
  for (auto i = static_cast<std::size_t>(ranks.rank()); i < all.size(); i += static_cast<std::size_t>(ranks.size()))
    own.push_back(all[i]);
  return own;
}

/// Does the share of rank 0 on threads of its own, so that messages are taken meanwhile.
class OwnShare {
 public:
  OwnShare(const Campaign& campaign, const Ranks& ranks, const MakeVerifier& make, std::size_t workers,
           const std::atomic<bool>& stop, std::function<void(ChunkNumber, const StreamOutcome&)> done)
      : thread_([&, this, workers, chunks = own_chunks(campaign, ranks), done = std::move(done)] {
          try {
            verify_chunks(
                campaign.tasks(), chunks, make, workers, [&] { return stop || is_given_up_; }, done);
          } catch (...) {
            failure_ = std::current_exception();
          }
          has_ended_ = true;
        }) {}
  OwnShare(const OwnShare&) = delete;
  OwnShare& operator=(const OwnShare&) = delete;
  /// Waits for the chunks at hand.
  ~OwnShare() { is_given_up_ = true; }

  /// Throws what ended it.
  bool has_ended() const {
    if (!has_ended_) return false;
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  std::atomic<bool> is_given_up_ = false, has_ended_ = false;
  std::exception_ptr failure_;  ///< written before has_ended_
  std::jthread thread_;         ///< the last member, as it uses the others
};

}  // namespace

void lead_campaign(Campaign& campaign, Ranks& ranks, const MakeVerifier& make, std::size_t workers,
                   const std::atomic<bool>& stop, const CampaignEvents& events) {
  constexpr std::chrono::milliseconds kInterval{5};
  ranks.broadcast(campaign.checkpoint());
  std::mutex mutex;  // of the campaign and the events
  const OwnShare own(campaign, ranks, make, workers, stop, [&](ChunkNumber number, const StreamOutcome& outcome) {
    const std::lock_guard lock(mutex);
    campaign.finish(number, outcome);
    events.after_chunk();
  });
  int running = ranks.size() - 1;
  while (!own.has_ended() || running > 0) {
    if (stop && own.has_ended()) return;
    const auto message = ranks.receive();
    if (message && message->text == kEnded) {
      --running;
    } else if (message) {
      const std::lock_guard lock(mutex);
      keep(message->text, campaign);
      events.after_chunk();
    } else {
      {
        const std::lock_guard lock(mutex);
        events.while_waiting();
      }
      std::this_thread::sleep_for(kInterval);
    }
  }
  ranks.finish();
}

void join_campaign(Campaign& campaign, Ranks& ranks, std::string_view checkpoint, const MakeVerifier& make,
                   std::size_t workers, const std::atomic<bool>& stop) {
  campaign.resume_from_text(checkpoint, "rank 0: campaign");
  verify_chunks(
      campaign.tasks(), own_chunks(campaign, ranks), make, workers, [&] { return stop.load(); },
      [&](ChunkNumber number, const StreamOutcome& outcome) { ranks.send(message_of(number, outcome)); });
  ranks.send(kEnded);
  ranks.finish();
}

}  // namespace tcnum
