// The textbook's product through tiles in shared memory: loads and stores before each step against cp.async one step
// ahead (Luo et al., Table XIII).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/measure/steady.hpp"
#include "copies.hpp"
#include "sums.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kLaunches = 3;

struct Size {
  const char* name;
  unsigned side;
};
constexpr Size kSizes[] = {
    {"product of 8x8 threads", 8}, {"product of 16x16 threads", 16}, {"product of 32x32 threads", 32}};

double operations(const TiledProduct& work, const ProductTimes& times) {
  return 2.0 * static_cast<double>(times.rows) * static_cast<double>(times.columns) * work.k * work.rounds;
}

/// Samples of 10^9 operations a second; their names in the record begin with `prefix`.
Summary measure_one(const Row& row, TiledProduct work, const std::string& prefix) {
  constexpr double kSeconds = 1e-3, kMostRounds = 1e4;
  const double once = row.device.product(work, 1).seconds.front();
  work.rounds = static_cast<unsigned>(std::clamp(std::ceil(kSeconds / once), 1.0, kMostRounds));
  std::vector<double> clocks;
  std::vector<float> checked;
  const Summary s = summarise(sample_until(row.settings.stop, [&] {
    const ProductTimes times = row.device.product(work, kLaunches);
    if (checked.empty()) {
      check_product(work, times, row.settings.threads);
      checked = times.result;
    } else if (times.result != checked) {
      throw WrongResult("a product is another than before");
    }
    if (times.clock_mhz > 0) clocks.push_back(times.clock_mhz);
    return operations(work, times) / median_of(times.seconds) * 1e-9;
  }));
  row.record.set(prefix + "giga_flops", s.median);
  row.record.set(prefix + "spread_percent", s.spread_percent());
  if (!clocks.empty()) row.record.set(prefix + "clock_mhz", median_of(clocks));
  return s;
}

void measure_product(const Row& row) {
  const unsigned blocks = row.number("product_blocks"), side = named(kSizes, row.record.subject).side;
  if (row.arch < ArchId::sm_80) throw UnavailableError("cp.async needs sm_80");
  TiledProduct work{.side = side, .blocks = blocks};
  unsigned most = row.device.most_product_blocks(work);
  work.async = true;
  most = std::min(most, row.device.most_product_blocks(work));
  if (blocks > most) {
    throw UnavailableError(fmt::format("{} blocks of {} threads fit on an SM", most, side * side));
  }
  settle_copy_clock(row);
  const Summary async = measure_one(row, work, "async_");
  work.async = false;
  const Summary synchronous = measure_one(row, work, "");
  row.record.set("gain_percent", (async.median / synchronous.median - 1) * 100);
  row.record.set("k", std::int64_t{work.k});
  row.record.set("samples", static_cast<std::int64_t>(synchronous.count));
  row.record.set("checked", std::string("every element"));
}

}  // namespace

Measurement tiled_product_measurement() {
  return {.name = "tiled product",
          .meaning = "an fp32 product through tiles in shared memory: loads and stores against cp.async one step ahead",
          .axes = {{"product_blocks", "blocks of an SM at a time", doubled(1, 32)}},
          .subjects = of_nvidia(names_in(kSizes)),
          .measure_row = measure_product};
}

}  // namespace tcnum::bench
