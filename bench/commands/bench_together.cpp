#include "bench_together.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "src/commands/interrupt.hpp"
#include "src/ranks/rendezvous.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using Json = nlohmann::ordered_json;

/// How often a rank looks what there is to tell.
constexpr std::chrono::milliseconds kPatience{5};

// --- Messages between ranks: JSON objects of one member, which says what they are.

constexpr const char* kAt = "at";          // to rank 0: the point that all its GPUs have reached
constexpr const char* kRecord = "record";  // to rank 0: a document of one
constexpr const char* kFailed = "failed";  // to rank 0: why, and on which host
constexpr const char* kGo = "go";          // the point that all GPUs of all ranks have reached
constexpr const char* kGoHome = "go_home";

std::string text_of(const char* what, Json content) {
  return Json{{what, std::move(content)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string host_name() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unnamed host";
}

std::string reason(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "failed, and nothing says why";
  }
}

/// GPUs of this process that measure at the same time, a thread each: the first parties of a rendezvous.
class DevicesTogether {
 public:
  /// `failed` is told what those threw that could not go on, by one thread at a time.
  DevicesTogether(const TogetherWork& work, Rendezvous& rendezvous, const std::vector<Labels>& labels,
                  const RecordSink& sink, std::function<void(const std::exception_ptr&)> failed)
      : failed_(std::move(failed)) {
    for (std::size_t i = 0; i < work.devices.size(); ++i) {
      threads_.emplace_back([this, &work, &rendezvous, &sink, i, labels = labels[i]] {
        try {
          bench::Settings settings = work.settings;
          settings.threads = std::max(1U, settings.threads / static_cast<unsigned>(work.devices.size()));
          settings.meet = [&rendezvous, i](std::size_t n) { rendezvous.meet(i, n); };
          const std::unique_ptr<TimingDevice> timing = make_timing_device(work.devices[i]);
          work.measure(*timing, labels, settings, sink);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          failed_(std::current_exception());
        }
        rendezvous.leave(i);
      });
    }
  }

 private:
  std::function<void(const std::exception_ptr&)> failed_;
  std::mutex mutex_;
  std::vector<std::jthread> threads_;  ///< the last, as they use what is before
};

RecordSink sink_of(RunDocument& document) {
  return {[&](const bench::Record& row) { return document.has(row); },
          [&](bench::Record record) { document.add(std::move(record)); }};
}

std::vector<Labels> labels_of(const std::vector<int>& devices) {
  std::vector<Fields> together;
  for (int device : devices) together.push_back({{kDeviceAxis, std::int64_t{device}}});
  std::vector<Labels> labels;
  for (const Fields& own : together) labels.push_back({own, together_settings(devices), together});
  return labels;
}

/// Of a rank: nothing was measured before.
std::vector<Labels> labels_on_host(const std::vector<int>& devices) {
  std::vector<Labels> labels;
  for (int device : devices) {
    labels.push_back({{{kHostAxis, host_name()}, {kDeviceAxis, std::int64_t{device}}}, {}, {}});
  }
  return labels;
}

/// Rank 0's part in it: its own GPUs are the first parties, and each other rank is one.
class FirstRank {
 public:
  FirstRank(Ranks& ranks, std::size_t own, RunDocument& document, Attempts& attempts)
      : rendezvous(own + static_cast<std::size_t>(ranks.size()) - 1),
        ranks_(ranks),
        own_(own),
        document_(document),
        attempts_(attempts) {}

  /// Until all have measured all, or this rank was interrupted and its own GPUs are done.
  void serve() {
    while (rendezvous.least() != Rendezvous::kLeft && !(interrupted && rendezvous.least(own_) == Rendezvous::kLeft)) {
      if (const auto message = ranks_.receive(kPatience)) take(*message);
      give_up_silent_ranks();
      const std::size_t least = rendezvous.least();
      if (least == told_) continue;
      told_ = least;
      for (int r = 1; r < ranks_.size(); ++r) ranks_.send(r, text_of(kGo, least));
    }
  }

  /// Whatever becomes of them.
  void wait_for_no_rank() {
    for (int r = 1; r < ranks_.size(); ++r) rendezvous.leave(party(r));
  }

  Rendezvous rendezvous;

 private:
  std::size_t party(int rank) const { return own_ + static_cast<std::size_t>(rank) - 1; }

  void take(const Message& message) {
    if (message.from == 0) return;
    const Json json = Json::parse(message.text);
    if (json.contains(kAt)) {
      rendezvous.arrive(party(message.from), json.at(kAt).get<std::size_t>());
    } else if (json.contains(kRecord)) {
      const std::string where = fmt::format("rank {}", message.from);
      attempts_.attempt([&] {
        for (bench::Record& record : bench::document_from_json(json.at(kRecord), where).records) {
          document_.add(std::move(record));
        }
      });
    } else if (json.contains(kFailed)) {
      const Json& failed = json.at(kFailed);
      fail(fmt::format("rank {} on {}: {}", message.from, failed.at("host").get<std::string>(),
                       failed.at("message").get<std::string>()));
    }
  }

  void give_up_silent_ranks() {
    for (int r = 1; r < ranks_.size(); ++r) {
      if (!ranks_.is_silent(r) || rendezvous.has_left(party(r))) continue;
      fail(fmt::format("rank {} is silent", r));
      rendezvous.leave(party(r));
    }
  }

  void fail(const std::string& why) { attempts_.failed(std::make_exception_ptr(UnavailableError(why))); }

  Ranks& ranks_;
  std::size_t own_;
  RunDocument& document_;
  Attempts& attempts_;
  std::size_t told_ = 0;
};

/// Another rank's, of which the last party stands for all others.
class OtherRank {
 public:
  OtherRank(Ranks& ranks, std::size_t own) : rendezvous(own + 1), ranks_(ranks), own_(own) {}

  /// Until rank 0 sends this one home; the exit status.
  int serve() {
    for (;;) {
      if (const std::size_t least = rendezvous.least(own_); least != told_) {
        told_ = least;
        ranks_.send(0, text_of(kAt, least));
      }
      const auto message = ranks_.receive(kPatience);
      if (!message) {
        if (!ranks_.is_silent(0)) continue;
        throw UnavailableError("nothing is heard of rank 0 any more; what it had kept is there");
      }
      const Json json = Json::parse(message->text);
      if (json.contains(kGo)) {
        rendezvous.arrive(own_, json.at(kGo).get<std::size_t>());
      } else if (json.contains(kGoHome)) {
        const Json& order = json.at(kGoHome);
        together_ = order.at("together").get<bool>();
        return order.at("status").get<int>();
      }
    }
  }
  bool leaves_together() const { return together_; }
  /// Whoever measures still need not go on.
  void end() {
    interrupted = true;
    rendezvous.leave(own_);
  }

  Rendezvous rendezvous;

 private:
  Ranks& ranks_;
  std::size_t own_, told_ = 0;
  bool together_ = false;
};

}  // namespace

