// Random numbers, the same on every machine for the same seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tcnum {

/// The integers from `low` to `high`, both included.
struct Interval {
  int low, high;
};

/// Random numbers that are a function of (seed, series, index) only: Philox4x32-10, as Random123 has it. A series is a
/// purpose that numbers are drawn for, so that no two purposes share any. No expression may draw twice: compilers order
/// its parts as they like.
class RandomNumbers {
 public:
  RandomNumbers(std::uint64_t seed, std::uint32_t series, std::uint64_t index)
      : seed_(seed), series_(series), index_(index) {}
  std::uint32_t next();
  std::uint64_t next64();
  /// Uniform in low … high, both included.
  int between(int low, int high);
  int in(Interval interval) { return between(interval.low, interval.high); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  bool coin() { return chance(50); }
  template <class T, std::size_t kCount>
  T pick(const std::array<T, kCount>& table) {
    return table[static_cast<std::size_t>(between(0, static_cast<int>(kCount) - 1))];
  }

 private:
  std::uint64_t seed_;
  std::uint32_t series_;
  std::uint64_t index_;
  std::uint32_t block_ = 0;
  std::array<std::uint32_t, 4> buffer_{};
  int left_ = 0;
};

}  // namespace tcnum
