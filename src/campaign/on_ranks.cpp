#include "on_ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

/// How often a rank looks whether it is to stop.
constexpr milliseconds kPatience{20};

// --- Messages: JSON objects of one member, which says what they are.

constexpr const char* kReady = "ready";    // to rank 0: the campaign's fingerprints, and how many workers
constexpr const char* kDone = "done";      // to rank 0: a chunk's results
constexpr const char* kFailed = "failed";  // to rank 0: why
constexpr const char* kDo = "do";          // a chunk
constexpr const char* kGoHome = "go_home";

Json json_of(const ChunkNumber& number) { return {number.stream, number.chunk}; }
ChunkNumber chunk_of(const Json& json) { return {json.at(0).get<std::size_t>(), json.at(1).get<std::size_t>()}; }

std::string done_text(const ChunkNumber& number, const StreamOutcome& outcome) {
  return Json{{kDone,
               {{"chunk", json_of(number)},
                {"digest", outcome.digest},
                {"mismatches", outcome.mismatches},
                {"examples", outcome.examples}}}}
      .dump();
}

/// An exception that is to be thrown again in another process.
struct Failure {
  enum class Kind : unsigned char { input, contradiction, other } kind = Kind::other;
  std::string message;
};

Failure failure_of(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const InputError& error) {
    return {Failure::Kind::input, error.what()};
  } catch (const ContradictionError& error) {
    return {Failure::Kind::contradiction, error.what()};
  } catch (const std::bad_alloc&) {
    return {Failure::Kind::other, "not enough memory on this machine"};
  } catch (const std::exception& error) {
    return {Failure::Kind::other, error.what()};
  } catch (...) {
    return {Failure::Kind::other, "failed, and nothing says why"};
  }
}

[[noreturn]] void raise(const Failure& failure) {
  if (failure.kind == Failure::Kind::input) throw InputError(failure.message);
  if (failure.kind == Failure::Kind::contradiction) throw ContradictionError(failure.message);
  throw UnavailableError(failure.message);
}

std::string host_name() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unnamed host";
}

std::string failed_text(const Failure& failure) {
  return Json{{kFailed, {{"kind", failure.kind}, {"message", failure.message}, {"host", host_name()}}}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

// --- Workers.

/// Threads that do the chunks which a rank is given, and write to rank 0 what came of them.
class ChunkWorkers {
 public:
  ChunkWorkers(const std::vector<StreamTask>& tasks, Ranks& ranks, const Campaign::MakeVerifier& make,
               std::size_t count)
      : tasks_(tasks), ranks_(ranks), make_(make) {
    try {
      for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
    } catch (...) {
      end();
      throw;
    }
  }
  ChunkWorkers(const ChunkWorkers&) = delete;
  ChunkWorkers& operator=(const ChunkWorkers&) = delete;
  /// Waits for the chunks at hand.
  ~ChunkWorkers() { end(); }

  void give(const ChunkNumber& number) {
    const std::lock_guard lock(mutex_);
    to_do_.push_back(number);
    changed_.notify_one();
  }

 private:
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  std::optional<ChunkNumber> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !to_do_.empty(); });
    if (ended_) return std::nullopt;
    const ChunkNumber number = to_do_.front();
    to_do_.pop_front();
    return number;
  }

  void work(std::size_t worker) {
    try {
      std::unique_ptr<StreamVerifier> verifier;
      const Instruction* verified = nullptr;
      while (const auto number = next()) {
        const StreamTask& task = tasks_[number->stream];
        if (verified != task.instruction) {
          verifier = make_(*task.instruction, worker);
          verified = task.instruction;
        }
        ranks_.send(0, done_text(*number, verify_chunk(*verifier, task, number->chunk)));
      }
    } catch (...) {
      ranks_.send(0, failed_text(failure_of(std::current_exception())));
    }
  }

  const std::vector<StreamTask>& tasks_;
  Ranks& ranks_;
  const Campaign::MakeVerifier& make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ChunkNumber> to_do_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;  ///< the last, as they use all the others
};

namespace {

// --- Rank 0.

/// Who does which chunk.
class Coordinator {
 public:
  Coordinator(Campaign& campaign, Ranks& ranks, ChunkWorkers& own, std::size_t own_workers,
              const std::atomic<bool>& stop, const CampaignEvents& events)
      : campaign_(campaign),
        ranks_(ranks),
        own_(own),
        stop_(stop),
        events_(events),
        crew_(static_cast<std::size_t>(ranks.size())) {
    crew_[0].idle = own_workers;
  }

  void run() {
    while (!stop_ && !campaign_.is_finished()) {
      give_up_silent_ranks();
      deal_out();
      // What has come, all of it, so that no answer waits for the look at the silent ones.
      for (auto message = ranks_.receive(kPatience); message; message = ranks_.receive(milliseconds(0))) take(*message);
    }
  }

 private:
  struct Rank {
    std::size_t idle = 0;  ///< workers
    std::vector<ChunkNumber> at_hand;
    bool failed = false, silent = false;
  };

  void take(const Message& message) {
    Rank& rank = crew_[static_cast<std::size_t>(message.from)];
    const Json json = Json::parse(message.text);
    const Json& content = json.begin().value();
    if (json.contains(kReady)) {
      rank.idle = content.at("workers").get<std::size_t>();
      check_fingerprints(message.from, content);
    } else if (json.contains(kFailed)) {
      fail(message.from, {content.at("kind").get<Failure::Kind>(), content.at("message").get<std::string>()},
           content.at("host").get<std::string>());
    } else {
      const ChunkNumber number = chunk_of(content.at("chunk"));
      std::erase(rank.at_hand, number);
      ++rank.idle;
      const std::uint64_t done_before = campaign_.done_now();
      campaign_.finish(number,
                       {content.at("digest").get<std::uint64_t>(), content.at("mismatches").get<std::uint64_t>(),
                        content.at("examples").get<std::vector<std::uint64_t>>()});
      if (campaign_.done_now() > done_before) events_.after_chunk();
    }
  }

