#include "bench_together.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "bench/measure/rendezvous.hpp"

namespace tcnum {

Fields together_settings(const std::vector<int>& devices) {
  return {{"devices", fmt::format("{}", fmt::join(devices, ","))}};
}

void measure_together(const TogetherWork& work, RunDocument& document, Attempts& attempts) {
  Rendezvous rendezvous(work.devices.size());
  const RecordSink sink = {[&](const bench::Record& row) { return document.has(row); },
                           [&](bench::Record record) { document.add(std::move(record)); }};
  std::vector<Fields> together;
  for (int device : work.devices) together.push_back({{kDeviceAxis, std::int64_t{device}}});
  std::mutex mutex;  // of the attempts
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < work.devices.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        bench::Settings settings = work.settings;
        settings.threads = std::max(1U, settings.threads / static_cast<unsigned>(work.devices.size()));
        settings.meet = [&rendezvous, i](std::size_t n) { rendezvous.meet(i, n); };
        const std::unique_ptr<TimingDevice> timing = make_timing_device(work.devices[i]);
        work.measure(*timing, {together[i], together_settings(work.devices), together}, settings, sink);
      } catch (...) {
        const std::lock_guard lock(mutex);
        attempts.failed(std::current_exception());
      }
      rendezvous.leave(i);
    });
  }
}

}  // namespace tcnum
