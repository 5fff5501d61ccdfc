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

constexpr unsigned kSides[] = {8, 16, 32};
constexpr unsigned kLaunches = 3;

std::string subject_of(unsigned side) { return fmt::format("product of {}x{} threads", side, side); }

double operations(const TiledProduct& work, const ProductTimes& times) {
  return 2.0 * static_cast<double>(times.rows) * static_cast<double>(times.columns) * work.k * work.rounds;
}

struct Found {
  Summary giga_flops;
  std::vector<double> clocks;
};

Found measure_one(CopyDevice& device, TiledProduct work, const Settings& settings) {
  constexpr double kSeconds = 1e-3, kMostRounds = 1e4;
  const double once = device.product(work, 1).seconds.front();
  work.rounds = static_cast<unsigned>(std::clamp(std::ceil(kSeconds / once), 1.0, kMostRounds));
  Found found;
  bool checked = false;
  std::vector<float> right;
  found.giga_flops = summarise(sample_until(settings.stop, [&] {
    const ProductTimes times = device.product(work, kLaunches);
    if (!checked) {
      check_product(work, times, settings.threads);
      right = times.result;
      checked = true;
    } else if (times.result != right) {
      throw WrongResult("a product is another than before");
    }
    if (times.clock_mhz > 0) found.clocks.push_back(times.clock_mhz);
    return operations(work, times) / summarise(times.seconds).median * 1e-9;
  }));
  return found;
}

class TiledProductMeasurement final : public Measurement {
 public:
  std::string name() const override { return "tiled product"; }
  std::string meaning() const override {
    return "an fp32 product through tiles in shared memory: loads and stores against cp.async one step ahead";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> blocks = {"1", "2", "4", "8", "16", "32"};
    static const std::vector<Axis> axes = {{"product_blocks", "blocks of an SM at a time", blocks, blocks}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    if (!tcnum::arch(arch).name.starts_with("sm_")) return names;
    for (unsigned side : kSides) names.push_back(subject_of(side));
    return names;
  }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (unsigned side : kSides) {
      const std::string subject = subject_of(side);
      if (std::ranges::find(subjects, subject) == subjects.end()) continue;
      for (const std::string& text : selection.at("product_blocks")) {
        const auto blocks = static_cast<unsigned>(std::stoul(text));
        Record record{name(), subject, {{"product_blocks", std::int64_t{blocks}}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(fmt::format("{} product_blocks={}", subject, text))) return;
        CopyDevice* const copies = device.copies();
        if (arch < ArchId::sm_80) {
          record.waived = "cp.async needs sm_80";
        } else if (copies == nullptr) {
          record.waived = kNoCopies;
        } else {
          measure_into(record, [&] { record.waived = measure_row(*copies, side, blocks, settings, record); });
        }
        add(std::move(record));
      }
    }
  }

 private:
  static std::string measure_row(CopyDevice& device, unsigned side, unsigned blocks, const Settings& settings,
                                 Record& record) {
    TiledProduct work{.side = side, .blocks = blocks};
    unsigned most = device.most_product_blocks(work);
    work.async = true;
    most = std::min(most, device.most_product_blocks(work));
    if (blocks > most) return fmt::format("{} blocks of {} threads fit on an SM", most, side * side);
    settle_clock(device, settings);
    const Found async = measure_one(device, work, settings);
    work.async = false;
    const Found synchronous = measure_one(device, work, settings);
    record.set("giga_flops", synchronous.giga_flops.median);
    record.set("spread_percent", synchronous.giga_flops.spread_percent());
    record.set("async_giga_flops", async.giga_flops.median);
    record.set("async_spread_percent", async.giga_flops.spread_percent());
    record.set("gain_percent", (async.giga_flops.median / synchronous.giga_flops.median - 1) * 100);
    record.set("k", std::int64_t{work.k});
    record.set("samples", static_cast<std::int64_t>(synchronous.giga_flops.count));
    if (!synchronous.clocks.empty()) record.set("clock_mhz", summarise(synchronous.clocks).median);
    if (!async.clocks.empty()) record.set("async_clock_mhz", summarise(async.clocks).median);
    record.set("checked", std::string("every element"));
    return "";
  }
};

}  // namespace

const Measurement& tiled_product_measurement() {
  static const TiledProductMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
