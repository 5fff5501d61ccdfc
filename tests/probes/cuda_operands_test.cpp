// What the kernels of mma and wgmma do with operands before and after the instruction, on a CPU (tests/cuda_on_cpu):
// every code goes where the layouts say, and nothing goes anywhere else.
// Labels: sanitized
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "probes/mma_operands.cuh"
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
      const SharedLayout layout = wgmma_layout(each.variant, is_a ? kRowBytes : Op::kBRowBytes, sizeof(Code));
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

// --- mma: what each lane has, as CUTLASS's layouts of the same instructions say it (cute/atom/mma_traits_sm80.hpp and
// mma_traits_sm120.hpp): a column-major matrix is walked through in strides of lanes and of a lane's values.

template <FormatId kA, FormatId kB, int kDepth, bool kIsSparse = false, ScaleKind kKind = ScaleKind::none,
          int kScales = 0>
using Mma = MmaShape<120, 16, kDepth, kA, kB, fp32, kIsSparse, kKind, kScales>;
constexpr auto kMxf8f6f4 = ScaleKind::mxf8f6f4, kMxf4 = ScaleKind::mxf4, kNvf4 = ScaleKind::mxf4nvf4;
using Mmas = testing::Types<Mma<fp16, fp16, 16>, Mma<fp8e4m3, fp8e5m2, 32>, Mma<s4, u4, 64>, Mma<tf32, tf32, 8>,
                            Mma<fp8e4m3, fp4e2m1, 32>, Mma<fp6e3m2, fp6e2m3, 32>, Mma<fp4e2m1, fp8e5m2, 64, true>,
                            Mma<fp4e2m1, fp4e2m1, 64, false, kMxf4, 2>, Mma<fp4e2m1, fp4e2m1, 128, true, kNvf4, 4>>;
using ScaledMmas =
    testing::Types<Mma<fp8e5m2, fp4e2m1, 32, false, kMxf8f6f4, 1>, Mma<fp6e2m3, fp4e2m1, 64, true, kMxf8f6f4, 1>,
                   Mma<fp4e2m1, fp4e2m1, 64, false, kMxf4, 2>, Mma<fp4e2m1, fp4e2m1, 64, false, kNvf4, 4>,
                   Mma<fp4e2m1, fp4e2m1, 128, true, kNvf4, 4>>;

template <class Op>
class MmaOperands : public testing::Test {
 protected:
  using Code = typename Op::Code;
  static constexpr int kElements = Op::kCodeBits < 32 ? 32 / Op::kCodeBits : 1;

  /// The codes of a matrix, of which each is another as far as the format goes.
  static std::vector<Code> codes(int count, int shift) {
    std::vector<Code> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15;
      all[i] = static_cast<Code>(mixed >> 17 & ~std::uint64_t{0} >> (64 - Op::kCodeBits + (shift == 0 ? 0 : 4)));
    }
    return all;
  }
  /// Value v of a lane's registers, as the hardware sees it.
  template <class Register>
  static Code value(const Register* registers, int v, int shift) {
    const std::uint64_t bits = registers[v / kElements] >> (v % kElements * Op::kCodeBits);
    return static_cast<Code>((bits & ~std::uint64_t{0} >> (64 - Op::kCodeBits)) >> shift);
  }
};
TYPED_TEST_SUITE(MmaOperands, Mmas);

TYPED_TEST(MmaOperands, LieInRegistersAsTheLayoutsSay) {
  using Op = TypeParam;
  constexpr int kE = TestFixture::kElements, kStored = Op::kGeometry.a_columns(), kK = Op::kGeometry.k;
  const auto a = this->codes(16 * kStored, Op::kAShift), b = this->codes(kK * 8, Op::kBShift);
  for (int lane = 0; lane < 32; ++lane) {
    typename Op::Register in_a[Op::kARegisters], in_b[Op::kBRegisters];
    load_a<Op>(in_a, a.data(), lane);
    load_b<Op>(in_b, b.data(), lane);
    for (int v = 0; v < kE * Op::kARegisters; ++v) {
      const int at = lane % 4 * 16 * kE + lane / 4 + v % kE * 16 + v / kE % 2 * 8 + v / (2 * kE) * 16 * 4 * kE;
      ASSERT_EQ(this->value(in_a, v, Op::kAShift), a[static_cast<std::size_t>(at % 16 * kStored + at / 16)])
          << "lane " << lane << ", value " << v << " of A";
    }
    for (int v = 0; v < kE * Op::kBRegisters; ++v) {
      const int at = lane % 4 * 8 * kE + lane / 4 + v % kE * 8 + v / kE * 8 * 4 * kE;
      ASSERT_EQ(this->value(in_b, v, Op::kBShift), b[static_cast<std::size_t>(at / 8 * 8 + at % 8)])
          << "lane " << lane << ", value " << v << " of B";
    }
  }
}

template <class Op>
class MmaScales : public testing::Test {};
TYPED_TEST_SUITE(MmaScales, ScaledMmas);

TYPED_TEST(MmaScales, LieWhereTheSelectorSays) {
  using Op = TypeParam;
  constexpr int kBlocks = Op::kScaleBlocks;
  std::vector<std::uint8_t> sa(16 * kBlocks), sb(8 * kBlocks);
  for (std::size_t i = 0; i < sa.size(); ++i) sa[i] = static_cast<std::uint8_t>(i + 1);
  for (std::size_t i = 0; i < sb.size(); ++i) sb[i] = static_cast<std::uint8_t>(i + 101);
  for (int number = 0; number < kScaleSelectors; ++number) {
    SCOPED_TRACE(number);
    const ScaleSelector selector = scale_selector<Op>(number);
    // What PTX takes: a byte that a vector of so many begins at, two threads for A and four for B.
    ASSERT_TRUE(selector.byte >= 0 && selector.byte + kBlocks <= 4 && selector.byte % kBlocks == 0);
    ASSERT_TRUE(selector.a_thread >= 0 && selector.a_thread < 2 && selector.b_thread >= 0 && selector.b_thread < 4);
    std::uint32_t a[32], b[32];
    for (int lane = 0; lane < 32; ++lane) {
      a[lane] = a_scale_register<Op>(sa.data(), lane, selector);
      b[lane] = b_scale_register<Op>(sb.data(), lane, selector);
    }
    int bytes_of_a = 0, bytes_of_b = 0;
    for (int lane = 0; lane < 32; ++lane) {
      for (int byte = 0; byte < 4; ++byte) {
        bytes_of_a += (a[lane] >> 8 * byte & 0xff) != 0xff ? 1 : 0;
        bytes_of_b += (b[lane] >> 8 * byte & 0xff) != 0xff ? 1 : 0;
      }
    }
    EXPECT_EQ(bytes_of_a, 16 * kBlocks);
    EXPECT_EQ(bytes_of_b, 8 * kBlocks);
    for (int s = 0; s < kBlocks; ++s) {
      const int at = 8 * (selector.byte + s);
      for (int row = 0; row < 16; ++row) {
        EXPECT_EQ(a[4 * (row % 8) + 2 * selector.a_thread + row / 8] >> at & 0xff,
                  sa[static_cast<std::size_t>(row * kBlocks + s)]);
      }
      for (int column = 0; column < 8; ++column) {
        EXPECT_EQ(b[4 * column + selector.b_thread] >> at & 0xff, sb[static_cast<std::size_t>(s * 8 + column)]);
      }
    }
  }
}

}  // namespace
}  // namespace tcnum