  void check_fingerprints(int from, const Json& content) {
    for (const auto& [key, own] : campaign_.fingerprints()) {
      if (content.at("fingerprints").value(key, ~own) == own) continue;
      return fail(from,
                  {Failure::Kind::input,
                   fmt::format("its {} is not that of rank 0; right would be the same program, files, arguments and "
                               "kind of GPU for all ranks",
                               key)},
                  content.at("host").get<std::string>());
    }
  }

  void fail(int from, const Failure& failure, const std::string& host) {
    if (stop_) return;  // which ends what some verifiers are at
    if (from == 0 || failure.kind == Failure::Kind::contradiction) raise(failure);
    Rank& rank = crew_[static_cast<std::size_t>(from)];
    if (!rank.failed) events_.lost(fmt::format("rank {} on {} does no more: {}", from, host, failure.message));
    rank.failed = true;
    rank.idle = 0;
    give_back(rank);
  }

  void give_up_silent_ranks() {
    for (int r = 1; r < ranks_.size(); ++r) {
      Rank& rank = crew_[static_cast<std::size_t>(r)];
      const bool silent = ranks_.is_silent(r);
      if (silent && !rank.silent && !rank.failed) {
        events_.lost(fmt::format("rank {} is silent: others do its chunks at hand", r));
        for (const ChunkNumber& number : rank.at_hand) count_loss(number);
        give_back(rank);
      }
      rank.silent = silent;
    }
  }

  /// A chunk that ends whoever does it would end them all.
  void count_loss(const ChunkNumber& number) {
    constexpr int kMostLosses = 3;
    if (++losses_[number] < kMostLosses) return;
    const StreamTask& task = campaign_.tasks()[number.stream];
    throw UnavailableError(fmt::format("{} {}, {} problems from {} on: {} ranks were lost while they did them",
                                       task.instruction->name(), name(task.distribution), task.count_of(number.chunk),
                                       task.first_of(number.chunk), kMostLosses));
  }

  void give_back(Rank& rank) {
    for (const ChunkNumber& number : rank.at_hand) campaign_.give_back(number);
    rank.at_hand.clear();
  }

  void deal_out() {
    for (int r = 0; r < ranks_.size(); ++r) {
      Rank& rank = crew_[static_cast<std::size_t>(r)];
      while (rank.idle > 0 && !rank.failed && !rank.silent) {
        const auto number = campaign_.take();
        if (!number) return;
        --rank.idle;
        rank.at_hand.push_back(*number);
        if (r == 0)
          own_.give(*number);
        else
          ranks_.send(r, Json{{kDo, json_of(*number)}}.dump());
      }
    }
  }

  Campaign& campaign_;
  Ranks& ranks_;
  ChunkWorkers& own_;
  const std::atomic<bool>& stop_;
  const CampaignEvents& events_;
  std::vector<Rank> crew_;
  std::map<ChunkNumber, int> losses_;
};

/// Until rank 0 sends this one home.
template <class DoChunk>
int serve(Ranks& ranks, const DoChunk& do_chunk) {
  for (;;) {
    const auto message = ranks.receive(kPatience);
    if (!message) {
      if (ranks.is_silent(0)) throw UnavailableError("nothing is heard of rank 0 any more; what it had kept is there");
      continue;
    }
    const Json json = Json::parse(message->text);
    if (json.contains(kDo)) {
      do_chunk(chunk_of(json.at(kDo)));
      continue;
    }
    const Json& order = json.at(kGoHome);
    ranks.leave(order.at("together").get<bool>());
    return order.at("status").get<int>();
  }
}

}  // namespace

CampaignOnRanks::CampaignOnRanks(Campaign& campaign, Ranks& ranks, Campaign::MakeVerifier make, std::size_t workers)
    : campaign_(campaign),
      ranks_(ranks),
      make_(std::move(make)),
      count_(workers),
      workers_(std::make_unique<ChunkWorkers>(campaign.tasks(), ranks, make_, workers)) {}

CampaignOnRanks::~CampaignOnRanks() = default;

void CampaignOnRanks::run(const std::atomic<bool>& stop, const CampaignEvents& events) {
  Coordinator(campaign_, ranks_, *workers_, count_, stop, events).run();
}

void dismiss(Ranks& ranks, int status) {
  const bool together = !ranks.outlive_each_other();  // where one that is gone takes all with it, the silent are slow
  for (int r = 1; r < ranks.size(); ++r)
    ranks.send(r, Json{{kGoHome, {{"status", status}, {"together", together}}}}.dump());
  ranks.leave(together);
}

int work_for_rank_0(const Campaign& campaign, Ranks& ranks, const Campaign::MakeVerifier& make, std::size_t workers,
                    std::atomic<bool>& stop) {
  ranks.send(
      0,
      Json{{kReady, {{"workers", workers}, {"fingerprints", campaign.fingerprints()}, {"host", host_name()}}}}.dump());
  ChunkWorkers own(campaign.tasks(), ranks, make, workers);
  const struct AtEnd {
    std::atomic<bool>& stop;
    ~AtEnd() { stop = true; }
  } before_the_workers{stop};
  return serve(ranks, [&](const ChunkNumber& number) { own.give(number); });
}

int fail_for_rank_0(Ranks& ranks, const std::exception_ptr& why) {
  ranks.send(0, failed_text(failure_of(why)));
  return serve(ranks, [](const ChunkNumber&) {});
}

}  // namespace tcnum
