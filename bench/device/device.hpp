// The timing device: whatever runs something over and over and says how long it took. A GPU is one; tests have some
// that make their answers up. It knows no datapath: its results are checked elsewhere.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster_timing.hpp"
#include "copy_timing.hpp"
#include "gemm_timing.hpp"
#include "memory_timing.hpp"
#include "tcnum/error.hpp"
#include "timing.hpp"

namespace tcnum {

/// A device has what it can time. All else throws UnavailableError, and so do works for which it has no kernel, library
/// or memory. A CUDA error is a std::runtime_error, and so are two blocks on one SM where each was to have its own.
class TimingDevice {
 public:
  virtual ~TimingDevice() = default;

  virtual const TimingFacts& facts() const = 0;
  /// What the device has used since some time; may be read by another thread. None: it does not say.
  virtual std::optional<double> energy_joules() const { return std::nullopt; }

  // Instructions (timing.hpp).

  /// How many warps a block of that kernel can have, each with so many accumulators; 0: this build has no such kernel.
  virtual unsigned most_warps(const std::string& /*kernel*/, unsigned /*chains*/ = 1) const { return 0; }
  /// Takes operands to the device. They serve all work that follows.
  virtual void load(const TimedOperands&) { cannot("instructions"); }
  /// Launches the work so many times and waits for the end. Throws std::runtime_error if one round of a block gave
  /// other results than its first.
  virtual TimedBatch run(const TimedWork&, unsigned /*launches*/) { cannot("instructions"); }
  /// Of the last launch: a block's results. Throws std::runtime_error if another block's differ. Of tensor cores, each
  /// warp (of wgmma, warpgroup) has as many bytes of registers, whose layout is its own, as of what follows them: its
  /// accumulators [chain][row][column].
  virtual std::vector<std::byte> result() { cannot("instructions"); }

  // Memories (memory_timing.hpp).

  virtual const MemoryFacts& memory_facts() { cannot("memories"); }
  /// Makes a buffer of so many bytes, whose 4-byte word i is memory_word(seed, i), for what follows: reads and
  /// copies to shared memory need one at least as large as theirs. Chases and streams overwrite it.
  virtual void fill(std::size_t /*bytes*/, std::uint32_t /*seed*/) { cannot("memories"); }
  virtual ChaseTimes chase(const Chase&) { cannot("memories"); }
  virtual ReadTimes read(const ReadWork&) { cannot("memories"); }
  virtual StreamTimes stream(const StreamWork&, unsigned /*launches*/) { cannot("memories"); }

  // Copies to shared memory (copy_timing.hpp).

  virtual std::size_t ring_bytes() { cannot("copies"); }  ///< of shared memory, for all rings of a block
  virtual CheckedTimes copy(const CopyWork&, unsigned /*launches*/) { cannot("copies"); }
  virtual CopyLatencies copy_latencies(const CopyLatencyWork&) { cannot("copies"); }

  // Clusters (cluster_timing.hpp).

  /// The most blocks that a cluster can have, of these sizes: 2, 4, 8, 16. 1: there are no clusters.
  virtual unsigned most_cluster_blocks() { cannot("clusters"); }
  virtual ClusterLatencies cluster_latencies(unsigned /*cluster*/) { cannot("clusters"); }
  virtual CheckedTimes ring(const RingWork&, unsigned /*launches*/) { cannot("clusters"); }

  // Matrix products (gemm_timing.hpp).

  /// Takes codes to the device, of which products are made: its memory has them again and again.
  virtual void load_codes(std::span<const std::byte>) { cannot("matrix products"); }
  virtual GemmTimes multiply(const GemmWork&) { cannot("matrix products"); }
  /// Of the last product: the codes of D where these rows and columns meet, row-major.
  virtual std::vector<std::byte> results(std::span<const std::size_t> /*rows*/,
                                         std::span<const std::size_t> /*columns*/) {
    cannot("matrix products");
  }

 protected:
  [[noreturn]] static void cannot(const char* what) {
    throw UnavailableError(std::string("this device or build does not time ") + what);
  }
};

/// The GPU with that number. Throws UnavailableError if there is none, or if the program was built without CUDA.
std::unique_ptr<TimingDevice> make_timing_device(int device);

}  // namespace tcnum
