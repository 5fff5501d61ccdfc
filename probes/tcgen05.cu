// tcgen05.mma: kernels of one SM and of two for each of its kinds, and of each number of block scales.
#include <map>
#include <mutex>
#include <vector>

#include "clusters.cuh"
#include "tcgen05_operands.cuh"

namespace tcnum {
namespace {

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)

/// What a kernel has of the device beside the instruction itself. All of its instructions must be of one cta_group. Of
/// two SMs, blocks 2i and 2i + 1 are a cluster, and so a CTA pair. Sources: PTX ISA, "Issue Granularity", "Tensor
/// Memory Allocation and Management Instructions" and tcgen05.commit; CUTLASS, Allocator2Sm and
/// umma_arrive_multicast_2x1SM.
template <class Kind, int kSms>
struct Tcgen05Core {
  struct State {
    std::uint64_t barrier;  ///< that the instruction arrives at when it is done
    std::uint32_t memory;
  };
  __device__ static State& state() {
    __shared__ State shared;
    return shared;
  }
  __device__ static std::uint32_t shared_address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  }

  /// Before what a whole warp does at once.
  __device__ static void converge() { __syncwarp(); }

  /// All threads of all SMs that share tiles.
  __device__ static void meet() {
    if constexpr (kSms == 1) {
      __syncthreads();
    } else {
      converge();
      sync::meet_cluster();
    }
  }

  /// Allocates columns of tensor memory, perhaps waiting until another block gives some back. Two SMs do it together,
  /// when both blocks have been launched, and are given the same columns.
  __device__ static std::uint32_t begin(int columns) {
    if constexpr (kSms == 2) meet();
    if (threadIdx.x < TensorMemory::kWarpLanes) {
      asm volatile(
          "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&state().memory)),
          "r"(columns), "n"(kSms)
          : "memory");
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(kSms) : "memory");
    }
    if (threadIdx.x == 0) {
      asm volatile(
          "mbarrier.init.shared::cta.b64 [%0], 1;\n"
          "fence.mbarrier_init.release.cluster;" ::"r"(shared_address(&state().barrier))
          : "memory");
    }
    settle();
    meet();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    return state().memory;
  }
  __device__ static void end(std::uint32_t memory, int columns) {
    if (threadIdx.x < TensorMemory::kWarpLanes) {
      asm volatile(
          "tcgen05.fence::after_thread_sync;\n"
          "tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(memory),
          "r"(columns), "n"(kSms)
          : "memory");
    }
  }

  /// Each thread of the warp puts its words into columns side by side, of the lane with its number.
  __device__ static void store(std::uint32_t at, const std::uint32_t (&words)[8]) {
    converge();
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(at),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[4]), "r"(words[5]),
                 "r"(words[6]), "r"(words[7])
                 : "memory");
  }
  __device__ static void store(std::uint32_t at, const std::uint32_t (&words)[4]) {
    converge();
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(words[0]),
                 "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
  }
  /// One statement with the wait: the compiler can use no word before it.
  __device__ static void load(std::uint32_t (&words)[8], std::uint32_t at) {
    converge();
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];\n"
        "tcgen05.wait::ld.sync.aligned;"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]), "=r"(words[4]), "=r"(words[5]),
          "=r"(words[6]), "=r"(words[7])
        : "r"(at)
        : "memory");
  }

  /// What this thread has put into tensor memory and shared memory is there for the tensor core, after a barrier.
  __device__ static void publish() {
    converge();
    asm volatile(
        "tcgen05.wait::st.sync.aligned;\n"
        "fence.proxy.async.shared::cta;" ::
            : "memory");
    settle();
  }
  __device__ static void settle() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }

  /// By one thread, after a barrier. The instruction arrives at each SM's own barrier.
  __device__ static void multiply(const Tcgen05Operands& operands, Tcgen05Form form) {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    Kind::template issue<kSms>(operands, form);
    const std::uint32_t barrier = shared_address(&state().barrier);
    if constexpr (kSms == 1) {
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
                   : "memory");
    } else {
      constexpr std::uint16_t kBoth = 0b11;
      asm volatile(
          "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
              barrier),
          "h"(kBoth)
          : "memory");
    }
  }
  /// For the multiplication of that number, modulo 2.
  __device__ static void wait(unsigned number) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}\n"
        "tcgen05.fence::after_thread_sync;" ::"r"(shared_address(&state().barrier)),
        "r"(number)
        : "memory");
  }
};

