#include "memory.hpp"

#include <algorithm>
#include <utility>

#include "gathers.hpp"

namespace tcnum::bench {

void measure_rows(const std::string& measurement, const std::vector<Axis>& axes, TimingDevice& device,
                  const std::vector<std::string>& subjects, const Selection& selection, const Settings& settings,
                  const std::function<void(Record)>& add, const std::function<std::string(const MemoryRow&)>& measure) {
  std::size_t combinations = 1;
  for (const Axis& axis : axes) combinations *= selection.at(axis.name).size();
  for (const std::string& subject : subjects) {
    for (std::size_t n = 0; n < combinations; ++n) {
      Record record{measurement, subject, {}, {}, {}, "", ""};
      std::size_t left = n, of = combinations;
      std::string next = subject;
      for (const Axis& axis : axes) {
        const std::vector<std::string>& values = selection.at(axis.name);
        of /= values.size();
        const std::string& value = values[left / of];
        left %= of;
        next += " " + axis.name + "=" + value;
        const bool whole = value.find_first_not_of("0123456789") == std::string::npos;
        record.axes.push_back({axis.name, whole ? Value(static_cast<std::int64_t>(std::stoi(value))) : Value(value)});
      }
      if (settings.has(record)) continue;
      if (!settings.go_on(next)) return;
      if (MemoryDevice* const memory = device.memory(); memory == nullptr) {
        record.waived = "this build has nothing that times memories";
      } else {
        const MemoryRow row{device, *memory, settings, record};
        measure_into(record, [&] {
          settle_clock(row);
          record.waived = measure(row);
        });
      }
      add(std::move(record));
    }
  }
}

std::vector<std::string> if_nvidia(ArchId arch, std::vector<std::string> subjects) {
  if (!tcnum::arch(arch).name.starts_with("sm_")) subjects.clear();
  return subjects;
}

void put_shares(Document& document) {
  constexpr const char* kRate = "giga_bytes_per_second";
  double highest = 0;
  const auto is_stream = [](const Record& r) { return r.measurement == streams_measurement().name(); };
  for (const Record& r : document.records) {
    if (is_stream(r)) highest = std::max(highest, r.number(kRate).value_or(0));
  }
  for (Record& r : document.records) {
    const auto rate = r.number(kRate);
    if (rate && is_stream(r) && highest > 0) r.set("percent_of_highest", *rate / highest * 100);
  }
}

}  // namespace tcnum::bench
