// Timing instructions: what is asked of a device, and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/lane_calls.hpp"

namespace tcnum {

/// What is measured on.
struct TimingFacts {
  std::string arch;  ///< "sm_90"
  std::string device, driver, cuda, date;
  int sms = 0;
  /// As NVML says; none: it does not, or is not there.
  std::optional<double> power_limit_watts, max_sm_clock_mhz;
};

/// The loops that a timing kernel may have.
enum class TimingLoop : std::uint8_t {
  back_to_back,  ///< instructions follow each other as fast as they are taken
  completion,    ///< each is waited for before the next; asynchronous instructions alone have this
};

/// The operands of a kernel.
///
/// mma and wgmma: codes as tiles have them, each in bytes of its own: A [slice][tile][row][column], B
/// [slice][tile][k][column], the places of a sparse A's elements as A. wmma: A the same, but packed, and B packed by
/// columns. C [chain][tile][row][column]. What lanes do by themselves: lane_sweep.hpp of bench/measure/.
struct TimedOperands {
  std::vector<std::byte> a, b;
  std::vector<std::byte> c;  ///< the accumulators before the first step
  std::vector<std::byte> e;  ///< of sparse instructions
};

/// What one launch does: on each SM one block of `warps` warps, or so many blocks as `blocks` says; `rounds` times,
/// each warp sets its accumulators and puts each of `chains` of them through `steps` instructions.
struct TimedWork {
  std::string kernel;  ///< Instruction::name(), "incore.…" or "dpx.…"
  TimingLoop loop = TimingLoop::back_to_back;
  bool a_in_registers = true;
  unsigned warps = 1, chains = 1, steps = 1, rounds = 1;
  std::size_t result_bytes = 0;  ///< of a block
  unsigned blocks = 0;           ///< of the whole device, wherever they run; 0: one on each SM
};

/// Some launches behind each other.
struct TimedBatch {
  std::vector<double> cycles;  ///< of each launch: of all its rounds, the mean over the blocks
  double clock_mhz = 0;        ///< of the SMs over the batch; 0: it was too short to say
  /// Of each launch: from the first block's begin to the last one's end, in steps of the device's timer (a microsecond,
  /// on some less).
  std::vector<double> seconds = {};
};

/// The same, and what the threads, or warps, of each block made of what they read in the last launch.
struct CheckedTimes {
  TimedBatch batch;
  std::uint32_t blocks = 0;
  std::vector<std::uint32_t> checksums;  ///< [block][thread or warp]
};

// How many operands the timing kernels take in turn: what they and the replay of their results must agree on.

/// Step s of a chain multiplies slice s % slices.
inline constexpr int kTimedMmaSlices = 2;
/// As many as fit along K into the 128 bytes of shared memory that each row of A and each column of B have: a slice of
/// A has 32 bytes whatever its type, one of B as many, or 64 if A is sparse.
constexpr int timed_wgmma_slices(bool sparse) { return sparse ? 2 : 4; }
/// Warp w of an mma has tile w % kTimedTiles.
inline constexpr int kTimedTiles = 2;
/// Most accumulators of a warp, independent of each other.
inline constexpr int kTimedChains = 6;

}  // namespace tcnum
