// Where the bytes of an operand lie in shared memory, as a wgmma or a tcgen05.mma reads it.
//
// K-major without swizzle: core matrices of 8 rows × 16 bytes, 128 bytes in one piece, side by side along K. K-major
// with a swizzle of P bytes: rows of P bytes, 8 of them in one piece, of which the first ones are used. MN-major:
// pieces of 128 bytes along M or N × 8 along K, behind each other along K, then the next 128 bytes. A swizzle
// exclusive-ors the address's bits from 4 on with those from 7 on. Sources: PTX ISA, "Shared Memory Matrix Layout",
// "Strides" and "Shared Memory Layout and Swizzling"; CUTLASS, make_gmma_desc, make_umma_desc and the canonical layouts
// beside them.
#pragma once

namespace tcnum {

inline constexpr int kChunkBytes = 16;  // what a swizzle moves as a whole
inline constexpr int kLongestRowBytes = 128;
inline constexpr int kSwizzlePeriod = 1024;

struct SharedLayout {
  int pitch;  ///< bytes of a swizzled row; 0: no swizzle
  bool is_mn_major;
  int leading_bytes;  ///< between pieces: along K without swizzle, along M or N if MN-major; else it is not looked at
  int stride_bytes;   ///< between groups of 8 rows, or along K if MN-major

  /// Of rows of so many bytes.
  static constexpr SharedLayout plain(int row_bytes) {
    constexpr int kCoreBytes = 8 * kChunkBytes;
    return {0, false, kCoreBytes, row_bytes / kChunkBytes * kCoreBytes};
  }
  /// Of rows of at most `pitch` bytes, which is 32, 64 or 128.
  static constexpr SharedLayout swizzled(int pitch) { return {pitch, false, kChunkBytes, 8 * pitch}; }
  /// With a swizzle of 128 bytes, of so many elements along K.
  static constexpr SharedLayout mn_major(int k) { return {128, true, mn_major_bytes(k), 8 * 128}; }
  /// Of 128 bytes along M or N with k elements along K.
  static constexpr int mn_major_bytes(int k) { return k * 128; }

  /// Byte `byte` along K of a row. `element_bytes` matters only if MN-major.
  constexpr int offset(int row, int byte, int element_bytes) const {
    if (pitch == 0) {
      return row / 8 * stride_bytes + byte / kChunkBytes * leading_bytes + row % 8 * kChunkBytes + byte % kChunkBytes;
    }
    int at = row * pitch + byte;  // eight rows take stride_bytes
    if (is_mn_major) {
      const int k = byte / element_bytes, row_bytes = row * element_bytes;
      at = row_bytes / pitch * leading_bytes + k / 8 * stride_bytes + k % 8 * pitch + row_bytes % pitch;
    }
    return at ^ ((at >> 7) & (pitch / kChunkBytes - 1)) << 4;
  }
};

/// As matrix descriptors have addresses and offsets, of shared memory: without their lowest four bits.
constexpr unsigned long long descriptor_field(unsigned long long bytes) { return (bytes & 0x3ffff) >> 4; }

}  // namespace tcnum
