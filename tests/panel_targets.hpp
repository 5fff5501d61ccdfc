// The CPUs that panels are compiled for, and panels as one of them has them.
#pragma once

#include "emu/cpu/panels/targets.hpp"

#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace tcnum::test {

/// Of the CPUs that have fused multiply-adds and that panels are compiled for, those that this machine can be.
inline std::vector<std::int64_t> panel_targets() {
  constexpr std::int64_t kCompiled = HWY_TARGETS & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL | HWY_NEON);
  std::vector<std::int64_t> found;
  for (std::int64_t all = hwy::SupportedTargets() & kCompiled; all != 0; all &= all - 1) found.push_back(all & -all);
  return found;
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
