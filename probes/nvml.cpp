#include "nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace tcnum {
namespace {

// Of NVML's API reference: what nvml.h would say.
constexpr int kSuccess = 0;                      // NVML_SUCCESS of nvmlReturn_t
constexpr unsigned kSmClock = 1;                 // NVML_CLOCK_SM of nvmlClockType_t
constexpr std::size_t kDriverVersionBytes = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

}  // namespace

NvmlLibrary::NvmlLibrary() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  const auto init = find<int()>("nvmlInit_v2");
  ready_ = init != nullptr && init() == kSuccess;
}

NvmlLibrary::~NvmlLibrary() {
  const auto shutdown = find<int()>("nvmlShutdown");
  if (ready_ && shutdown != nullptr) shutdown();
  if (library_ != nullptr) dlclose(library_);
}

void* NvmlLibrary::symbol(const char* name) const { return library_ == nullptr ? nullptr : dlsym(library_, name); }

std::optional<std::string> nvml_driver_version() {
  const NvmlLibrary library;
  const auto version = library.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, kDriverVersionBytes> text{};
  if (!library.ready() || version == nullptr || version(text.data(), text.size()) != kSuccess) return std::nullopt;
  return text.data();
}

Nvml::Nvml(const std::string& pci_bus) {
  const auto handle = library_.find<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (!library_.ready() || handle == nullptr) return;
  if (handle(pci_bus.c_str(), &device_) != kSuccess) device_ = nullptr;
  energy_ = library_.find<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
}

std::optional<double> Nvml::power_limit_watts() const {
  const auto limit = library_.find<int(void*, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
  unsigned milliwatts = 0;
  if (device_ == nullptr || limit == nullptr || limit(device_, &milliwatts) != kSuccess) return std::nullopt;
  return milliwatts / 1e3;
}

std::optional<double> Nvml::max_sm_clock_mhz() const {
  const auto clock = library_.find<int(void*, unsigned, unsigned*)>("nvmlDeviceGetMaxClockInfo");
  unsigned mhz = 0;
  if (device_ == nullptr || clock == nullptr || clock(device_, kSmClock, &mhz) != kSuccess) return std::nullopt;
  return mhz;
}

std::optional<double> Nvml::energy_joules() const {
  unsigned long long millijoules = 0;
  if (device_ == nullptr || energy_ == nullptr || energy_(device_, &millijoules) != kSuccess) return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

}  // namespace tcnum
