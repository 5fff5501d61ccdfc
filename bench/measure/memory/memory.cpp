#include "memory.hpp"

#include <algorithm>
#include <utility>

#include "bench/measure/measurements.hpp"

namespace tcnum::bench {
namespace {

/// Loads from the L1 until the device's clock has settled, once.
void settle_clock(const Row& row) {
  if (row.settings.warm_up_seconds <= 0) return;
  const ReadWork work{.bytes = kReadPiece, .rounds = 10'000};
  row.device.fill(work.buffer_bytes(static_cast<std::size_t>(row.device.facts().sms)), row.settings.fill_seed());
  settle_clock(row.settings, [&] { row.device.read(work); });
}

}  // namespace

std::vector<Measurement> memory_measurements() {
  std::vector<Measurement> all = {latency_measurement(), bandwidth_measurement(), streams_measurement()};
  for (Measurement& each : all) {
    each.measure_row = [measure = std::move(each.measure_row)](const Row& row) {
      settle_clock(row);
      measure(row);
    };
  }
  return all;
}

void require_room(const Row& row, std::size_t bytes) {
  if (2 * bytes <= row.device.memory_facts().global_bytes) return;
  throw UnavailableError("its buffer does not fit in the device's memory");
}

void put_share_of_pins(const Row& row, double bytes_per_second) {
  const auto pins = row.device.memory_facts().dram_bytes_per_second;
  if (pins) row.record.set("percent_of_pins", bytes_per_second / *pins * 100);
}

void put_shares(Document& document) {
  constexpr const char* kRate = "giga_bytes_per_second";
  double highest = 0;
  const auto is_stream = [](const Record& r) { return r.measurement == "streams"; };
  for (const Record& r : document.records) {
    if (is_stream(r)) highest = std::max(highest, r.number(kRate).value_or(0));
  }
  for (Record& r : document.records) {
    const auto rate = r.number(kRate);
    if (rate && is_stream(r) && highest > 0) r.set("percent_of_highest", *rate / highest * 100);
  }
}

}  // namespace tcnum::bench
