// How the machine rounds, and what it does to subnormal numbers.
#pragma once

#include <cfenv>

#include "tcnum/rounding.hpp"

namespace tcnum {

/// Makes the machine compute as IEEE 754 says for as long as this lives: other libraries tell the threads that they run
/// on to flush subnormal numbers.
class PlainArithmetic {
 public:
  PlainArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~PlainArithmetic() { std::fesetenv(&before_); }
  PlainArithmetic(const PlainArithmetic&) = delete;
  PlainArithmetic& operator=(const PlainArithmetic&) = delete;

 private:
  std::fenv_t before_{};
};

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