Fields together_settings(const std::vector<int>& devices) {
  return {{"devices", fmt::format("{}", fmt::join(devices, ","))}};
}

std::vector<int> own_devices(const std::vector<int>& devices, const Ranks& ranks) {
  if (static_cast<std::size_t>(ranks.local_size()) > devices.size()) {
    throw UnavailableError(fmt::format("{} has {} ranks and {} GPUs; right would be a GPU for each rank at least",
                                       host_name(), ranks.local_size(), devices.size()));
  }
  return share_of(devices, ranks);
}

void measure_together(const TogetherWork& work, RunDocument& document, Attempts& attempts) {
  Rendezvous rendezvous(work.devices.size());
  const RecordSink sink = sink_of(document);
  const DevicesTogether devices(work, rendezvous, labels_of(work.devices), sink,
                                [&](const std::exception_ptr& why) { attempts.failed(why); });
}

void measure_with_ranks(const TogetherWork& work, Ranks& ranks, RunDocument& document, Attempts& attempts) {
  FirstRank host(ranks, work.devices.size(), document, attempts);
  const RecordSink sink = sink_of(document);
  std::vector<std::exception_ptr> failures;
  {
    const DevicesTogether devices(work, host.rendezvous, labels_on_host(work.devices), sink,
                                  [&](const std::exception_ptr& why) { failures.push_back(why); });
    const struct AtEnd {
      FirstRank& host;
      ~AtEnd() { host.wait_for_no_rank(); }
    } before_the_devices{host};
    host.serve();
  }
  for (const std::exception_ptr& failure : failures) attempts.failed(failure);
}

void end_ranks(Ranks& ranks, int status) {
  const bool together = !ranks.outlive_each_other();  // where one that is gone takes all with it, the silent are slow
  for (int r = 1; r < ranks.size(); ++r) {
    ranks.send(r, text_of(kGoHome, {{"status", status}, {"together", together}}));
  }
  ranks.leave(together);
}

int measure_for_rank_0(Ranks& ranks, const std::function<TogetherWork()>& prepare) {
  TogetherWork work;
  const auto tell = [&](const std::exception_ptr& why) {
    ranks.send(0, text_of(kFailed, {{"host", host_name()}, {"message", reason(why)}}));
  };
  try {
    work = prepare();
  } catch (...) {
    tell(std::current_exception());
  }
  OtherRank host(ranks, work.devices.size());
  const RecordSink sink = {[](const bench::Record&) { return false; },
                           [&](bench::Record record) {
                             if (interrupted && !record.values.empty()) record.set(bench::kInterrupted, true);
                             bench::Document document;
                             document.records.push_back(std::move(record));
                             ranks.send(0, text_of(kRecord, bench::to_json(document)));
                           }};
  int status = 0;
  {
    const DevicesTogether devices(work, host.rendezvous, labels_on_host(work.devices), sink, tell);
    const struct AtEnd {
      OtherRank& host;
      ~AtEnd() { host.end(); }
    } before_the_devices{host};
    status = host.serve();
  }
  ranks.leave(host.leaves_together());
  return status;
}

}  // namespace tcnum
