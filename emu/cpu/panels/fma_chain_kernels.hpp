// The loop of FMA panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "number_reader.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// Some rows of A with some columns of B, along `count` products: as many of each as the kernels say.
template <class T>
struct FmaWork {
  const T* a = nullptr;  ///< [count][rows]
  const T* b = nullptr;  ///< [count][columns]
  std::size_t count = 0;
  T* results = nullptr;  ///< [rows][columns]
};

/// Which NaN a NaN is.
template <class T>
struct FmaNans {
  BitsOf<T> code = 0;  ///< that of one which comes of no NaN
  std::array<NanOperand, 3> order{};
};

/// Functions of one CPU. They round as the machine is told to.
template <class T>
struct FmaKernels {
  const char* name;
  std::size_t rows, columns;
  /// Where a result is a NaN, which of them is the machine's affair.
  void (*add)(const FmaWork<T>&);
  /// The same with NaNs that the datapath would give: operands that are some stand as what they become. `nan_at` has
  /// the products that any such operand is in, ascending; of the results as they were before, there is a copy.
  void (*add_with_nans)(const FmaWork<T>&, const FmaNans<T>&, const std::size_t* nan_at, std::size_t nans,
                        const T* before);
  bool (*any_nan)(const T* results);
};

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA.
template <class T>
const FmaKernels<T>* fma_kernels();
template <>
const FmaKernels<float>* fma_kernels<float>();
template <>
const FmaKernels<double>* fma_kernels<double>();

}  // namespace tcnum::panels
