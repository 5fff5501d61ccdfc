// The GPU oracle of HIP, host side: which GPU there is, memory and launches.
#include <fmt/format.h>
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "mfma_kernels.hpp"
#include "tcnum/error.hpp"
#include "tile_oracle.hpp"

namespace tcnum {

namespace {

void check(hipError_t error, std::string_view call) {
  if (error == hipSuccess) return;
  throw std::runtime_error(fmt::format("{} failed: {}: {}", call, hipGetErrorName(error), hipGetErrorString(error)));
}

/// Device memory that grows.
class HipBuffer {
 public:
  HipBuffer() = default;
  HipBuffer(const HipBuffer&) = delete;
  HipBuffer& operator=(const HipBuffer&) = delete;
  ~HipBuffer() { static_cast<void>(hipFree(data_)); }

  void* data() { return data_; }
  void reserve(std::size_t bytes) {
    if (bytes <= size_) return;
    check(hipFree(data_), "hipFree");
    data_ = nullptr;
    size_ = 0;
    check(hipMalloc(&data_, bytes), fmt::format("hipMalloc({} bytes)", bytes));
    size_ = bytes;
  }
  void upload(const std::vector<std::byte>& from) {
    reserve(from.size());
    check(hipMemcpy(data_, from.data(), from.size(), hipMemcpyHostToDevice), "hipMemcpy to the device");
  }
  void download(std::vector<std::byte>& to) const {
    check(hipMemcpy(to.data(), data_, to.size(), hipMemcpyDeviceToHost), "hipMemcpy from the device");
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// HIP counts versions as 10000000 · major + 100000 · minor + patch.
std::string hip_version(int version) {
  return fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

/// The kernel module's, if it says (one that is a kernel's own does not), and HIP's.
std::string driver_version() {
  int runtime = 0;
  check(hipRuntimeGetVersion(&runtime), "hipRuntimeGetVersion");
  const std::string hip = "HIP " + hip_version(runtime);
  std::ifstream file("/sys/module/amdgpu/version");
  std::string module;
  return file >> module ? fmt::format("amdgpu {}, {}", module, hip) : hip;
}

/// "gfx942" of "gfx942:sramecc+:xnack-".
std::string arch_of(const hipDeviceProp_t& properties) {
  const std::string_view target = properties.gcnArchName;
  return std::string(target.substr(0, target.find(':')));
}

GpuInfo find_gpu() {
  int count = 0;
  const hipError_t counted = hipGetDeviceCount(&count);
  if (counted == hipErrorNoDevice || counted == hipErrorInsufficientDriver || (counted == hipSuccess && count == 0))
    throw std::runtime_error("HIP finds no GPU here, or no driver that this build can use");
  check(counted, "hipGetDeviceCount");
  hipDeviceProp_t properties{};
  check(hipGetDeviceProperties(&properties, 0), "hipGetDeviceProperties");

  GpuInfo info;
  info.arch = arch_of(properties);
  info.device = properties.name;
  info.driver = driver_version();
  info.present = true;
  return info;
}

class HipOracle final : public TileOracle {
 public:
  HipOracle(const Instruction& instruction, const MfmaKernel& kernel, GpuInfo info, bool check_positions)
      : TileOracle(instruction, kernel.variants, check_positions), kernel_(kernel), info_(std::move(info)) {}

  std::string device() const override { return info_.device; }
  /// No kernel of HIP has run on any device yet.
  std::map<std::string, std::string> provenance() const override {
    return {{"driver", info_.driver}, {"date", today_utc()}, {"kernel", never_run_on(info_.arch)}};
  }

 private:
  void run(PackedTiles& packed, int variant) override {
    a_.upload(packed.a);
    b_.upload(packed.b);
    c_.upload(packed.c);
    if (instruction().sparse()) e_.upload(packed.e);
    d_.reserve(packed.d.size());
    check(kernel_.launch(
              {a_.data(), b_.data(), c_.data(), d_.data(), e_.data(), nullptr, nullptr, packed.count, variant}),
          fmt::format("launch of {}", kernel_.instruction));
    check(hipDeviceSynchronize(), fmt::format("{} (hipDeviceSynchronize)", kernel_.instruction));
    d_.download(packed.d);
  }

  MfmaKernel kernel_;
  GpuInfo info_;
  HipBuffer a_, b_, c_, d_, e_;
};

}  // namespace

GpuInfo gpu_info() {
  try {
    return find_gpu();
  } catch (const std::exception& error) {
    GpuInfo none;
    none.why_not = error.what();
    return none;
  }
}

int gpu_count() {
  int count = 0;
  return hipGetDeviceCount(&count) == hipSuccess ? count : 0;
}

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction& instruction, bool check_positions) {
  GpuInfo info = gpu_info();
  if (!info.present) throw UnavailableError(fmt::format("no GPU: {}", info.why_not));
  const std::string name = instruction.name();
  const std::optional<ArchId> id = find_arch(info.arch);
  if (!id || !instruction.archs.contains(*id))
    throw UnavailableError(fmt::format("the GPU ({}, {}) does not have {}", info.device, info.arch, name));
  const auto kernels = mfma_kernels();
  const auto kernel = std::ranges::find(kernels, name, &MfmaKernel::instruction);
  if (kernel == kernels.end()) throw UnavailableError(name + ": there is no probe for it");
  return std::make_unique<HipOracle>(instruction, *kernel, std::move(info), check_positions);
}

}  // namespace tcnum