// One statement for each way in which the instruction's text differs: A's place, the metadata of sparse ones, the block
// scales of kinds that have them.
#define TCNUM_TCGEN05_ISSUE(TEXT, A_TEXT, METADATA, SCALES, A)                                                         \
  asm volatile(                                                                                                        \
      "{\n.reg .pred has_c;\n"                                                                                         \
      "setp.ne.u32 has_c, %0, 0;\n"                                                                                    \
      "tcgen05.mma" TEXT " [%1], " A_TEXT ", %3, " METADATA "%4" SCALES ", has_c;\n}" ::"r"(operands.has_c ? 1u : 0u), \
      "r"(operands.d), A, "l"(operands.b), "r"(operands.descriptor), "r"(operands.metadata), "r"(operands.a_scales),   \
      "r"(operands.b_scales), "n"(kSms)                                                                                \
      : "memory")
#define TCNUM_TCGEN05_A_SHARED(TEXT, METADATA, SCALES) \
  TCNUM_TCGEN05_ISSUE(TEXT, "%2", METADATA, SCALES, "l"(operands.a))
#define TCNUM_TCGEN05_A_TENSOR(TEXT, METADATA, SCALES) \
  TCNUM_TCGEN05_ISSUE(TEXT, "[%2]", METADATA, SCALES, "r"(operands.a_in_tensor_memory))
#define TCNUM_TCGEN05_SMS ".cta_group::%8"
#define TCNUM_TCGEN05_METADATA "[%5], "
#define TCNUM_TCGEN05_SCALES ", [%6], [%7]"

/// Defines the type of a kind: KIND is what PTX has after ".kind::", SCALES what it has for block scales.
#define TCNUM_TCGEN05_KIND(TYPE, KIND, SCALES)                                                          \
  struct TYPE {                                                                                         \
    template <int kSms>                                                                                 \
    __device__ static void issue(const Tcgen05Operands& operands, Tcgen05Form form) {                   \
      if (form.sparse && form.a_from_tensor_memory) {                                                   \
        TCNUM_TCGEN05_A_TENSOR(".sp" TCNUM_TCGEN05_SMS ".kind::" KIND, TCNUM_TCGEN05_METADATA, SCALES); \
      } else if (form.sparse) {                                                                         \
        TCNUM_TCGEN05_A_SHARED(".sp" TCNUM_TCGEN05_SMS ".kind::" KIND, TCNUM_TCGEN05_METADATA, SCALES); \
      } else if (form.a_from_tensor_memory) {                                                           \
        TCNUM_TCGEN05_A_TENSOR(TCNUM_TCGEN05_SMS ".kind::" KIND, "", SCALES);                           \
      } else {                                                                                          \
        TCNUM_TCGEN05_A_SHARED(TCNUM_TCGEN05_SMS ".kind::" KIND, "", SCALES);                           \
      }                                                                                                 \
    }                                                                                                   \
  };
/// The same of one that has .ws too; not on two SMs, and not without A in shared memory (tcgen05_has_way).
#define TCNUM_TCGEN05_KIND_WITH_WS(TYPE, KIND)                                                           \
  TCNUM_TCGEN05_KIND(TYPE##Alone, KIND, "")                                                              \
  struct TYPE {                                                                                          \
    template <int kSms>                                                                                  \
    __device__ static void issue(const Tcgen05Operands& operands, Tcgen05Form form) {                    \
      if constexpr (kSms == 1) {                                                                         \
        if (form.weight_stationary && form.sparse) {                                                     \
          TCNUM_TCGEN05_A_SHARED(".ws.sp" TCNUM_TCGEN05_SMS ".kind::" KIND, TCNUM_TCGEN05_METADATA, ""); \
          return;                                                                                        \
        }                                                                                                \
        if (form.weight_stationary) {                                                                    \
          TCNUM_TCGEN05_A_SHARED(".ws" TCNUM_TCGEN05_SMS ".kind::" KIND, "", "");                        \
          return;                                                                                        \
        }                                                                                                \
      }                                                                                                  \
      TYPE##Alone::issue<kSms>(operands, form);                                                          \
    }                                                                                                    \
  };

TCNUM_TCGEN05_KIND_WITH_WS(F16, "f16")
TCNUM_TCGEN05_KIND_WITH_WS(Tf32, "tf32")
TCNUM_TCGEN05_KIND_WITH_WS(F8f6f4, "f8f6f4")
// ".block16" says what ".scale_vec::4X" does, and ".block32" what those of fewer do. K = 96, which the descriptor alone
// tells from K = 64, has no other words.
TCNUM_TCGEN05_KIND(Mxf8f6f4, "mxf8f6f4.block_scale.block32", TCNUM_TCGEN05_SCALES)
TCNUM_TCGEN05_KIND(Mxf4, "mxf4.block_scale.block32", TCNUM_TCGEN05_SCALES)
TCNUM_TCGEN05_KIND(Mxf4nvf4Block32, "mxf4nvf4.block_scale.block32", TCNUM_TCGEN05_SCALES)
TCNUM_TCGEN05_KIND(Mxf4nvf4Block16, "mxf4nvf4.block_scale.block16", TCNUM_TCGEN05_SCALES)
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
TCNUM_TCGEN05_KIND_WITH_WS(I8, "i8")
#else
struct I8 {  // sm_103 has none
  template <int kSms>
  __device__ static void issue(const Tcgen05Operands&, Tcgen05Form) {
    __trap();
  }
};
#endif

#else

struct F16;
struct Tf32;
struct F8f6f4;
struct I8;
struct Mxf8f6f4;
struct Mxf4;
struct Mxf4nvf4Block32;
struct Mxf4nvf4Block16;

#endif

template <class Kind, class Code, int kSms>
__global__ void __launch_bounds__(kThreads) tcgen05_kernel(const DeviceTiles tiles, const Tcgen05Work work) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
  extern __shared__ std::uint8_t shared[];
  const auto misplaced = static_cast<unsigned>(__cvta_generic_to_shared(shared)) % kSwizzlePeriod;
  multiply_tiles<Tcgen05Core<Kind, kSms>, Code>(tiles, work,
                                                shared + (misplaced == 0 ? 0 : kSwizzlePeriod - misplaced));
#else
  __trap();
#endif
}

