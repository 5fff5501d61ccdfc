#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "copies.hpp"

namespace tcnum::bench {

const std::vector<NamedMethod>& copy_methods() {
  static const std::vector<NamedMethod> all = {
      {"ld.global + st.shared", {CopyWay::load_store}, ArchId::sm_70},
      {"cp.async", {CopyWay::async}, ArchId::sm_80},
      {"cp.async.bulk", {CopyWay::bulk}, ArchId::sm_90},
      {"cp.async.bulk.tensor.1d", {CopyWay::tensor, 1}, ArchId::sm_90},
      {"cp.async.bulk.tensor.2d", {CopyWay::tensor, 2}, ArchId::sm_90},
      {"cp.async.bulk.tensor.3d", {CopyWay::tensor, 3}, ArchId::sm_90},
      {"cp.async.bulk.tensor.4d", {CopyWay::tensor, 4}, ArchId::sm_90},
      {"cp.async.bulk.tensor.5d", {CopyWay::tensor, 5}, ArchId::sm_90},
      // ptxas advises against it beyond.
      {"cp.async.bulk.tensor.2d.multicast of 2", {CopyWay::tensor, 2, 2}, ArchId::sm_90, ArchId::sm_103},
      {"cp.async.bulk.tensor.2d.multicast of 4", {CopyWay::tensor, 2, 4}, ArchId::sm_90, ArchId::sm_103},
  };
  return all;
}

std::string waived_on(const NamedMethod& method, ArchId arch) {
  if (arch < method.first) return fmt::format("{} needs {}", method.name, tcnum::arch(method.first).name);
  if (arch > method.last) return fmt::format("{} is not built for {}", method.name, tcnum::arch(arch).name);
  return "";
}

const Axis& from_axis() {
  static const Axis axis = {"from", "where the bytes are", {kFromL2, kFromDram}, {kFromL2, kFromDram}};
  return axis;
}

std::vector<std::string> copy_subjects(ArchId arch, std::string_view prefix) {
  std::vector<std::string> names;
  if (!tcnum::arch(arch).name.starts_with("sm_")) return names;
  for (const NamedMethod& each : copy_methods()) names.push_back(std::string(prefix) + each.name);
  return names;
}

void measure_methods(const std::string& measurement, std::string_view prefix, TimingDevice& device, ArchId arch,
                     const std::vector<std::string>& subjects, const Selection& selection, const Settings& settings,
                     const std::function<void(Record)>& add,
                     const std::function<std::string(const CopyRow&)>& measure) {
  for (const NamedMethod& method : copy_methods()) {
    const std::string subject = std::string(prefix) + method.name;
    if (std::ranges::find(subjects, subject) == subjects.end()) continue;
    for (const std::string& from : selection.at(from_axis().name)) {
      Record record{measurement, subject, {{from_axis().name, from}}, {}, {}, waived_on(method, arch), ""};
      if (settings.has(record)) continue;
      if (!settings.go_on(fmt::format("{} {}={}", subject, from_axis().name, from))) return;
      if (CopyDevice* const copies = record.waived.empty() ? device.copies() : nullptr; copies != nullptr) {
        measure_into(record, [&] {
          settle_clock(*copies, settings);
          record.waived = measure({device, *copies, method.method, settings, record});
        });
      } else if (record.waived.empty()) {
        record.waived = kNoCopies;
      }
      add(std::move(record));
    }
  }
}

std::size_t copy_buffer_bytes(const CopyDevice& device, bool from_l2) {
  const std::size_t l2 = device.memory_facts().l2_bytes;
  // A quarter: what the L2 keeps twice, once for either half of the SMs, fits, too.
  const std::size_t bytes = from_l2 ? l2 / 4 : 32 * l2;
  return std::max<std::size_t>(1, bytes / kCopyBufferPiece) * kCopyBufferPiece;
}

std::uint32_t copy_seed(const Settings& settings) { return static_cast<std::uint32_t>(settings.seed); }

void settle_clock(CopyDevice& device, const Settings& settings) {
  if (settings.warm_up_seconds <= 0) return;
  CopyWork work{.method = {}, .copy_bytes = 4096, .stages = 1, .warps = 16, .copies = 1000};
  work.buffer_bytes = copy_buffer_bytes(device, work.from_l2);
  device.fill(work.buffer_bytes, copy_seed(settings));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < settings.warm_up_seconds) {
    device.copy(work, 1);
  }
  settings.warm_up_seconds = 0;
}

}  // namespace tcnum::bench
