// v_mfma and v_smfmac: a wave puts a tile into each of the instruction's blocks, and issues it exactly once, with C as
// the accumulator. The mode register is as the compiler sets it: round to nearest even, subnormals kept, IEEE mode.
// CBSZ and BLGP are 0: nothing is broadcast, swizzled or negated.
#include <hip/hip_runtime.h>

#include <bit>
#include <optional>

#include "mfma_kernels.hpp"
#include "mfma_operands.hpp"

namespace tcnum {
namespace {

/// What this pass of the compiler is for: an architecture, or the host.
constexpr std::optional<ArchId> kCompiledFor =
#if defined(__gfx908__)
    ArchId::gfx908;
#elif defined(__gfx90a__)
    ArchId::gfx90a;
#elif defined(__gfx942__)
    ArchId::gfx942;
#elif defined(__HIP_DEVICE_COMPILE__)
#error "TCNUM_HIP_ARCHS: expected some of gfx908, gfx90a and gfx942"
#else
    std::nullopt;
#endif

/// So many bytes as a vector, or one number.
template <class Number, int kBytes>
constexpr auto vector_of() {
  constexpr int kCount = kBytes / static_cast<int>(sizeof(Number));
  if constexpr (kCount == 1) {
    return Number{};
  } else {
    using Vector = Number __attribute__((ext_vector_type(kCount)));
    return Vector{};
  }
}
/// So many bytes of a format as LLVM's builtins take them: bf16 as integers, and 8-bit formats in integers of 32 bits,
/// or, where a dense instruction has two of these, in one of 64.
template <FormatId kFormat, int kBytes, bool kSparse>
constexpr auto as_in_builtins() {
  if constexpr (kFormat == FormatId::fp64)
    return vector_of<double, kBytes>();
  else if constexpr (kFormat == FormatId::fp32 || kFormat == FormatId::tf32)
    return vector_of<float, kBytes>();
  else if constexpr (kFormat == FormatId::fp16)
    return vector_of<_Float16, kBytes>();
  else if constexpr (kFormat == FormatId::bf16)
    return vector_of<short, kBytes>();
  else if constexpr (format(kFormat).storage_bits == 8 && kBytes == 8 && !kSparse)
    return long{};
  else
    return vector_of<int, kBytes>();
}

/// issue(): one instruction, of a whole wave.
template <MfmaNumber kNumber>
struct Issue;
#define TCNUM_ISSUE_DENSE(NAME, BUILTIN, ...)                                         \
  template <>                                                                         \
  struct Issue<MfmaNumber::NAME> {                                                    \
    template <class A, class B, class C>                                              \
    __device__ static C issue(const A& a, const B& b, const C& c) {                   \
      return __builtin_amdgcn_##BUILTIN(a, b, c, /*cbsz=*/0, /*abid=*/0, /*blgp=*/0); \
    }                                                                                 \
  };
TCNUM_DENSE_MFMA_ROWS(TCNUM_ISSUE_DENSE)
/// ABID, the part of the index register, is in the instruction itself.
#define TCNUM_ISSUE_SPARSE(NAME, BUILTIN, ...)                                                         \
  template <>                                                                                          \
  struct Issue<MfmaNumber::NAME> {                                                                     \
    template <int kPart, class A, class B, class C>                                                    \
    __device__ static C issue(const A& a, const B& b, const C& c, std::uint32_t index) {               \
      return __builtin_amdgcn_##BUILTIN(a, b, c, static_cast<int>(index), /*cbsz=*/0, /*abid=*/kPart); \
    }                                                                                                  \
  };
TCNUM_SPARSE_MFMA_ROWS(TCNUM_ISSUE_SPARSE)

/// The same with a part that is a number; from kPart on.
template <MfmaNumber kNumber, int kPart = 0, class A, class B, class C>
__device__ C issue_with_part(const A& a, const B& b, const C& c, std::uint32_t index, int part) {
  if constexpr (kPart + 1 < MfmaOp<kNumber>::kGeometry.index_sets()) {
    if (part != kPart) return issue_with_part<kNumber, kPart + 1>(a, b, c, index, part);
  }
  return Issue<kNumber>::template issue<kPart>(a, b, c, index);
}

template <MfmaNumber kNumber>
__global__ void __launch_bounds__(MfmaGeometry::kLanes) mfma_kernel(const DeviceTiles tiles) {
  using Op = MfmaOp<kNumber>;
  if constexpr (!kCompiledFor || !Op::kRow.archs.contains(*kCompiledFor)) {
    __builtin_trap();
  } else {
    constexpr bool kSparse = Op::kGeometry.sparse;
    const int lane = static_cast<int>(threadIdx.x);
    const std::size_t first = std::size_t{blockIdx.x} * Op::kGeometry.blocks;
    const LaneOperands<Op> own = load_lane<Op>(tiles, first, lane);
    const auto a = std::bit_cast<decltype(as_in_builtins<Op::kRow.a, sizeof(own.a), kSparse>())>(own.a);
    const auto b = std::bit_cast<decltype(as_in_builtins<Op::kRow.b, sizeof(own.b), kSparse>())>(own.b);
    auto c = std::bit_cast<decltype(as_in_builtins<Op::kRow.d, sizeof(own.c), kSparse>())>(own.c);
    if constexpr (kSparse)
      c = issue_with_part<kNumber>(a, b, c, own.index, index_set<Op>(tiles));
    else
      c = Issue<kNumber>::issue(a, b, c);
    store_lane<Op>(tiles, first, lane, std::bit_cast<decltype(own.c)>(c));
  }
}

template <MfmaNumber kNumber>
hipError_t launch(const DeviceTiles& tiles) {
  constexpr std::size_t kBlocks = MfmaOp<kNumber>::kGeometry.blocks;
  const auto waves = static_cast<unsigned>((tiles.count + kBlocks - 1) / kBlocks);
  mfma_kernel<kNumber><<<waves, MfmaGeometry::kLanes, 0, static_cast<hipStream_t>(tiles.stream)>>>(tiles);
  return hipGetLastError();
}

constexpr std::string_view kOnBlocks[] = {"each tile on its own block", "each tile on the next block"};
constexpr std::string_view kIndexSets[] = {"indices in part 0", "indices in part 1", "indices in part 2",
                                           "indices in part 3"};

template <MfmaNumber kNumber>
constexpr MfmaKernel kernel() {
  using Op = MfmaOp<kNumber>;
  std::span<const std::string_view> ways = kOnBlocks;
  if (Op::kGeometry.sparse) ways = kIndexSets;
  return {Op::kRow.instruction, launch<kNumber>, ways.first(variant_count<Op>())};
}

constexpr MfmaKernel kKernels[] = {
#define TCNUM_KERNEL(NAME, ...) kernel<MfmaNumber::NAME>(),
    TCNUM_DENSE_MFMA_ROWS(TCNUM_KERNEL) TCNUM_SPARSE_MFMA_ROWS(TCNUM_KERNEL)};

}  // namespace

std::span<const MfmaKernel> mfma_kernels() { return kKernels; }

}  // namespace tcnum
