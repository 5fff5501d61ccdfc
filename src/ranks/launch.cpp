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
/// The variables of: Open MPI's mpirun; MPICH's and Intel MPI's, and Slurm's srun where it stands in for them;
/// MVAPICH2's; srun --mpi=pmix.
constexpr std::array<Launcher, 4> kLaunchers = {{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMI_RANK", "PMI_SIZE"},
                                                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}};

template <class Number>
std::optional<Number> number_of(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// After which a rank of which nothing is heard is taken for gone. Networks may well stop for some seconds.
std::chrono::milliseconds silence() {
  constexpr const char* kVariable = "TCNUM_RANK_TIMEOUT";
  constexpr double kUsual = 60, kLeast = 0.1, kMost = 1e6;
  if (std::getenv(kVariable) == nullptr) return std::chrono::seconds(static_cast<int>(kUsual));
  const auto seconds = number_of<double>(kVariable);
  if (!seconds || !(*seconds >= kLeast && *seconds <= kMost))
    throw InputError(fmt::format("{}: right would be a number of seconds from {} to {}", kVariable, kLeast, kMost));
  constexpr double kMilliseconds = 1000;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * kMilliseconds));
}

/// Beside the program, as builds leave it; or where an installation has it.
fs::path library() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path beside = folder / kJoiningLibrary;
  return fs::exists(beside, error) ? beside : folder.parent_path() / TCNUM_INSTALLED_LIBRARIES / kJoiningLibrary;
}

}  // namespace

std::optional<Launch> launch() {
  for (const Launcher& each : kLaunchers) {
    const auto rank = number_of<int>(each.rank), size = number_of<int>(each.size);
    if (rank && size && *rank >= 0 && *rank<*size&& * size> 1) return Launch{*rank, *size, each.size};
  }
  return std::nullopt;
}

std::unique_ptr<Ranks> join_ranks(const Launch& launch) {
  const std::chrono::milliseconds patience = silence();
  const fs::path path = library();
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw UnavailableError(
        fmt::format("{} says that {} processes were started, and this tcnum was built without MPI; right would be a "
                    "build where libopenmpi-dev is installed, or no mpirun",
                    launch.says_so, launch.size));
  }
  // It stays loaded, as MPI may leave threads and handlers behind; and is global, as MPI loads parts of its own, which
  // may look for it among all that is.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw UnavailableError(fmt::format("MPI cannot be loaded: {}", dlerror()));
  const auto join = reinterpret_cast<JoinRanks*>(dlsym(handle, kJoiningFunction));
  if (join == nullptr) throw UnavailableError(fmt::format("MPI cannot be loaded: {}", dlerror()));
  std::unique_ptr<Ranks> ranks(join(patience));
  if (ranks->size() == launch.size) return ranks;
  throw UnavailableError(fmt::format(
      "{} says that {} processes were started, and the MPI that this tcnum was built with finds {}; right would be the "
      "mpirun of that MPI, or, for processes that work alone, no {}",
      launch.says_so, launch.size, ranks->size(), launch.says_so));
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
