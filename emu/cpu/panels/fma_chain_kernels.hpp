// The loop of FMA panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>

namespace tcnum::panels {

/// Some rows of A with some columns of B, along `count` products: as many of each as the kernels say.
template <class T>
struct FmaWork {
  const T* a = nullptr;  ///< [count][rows]
  const T* b = nullptr;  ///< [count][columns]
  std::size_t count = 0;
  T* results = nullptr;  ///< [rows][columns]
};

/// Functions of one CPU. They round as the machine is told to.
template <class T>
struct FmaKernels {
  const char* name;
  std::size_t rows, columns;
  /// Where a result is a NaN, which of them is the machine's affair.
  void (*add)(const FmaWork<T>&);
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA.
template <class T>
const FmaKernels<T>* fma_kernels();
template <>
const FmaKernels<float>* fma_kernels<float>();
template <>
const FmaKernels<double>* fma_kernels<double>();

}  // namespace tcnum::panels
