// NVML, loaded at run time: its header is not in every toolkit, and a machine may lack it.
#pragma once

#include <optional>
#include <string>

namespace tcnum {

/// What NVML says of one GPU. Each answer is none where NVML, or the GPU, has none.
class Nvml {
 public:
  /// The GPU with that PCI bus address, as CUDA writes it.
  explicit Nvml(const std::string& pci_bus);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  std::optional<double> power_limit_watts() const;
  std::optional<double> max_sm_clock_mhz() const;
  /// Since the driver was loaded. May be called by several threads.
  std::optional<double> energy_joules() const;

 private:
  template <class Function>
  Function* find(const char* name) const;

  void* library_ = nullptr;
  void* device_ = nullptr;  ///< nvmlDevice_t
  int (*energy_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tcnum
