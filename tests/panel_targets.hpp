// The CPUs that panels are compiled for, and panels as one of them has them.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

#include "emu/cpu/panels/kernels.hpp"

namespace tcnum::test {

/// The CPUs that have fused multiply-adds and that panels are ever compiled for, as Highway's bits.
inline constexpr std::int64_t kPanelTargets = HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL | HWY_NEON;

/// Those of them that panels are compiled for in this build and that this machine can be.
inline std::vector<std::int64_t> panel_targets() {
  std::vector<std::int64_t> found;
  for (std::int64_t all = hwy::SupportedTargets() & panels::compiled_targets() & kPanelTargets; all != 0;
       all &= all - 1)
    found.push_back(all & -all);
  return found;
}

/// The names of those that this machine can be and that this build leaves out, each behind a space.
inline std::string targets_left_out() {
  std::string names;
  for (std::int64_t all = hwy::SupportedTargets() & ~panels::compiled_targets() & kPanelTargets; all != 0;
       all &= all - 1)
    names.append(" ").append(hwy::TargetName(all & -all));
  return names;
}

/// While it lives, panels are those compiled for a target; then those for this machine again.
class ChosenTarget {
 public:
  explicit ChosenTarget(std::int64_t target) { choose(target); }
  ~ChosenTarget() { choose(0); }
  ChosenTarget(const ChosenTarget&) = delete;
  ChosenTarget& operator=(const ChosenTarget&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();  // all exported functions are chosen anew
  }
};

}  // namespace tcnum::test
