// The kernels that make streams and compare them, on a CPU (tests/cuda_on_cpu): machines without a GPU test them too.
// Labels: long speed sample=4 sanitized
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "src/campaign/gpu/stream_kernels.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

/// Memory that is aligned as a GPU's is, and not a byte longer than it is said to be.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : data_(::operator new(bytes, kAlignment)) {
    std::memset(data_, 0xa5, bytes);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { ::operator delete(data_, kAlignment); }
  void* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{256};
  void* data_;
};

std::uint64_t code_at(const void* codes, const Format& f, std::uint64_t index) {
  std::uint64_t code = 0;
  const auto bytes = static_cast<std::size_t>(f.storage_bytes());
  std::memcpy(&code, static_cast<const unsigned char*>(codes) + index * bytes, bytes);
  return code;
}
void put_code(void* codes, const Format& f, std::uint64_t index, std::uint64_t code) {
  const auto bytes = static_cast<std::size_t>(f.storage_bytes());
  std::memcpy(static_cast<unsigned char*>(codes) + index * bytes, &code, bytes);
}

Datapath datapath_of(const Instruction& in) {
  return catalogue(in.archs.contains(ArchId::sm_90) ? ArchId::sm_90 : ArchId::sm_120, in).at(0).datapath;
}

class CudaKernels : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t kSeed = 9, kFirst = 1000003;
  static constexpr std::size_t kTiles = 3;  // more than a grid's blocks

  CudaKernels() {
    tiles_.first = kFirst;
    tiles_.count = kTiles;
    tiles_.a = a_.data();
    tiles_.b = b_.data();
    tiles_.c = c_.data();
    tiles_.d = d_.data();
    if (in_.sparse()) tiles_.e = static_cast<std::uint8_t*>(e_.data());
  }
  static std::size_t bytes(unsigned elements, FormatId id) {
    return kTiles * elements * static_cast<std::size_t>(format(id).storage_bytes());
  }
  StreamResult compare() {
    StreamResult result{};
    EXPECT_EQ(launch_comparison(make_gpu_datapath(datapath_).datapath.value(), tiles_, &result), cudaSuccess);
    return result;
  }

  const Instruction& in_ = *find_instruction(GetParam());
  const Datapath datapath_ = datapath_of(in_);
  const StreamShape shape_ = stream_shape(in_);
  StreamTiles tiles_{in_};
  const DeviceMemory a_{bytes(tiles_.a_elements(), in_.a)}, b_{bytes(tiles_.b_elements(), in_.b)},
      c_{bytes(tiles_.c_elements(), in_.c)}, d_{bytes(tiles_.c_elements(), in_.d)}, e_{kTiles * tiles_.a_elements()};
};

TEST_P(CudaKernels, MakeTheStreamAndCompareIt) {
  for (const Distribution distribution : kAllRandom) {
    SCOPED_TRACE(name(distribution));
    ASSERT_EQ(launch_stream_codes(stream::recipe(in_, distribution, kSeed), tiles_), cudaSuccess);
    Tiles expected = make_stream_tiles(in_, distribution, kSeed, kFirst, kTiles);
    Emulator(datapath_).run(expected);
    for (std::size_t t = 0; t < kTiles; ++t) {
      for (int row = 0; row < shape_.m; ++row) {
        const auto r = static_cast<std::size_t>(row);
        for (int k = 0; k < shape_.k; ++k) {
          ASSERT_EQ(code_at(tiles_.a, format(in_.a), tiles_.a_index(t, row, k)),
                    expected.a[expected.a_index(t, r, static_cast<std::size_t>(k))])
              << "a of tile " << t << ", row " << row << ", k " << k;
        }
        for (int column = 0; column < shape_.n; ++column) {
          const std::size_t at = expected.c_index(t, r, static_cast<std::size_t>(column));
          const std::uint64_t index = tiles_.c_index(t, row, column);
          ASSERT_EQ(code_at(tiles_.c, format(in_.c), index), expected.c[at])
              << "c of tile " << t << ", row " << row << ", column " << column;
          put_code(tiles_.d, format(in_.d), index, expected.d[at]);
        }
      }
      for (int k = 0; k < shape_.k; ++k) {
        for (int column = 0; column < shape_.n; ++column) {
          ASSERT_EQ(code_at(tiles_.b, format(in_.b), tiles_.b_index(t, tiles_.row_of_b(t, k), column)),
                    expected.b[expected.b_index(t, static_cast<std::size_t>(k), static_cast<std::size_t>(column))])
              << "b of tile " << t << ", k " << k << ", column " << column;
        }
      }
    }
    const std::uint64_t first_index = kFirst * shape_.problems();
    StreamResult result = compare();
    ASSERT_EQ(result.mismatches, 0u) << "the first at " << result.examples[0] - first_index;
    ASSERT_EQ(result.digest, digest(expected, first_index));

    // What is wrong is found, and counts.
    const std::size_t wrong[] = {7, expected.size() / 2 + 1, expected.size() - 1};
    for (const std::size_t at : wrong) {
      const auto [t, rest] = std::pair(at / shape_.problems(), static_cast<int>(at % shape_.problems()));
      expected.d.set(at, expected.d[at] ^ 1);
      put_code(tiles_.d, format(in_.d), tiles_.c_index(t, rest / shape_.n, rest % shape_.n), expected.d[at]);
    }
    result = compare();
    ASSERT_EQ(result.mismatches, std::size(wrong));
    std::sort(result.examples, result.examples + std::size(wrong));
    for (std::size_t w = 0; w < std::size(wrong); ++w) EXPECT_EQ(result.examples[w], first_index + wrong[w]);
    ASSERT_EQ(result.digest, digest(expected, first_index));
  }
}

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

/// Each kind of datapath that a kernel evaluates, each width of codes, and tiles of all shapes.
INSTANTIATE_TEST_SUITE_P(Instructions, CudaKernels,
                         testing::Values("mma.m16n8k16.f32.f16.f16.f32",       // one sum
                                         "mma.m16n8k16.f16.f16.f16.f16",       // rounded to fp16
                                         "mma.m16n8k8.f32.tf32.tf32.f32",      // 32-bit operands
                                         "mma.m16n8k32.f32.e4m3.e5m2.f32",     // products in twos, three sums
                                         "mma.m16n8k16.f16.e5m2.e4m3.f16",     // and in fp16
                                         "mma.m16n8k32.f32.e3m2.e2m1.f32",     // codes of six bits and of four
                                         "wmma.m16n16k8.f32.tf32.tf32.f32",    // two sums in a chain
                                         "wgmma.m64n24k32.f32.e4m3.e4m3",      // 72 columns
                                         "mma.sp.m16n8k16.f32.tf32.tf32.f32",  // sparse, in groups of 2
                                         "wgmma.sp.m64n8k64.f16.e5m2.e4m3",    // of 4
                                         "mma.sp::ordered_metadata.m16n8k128.s32.s4.u4.s32",  // of 8, integers
                                         "mma.m16n8k32.s32.u8.s8.s32.satfinite", "mma.m16n8k256.s32.b1.b1.s32.xor.popc",
                                         "mma.m8n8k4.f32.f16.f16.f32",        // single precision
                                         "mma.m16n8k16.f64.f64.f64.f64.rm"),  // FMAs
                         test_name);

}  // namespace
}  // namespace tcnum
