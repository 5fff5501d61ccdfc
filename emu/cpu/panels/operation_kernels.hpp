// The loop of operation panels, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operands.hpp"
#include "operations.hpp"

namespace tcnum::panels {

/// Rows of A that go along a panel together.
inline constexpr std::size_t kOperationRows = 8;

/// kOperationRows rows of A with a panel of B, along some links.
template <class T>
struct OperationWork {
  const OperationPlan* plan = nullptr;
  std::size_t links = 0;
  const T* a[kOperationRows] = {};
  const T* b = nullptr;             ///< [links · depth][kColumns]
  T* results[kOperationRows] = {};  ///< kColumns, c of the first link, and then the results of the last
  T* values = nullptr;              ///< room for [places][kOperationRows] vectors
  std::uint64_t* left = nullptr;    ///< [kOperationRows][kColumns], with rules: not zero of results that are c still
};

/// Functions of one CPU. They round as the machine is told to.
template <class T>
using RunOperations = void (*)(const OperationWork<T>&);
/// Along one link, of plans with rules and operands that are ordinary; whether any result was left.
using RunRules = bool (*)(const OperationWork<double>&);

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA.
template <class T>
RunOperations<T> run_operations();
template <>
RunOperations<float> run_operations<float>();
template <>
RunOperations<double> run_operations<double>();
RunRules run_rules();

}  // namespace tcnum::panels
