// The oracle: whatever answers dot problems with bits. A GPU instruction is one; so is a file of recorded answers; so
// is the emulator running some datapath.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What answers: a GPU, a file of recorded answers, the emulator running a datapath, or a program of the user's.
enum class OracleKind : unsigned char { gpu, recorded, datapath, program };
/// "gpu", "recorded", "datapath" or "program".
std::string_view name(OracleKind kind);

class Oracle {
 public:
  virtual ~Oracle() = default;

  /// Fills tiles.d. The tiles may have any m and n; k is the number of the instruction's products, and the formats are
  /// the instruction's.
  virtual void answer(Tiles& tiles) = 0;

  virtual OracleKind kind() const = 0;
  virtual std::string device() const = 0;
  /// driver, cuda, date (YYYY-MM-DD) where they are known: metadata for records and reports.
  virtual std::map<std::string, std::string> provenance() const { return {}; }
};

/// The GPUs of this machine, or the lack of them.
struct GpuInfo {
  bool present = false;
  std::string why_not;  ///< one line, if not present
  std::string arch;     ///< "sm_90"
  std::string device, driver, cuda;
};
/// Of the first GPU. Never throws.
GpuInfo gpu_info();
/// How many GPUs there are.
int gpu_count();

/// The date as records have it.
std::string today_utc();

/// The version of nvcc that the probes were compiled with; empty if there are none.
std::string cuda_compiler();

/// An oracle that runs the instruction on the GPU. A sparse instruction takes sparse tiles, with its own k. Tiles of at
/// most 8 rows are computed once in each group of 8 rows of the instruction, and the results compared. With
/// `check_positions` everything is computed a second time with rows and columns rotated, and compared again; without,
/// for bulk work, it takes half the time. answer() throws std::runtime_error if a result depends on its position, or on
/// an error of CUDA or HIP. Throws UnavailableError if there is no GPU that has the instruction, or if the program
/// was built without CUDA (of AMD's instructions, HIP), or without a probe for it: for that N of wgmma (TCNUM_WGMMA_N in
/// CMake), for that architecture's tcgen05.mma (TCNUM_CUDA_ARCHS), or for a tcgen05.mma that has none.
std::unique_ptr<Oracle> make_gpu_oracle(const Instruction& instruction, bool check_positions = true);

/// The same for dense problems alone: those of a sparse instruction are put as scatter() does. With `check_positions`
/// they are put in other ways too, with garbage where it must not matter, and a result that depends on that is refused.
std::unique_ptr<Oracle> make_gpu_dot_oracle(const Instruction& instruction, bool check_positions = true);

/// Any oracle of a sparse instruction's own tiles, as one of dense problems.
std::unique_ptr<Oracle> make_scattering_oracle(const Instruction& instruction, std::unique_ptr<Oracle> sparse,
                                               bool check_ways = true);

}  // namespace tcnum
