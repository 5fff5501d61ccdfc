// The GPU oracle of CUDA, host side: which GPU there is, memory and launches.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "cuda/device_memory.hpp"
#include "gpu.hpp"
#include "kernels.hpp"
#include "nvml.hpp"
#include "tcnum/error.hpp"
#include "tile_oracle.hpp"

namespace tcnum {

const Kernel* find_kernel(const std::string& instruction) {
  static const std::vector<std::span<const Kernel>> tables = kernel_tables();
  for (const std::span<const Kernel> table : tables) {
    const auto found = std::ranges::find(table, instruction, &Kernel::instruction);
    if (found != table.end()) return &*found;
  }
#ifdef TCNUM_HAS_TCGEN05
  return tcgen05_kernel(instruction);
#else
  return nullptr;
#endif
}

namespace {

/// The first word of the kernel module's version file that looks like "580.65.06"; empty if there is none.
std::string module_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    const bool is_version = word.find('.') != std::string::npos && word.front() != '.' &&
                            word.find_first_not_of("0123456789.") == std::string::npos;
    if (is_version) return word;
  }
  return {};
}

/// CUDA counts versions as 1000 · major + 10 · minor.
std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string driver_version() {
  if (const auto text = nvml_driver_version(); text && !text->empty()) return *text;
  if (std::string text = module_driver_version(); !text.empty()) return text;
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return "CUDA " + cuda_version(version);
}

}  // namespace

GpuInfo find_gpu(int device) {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorNoDevice || counted == cudaErrorInsufficientDriver || (counted == cudaSuccess && count == 0))
    throw std::runtime_error("CUDA finds no GPU here, or no driver that this build can use");
  check(counted, "cudaGetDeviceCount");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");

  GpuInfo info;
  info.arch = fmt::format("sm_{}{}", properties.major, properties.minor);
  info.device = properties.name;
  info.driver = driver_version();
  info.cuda = cuda_version(runtime);
  info.present = true;
  return info;
}

namespace {

/// The architecture on whose devices these kernels have run, with answers in vectors/.
constexpr std::string_view kProvenArch = "sm_90";

class GpuOracle final : public TileOracle {
 public:
  GpuOracle(const Instruction& instruction, const Kernel& kernel, GpuInfo info, bool check_positions)
      : TileOracle(instruction, kernel.variants, check_positions), kernel_(kernel), info_(std::move(info)) {}

  std::string device() const override { return info_.device; }
  std::map<std::string, std::string> provenance() const override {
    std::map<std::string, std::string> facts = {{"driver", info_.driver}, {"cuda", info_.cuda}, {"date", today_utc()}};
    if (info_.arch != kProvenArch) facts["kernel"] = never_run_on(info_.arch);
    return facts;
  }

 private:
  void run(PackedTiles& packed, int variant) override {
    a_.upload(packed.a);
    b_.upload(packed.b);
    c_.upload(packed.c);
    if (instruction().sparse()) e_.upload(packed.e);
    if (instruction().scaled()) {
      sa_.upload(packed.sa);
      sb_.upload(packed.sb);
    }
    d_.reserve(packed.d.size());
    const DeviceTiles tiles{a_.data(),  b_.data(),  c_.data(),    d_.data(), e_.data(),
                            sa_.data(), sb_.data(), packed.count, variant};
    check(kernel_.launch(instruction(), tiles), fmt::format("launch of {}", kernel_.instruction));
    check(cudaDeviceSynchronize(), fmt::format("{} (cudaDeviceSynchronize)", kernel_.instruction));
    d_.download(packed.d);
  }

  Kernel kernel_;
  GpuInfo info_;
  DeviceBuffer a_, b_, c_, d_, e_, sa_, sb_;
};

}  // namespace

GpuInfo gpu_info() {
  try {
    return find_gpu(0);
  } catch (const std::exception& error) {
    GpuInfo none;
    none.why_not = error.what();
    return none;
  }
}

int gpu_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string cuda_compiler() { return TCNUM_NVCC; }

std::pair<GpuInfo, const Kernel*> require_kernel(const Instruction& instruction, int device) {
  const std::string name = instruction.name();
  GpuInfo info;
  try {
    info = find_gpu(device);
  } catch (const std::exception& error) {
    throw UnavailableError(fmt::format("no GPU: {}", error.what()));
  }
  const std::optional<ArchId> id = find_arch(info.arch);
  if (!id || !instruction.archs.contains(*id)) {
    throw UnavailableError(fmt::format("the GPU ({}, {}) does not have {}", info.device, info.arch, name));
  }
  const Kernel* const kernel = find_kernel(name);
  if (kernel == nullptr)
    throw UnavailableError(
        name + ": there is no probe for it, or not in this build (TCNUM_CUDA_ARCHS in CMake; of wgmma, TCNUM_WGMMA_N)");
  return {std::move(info), kernel};
}

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction& instruction, bool check_positions) {
  auto [info, kernel] = require_kernel(instruction, 0);
  return std::make_unique<GpuOracle>(instruction, *kernel, std::move(info), check_positions);
}

}  // namespace tcnum
