// Kernels of tcgen05.mma on a CPU: what descriptors say, and problems carried through shared memory and tensor memory.
//
// The tensor core here reads descriptors, shared memory and tensor memory by rules of its own: of descriptors, those of
// the PTX ISA's tables; of memories, CUTLASS's layouts, as shapes and strides (mma_sm100_desc.hpp, make_umma_desc;
// mma_traits_sm100_frag.hpp; of two SMs, ALayout, BLayout and CLayout in mma_traits_sm100.hpp; of K = 96, mma_unpack
// there and sm103_blockscaled_mma_warpspecialized.hpp).
// Labels: long sample=4
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "hashed_problems.hpp"
#include "probes/tcgen05_operands.cuh"
#include "probes/tile_oracle.hpp"

namespace tcnum {
namespace {

const Instruction& find(std::string_view name) { return *find_instruction(name); }

// --- Descriptors, worked out by hand from the tables of the PTX ISA.

TEST(Tcgen05Descriptor, OfInstructionsIsAsTheTablesHaveIt) {
  struct Case {
    std::string_view name;
    std::uint32_t bits;
  };
  for (const auto& [name, bits] : {
           // D of fp32: 1 << 4. N / 8 << 17, M / 16 << 24.
           Case{"tcgen05.mma.m128n256k16.f32.f16.f16", 0x0000'0010 + (32u << 17) + (8u << 24)},
           Case{"tcgen05.mma.m128n256k16.f32.bf16.bf16", 0x0840'0490},
           Case{"tcgen05.mma.m64n8k16.f16.f16.f16", 0x0402'0000},
           Case{"tcgen05.mma.m64n8k8.f32.tf32.tf32", 0x0402'0910},
           Case{"tcgen05.mma.m64n8k32.f16.e4m3.e2m1", 0x0402'1400},
           Case{"tcgen05.mma.m64n8k32.f32.e3m2.e2m3", 0x0402'0e10},
           Case{"tcgen05.mma.m128n32k32.s32.s8.u8.satfinite", 0x0808'00a8},
           Case{"tcgen05.mma.m128n32k32.s32.u8.s8", 0x0808'0420},
           Case{"tcgen05.mma.ws.m32n64k32.f32.e5m2.e5m2", 0x0210'0490},
           Case{"tcgen05.mma.sp.m128n8k32.f32.f16.f16", 0x0802'0014},
           Case{"tcgen05.mma.m256n16k16.f32.f16.f16", 0x1004'0010},
           // With block scales: their type in bit 23, M / 128 << 27.
           Case{"tcgen05.mma.m128n16k32.mxf8f6f4.1x.f32.e5m2.e3m2.ue8m0", 0x0884'1080},
           Case{"tcgen05.mma.m128n8k64.mxf4.2x.f32.e2m1.e2m1.ue8m0", 0x0882'0480},
           Case{"tcgen05.mma.m128n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3", 0x0802'0480},
           Case{"tcgen05.mma.sp.m128n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3", 0x0802'0484},
           Case{"tcgen05.mma.m256n16k64.mxf4.2x.f32.e2m1.e2m1.ue8m0", 0x1084'0480},
           Case{"tcgen05.mma.m128n16k96.mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3", 0x8804'0480},
       }) {
    ASSERT_NE(find_instruction(name), nullptr) << name;
    EXPECT_EQ(tcgen05_instruction(find(name)).bits(), bits) << name;
  }
}

TEST(Tcgen05Descriptor, OfInstructionsSaysHowOperandsAreGiven) {
  const auto bits = [](std::string_view name, Tcgen05Way way) { return tcgen05_work(find(name), way).descriptor; };
  constexpr std::string_view kHalf = "tcgen05.mma.m128n256k16.f32.bf16.bf16";
  EXPECT_EQ(bits(kHalf, Tcgen05Way::negated_a), 0x0840'2490u);
  EXPECT_EQ(bits(kHalf, Tcgen05Way::negated_b), 0x0840'4490u);
  EXPECT_EQ(bits(kHalf, Tcgen05Way::mn_major), 0x0841'8490u);
  EXPECT_EQ(bits(kHalf, Tcgen05Way::swizzle_128), 0x0840'0490u);
  EXPECT_EQ(bits("tcgen05.mma.m128n16k32.mxf8f6f4.1x.f32.e5m2.e3m2.ue8m0", Tcgen05Way::later_scales), 0x6884'10b0u);
  EXPECT_EQ(bits("tcgen05.mma.m128n8k64.mxf4.2x.f32.e2m1.e2m1.ue8m0", Tcgen05Way::later_scales), 0x4882'04a0u);
  EXPECT_EQ(bits("tcgen05.mma.m128n16k96.mxf4.block32.f32.e2m1.e2m1.ue8m0", Tcgen05Way::later_scales), 0xe884'04b0u);
}

TEST(Tcgen05Descriptor, OfSharedMemoryIsAsTheTableHasIt) {
  const auto descriptor = [](const SharedLayout& layout, std::uint64_t address) {
    return tcgen05_descriptor({.rows = 128, .depth = 16, .bits = 16, .chunk_elements = 8, .flip = 0, .layout = layout},
                              address);
  };
  // 0x1400 >> 4, 128 >> 4 in bit 16, 256 >> 4 in bit 32, 0b001 in bit 46.
  EXPECT_EQ(descriptor(SharedLayout::plain(32), 0x1400), 0x0000'4010'0008'0140u);
  // 1024 >> 4 in bit 32, 2 in bit 61; 512 >> 4 and 4; 256 >> 4 and 6.
  EXPECT_EQ(descriptor(SharedLayout::swizzled(128), 0x400), 0x4000'4040'0001'0040u);
  EXPECT_EQ(descriptor(SharedLayout::swizzled(64), 0), 0x8000'4020'0001'0000u);
  EXPECT_EQ(descriptor(SharedLayout::swizzled(32), 0), 0xc000'4010'0001'0000u);
  // 16 elements along K: 2 KiB from 64 elements along M or N to the next.
  EXPECT_EQ(descriptor(SharedLayout::mn_major(16), 0), 0x4000'4040'0080'0000u);
  // Addresses have 18 bits.
  EXPECT_EQ(descriptor(SharedLayout::plain(32), 0x7f00'0003'fff0), 0x0000'4010'0008'3fffu);
  // K = 96: 0x430 >> 4, and, with bit 52, 0x400 >> 4; then 0x460 >> 4 and, 16 rows of 128 bytes on, 0xc00 >> 4.
  const Tcgen05Operand fp4{16, 96, 4, 32, 0, SharedLayout::swizzled(128), 48};
  EXPECT_EQ(tcgen05_descriptor(fp4, 0x400), 0x4010'4040'0040'0043u);
  const Tcgen05Operand further{16, 96, 4, 32, 0, SharedLayout::swizzled(128), 96};
  EXPECT_EQ(tcgen05_descriptor(further, 0x400), 0x4010'4040'00c0'0046u);
}

// --- A tensor core.

/// Bits first … first + count − 1.
std::uint64_t field(std::uint64_t from, int first, int count) {
  return from >> first & ((std::uint64_t{1} << count) - 1);
}

/// What the instruction descriptor of a kind says.
struct Decoded {
  int a_width, b_width;  ///< bits of an element
  int container;         ///< bits that an element has room for
  int m, n, k, stored;
  bool sparse, negates_a, negates_b, a_m_major, b_n_major;
  FormatId d;
  int scales, a_scale_id, b_scale_id;

  static int width(Tcgen05Kind kind, std::uint64_t type) {
    switch (kind) {
      case Tcgen05Kind::f16:
        return 16;
      case Tcgen05Kind::tf32:
        return 32;
      case Tcgen05Kind::i8:
        return 8;
      case Tcgen05Kind::f8f6f4:
      case Tcgen05Kind::mxf8f6f4:
        return type <= 1 ? 8 : type <= 4 ? 6 : 4;
      default:
        return 4;
    }
  }
  static Decoded of(Tcgen05Kind kind, std::uint32_t bits) {
    const bool scaled = kind >= Tcgen05Kind::mxf8f6f4, fp4 = kind >= Tcgen05Kind::mxf4;
    Decoded x{};
    x.a_width = width(kind, field(bits, 7, 3));
    x.b_width = width(kind, field(bits, 10, fp4 ? 2 : 3));
    x.container = kind == Tcgen05Kind::f16 ? 16 : kind == Tcgen05Kind::tf32 ? 32 : fp4 ? 4 : 8;
    x.stored = 256 / x.container;
    x.sparse = field(bits, 2, 1) != 0;
    if (fp4 && field(bits, 31, 1) != 0) x.stored = 96;
    x.k = x.sparse ? 2 * x.stored : x.stored;
    x.negates_a = field(bits, 13, 1) != 0;
    x.negates_b = field(bits, 14, 1) != 0;
    x.a_m_major = field(bits, 15, 1) != 0;
    x.b_n_major = field(bits, 16, 1) != 0;
    x.n = static_cast<int>(field(bits, 17, 6)) << 3;
    if (scaled) {
      x.m = static_cast<int>(field(bits, 27, 2)) << 7;
      x.d = FormatId::fp32;
      x.scales = kind == Tcgen05Kind::mxf8f6f4 ? 1 : kind == Tcgen05Kind::mxf4nvf4_block16 ? 4 : 2;
      if (x.stored == 96) x.scales = kind == Tcgen05Kind::mxf4nvf4_block16 ? 6 : 3;
      x.a_scale_id = static_cast<int>(field(bits, 29, 2));
      x.b_scale_id = static_cast<int>(field(bits, 4, 2));
    } else {
      constexpr std::array kResults = {FormatId::fp16, FormatId::fp32, FormatId::s32};
      x.m = static_cast<int>(field(bits, 24, 5)) << 4;
      x.d = kResults.at(field(bits, 4, 2));
    }
    return x;
  }
};

/// The shared memory of a thread block on each of two SMs, aligned as a GPU's is. Addresses are those in the first:
/// descriptors mean the same place on each.
constexpr std::size_t kSharedBytes = std::size_t{96} << 10;
alignas(1024) std::uint8_t shared_memory[2][kSharedBytes];

/// An operand as its descriptor says that it lies.
class SharedReader {
 public:
  SharedReader(std::uint64_t descriptor, bool mn_major, int width, int container)
      : mn_major_(mn_major),
        width_(width),
        container_(container),
        start_(static_cast<std::int64_t>(field(descriptor, 0, 14))),
        leading_(static_cast<std::int64_t>(field(descriptor, 16, 14))),
        stride_(static_cast<std::int64_t>(field(descriptor, 32, 14))),
        mode_(field(descriptor, 61, 3)),
        leads_to_address_(field(descriptor, 52, 1) != 0) {
    EXPECT_EQ(field(descriptor, 46, 3), 1u);
    EXPECT_EQ(field(descriptor, 14, 2) + field(descriptor, 30, 2) + field(descriptor, 49, 3) + field(descriptor, 53, 8),
              0u);
    EXPECT_TRUE(!leads_to_address_ || (mode_ == 2 && !mn_major && leading_ % 8 == 0));
  }

  std::uint64_t code(int sm, int row, int k) const {
    const int elements = 128 / container_;  // in 16 bytes
    std::int64_t units = 0;                 // of 16 bytes
    int element = 0;
    if (mn_major_) {  // Swizzle<3,4,3> o ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)), for T = 1
      EXPECT_EQ(mode_, 2u);
      const int unit = row / elements;
      element = row % elements;
      units = unit % 8 + unit / 8 * leading_ + k % 8 * 8 + k / 8 * stride_;
    } else {  // Swizzle<B,4,3> o ((8,m),(T,2)):((1T,SBO),(1,LBO)), or ((2T,SBO),(1,T)), 4T, 8T with a swizzle
      const int unit = k / elements;
      element = k % elements;
      const int pitch = mode_ == 0 ? 1 : mode_ == 6 ? 2 : mode_ == 4 ? 4 : 8;
      units = row % 8 * pitch + row / 8 * stride_ + unit * (mode_ == 0 ? leading_ : 1);
    }
    std::int64_t start = start_;
    if (leads_to_address_ && start_ % 8 + k / elements >= 8) {  // after 128 bytes, at the beginning of other rows
      start = leading_;
      units -= 8 - start_ % 8;
    }
    // Descriptors have the low bits of addresses.
    const auto base = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(shared_memory[0]) >> 4);
    std::int64_t at = units + ((start - base) & 0x3fff);
    const std::int64_t swizzled_bits = mode_ == 0 ? 0 : mode_ == 6 ? 1 : mode_ == 4 ? 3 : 7;
    at ^= at >> 3 & swizzled_bits;
    std::uint64_t code = 0;
    for (int bit = 0; bit < width_; ++bit) {
      const int in_unit = element * width_ + bit;
      const auto byte = static_cast<std::size_t>(at * 16 + in_unit / 8);
      if (byte >= kSharedBytes) return ~std::uint64_t{0};
      code |= static_cast<std::uint64_t>(shared_memory[sm][byte] >> in_unit % 8 & 1) << bit;
    }
    return code;
  }

 private:
  bool mn_major_;
  int width_, container_;
  std::int64_t start_, leading_, stride_;
  std::uint64_t mode_;
  bool leads_to_address_;  ///< where an operand goes on; else `leading_` is an offset
};

/// What a kernel is compiled with in place of a device's tensor core: the results are hashes of the operands.
struct SoftwareCore {
  static constexpr int kLanes = 128, kColumns = 512, kBase = 64;

  static inline Tcgen05Kind kind;
  static inline unsigned sms;  ///< one, or two whose blocks are side by side
  using Memory = std::array<std::array<std::uint32_t, kColumns>, kLanes>;
  static inline std::array<Memory, 2> memories;  ///< of each
  static inline int allocated;
  static inline unsigned multiplications;
  static inline std::atomic<int> faults;  ///< accesses that a device would not take

  static unsigned this_sm() { return blockIdx.x % sms; }
  static void meet() { cuda_on_cpu::meet_cluster(); }
  static std::uint32_t begin(int columns) {
    if (threadIdx.x == 0) {
      for (auto& lane : memories[this_sm()]) lane.fill(0xbadc0de5);
      faults += columns >= 32 && (columns & (columns - 1)) == 0 && kBase + columns <= kColumns + kBase ? 0 : 1;
    }
    if (threadIdx.x == 0 && this_sm() == 0) {
      allocated = columns;
      multiplications = 0;
    }
    meet();
    return kBase;
  }
  static void end(std::uint32_t at, int columns) { faults += at == kBase && columns == allocated ? 0 : 1; }

  /// A warp reaches its own lanes, of the columns that are allocated.
  static std::uint32_t* words(std::uint32_t at, int count) {
    const int lane = static_cast<int>(at >> 16), column = static_cast<int>(at & 0xffff) - kBase;
    const bool is_legal = lane == static_cast<int>(threadIdx.x / 32 * 32) && column >= 0 && column + count <= allocated;
    if (!is_legal) {
      ++faults;
      return nullptr;
    }
    return &memories[this_sm()][threadIdx.x][static_cast<std::size_t>(column)];
  }
  template <std::size_t kCount>
  static void store(std::uint32_t at, const std::uint32_t (&from)[kCount]) {
    if (std::uint32_t* const to = words(at, kCount)) std::copy(from, from + kCount, to);
  }
  static void load(std::uint32_t (&to)[8], std::uint32_t at) {
    if (const std::uint32_t* const from = words(at, 8)) std::copy(from, from + 8, to);
  }
  static void publish() {}
  static void settle() {}
  static void wait(unsigned number) {
    meet();
    if (threadIdx.x == 0) faults += number == (multiplications - 1) % 2 ? 0 : 1;
  }

  /// Bits of tensor memory from a lane's column on; columns that are not allocated are nobody's.
  static std::uint64_t bits(int sm, int lane, std::uint32_t column, int first, int count) {
    const int at = static_cast<int>(column & 0xffff) - kBase + first / 32;
    if (column >> 16 != 0 || at < 0 || at >= allocated) {
      ++faults;
      return 0;
    }
    return field(
        memories.at(static_cast<std::size_t>(sm)).at(static_cast<std::size_t>(lane)).at(static_cast<std::size_t>(at)),
        first % 32, count);
  }
  /// Where D's element is, of an SM's rows: "1x4", "2x2" and "4x1" of CUTLASS's tmem_frg_ws, tmem_frg_1sm and
  /// tmem_frg_2sm.
  struct Place {
    int lane, column;
  };
  static Place place(int rows, int n, bool spread, int row, int column) {
    if (rows == 128) return {row, column};
    if (spread && rows == 64) return {row + column / (n / 2) * 64, column % (n / 2)};
    if (spread && rows == 32) return {row + column / (n / 4) * 32, column % (n / 4)};
    return {row % 16 + row / 16 * 32, column};
  }
  /// Which element of a group of A's logical elements each of its stored ones is.
  static int position(const Decoded& in, std::uint32_t metadata, int sm, int row, int stored) {
    const int size = in.container == 32 ? 2 : in.container == 4 ? 8 : 4, group = stored / (size / 2);
    const int in_group = stored % (size / 2);
    int lane = row, bit = 4 * group;
    if (in.container >= 16) {  // ((8,2,8),(16,2)):((1,2048,16),(128,8)), with a bit for each element along k
      const int k = 4 * group;
      const int virtual_address = row % 8 + row / 8 % 2 * 2048 + row / 16 * 16 + k % 16 * 128 + k / 16 * 8;
      lane = virtual_address % 128;
      bit = virtual_address / 128;
    }
    const auto nibble = static_cast<int>(bits(sm, lane, metadata, bit, 4));
    if (size == 2) return nibble == 0b1110 ? 1 : nibble == 0b0100 ? 0 : -1000;
    const int unit = size / 4, which = in_group / unit;
    return (nibble >> 2 * which & 3) * unit + in_group % unit;
  }

  static void multiply(const Tcgen05Operands& operands, Tcgen05Form form) {
    ++multiplications;
    const Decoded in = Decoded::of(kind, operands.descriptor);
    EXPECT_EQ(in.sparse, form.sparse);
    if (in.sparse) faults += operands.metadata % 4 == 0 ? 0 : 1;  // as CUTLASS aligns its columns
    const SharedReader a(operands.a, in.a_m_major, in.a_width, in.container),
        b(operands.b, in.b_n_major, in.b_width, in.container);
    const auto sign = [](int width) { return std::uint64_t{1} << (width - 1); };
    // Each SM has an equal part of A's rows and of B's columns. (v,(m,k)):(M/2,(1,M)), and the same of N.
    const int rows = in.m / static_cast<int>(sms), columns = in.n / static_cast<int>(sms);
    std::vector<std::uint64_t> b_codes(static_cast<std::size_t>(in.n * in.k));
    for (int j = 0; j < in.n; ++j) {
      for (int k = 0; k < in.k; ++k) {
        b_codes[static_cast<std::size_t>(j * in.k + k)] =
            b.code(j / columns, j % columns, k) ^ (in.negates_b ? sign(in.b_width) : 0);
      }
    }
    for (int i = 0; i < in.m; ++i) {
      const int sm = i / rows, row = i % rows;
      std::vector<int> where;
      for (int s = 0; s < in.stored; ++s) {
        const int size = in.container == 32 ? 2 : in.container == 4 ? 8 : 4;
        where.push_back(in.sparse ? s / (size / 2) * size + position(in, operands.metadata, sm, row, s) : s);
        if (where.back() < 0 || where.back() >= in.k) {
          ++faults;
          where.back() = 0;
        }
      }
      std::vector<std::uint64_t> a_codes;
      int of_lane = -1;  // whose a_codes are: with two parts of D's row, tensor memory has a row of A for each
      for (int j = 0; j < in.n; ++j) {
        const auto [lane, column] = place(rows, in.n, form.weight_stationary || sms == 2, row, j);
        for (int s = 0; s < in.stored && lane != of_lane; ++s) {
          if (s == 0) a_codes.clear();
          const std::uint64_t code = form.a_from_tensor_memory
                                         ? bits(sm, lane, operands.a_in_tensor_memory, s * in.container, in.container)
                                         : a.code(sm, row, s);
          a_codes.push_back(code ^ (in.negates_a ? sign(in.a_width) : 0));
        }
        of_lane = lane;
        Hash hash;
        for (std::size_t s = 0; s < a_codes.size(); ++s) {
          hash.add(a_codes[s]);
          hash.add(b_codes[static_cast<std::size_t>(j * in.k + where[s])]);
        }
        const int d_bits = in.d == FormatId::fp16 ? 16 : 32;
        hash.add(operands.has_c ? bits(sm, lane, operands.d + static_cast<unsigned>(column), 0, d_bits) : 0);
        // Each of the four warps' lanes has all scales: the one that computes these results takes its own.
        const int of_warp = lane / 32 * 32;
        for (int s = 0; s < in.scales; ++s) {
          // ((32,rows/32),4):((1,512),128) for each four scales, one after the other, of 128 or 256 rows.
          const int a_byte = in.a_scale_id + s, b_byte = in.b_scale_id + s, b_rows = (in.n + 127) / 128 * 128;
          const int a_column = row / 32 + a_byte / 4 * 4, b_column = j / 32 + b_byte / 4 * (b_rows / 32);
          hash.add(
              bits(sm, of_warp + row % 32, operands.a_scales + static_cast<unsigned>(a_column), a_byte % 4 * 8, 8));
          hash.add(bits(sm, of_warp + j % 32, operands.b_scales + static_cast<unsigned>(b_column), b_byte % 4 * 8, 8));
        }
        // What else the word has is nobody's business.
        const std::uint64_t garbage = d_bits == 16 ? 0xdead'0000 : 0;
        memories[static_cast<std::size_t>(sm)][static_cast<std::size_t>(lane)]
                [(operands.d & 0xffff) - kBase + static_cast<unsigned>(column)] =
                    static_cast<std::uint32_t>(hash.code(in.d) | garbage);
      }
    }
  }
};

template <class Code>
void run_kernel(const DeviceTiles tiles, const Tcgen05Work work) {
  multiply_tiles<SoftwareCore, Code>(tiles, work, shared_memory[SoftwareCore::this_sm()]);
}

std::vector<std::string_view> names(const std::vector<Tcgen05WayName>& ways) {
  std::vector<std::string_view> names;
  for (const Tcgen05WayName& each : ways) names.push_back(each.name);
  return names;
}

/// The oracle of a device that has this tensor core.
class SoftwareOracle final : public TileOracle {
 public:
  explicit SoftwareOracle(const Instruction& in) : SoftwareOracle(in, tcgen05_ways(in)) {}
  std::string device() const override { return "a CPU"; }

 private:
  SoftwareOracle(const Instruction& in, const std::vector<Tcgen05WayName>& ways)
      : SoftwareOracle(in, ways, std::make_shared<std::vector<std::string_view>>(names(ways))) {}
  SoftwareOracle(const Instruction& in, const std::vector<Tcgen05WayName>& ways,
                 const std::shared_ptr<std::vector<std::string_view>>& names)
      : TileOracle(in, *names, /*check_positions=*/true), ways_(ways), names_(names) {}

  void run(PackedTiles& packed, int variant) override {
    const DeviceTiles tiles{packed.a.data(),  packed.b.data(),  packed.c.data(), packed.d.data(), packed.e.data(),
                            packed.sa.data(), packed.sb.data(), packed.count,    variant};
    const Tcgen05Work work = tcgen05_work(instruction(), ways_[static_cast<std::size_t>(variant)].way);
    ASSERT_LE(static_cast<std::size_t>(work.shared_bytes()), kSharedBytes);
    SoftwareCore::kind = tcgen05_kind(instruction());
    SoftwareCore::sms = static_cast<unsigned>(work.sms);
    SoftwareCore::faults = 0;
    std::memset(shared_memory, 0x5a, sizeof(shared_memory));
    const int bytes = format(instruction().a).storage_bytes();
    auto* const kernel = bytes == 4   ? run_kernel<std::uint32_t>
                         : bytes == 2 ? run_kernel<std::uint16_t>
                                      : run_kernel<std::uint8_t>;
    const unsigned blocks = variant == 0 ? 2 : 1;  // threads take longer to begin than all that they do
    cuda_on_cpu::launch_clusters(kernel, SoftwareCore::sms, SoftwareCore::sms * blocks, static_cast<unsigned>(kThreads),
                                 tiles, work);
    EXPECT_EQ(SoftwareCore::faults, 0) << ways_[static_cast<std::size_t>(variant)].name;
  }

  std::vector<Tcgen05WayName> ways_;
  std::shared_ptr<std::vector<std::string_view>> names_;
};

class Tcgen05Kernel : public testing::TestWithParam<const char*> {
 protected:
  /// Codes of less than 8 bits have neighbours.
  static void keep_to_format(Codes& codes, FormatId id) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, codes[i] & format(id).code_mask());
  }
  const Instruction& instruction() const { return find(GetParam()); }
  Tiles random(std::size_t count, int m, int n) const {
    Tiles tiles = random_tiles(instruction(), count, static_cast<std::size_t>(m), static_cast<std::size_t>(n));
    keep_to_format(tiles.a, instruction().a);
    keep_to_format(tiles.b, instruction().b);
    return tiles;
  }
  void expect_carried(Tiles& tiles) const {
    SoftwareOracle oracle(instruction());
    ASSERT_NO_THROW(oracle.answer(tiles));
    for (std::size_t i = 0; i < tiles.size(); ++i) ASSERT_EQ(tiles.d[i], expected(tiles, i)) << "element " << i;
  }
};

TEST_P(Tcgen05Kernel, CarriesEveryProblemThroughInEveryWay) {
  ASSERT_TRUE(tcgen05_has_kernel(instruction()));
  Tiles tiles = random(3, 8, 8);
  for (std::size_t i = 0; i < 64; ++i) tiles.c.set(i, 0);  // of the first tile, which may leave it out
  expect_carried(tiles);
}

/// Those of small tiles come again every 64 rows and columns, in each half of an instruction's.
TEST_P(Tcgen05Kernel, CarriesATileOfWhichNoTwoRowsOrColumnsAreTheSame) {
  Tiles tiles = random(1, instruction().m, instruction().n);
  // C is left out where all of it is zero, but not where half of it is.
  for (std::size_t i = tiles.size() / 2; i < tiles.size(); ++i) tiles.c.set(i, 0);
  expect_carried(tiles);
}

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Tcgen05Kernel,
    testing::Values(
        "tcgen05.mma.m64n8k16.f32.f16.f16", "tcgen05.mma.m128n24k16.f16.f16.f16",
        "tcgen05.mma.m128n256k16.f32.bf16.bf16", "tcgen05.mma.m64n16k8.f32.tf32.tf32",
        "tcgen05.mma.m64n8k32.f32.e4m3.e5m2", "tcgen05.mma.m128n8k32.f16.e3m2.e2m1",
        "tcgen05.mma.m64n40k32.f32.e2m1.e2m3", "tcgen05.mma.m128n32k32.s32.s8.u8.satfinite",
        "tcgen05.mma.m64n8k32.s32.u8.u8", "tcgen05.mma.m128n8k32.mxf8f6f4.1x.f32.e4m3.e5m2.ue8m0",
        "tcgen05.mma.m128n72k32.mxf8f6f4.1x.f32.e2m1.e3m2.ue8m0", "tcgen05.mma.m128n8k64.mxf4.2x.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.m128n136k64.mxf4nvf4.2x.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.m128n256k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3", "tcgen05.mma.ws.m32n64k16.f32.f16.f16",
        "tcgen05.mma.ws.m64n128k8.f32.tf32.tf32", "tcgen05.mma.ws.m128n64k32.f16.e4m3.e2m3",
        "tcgen05.mma.ws.m32n256k32.s32.s8.s8", "tcgen05.mma.sp.m128n8k32.f32.f16.f16",
        "tcgen05.mma.sp.m128n16k16.f32.tf32.tf32", "tcgen05.mma.sp.m128n8k64.f32.e5m2.e2m1",
        "tcgen05.mma.sp.m128n24k64.s32.u8.s8", "tcgen05.mma.sp.m128n8k64.mxf8f6f4.1x.f32.e4m3.e2m3.ue8m0",
        "tcgen05.mma.sp.m128n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3", "tcgen05.mma.ws.sp.m128n64k32.f16.f16.f16",
        "tcgen05.mma.m256n128k16.f32.f16.f16", "tcgen05.mma.m256n16k16.f16.f16.f16",
        "tcgen05.mma.m256n64k8.f32.tf32.tf32", "tcgen05.mma.m256n48k32.f32.e4m3.e2m3",
        "tcgen05.mma.m256n32k32.s32.s8.u8", "tcgen05.mma.m256n48k32.mxf8f6f4.1x.f32.e2m3.e5m2.ue8m0",
        "tcgen05.mma.m256n256k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3", "tcgen05.mma.m256n16k64.mxf4.2x.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.sp.m256n32k32.f32.bf16.bf16", "tcgen05.mma.sp.m256n16k16.f32.tf32.tf32",
        "tcgen05.mma.sp.m256n32k64.s32.s8.s8", "tcgen05.mma.sp.m256n16k128.mxf4nvf4.2x.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.m128n16k96.mxf4.block32.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.m128n144k96.mxf4nvf4.block32.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.m128n48k96.mxf4nvf4.block16.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.m256n192k96.mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3"),
    test_name);

TEST(Tcgen05Kernel, AreOfWhatIsDescribedInWords) {
  EXPECT_FALSE(tcgen05_has_kernel(find("tcgen05.mma.sp.m64n8k32.f32.f16.f16")));
  EXPECT_FALSE(tcgen05_has_kernel(find("wgmma.m64n8k16.f32.f16.f16")));
  int count = 0;
  for (const Instruction& in : instructions()) count += tcgen05_has_kernel(in) ? 1 : 0;
  EXPECT_GT(count, 150);
}

}  // namespace
}  // namespace tcnum
