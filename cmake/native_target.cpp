// Prints Highway's name of the best CPU that kernels are compiled for and that this machine is.
#include "emu/cpu/panels/targets.hpp"

#include <hwy/highway.h>

#include <cstdint>
#include <cstdio>

int main() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  std::fputs(hwy::TargetName(targets & -targets), stdout);
}
