// How the machine rounds.
#pragma once

#include <cfenv>

#include "tcnum/rounding.hpp"

namespace tcnum {

/// Makes the machine round so, but not to nearest_away, for as long as this lives.
class MachineRounding {
 public:
  explicit MachineRounding(Rounding mode) : before_(std::fegetround()) { std::fesetround(machine_mode(mode)); }
  ~MachineRounding() { std::fesetround(before_); }
  MachineRounding(const MachineRounding&) = delete;
  MachineRounding& operator=(const MachineRounding&) = delete;

 private:
  static int machine_mode(Rounding mode) {
    switch (mode) {
      case Rounding::toward_zero:
        return FE_TOWARDZERO;
      case Rounding::down:
        return FE_DOWNWARD;
      case Rounding::up:
        return FE_UPWARD;
      default:
        return FE_TONEAREST;
    }
  }
  int before_;
};

}  // namespace tcnum
