#include "memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

namespace tcnum {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

/// The number that follows a word in a file of words and numbers; without a word, the first.
std::optional<std::uint64_t> number_in(const char* file, const std::string& word = "") {
  std::ifstream text(file);
  for (std::string each; word.empty() || text >> each;) {
    if (!word.empty() && each != word) continue;
    std::uint64_t number = 0;
    if (text >> number) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

std::uint64_t rest_of(std::uint64_t all, std::uint64_t taken) { return all - std::min(all, taken); }

}  // namespace

std::uint64_t available_memory() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  if (const auto free = number_in("/proc/meminfo", "MemAvailable:")) least = *free * kKibibyte;
  const auto group = number_in("/sys/fs/cgroup/memory.max"), taken = number_in("/sys/fs/cgroup/memory.current");
  if (group && taken) {
    // Files that are kept in memory are given up first.
    const std::uint64_t files = number_in("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0);
    least = std::min(least, rest_of(*group, rest_of(*taken, files)));
  }
  rlimit addresses = {};
  const auto pages = number_in("/proc/self/statm");
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY && pages)
    least = std::min(least, rest_of(addresses.rlim_cur, *pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))));
  return least;
}

void require_memory(std::string_view subject, double bytes) {
  constexpr double kLittle = 0x1p28;
  if (bytes <= kLittle) return;
  const auto available = static_cast<double>(available_memory());
  if (bytes <= available) return;
  constexpr double kGigabyte = 1e9;
  throw MemoryError(fmt::format("{}: takes {:.3g} GB of memory; this machine has {:.3g} GB to spare", subject,
                                bytes / kGigabyte, available / kGigabyte));
}

}  // namespace tcnum
