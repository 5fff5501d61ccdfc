// Strides: bytes a clock that lanes get which load elements so far apart, from the L1 and from the banks of shared
// memory.
#include <fmt/format.h>

#include <algorithm>

#include "buffers.hpp"
#include "gathers.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

constexpr const char* kShared = "strides.shared";
constexpr const char* kL1 = "strides.l1";
constexpr std::size_t kMostStride = 128;
constexpr std::size_t kLanes = 32;

/// Each load of a warp begins at a line of the buffer's first half, most of them at others, and goes up from there.
GatherWork work_of(Memory memory, unsigned width, std::size_t stride) {
  constexpr std::size_t kBytes = 65536, kBegins = kBytes / 2 / kLineBytes;
  constexpr unsigned kRounds = 64;
  static_assert((kLanes - 1) * kMostStride * 8 + 8 <= kBytes / 2 + kLineBytes);
  GatherWork work{memory, width, kBytes, {}, kRounds};
  for (std::size_t place = 0; place < kGathered; ++place) {
    for (std::size_t thread = 0; thread < kGatherThreads; ++thread) {
      const std::size_t begin = (thread / kLanes * kGathered + place) % kBegins * kLineBytes;
      work.offsets.push_back(static_cast<std::uint32_t>(begin + thread % kLanes * stride * width));
    }
  }
  return work;
}

class StridesMeasurement final : public Measurement {
 public:
  std::string name() const override { return "strides"; }
  std::string meaning() const override { return "bytes a clock of loads whose lanes lie 1 … 128 elements apart"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {{"width", "bytes of an element", {"4", "8"}, {"4", "8"}}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override { return if_nvidia(arch, {kL1, kShared}); }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    measure_rows(name(), axes(), device, subjects, selection, settings, add, [](const MemoryRow& row) {
      const Memory memory = row.record.subject == kShared ? Memory::shared : Memory::l1;
      const auto width = static_cast<unsigned>(*row.record.number("width"));
      row.memory.fill(work_of(memory, width, 1).bytes, fill_seed(row.settings));
      Record::Series strides{"sweep_stride", {}}, rates{"sweep_bytes_per_clock", {}};
      double spread = 0;
      for (std::size_t stride = 1; stride <= kMostStride; ++stride) {
        const Summary s = summarise(rates_of(row, work_of(memory, width, stride)));
        strides.numbers.push_back(static_cast<double>(stride));
        rates.numbers.push_back(s.median);
        spread = std::max(spread, s.spread_percent());
      }
      row.record.set("bytes_per_clock", rates.numbers.front());
      row.record.set("bytes_per_clock_min", std::ranges::min(rates.numbers));
      row.record.set("spread_percent", spread);
      row.record.series.push_back(std::move(strides));
      row.record.series.push_back(std::move(rates));
      return std::string();
    });
  }

 private:
  /// Of some launches.
  static std::vector<double> rates_of(const MemoryRow& row, const GatherWork& work) {
    const Steady steady = sample_gathers(row, work, few_samples(row.settings));
    std::vector<double> rates;
    for (double cycles : steady.cycles)
      rates.push_back(static_cast<double>(kGathered * kGatherThreads * work.width) / cycles);
    return rates;
  }
};

}  // namespace

const Measurement& strides_measurement() {
  static const StridesMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
