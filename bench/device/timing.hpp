// The timing device: whatever runs an instruction over and over and says how many cycles it took. A GPU is one; tests
// have one that makes its answers up. Knows no datapath: its results are checked elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// The operands of a kernel, as its lanes and its shared memory hold them (bench/measure/ has the layouts).
struct TimedOperands {
  std::vector<std::byte> a;       ///< registers of A
  std::vector<std::byte> b;       ///< registers of B
  std::vector<std::byte> c;       ///< registers of the accumulators before the first step
  std::vector<std::byte> e;       ///< metadata, of sparse instructions
  std::vector<std::byte> shared;  ///< image of shared memory
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

class CopyDevice;
class GemmDevice;
class LaunchDevice;
class LinearDevice;
class MemoryDevice;
class SkinnyDevice;
class SyncDevice;

class TimingDevice {
 public:
  virtual ~TimingDevice() = default;

  virtual const TimingFacts& facts() const = 0;
  /// How many warps a block of that kernel can have, each with so many accumulators; 0: this build has no such kernel.
  virtual unsigned most_warps(const std::string& kernel, unsigned chains = 1) const = 0;

  /// Takes operands to the device. They serve all work that follows.
  virtual void load(const TimedOperands& operands) = 0;
  /// Launches the work so many times and waits for the end. Throws std::runtime_error on a CUDA error, if two blocks
  /// ran on one SM where each was to have its own, or if one round of a block gave other results than its first.
  virtual TimedBatch run(const TimedWork& work, unsigned launches) = 0;
  /// Of the last launch: a block's results. Throws std::runtime_error if another block's differ.
  virtual std::vector<std::byte> result() = 0;

  /// What the device has used since some time; may be read by another thread. None: it does not say.
  virtual std::optional<double> energy_joules() const = 0;
  /// Now. None: it does not say.
  virtual std::optional<double> temperature_celsius() const { return std::nullopt; }

  /// What times how kernels start (bench/device/launch_timing.hpp); null: nothing does.
  virtual LaunchDevice* launches() { return nullptr; }
  /// What times atomics, barriers and clusters (bench/device/sync_timing.hpp); null: nothing does.
  virtual SyncDevice* sync() { return nullptr; }
  /// What times matrix products (bench/device/gemm_timing.hpp); null: nothing does.
  virtual GemmDevice* products() { return nullptr; }
  /// What times linear layers (bench/device/linear_timing.hpp); null: nothing does.
  virtual LinearDevice* linear_layers() { return nullptr; }
  /// What times tall and skinny products (bench/device/skinny_timing.hpp); null: nothing does.
  virtual SkinnyDevice* skinny_products() { return nullptr; }
  /// What times its memories (bench/device/memory_timing.hpp); null: nothing does.
  virtual MemoryDevice* memory() { return nullptr; }
  /// What times copies to shared memory (bench/device/copy_timing.hpp); null: nothing does.
  virtual CopyDevice* copies() { return nullptr; }
};

/// The GPU with that number. Throws UnavailableError if there is none, or if the program was built without CUDA.
std::unique_ptr<TimingDevice> make_timing_device(int device);

}  // namespace tcnum
