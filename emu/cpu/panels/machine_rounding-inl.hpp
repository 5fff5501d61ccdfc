// How the machine rounds where instructions do not say it themselves.
// Compiled once for each CPU, as the kernels that include this are.
#if defined(TCNUM_MACHINE_ROUNDING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_MACHINE_ROUNDING_INL
#undef TCNUM_MACHINE_ROUNDING_INL
#else
#define TCNUM_MACHINE_ROUNDING_INL
#endif

#include <hwy/highway.h>

#include "emu/machine_rounding.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// Makes the machine round so, but not to nearest_away, for as long as this lives, unless each instruction says it
/// itself: then nothing need be done. As MachineRounding, which takes as long as some dozen products.
class MachineRoundingHere {
#if TCNUM_ROUNDS_EACH
 public:
  explicit MachineRoundingHere(Rounding) {}
#elif HWY_ARCH_X86
 public:
  explicit MachineRoundingHere(Rounding mode) : before_(_mm_getcsr()) {
    _mm_setcsr((before_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | bits_of_mode(mode));
  }
  MachineRoundingHere(const MachineRoundingHere&) = delete;
  MachineRoundingHere& operator=(const MachineRoundingHere&) = delete;
  ~MachineRoundingHere() { _mm_setcsr(before_); }

 private:
  static unsigned bits_of_mode(Rounding mode) {
    switch (mode) {
      case Rounding::toward_zero:
        return _MM_ROUND_TOWARD_ZERO;
      case Rounding::down:
        return _MM_ROUND_DOWN;
      case Rounding::up:
        return _MM_ROUND_UP;
      default:
        return _MM_ROUND_NEAREST;
    }
  }
  unsigned before_;
#else
 public:
  explicit MachineRoundingHere(Rounding mode) : rounding_(mode) {}

 private:
  MachineRounding rounding_;
#endif
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
