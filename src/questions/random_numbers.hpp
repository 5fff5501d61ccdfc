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

/// One of several things, and how often it is drawn compared with the others.
template <class T>
struct Weighted {
  T what;
  int weight;
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
  /// One of a table's, by their weights.
  template <class T, std::size_t kCount>
  T pick(const std::array<Weighted<T>, kCount>& table) {
    int total = 0;
    for (const Weighted<T>& each : table) total += each.weight;
    int left = between(0, total - 1);
    std::size_t i = 0;
    while (left >= table[i].weight) left -= table[i++].weight;
    return table[i].what;
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
