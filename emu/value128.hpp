// A number of up to 128 bits on its way through a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tcnum/format.hpp"

namespace tcnum {

/// A term of a sum, or a node's result: ±magnitude · 2^lsb, or one that is not finite.
struct Value128 {
  enum class Kind : std::uint8_t { finite, infinity, nan };
  Kind kind = Kind::finite;
  bool negative = false;
  bool aligns_as_zero = false;  ///< a scaled sum that cancelled, and takes part in the alignment all the same
  int rank = 0;                 ///< of a NaN: the lowest of several is passed on
  uint128 magnitude = 0;
  int lsb = 0;
  int exponent = 0;           ///< with which it takes part in alignment
  std::uint64_t payload = 0;  ///< of a NaN
  constexpr bool is_zero() const { return kind == Kind::finite && magnitude == 0; }
};

/// `count` values, not yet written: on the stack up to N.
template <std::size_t N>
class Values128 {
 public:
  explicit Values128(std::size_t count) {
    if (count > N) heap_ = std::make_unique_for_overwrite<Value128[]>(count);
  }
  Value128* data() { return heap_ ? heap_.get() : reinterpret_cast<Value128*>(stack_); }

 private:
  static_assert(std::is_trivially_copyable_v<Value128>);
  alignas(Value128) std::byte stack_[N * sizeof(Value128)];
  std::unique_ptr<Value128[]> heap_;
};

}  // namespace tcnum
