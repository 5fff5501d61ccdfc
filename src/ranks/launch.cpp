#include "launch.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "joining.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

struct Launcher {
  const char* rank;
  const char* size;
};
/// Variables of Open MPI; of MPICH, Intel MPI and srun in their place; of MVAPICH2; of srun --mpi=pmix.
constexpr std::array<Launcher, 4> kLaunchers = {{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}};

std::optional<int> number_of(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The joining library lies beside the program in a build, and in the library folder of an installation.
fs::path library() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path beside = folder / kJoiningLibrary;
  return fs::exists(beside, error) ? beside : folder.parent_path() / TCNUM_INSTALLED_LIBRARIES / kJoiningLibrary;
}

}  // namespace

std::optional<Launch> launch() {
  for (const Launcher& each : kLaunchers) {
    const auto rank = number_of(each.rank), size = number_of(each.size);
    if (!rank || !size) continue;
    if (rank >= 0 && rank < size && size > 1) return Launch{*rank, *size, each.size};
  }
  return std::nullopt;
}

std::unique_ptr<Ranks> join_ranks(const Launch& launch) {
  const fs::path path = library();
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw UnavailableError(
        fmt::format("{} says that {} processes were started, and this tcnum was built without MPI; expected a "
                    "build where libopenmpi-dev is installed, or no mpirun",
                    launch.size_variable, launch.size));
  }
  // The library stays loaded, as MPI may leave threads and handlers behind. Its symbols are global, as plugins of MPI
  // look for those of MPI there.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw UnavailableError(fmt::format("MPI cannot be loaded: {}", dlerror()));
  const auto join = reinterpret_cast<JoinRanks*>(dlsym(handle, kJoiningFunction));
  if (join == nullptr) throw UnavailableError(fmt::format("MPI cannot be loaded: {}", dlerror()));
  std::unique_ptr<Ranks> ranks(join());
  if (!ranks) throw UnavailableError("MPI allows calls from one thread alone; expected MPI_THREAD_SERIALIZED");
  if (ranks->size() == launch.size) return ranks;
  throw UnavailableError(fmt::format(
      "{} says that {} processes were started, and the MPI that this tcnum was built with finds {}; expected the "
      "mpirun of that MPI, or, for processes that work alone, no {}",
      launch.size_variable, launch.size, ranks->size(), launch.size_variable));
}

bool launcher_shows_stderr_on_terminal() {
  const int descriptor = open(fmt::format("/proc/{}/fd/{}", getppid(), STDERR_FILENO).c_str(),
                              O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool terminal = isatty(descriptor) == 1;
  close(descriptor);
  return terminal;
}

}  // namespace tcnum
