#include "launch.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace tcnum {
namespace {

struct Launcher {
  const char *rank, *size, *local_rank;
};
/// Variables of Open MPI; of MPICH and Intel MPI; of MVAPICH2; of srun.
constexpr std::array<Launcher, 4> kLaunchers = {
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
     {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}}};

std::optional<int> number_of(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Launch> launch() {
  for (const Launcher& each : kLaunchers) {
    const auto rank = number_of(each.rank), size = number_of(each.size);
    if (!rank || !size) continue;
    if (rank >= 0 && rank < size && size > 1)
      return Launch{*rank, *size, number_of(each.local_rank).value_or(0), each.size};
  }
  return std::nullopt;
}

}  // namespace tcnum
