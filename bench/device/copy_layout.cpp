#include <algorithm>
#include <bit>

#include "copy_timing.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kRowElements = 128 / kCopyElementBytes;
constexpr std::uint32_t kBoxesAcross = 4, kBoxesBetween = 2;

}  // namespace

BoxLayout box_layout(unsigned dimensions, std::size_t copy_bytes, std::size_t buffer_bytes) {
  const auto elements = static_cast<std::uint32_t>(copy_bytes / kCopyElementBytes);
  const auto copies = static_cast<std::uint32_t>(buffer_bytes / copy_bytes);
  BoxLayout layout;
  layout.dimensions = dimensions;
  layout.box[0] = elements;
  layout.boxes[0] = copies;
  if (dimensions == 1) return layout;

  // Powers of two throughout: the first dimensions take what does not divide.
  const int others = static_cast<int>(dimensions) - 1;
  int row_bits = std::clamp(std::countr_zero(elements) - std::countr_zero(kRowElements), 0,
                            std::countr_zero(kMostBoxElements) * others);
  layout.box[0] = elements >> row_bits;
  layout.boxes[0] = kBoxesAcross;
  std::uint32_t left = copies / kBoxesAcross;
  for (int i = 1; i <= others; ++i) {
    const int dimensions_left = others - i + 1, share = (row_bits + dimensions_left - 1) / dimensions_left;
    layout.box[i] = std::uint32_t{1} << share;
    row_bits -= share;
    layout.boxes[i] = i < others ? kBoxesBetween : left;
    left /= kBoxesBetween;
  }
  return layout;
}

std::size_t most_copy_bytes(const CopyMethod& method) {
  constexpr std::size_t kMost = std::size_t{64} << 10;  // of what is measured
  if (method.way != CopyWay::tensor || method.dimensions > 1) return kMost;
  return kMostBoxElements * kCopyElementBytes;
}

}  // namespace tcnum
