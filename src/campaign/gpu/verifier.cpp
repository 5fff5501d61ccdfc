// Streams on a GPU, host side: batch after batch is made, answered and compared without leaving the device.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "cuda/device_memory.hpp"
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
    const auto bytes = [](unsigned elements, const Format& f) {
      return elements * static_cast<std::size_t>(f.storage_bytes());
    };
    const std::size_t a = bytes(tiles.a_elements(), recipe.a), b = bytes(tiles.b_elements(), recipe.b),
                      c = bytes(tiles.c_elements(), recipe.c), d = bytes(tiles.c_elements(), recipe.d);
    // Batches of about the same size: a small one at the end would leave much of the GPU idle.
    const std::uint64_t most = std::max<std::uint64_t>(1, kBatchBytes / (a + b + c + d));
    const std::uint64_t batches = std::max<std::uint64_t>(1, (count + most - 1) / most);
    const std::uint64_t batch = std::max<std::uint64_t>(1, (count + batches - 1) / batches);
    a_.reserve(batch * a);
    b_.reserve(batch * b);
    c_.reserve(batch * c);
    d_.reserve(batch * d);
    result_.reserve(sizeof(StreamResult));
    check(cudaMemset(result_.data(), 0, sizeof(StreamResult)), "cudaMemset");
    tiles.a = a_.data();
    tiles.b = b_.data();
    tiles.c = c_.data();
    tiles.d = d_.data();
    if (in_.sparse()) {
      e_.reserve(batch * tiles.a_elements());
      tiles.e = static_cast<std::uint8_t*>(e_.data());
    }
    const auto rows = static_cast<unsigned>(tiles.shape.m / in_.m), columns = static_cast<unsigned>(tiles.grid_columns);
    for (std::uint64_t done = 0; done < count; done += tiles.count) {
      tiles.first = first_tile + done;
      tiles.count = std::min(batch, count - done);
      check(launch_stream_codes(recipe, tiles), "launch of the operands' kernel");
      DeviceTiles grids{};
      grids.a = tiles.a;
      grids.b = tiles.b;
      grids.c = tiles.c;
      grids.d = tiles.d;
      grids.e = tiles.e;
      grids.count = tiles.count * rows * columns;
      grids.rows = rows;
      grids.columns = columns;
      check(kernel_.launch(in_, grids), fmt::format("launch of {}", kernel_.instruction));
      check(launch_comparison(datapath_, tiles, static_cast<StreamResult*>(result_.data())),
            "launch of the emulator's kernel");
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
  static constexpr std::size_t kBatchBytes = std::size_t{2} << 30;

  Instruction in_;
  GpuDatapath datapath_;
  int device_;
  Kernel kernel_;
  GpuInfo info_;
  DeviceBuffer a_, b_, c_, d_, e_, result_;
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
