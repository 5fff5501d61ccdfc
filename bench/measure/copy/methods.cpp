#include <fmt/format.h>

#include <algorithm>

#include "bench/measure/measurements.hpp"
#include "bench/measure/steady.hpp"
#include "copies.hpp"

namespace tcnum::bench {
namespace {

void require(const NamedMethod& method, ArchId id) {
  if (id < method.first) throw UnavailableError(fmt::format("{} needs {}", method.name, arch(method.first).name));
  if (id > method.last) throw UnavailableError(fmt::format("{} is not built for {}", method.name, arch(id).name));
}

}  // namespace

Measurement measurement_of_methods(std::string name, const char* meaning, std::string_view prefix,
                                   std::vector<Axis> axes, void (*measure)(const Row& row, const CopyMethod& method)) {
  std::vector<std::string> subjects = names_in(kCopyMethods);
  for (std::string& subject : subjects) subject.insert(0, prefix);
  axes.insert(axes.begin(), Axis{"from", "where the bytes are", {"l2", "dram"}});
  return {.name = std::move(name),
          .meaning = meaning,
          .axes = std::move(axes),
          .subjects = of_nvidia(std::move(subjects)),
          .measure_row = [prefix, measure](const Row& row) {
            const NamedMethod& method = named(kCopyMethods, row.record.subject.substr(prefix.size()));
            require(method, row.arch);
            settle_copy_clock(row);
            measure(row, method.method);
          }};
}

std::vector<Measurement> copy_measurements() { return {copy_latency_measurement(), copies_measurement()}; }

void no_such_size() { throw UnavailableError("none of these sizes is one that such a copy can have"); }

std::size_t copy_buffer_bytes(const Row& row, bool from_l2) {
  const std::size_t l2 = row.device.memory_facts().l2_bytes;
  // A quarter: what the L2 keeps twice, once for either half of the SMs, fits, too.
  const std::size_t bytes = from_l2 ? l2 / 4 : 32 * l2;
  return std::max<std::size_t>(1, bytes / kCopyBufferPiece) * kCopyBufferPiece;
}

void settle_copy_clock(const Row& row) {
  if (row.settings.warm_up_seconds <= 0) return;
  CopyWork work{.method = {}, .copy_bytes = 4096, .stages = 1, .warps = 16, .copies = 1000};
  work.buffer_bytes = copy_buffer_bytes(row, work.from_l2);
  row.device.fill(work.buffer_bytes, row.settings.fill_seed());
  settle_clock(row.settings, [&] { row.device.copy(work, 1); });
}

}  // namespace tcnum::bench