template <class Kind, class Code, int kSms>
cudaError_t launch_on(const Tcgen05Work& work, const DeviceTiles& tiles) {
  constexpr auto kKernel = tcgen05_kernel<Kind, Code, kSms>;
  const std::size_t bytes =
      static_cast<std::size_t>(work.shared_bytes() + kSwizzlePeriod);  // to begin where a swizzle's pattern does
  const ClusterGrid grid{.blocks = kSms * static_cast<unsigned>(std::min(kMaxBlocks / kSms, tiles.count)),
                      .threads = kThreads,
                      .cluster = kSms};
  if (const cudaError_t error = sync::allow(kKernel, grid, bytes); error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config = sync::config_of(grid, bytes, attribute);
  config.stream = static_cast<cudaStream_t>(tiles.stream);
  return cudaLaunchKernelEx(&config, kKernel, DeviceTiles(tiles), Tcgen05Work(work));
}

template <class Kind, class Code>
cudaError_t launch_tcgen05(const Instruction& in, const DeviceTiles& tiles) {
  const Tcgen05Work work = tcgen05_work(in, tcgen05_ways(in)[static_cast<std::size_t>(tiles.variant)].way);
  return work.sms == 1 ? launch_on<Kind, Code, 1>(work, tiles) : launch_on<Kind, Code, 2>(work, tiles);
}

/// By the number of Tcgen05Kind.
constexpr std::array kLaunches = {
    launch_tcgen05<F16, std::uint16_t>,
    launch_tcgen05<Tf32, std::uint32_t>,
    launch_tcgen05<F8f6f4, std::uint8_t>,
    launch_tcgen05<I8, std::uint8_t>,
    launch_tcgen05<Mxf8f6f4, std::uint8_t>,
    launch_tcgen05<Mxf4, std::uint8_t>,
    launch_tcgen05<Mxf4nvf4Block32, std::uint8_t>,
    launch_tcgen05<Mxf4nvf4Block16, std::uint8_t>,
};

/// A kernel and the names that it points to.
struct Made {
  std::vector<std::string_view> ways;
  Kernel kernel;
};

}  // namespace

const Kernel* tcgen05_kernel(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, Made, std::less<>> made;
  const std::scoped_lock lock(mutex);
  if (const auto found = made.find(name); found != made.end()) return &found->second.kernel;
  const Instruction* const in = find_instruction(name);
  if (in == nullptr || !tcgen05_has_kernel(*in)) return nullptr;
  const auto at = made.try_emplace(std::string(name)).first;
  Made& entry = at->second;
  for (const Tcgen05WayName& each : tcgen05_ways(*in)) entry.ways.push_back(each.name);
  entry.kernel = {at->first, kLaunches[static_cast<std::size_t>(tcgen05_kind(*in))], entry.ways};
  return &entry.kernel;
}

}  // namespace tcnum
