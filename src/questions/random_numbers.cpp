#include "random_numbers.hpp"

#include <Random123/philox.h>

namespace tcnum {

std::uint32_t RandomNumbers::next() {
  if (left_ == 0) {
    r123::Philox4x32 generator;
    const r123::Philox4x32::ctr_type counter = {
        {static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32), series_, block_++}};
    const r123::Philox4x32::key_type key = {
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
    const auto out = generator(counter, key);
    for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = out[i];
    left_ = static_cast<int>(buffer_.size());
  }
  return buffer_[buffer_.size() - static_cast<std::size_t>(left_--)];
}

std::uint64_t RandomNumbers::next64() {
  const std::uint64_t high = next();
  return high << 32 | next();
}

int RandomNumbers::between(int low, int high) {
  const auto span = static_cast<std::uint64_t>(high - low + 1);
  return low + static_cast<int>((static_cast<std::uint64_t>(next()) * span) >> 32);
}

}  // namespace tcnum
