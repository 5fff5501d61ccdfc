#include "nvml.hpp"

#include <dlfcn.h>

namespace tcnum {
namespace {

// Of NVML's API reference: what nvml.h would say.
constexpr int kSuccess = 0;       // NVML_SUCCESS of nvmlReturn_t
constexpr unsigned kSmClock = 1;  // NVML_CLOCK_SM of nvmlClockType_t

}  // namespace

template <class Function>
Function* Nvml::find(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
}

Nvml::Nvml(const std::string& pci_bus) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  const auto init = find<int()>("nvmlInit_v2");
  const auto handle = find<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || handle == nullptr || init() != kSuccess) return;
  if (handle(pci_bus.c_str(), &device_) != kSuccess) device_ = nullptr;
  energy_ = find<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption");
}

Nvml::~Nvml() {
  if (const auto shutdown = find<int()>("nvmlShutdown")) shutdown();
  if (library_ != nullptr) dlclose(library_);
}

std::optional<double> Nvml::power_limit_watts() const {
  const auto limit = find<int(void*, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
  unsigned milliwatts = 0;
  if (device_ == nullptr || limit == nullptr || limit(device_, &milliwatts) != kSuccess) return std::nullopt;
  return milliwatts / 1e3;
}

std::optional<double> Nvml::max_sm_clock_mhz() const {
  const auto clock = find<int(void*, unsigned, unsigned*)>("nvmlDeviceGetMaxClockInfo");
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
