// Streams of dot problems on a GPU, host side: batch after batch is made, answered and compared without leaving the
// device.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cuda/device_memory.hpp"
#include "cuda/owned.hpp"
#include "probes/gpu.hpp"
#include "src/campaign/verifier.hpp"
#include "stream_kernels.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

class GpuStreamVerifier final : public StreamVerifier {
 public:
  GpuStreamVerifier(const Instruction& in, const GpuDatapath& datapath, int device, const Kernel& kernel, GpuInfo info)
      : in_(in), datapath_(datapath), device_(device), kernel_(kernel), info_(std::move(info)) {}

  StreamOutcome verify(Distribution distribution, std::uint64_t seed, std::uint64_t first_tile,
                       std::uint64_t count) override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    const stream::Recipe recipe = stream::recipe(in_, distribution, seed);
    StreamTiles tiles(in_);
    const Sizes each(tiles, recipe);
    // Batches of about the same size: a small one at the end would leave much of the GPU idle.
    const std::uint64_t most = std::max<std::uint64_t>(1, kBatchBytes / each.all());
    const std::uint64_t batches = std::max<std::uint64_t>(1, (count + most - 1) / most);
    const std::uint64_t batch = std::max<std::uint64_t>(1, (count + batches - 1) / batches);
    if (lanes_[0] == nullptr) std::ranges::generate(lanes_, std::make_unique<Lane>);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(batches, kLanes); ++i) lanes_[i]->reserve(each, batch);
    result_.reserve(sizeof(StreamResult));
    check(cudaMemset(result_.data(), 0, sizeof(StreamResult)), "cudaMemset");
    std::size_t lane = 0;
    for (std::uint64_t done = 0; done < count; done += tiles.count, lane = (lane + 1) % kLanes) {
      tiles.first = first_tile + done;
      tiles.count = std::min(batch, count - done);
      lanes_[lane]->give(tiles);
      compare(recipe, tiles);
    }
    StreamResult found{};
    check(cudaMemcpy(&found, result_.data(), sizeof(found), cudaMemcpyDeviceToHost), kernel_.instruction);
    StreamOutcome outcome{found.digest, found.mismatches, {}};
    const auto examples = std::min<unsigned long long>(found.mismatches, StreamResult::kMostExamples);
    outcome.examples.assign(found.examples, found.examples + examples);
    std::ranges::sort(outcome.examples);
    return outcome;
  }

  OracleKind kind() const override { return OracleKind::gpu; }
  std::string device() const override { return info_.device; }
  std::map<std::string, std::string> provenance() const override {
    return {{"driver", info_.driver}, {"cuda", info_.cuda}, {"date", today_utc()}};
  }

 private:
  static constexpr std::size_t kBatchBytes = std::size_t{1} << 30;
  static constexpr std::size_t kLanes = 2;

  /// Bytes of a tile's matrices.
  struct Sizes {
    Sizes(const StreamTiles& tiles, const stream::Recipe& r)
        : a(bytes(tiles.a_elements(), r.a)),
          b(bytes(tiles.b_elements(), r.b)),
          c(bytes(tiles.c_elements(), r.c)),
          d(bytes(tiles.c_elements(), r.d)),
          e(tiles.group != 0 ? tiles.a_elements() : 0) {}
    std::size_t all() const { return a + b + c + d + e; }
    std::size_t a, b, c, d, e;

   private:
    static std::size_t bytes(unsigned elements, const Format& f) {
      return elements * static_cast<std::size_t>(f.storage_bytes());
    }
  };

  /// A stream of commands with memory of its own. Batches take turns on several: while one of them ends, and leaves
  /// ever more of the GPU idle, the next has begun.
  class Lane {
   public:
    void reserve(const Sizes& each, std::uint64_t tiles) {
      a_.reserve(tiles * each.a);
      b_.reserve(tiles * each.b);
      c_.reserve(tiles * each.c);
      d_.reserve(tiles * each.d);
      e_.reserve(tiles * each.e);
    }
    void give(StreamTiles& tiles) {
      tiles.a = a_.data();
      tiles.b = b_.data();
      tiles.c = c_.data();
      tiles.d = d_.data();
      tiles.e = static_cast<std::uint8_t*>(e_.data());
      tiles.stream = commands_.get();
    }

   private:
    CommandStream commands_{cudaStreamDefault};
    DeviceBuffer a_, b_, c_, d_, e_;
  };

  /// Makes the operands of tiles, puts them through the instruction and adds to the result.
  void compare(const stream::Recipe& recipe, const StreamTiles& tiles) {
    check(launch_stream_codes(recipe, tiles), "launch of the operands' kernel");
    DeviceTiles grids{};
    grids.a = tiles.a;
    grids.b = tiles.b;
    grids.c = tiles.c;
    grids.d = tiles.d;
    grids.e = tiles.e;
    grids.rows = static_cast<unsigned>(tiles.shape.m / in_.m);
    grids.columns = static_cast<unsigned>(tiles.grid_columns);
    grids.count = tiles.count * grids.rows * grids.columns;
    grids.stream = tiles.stream;
    check(kernel_.launch(in_, grids), fmt::format("launch of {}", kernel_.instruction));
    check(launch_comparison(datapath_, tiles, static_cast<StreamResult*>(result_.data())),
          "launch of the emulator's kernel");
  }

  Instruction in_;
  GpuDatapath datapath_;
  int device_;
  Kernel kernel_;
  GpuInfo info_;
  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
  DeviceBuffer result_;
};

}  // namespace

std::unique_ptr<StreamVerifier> make_gpu_stream_verifier(const Instruction& in, const Datapath& datapath, int device) {
  auto [info, kernel] = require_kernel(in, device);
  const auto [on_gpu, why_not] = make_gpu_datapath(datapath);
  if (!on_gpu) throw UnavailableError(fmt::format("the CUDA emulator does not take the datapath: {}", why_not));
  return std::make_unique<GpuStreamVerifier>(in, *on_gpu, device, *kernel, std::move(info));
}

bool stream_runs_on_gpu(const Datapath& datapath) { return make_gpu_datapath(datapath).datapath.has_value(); }

}  // namespace tcnum
