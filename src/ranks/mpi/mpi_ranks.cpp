// Ranks by MPI: the one file that knows it.
//
// One thread does all that is MPI's: it initialises it, carries messages, says now and then that this rank is there,
// and finalises it. So no other thread waits for MPI, whatever it does, and MPI need not know of threads. Sends are
// synchronous ones, which complete when they are received: in the end none is under way.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/ranks/joining.hpp"

namespace tcnum {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

enum Tag : int { kText, kStillHere };

struct Sending {
  int to = 0;
  std::string text;
  Tag tag = kText;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// As `mpirun --enable-recovery` says it to the processes: Open MPI's default is to end all when one is gone.
bool launched_with_recovery() {
  const char* const value = std::getenv("OMPI_MCA_orte_enable_recovery");
  return value != nullptr && (std::string_view(value) == "1" || std::string_view(value) == "true");
}

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(milliseconds silence) : silence_(silence), thread_([this] { work(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return joined_; });
  }
  ~MpiRanks() override { MpiRanks::leave(false); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  bool outlive_each_other() const override { return launched_with_recovery(); }

  void send(int to, std::string text) override {
    const std::lock_guard lock(mutex_);
    if (to == rank_)
      received_.push_back({to, std::move(text)});
    else
      to_send_.push_back({to, std::move(text)});
    changed_.notify_all();
  }
  std::optional<Message> receive(milliseconds patience) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return !received_.empty(); })) return std::nullopt;
    Message message = std::move(received_.front());
    received_.pop_front();
    return message;
  }
  bool is_silent(int rank) const override {
    return rank != rank_ && Clock::now() - heard_[static_cast<std::size_t>(rank)].load() > silence_;
  }
  void leave(bool together) override {
    if (!thread_.joinable()) return;
    leaving_ = together ? Leaving::together : Leaving::alone;
    thread_.join();
  }

 private:
  enum class Leaving : unsigned char { no, alone, together };

  /// The thread.
  void work() {
    int threads = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &threads);  // its errors end the program
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local_rank_);
    MPI_Comm_size(host, &local_size_);
    MPI_Comm_free(&host);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
      const std::lock_guard lock(mutex_);
      rank_ = rank;
      size_ = size;
      heard_ = std::vector<std::atomic<Clock::time_point>>(static_cast<std::size_t>(size));
      for (auto& heard : heard_) heard = Clock::now();
      joined_ = true;
      changed_.notify_all();
    }
    while (leaving_ == Leaving::no || has_to_carry()) {
      carry();
      if (leaving_ == Leaving::no) say_still_here();
      rest();
    }
    if (leaving_ == Leaving::together) finish_together();
  }

  /// Nothing is under way any more when all have come here, as what is sent was received.
  void finish_together() {
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    for (int here = 0; here == 0; rest()) {
      carry();
      MPI_Test(&barrier, &here, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
  }

  void carry() {
    std::list<Sending> fresh;
    {
      const std::lock_guard lock(mutex_);
      fresh.swap(to_send_);
    }
    for (Sending& each : fresh) begin(each);
    sending_.splice(sending_.end(), fresh);
    std::erase_if(sending_, [&](Sending& each) {
      int done = 0;
      const bool failed = MPI_Test(&each.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
      return failed || done != 0;
    });
    while (receive_one()) continue;
  }

  static void begin(Sending& sending) {
    if (MPI_Issend(sending.text.data(), static_cast<int>(sending.text.size()), MPI_BYTE, sending.to, sending.tag,
                   MPI_COMM_WORLD, &sending.request) != MPI_SUCCESS) {
      sending.request = MPI_REQUEST_NULL;  // the other one is gone, as its silence will tell
    }
  }

  bool receive_one() {
    int there = 0, bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &message, &status) != MPI_SUCCESS)
      return false;
    if (there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::string text(static_cast<std::size_t>(std::max(bytes, 0)), '\0');
    if (MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, &status) != MPI_SUCCESS) return false;
    heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
    if (status.MPI_TAG != kText) return true;
    const std::lock_guard lock(mutex_);
    received_.push_back({status.MPI_SOURCE, std::move(text)});
    changed_.notify_all();
    return true;
  }

  /// Several times before anybody could think otherwise; not to one who has not received the last time yet.
  void say_still_here() {
    constexpr int kTimes = 6;
    if (Clock::now() - said_ < silence_ / kTimes) return;
    said_ = Clock::now();
    for (int to = rank_ == 0 ? 1 : 0; to < (rank_ == 0 ? size_ : 1); ++to) {
      const auto is_to = [&](const Sending& each) { return each.to == to; };
      if (std::ranges::any_of(sending_, is_to)) continue;
      begin(sending_.emplace_back(Sending{to, {}, kStillHere}));
    }
  }

  /// Whether something is under way that has to arrive: all of it where MPI ends as it should; else what rank 0 says to
  /// those that are still there.
  bool has_to_carry() {
    const bool together = leaving_ == Leaving::together;
    const std::lock_guard lock(mutex_);
    return (!to_send_.empty() && (together || rank_ == 0)) || std::ranges::any_of(sending_, [&](const Sending& each) {
             return together || (rank_ == 0 && each.tag == kText && !is_silent(each.to));
           });
  }

  /// MPI can be asked only again and again; a chunk takes much longer than this.
  static void rest() {
    constexpr milliseconds kRest{1};
    std::this_thread::sleep_for(kRest);
  }

  milliseconds silence_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::vector<std::atomic<Clock::time_point>> heard_;  ///< when, of each rank
  std::atomic<Leaving> leaving_ = Leaving::no;

  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  bool joined_ = false;
  std::deque<Message> received_;
  std::list<Sending> to_send_;

  // The thread's own.
  std::list<Sending> sending_;
  Clock::time_point said_ = Clock::now();

  std::thread thread_;  ///< the last, as it uses all the others
};

}  // namespace
}  // namespace tcnum

extern "C" __attribute__((visibility("default"))) tcnum::Ranks* tcnum_join_ranks(std::chrono::milliseconds silence) {
  return std::make_unique<tcnum::MpiRanks>(silence).release();
}
