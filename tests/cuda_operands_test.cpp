// What the kernels of mma and wgmma do with operands before and after the instruction, on a CPU (tests/cuda_on_cpu):
// every code goes where the layouts say, and nothing goes anywhere else.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "probes/wgmma_operands.cuh"

namespace tcnum {
namespace {

template <int kWidth, int kDepth, FormatId kOperand, FormatId kResult, bool kIsSparse = false>
using Shape = WgmmaShape<kWidth, kDepth, kOperand, kResult, kIsSparse>;

using enum FormatId;
using Shapes = testing::Types<Shape<8, 16, fp16, fp32>, Shape<64, 16, bf16, fp32>, Shape<24, 32, fp8e4m3, fp16>,
                              Shape<256, 8, tf32, fp32>, Shape<16, 32, s8, s32>, Shape<8, 256, b1, s32>,
                              Shape<40, 32, fp16, fp16, true>, Shape<8, 64, fp8e5m2, fp32, true>,
                              Shape<16, 16, tf32, fp32, true>, Shape<32, 64, u8, s32, true>>;

template <class Op>
class CudaOperands : public testing::Test {
 protected:
  static typename Op::Code code_at(int row, int k) {
    const auto hash = static_cast<std::uint32_t>(row * 977 + k * 131 + 1) * 2654435761u;
    return static_cast<typename Op::Code>(hash >> 7) &
           static_cast<typename Op::Code>(~std::uint64_t{0} >> (64 - Op::kCodeBits));
  }
  /// By all threads of a block, in memory that has something else at first.
  static std::vector<std::uint8_t> filled(const SharedLayout& layout, int rows, int depth, typename Op::Code flip,
                                          std::uint8_t before) {
    const auto bytes = static_cast<std::size_t>(
        std::max(rows * kLongestRowBytes, (rows + 63) / 64 * SharedLayout::mn_major_bytes(depth)));
    std::vector<std::uint8_t> shared(bytes, before);
    for (unsigned thread = 0; thread < static_cast<unsigned>(kThreads); ++thread) {
      threadIdx.x = thread;
      fill_shared<Op>(shared.data(), layout, rows, depth, flip, code_at);
    }
    return shared;
  }
};
TYPED_TEST_SUITE(CudaOperands, Shapes);

TYPED_TEST(CudaOperands, LieInSharedMemoryAsTheLayoutSays) {
  using Op = TypeParam;
  using Code = typename Op::Code;
  for (const WgmmaVariantName& each : kWgmmaVariants) {
    if (!Op::has(each.variant)) continue;
    SCOPED_TRACE(each.name);
    for (const bool is_a : {true, false}) {
      const int rows = is_a ? kWgmmaRows : Op::kN, depth = is_a ? Op::kStored : Op::kK;
      const SharedLayout layout = SharedLayout::of(each.variant, is_a ? kRowBytes : Op::kBRowBytes, sizeof(Code));
      const auto flip = static_cast<Code>(each.variant == kNegatedB ? Code{1} << (Op::kCodeBits - 1) : 0);
      const auto shared = this->filled(layout, rows, depth, flip, 0),
                 other = this->filled(layout, rows, depth, flip, 0xff);
      for (int row = 0; row < rows; ++row) {
        for (int k = 0; k < depth; ++k) {
          const int bit = k * Op::kCodeBits;
          Code code = 0;
          std::memcpy(&code, shared.data() + layout.offset(row, bit / 8, sizeof(Code)), sizeof(Code));
          code = static_cast<Code>(code >> bit % 8);
          code &= static_cast<Code>(~std::uint64_t{0} >> (64 - Op::kCodeBits));
          ASSERT_EQ(code, static_cast<Code>(this->code_at(row, k) ^ flip)) << "row " << row << ", k " << k;
        }
      }
      std::size_t written = 0;
      for (std::size_t i = 0; i < shared.size(); ++i) written += shared[i] == other[i] ? 1 : 0;
      EXPECT_EQ(written, static_cast<std::size_t>(rows * depth * Op::kCodeBits / 8));
    }
  }
}

TYPED_TEST(CudaOperands, AccumulatorsAreLoadedAndStoredByOneThreadEach) {
  using Op = TypeParam;
  using Accumulator = typename Op::Accumulator;
  constexpr std::size_t kSize = static_cast<std::size_t>(kWgmmaRows) * Op::kN;
  std::vector<Accumulator> from(kSize), to(kSize, 0);
  for (std::size_t i = 0; i < kSize; ++i) from[i] = static_cast<Accumulator>(i + 1);
  constexpr auto kAt = [](int i) { return wgmma_accumulator(0, i); };
  for (int thread = 0; thread < kThreads; ++thread) {
    const Element first = wgmma_accumulator(thread, 0);
    const int at = first.row * Op::kN + first.column;
    typename Op::Register registers[Op::kDRegisters];
    load_accumulators<Op::kAccumulatorBits, Op::kAccumulators, Op::kN>(registers, from.data() + at, kAt);
    for (int i = 0; i < Op::kAccumulators; ++i) {
      const Element element = wgmma_accumulator(thread, i);
      constexpr int kPerRegister = Op::kAccumulatorsPerRegister;
      ASSERT_EQ(extract<Op::kAccumulatorBits>(registers[i / kPerRegister], i % kPerRegister),
                from[static_cast<std::size_t>(element.row * Op::kN + element.column)]);
    }
    store_accumulators<Op::kAccumulatorBits, Op::kAccumulators, Op::kN>(registers, to.data() + at, kAt);
  }
  EXPECT_EQ(to, from);
}

TYPED_TEST(CudaOperands, RegistersOfAHoldWhatLiesSideBySide) {
  using Op = TypeParam;
  using Code = typename Op::Code;
  constexpr MmaGeometry kGeometry = Op::kGeometry;
  std::vector<Code> a(static_cast<std::size_t>(16 * Op::kStored));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = this->code_at(static_cast<int>(i), 5);
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < Op::kARegisters; ++r) {
      const Element first = kGeometry.a(lane, r, 0);
      const auto found = load_register<Op::kCodeBits, std::uint32_t>(a.data() + first.row * Op::kStored + first.column);
      std::uint32_t expected = 0;
      for (int e = 0; e < kGeometry.register_elements; ++e) {
        const Element at = kGeometry.a(lane, r, e);
        insert<Op::kCodeBits>(expected, e, a[static_cast<std::size_t>(at.row * Op::kStored + at.column)]);
      }
      ASSERT_EQ(found, expected) << "lane " << lane << ", register " << r;
    }
  }
}

}  // namespace
}  // namespace tcnum
