// NVML, loaded at run time: its header is not in every toolkit, and a machine may lack it.
#pragma once

#include <optional>
#include <string>

namespace tcnum {

/// The library, ready to be asked for as long as this lives; where a machine lacks it, it has no functions.
class NvmlLibrary {
 public:
  NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  /// The function of that name; null if there is none.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  bool ready() const { return ready_; }

 private:
  void* symbol(const char* name) const;

  void* library_ = nullptr;
  bool ready_ = false;
};

/// The driver's version, such as "580.65.06"; none where NVML has none.
std::optional<std::string> nvml_driver_version();

/// What NVML says of one GPU. Each answer is none where NVML, or the GPU, has none.
class Nvml {
 public:
  /// The GPU with that PCI bus address, as CUDA writes it.
  explicit Nvml(const std::string& pci_bus);

  std::optional<double> power_limit_watts() const;
  std::optional<double> max_sm_clock_mhz() const;
  /// Since the driver was loaded. May be called by several threads.
  std::optional<double> energy_joules() const;

 private:
  NvmlLibrary library_;
  void* device_ = nullptr;  ///< nvmlDevice_t
  int (*energy_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tcnum
