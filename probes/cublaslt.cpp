// cuBLASLt, loaded when it is asked for: the program needs its header to be built, and the library to ask it.
#include "cublaslt.hpp"

#include <fmt/format.h>

#include <utility>

#include "tcnum/error.hpp"

namespace tcnum {
LibraryAlgorithm first_algorithm(CublasLt& library, const LibraryProduct& product) {
  std::vector<LibraryAlgorithm> algorithms = library.algorithms(product, 1);
  if (algorithms.empty()) throw UnavailableError("cuBLASLt offers no algorithm for this product");
  return std::move(algorithms.front());
}
}  // namespace tcnum

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "cluster_grid.hpp"
#include "cuda/device_memory.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

#define TCNUM_TEXT_OF(x) #x
#define TCNUM_TEXT(x) TCNUM_TEXT_OF(x)
#define TCNUM_CUBLASLT_MAJOR TCNUM_TEXT(CUBLAS_VER_MAJOR)

/// What is taken of the library, under its own names.
struct Library {
#define TCNUM_CUBLASLT(function) decltype(&::function) function = find<decltype(&::function)>(#function)
  Library() : handle(dlopen("libcublasLt.so." TCNUM_CUBLASLT_MAJOR, RTLD_NOW | RTLD_LOCAL)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  template <class Function>
  Function find(const char* name) {
    void* const found = handle == nullptr ? nullptr : dlsym(handle, name);
    is_whole = is_whole && found != nullptr;
    return reinterpret_cast<Function>(found);
  }
  void* handle;
  bool is_whole = true;  ///< has all of these
  TCNUM_CUBLASLT(cublasLtCreate);
  TCNUM_CUBLASLT(cublasLtDestroy);
  TCNUM_CUBLASLT(cublasLtGetVersion);
  TCNUM_CUBLASLT(cublasLtMatmulDescCreate);
  TCNUM_CUBLASLT(cublasLtMatmulDescDestroy);
  TCNUM_CUBLASLT(cublasLtMatmulDescSetAttribute);
  TCNUM_CUBLASLT(cublasLtMatrixLayoutCreate);
  TCNUM_CUBLASLT(cublasLtMatrixLayoutDestroy);
  TCNUM_CUBLASLT(cublasLtMatmulPreferenceCreate);
  TCNUM_CUBLASLT(cublasLtMatmulPreferenceDestroy);
  TCNUM_CUBLASLT(cublasLtMatmulPreferenceSetAttribute);
  TCNUM_CUBLASLT(cublasLtMatmulAlgoGetHeuristic);
  TCNUM_CUBLASLT(cublasLtMatmulAlgoConfigGetAttribute);
  TCNUM_CUBLASLT(cublasLtMatmul);
#undef TCNUM_CUBLASLT
};

void require(cublasStatus_t status, std::string_view call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("{} failed: cublasStatus_t {}", call, static_cast<int>(status)));
}

cudaDataType_t type_of(FormatId id) {
  switch (id) {
    case FormatId::fp64:
      return CUDA_R_64F;
    case FormatId::fp32:
    case FormatId::tf32:
      return CUDA_R_32F;
    case FormatId::bf16:
      return CUDA_R_16BF;
    case FormatId::fp16:
      return CUDA_R_16F;
    case FormatId::fp8e4m3:
      return CUDA_R_8F_E4M3;
    case FormatId::fp8e5m2:
      return CUDA_R_8F_E5M2;
    case FormatId::s8:
      return CUDA_R_8I;
    case FormatId::s32:
      return CUDA_R_32I;
    default:
      throw InputError(fmt::format("cublaslt: {}; expected fp64, fp32, tf32, bf16, fp16, fp8e4m3, fp8e5m2, s8 or s32",
                                   format(id).name));
  }
}

/// How the library is to compute, and in what alpha and beta are.
std::pair<cublasComputeType_t, cudaDataType_t> compute_of(const LibraryProduct& product) {
  switch (product.a) {
    case FormatId::fp64:
      return {CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case FormatId::tf32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
    case FormatId::fp32:
      return {product.fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case FormatId::s8:
      return {CUBLAS_COMPUTE_32I, product.d == FormatId::s32 ? CUDA_R_32I : CUDA_R_32F};
    default:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
}

/// Columns of codes that lie row by row, `lead` from one to the next.
std::vector<std::byte> by_columns(std::span<const std::byte> from, std::size_t rows, std::size_t columns,
                                  std::size_t lead, std::size_t bytes) {
  std::vector<std::byte> to(columns * lead * bytes);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      std::memcpy(&to[(j * lead + i) * bytes], &from[(i * columns + j) * bytes], bytes);
  }
  return to;
}
/// The other way.
void by_rows(std::span<const std::byte> from, std::size_t rows, std::size_t columns, std::size_t lead,
             std::size_t bytes, std::span<std::byte> to) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      std::memcpy(&to[(i * columns + j) * bytes], &from[(j * lead + i) * bytes], bytes);
  }
}
/// Rows of codes that lie one behind the other, as columns.
std::vector<std::byte> rows_as_columns(std::span<const std::byte> from, std::size_t rows, std::size_t columns,
                                       std::size_t lead, std::size_t bytes) {
  std::vector<std::byte> to(rows * lead * bytes);
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(&to[i * lead * bytes], &from[i * columns * bytes], columns * bytes);
  return to;
}

/// The library's descriptions of one product, D by columns.
class Description {
 public:
  /// `bias`: where it is, or will be, on the device.
  Description(const Library& library, const LibraryProduct& product, const void* bias = nullptr)
      : library_(library), gap_(product.gap) {
    const auto [compute, scale] = compute_of(product);
    require(library.cublasLtMatmulDescCreate(&operation, compute, scale), "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, product.a_k_outermost ? CUBLAS_OP_N : CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, product.b_k_outermost ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (product.fast && format(product.a).storage_bits == 8) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    if (product.a_scale != nullptr) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product.a_scale);
    if (product.b_scale != nullptr) set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product.b_scale);
    if (product.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      if (*product.bias != product.d) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{type_of(*product.bias)});
    }
    operand(a, product.a, product.m, product.k, product.a_k_outermost);
    operand(b, product.b, product.n, product.k, product.b_k_outermost);
    layout(c, product.c.value_or(product.d), product.m, product.n);
    layout(d, product.d, product.m, product.n);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() {
    for (cublasLtMatrixLayout_t each : {a, b, c, d}) {
      if (each != nullptr) library_.cublasLtMatrixLayoutDestroy(each);
    }
    if (operation != nullptr) library_.cublasLtMatmulDescDestroy(operation);
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    require(library_.cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)),
            "cublasLtMatmulDescSetAttribute");
  }
  void operand(cublasLtMatrixLayout_t& to, FormatId id, std::size_t lines, std::size_t k, bool k_outermost) {
    if (k_outermost) {
      layout(to, id, lines, k);
    } else {
      layout(to, id, k, lines);
    }
  }
  void layout(cublasLtMatrixLayout_t& to, FormatId id, std::size_t rows, std::size_t columns) {
    require(
        library_.cublasLtMatrixLayoutCreate(&to, type_of(id), rows, columns, static_cast<std::int64_t>(rows + gap_)),
        "cublasLtMatrixLayoutCreate");
  }

  const Library& library_;
  std::size_t gap_;
};

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

/// A number in the type that alpha and beta have.
std::array<std::byte, sizeof(double)> factor_of(const LibraryProduct& product, double value) {
  std::array<std::byte, sizeof(double)> factor{};
  const auto set = [&](auto number) { std::memcpy(factor.data(), &number, sizeof(number)); };
  const cudaDataType_t type = compute_of(product).second;
  if (type == CUDA_R_64F)
    set(value);
  else if (type == CUDA_R_32I)
    set(static_cast<std::int32_t>(value));
  else
    set(static_cast<float>(value));
  return factor;
}

/// One algorithm, called with matrices on the device.
class Call final : public LibraryLaunch {
 public:
  Call(const Library& library, cublasLtHandle_t handle, void* workspace, const LibraryProduct& product,
       const LibraryAlgorithm& algorithm, const LibraryTerms& terms = {}, const void* bias = nullptr)
      : library_(library),
        handle_(handle),
        workspace_(workspace),
        alpha_(factor_of(product, terms.alpha)),
        beta_(factor_of(product, terms.beta)),
        description_(library, product, bias) {
    std::memcpy(algorithm_.data, algorithm.data.data(), sizeof(algorithm_.data));
  }

  cublasStatus_t operator()(const void* a, const void* b, const void* c, void* d) {
    return library_.cublasLtMatmul(handle_, description_.operation, alpha_.data(), a, description_.a, b, description_.b,
                                   beta_.data(), c, description_.c, d, description_.d, &algorithm_, workspace_,
                                   kWorkspaceBytes, nullptr);
  }
  void enqueue(const void* a, const void* b, void* d) override { require((*this)(a, b, d, d), "cublasLtMatmul"); }

 private:
  const Library& library_;
  cublasLtHandle_t handle_;
  void* workspace_;
  alignas(double) std::array<std::byte, sizeof(double)> alpha_, beta_;
  Description description_;
  cublasLtMatmulAlgo_t algorithm_{};
};

class LoadedCublasLt final : public CublasLt {
 public:
  LoadedCublasLt() {
    const GpuInfo gpu = gpu_info();
    if (!gpu.present) throw UnavailableError("cublaslt: " + gpu.why_not);
    if (!library_.is_whole)
      throw UnavailableError("cublaslt: libcublasLt.so." TCNUM_CUBLASLT_MAJOR " is not there, or lacks functions");
    require(library_.cublasLtCreate(&handle_), "cublasLtCreate");
    workspace_.reserve(kWorkspaceBytes);
  }
  ~LoadedCublasLt() override { library_.cublasLtDestroy(handle_); }

  std::string version() const override {
    const std::size_t version = library_.cublasLtGetVersion();
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

  std::vector<LibraryAlgorithm> algorithms(const LibraryProduct& product, int most) override {
    const Description description(library_, product, workspace_.data());
    cublasLtMatmulPreference_t preference = nullptr;
    require(library_.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t bytes = kWorkspaceBytes;
    library_.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                  sizeof(bytes));
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
    int found = 0;
    const cublasStatus_t status =
        library_.cublasLtMatmulAlgoGetHeuristic(handle_, description.operation, description.a, description.b,
                                                description.c, description.d, preference, most, results.data(), &found);
    library_.cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS) found = 0;  // it does not multiply such matrices
    std::vector<LibraryAlgorithm> algorithms;
    for (int i = 0; i < found; ++i) {
      const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
      if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(algorithm_of(result));
    }
    return algorithms;
  }

  bool multiply(const LibraryProduct& given, const LibraryAlgorithm& algorithm, std::span<const std::byte> a,
                std::span<const std::byte> b, std::span<std::byte> d, const LibraryTerms& terms) override {
    LibraryProduct product = given;
    const auto [m, n, k] = std::array{product.m, product.n, product.k};
    const std::size_t lead = m + product.gap, lead_of_k = k + product.gap, d_bytes = bytes_of(product.d);
    a_.upload(product.a_k_outermost ? by_columns(a, m, k, lead, bytes_of(product.a))
                                    : rows_as_columns(a, m, k, lead_of_k, bytes_of(product.a)));
    b_.upload(product.b_k_outermost ? rows_as_columns(b, k, n, n + product.gap, bytes_of(product.b))
                                    : by_columns(b, k, n, lead_of_k, bytes_of(product.b)));
    d_.reserve(n * lead * d_bytes);
    const FormatId c_format = product.c.value_or(product.d);
    const bool in_place = terms.in_place && c_format == product.d;
    if (!terms.c.empty()) (in_place ? d_ : c_).upload(by_columns(terms.c, m, n, lead, bytes_of(c_format)));
    if (product.bias) bias_.upload(terms.bias);
    upload(terms.a_scale, a_scale_, product.a_scale);
    upload(terms.b_scale, b_scale_, product.b_scale);
    Call call(library_, handle_, workspace_.data(), product, algorithm, terms, bias_.data());
    // A C of another format has a place of its own, even where there is none.
    const bool has_own_c = c_format != product.d || (!terms.c.empty() && !in_place);
    if (has_own_c) c_.reserve(n * lead * bytes_of(c_format));
    const cublasStatus_t status = call(a_.data(), b_.data(), has_own_c ? c_.data() : d_.data(), d_.data());
    if (status != CUBLAS_STATUS_SUCCESS) return false;
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<std::byte> columns(n * lead * d_bytes);
    d_.download(columns);
    by_rows(columns, m, n, lead, d_bytes, d);
    return true;
  }

  int clusters_at_once(unsigned blocks) override {
    int clusters = 0;
    if (blocks == 1) {
      check(cudaDeviceGetAttribute(&clusters, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
      return clusters;
    }
    check(count_clusters(blocks, &clusters), "cudaOccupancyMaxActiveClusters");
    return clusters;
  }

  std::unique_ptr<LibraryLaunch> prepare(const LibraryProduct& product, const LibraryAlgorithm& algorithm) override {
    return std::make_unique<Call>(library_, handle_, workspace_.data(), product, algorithm);
  }

 private:
  static void upload(const std::optional<float>& scale, DeviceBuffer& to, const float*& at) {
    if (!scale) return;
    to.upload(std::as_bytes(std::span(&*scale, 1)));
    at = static_cast<const float*>(to.data());
  }

  LibraryAlgorithm algorithm_of(const cublasLtMatmulHeuristicResult_t& result) const {
    LibraryAlgorithm algorithm;
    static_assert(sizeof(algorithm.data) == sizeof(result.algo.data));
    std::memcpy(algorithm.data.data(), result.algo.data, sizeof(algorithm.data));
    algorithm.workspace = result.workspaceSize;
    const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, std::size_t bytes) {
      std::int32_t value = 0;
      std::size_t written = 0;
      library_.cublasLtMatmulAlgoConfigGetAttribute(&result.algo, attribute, &value, bytes, &written);
      return static_cast<int>(value);
    };
    algorithm.id = get(CUBLASLT_ALGO_CONFIG_ID, 4);
    algorithm.tile = get(CUBLASLT_ALGO_CONFIG_TILE_ID, 4);
    algorithm.stages = get(CUBLASLT_ALGO_CONFIG_STAGES_ID, 4);
    algorithm.split_k = get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4);
    algorithm.reduction = get(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4);
    algorithm.swizzle = get(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4);
    algorithm.custom = get(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4);
    algorithm.inner_shape = get(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2);
    algorithm.cluster = get(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2);
    return algorithm;
  }

  Library library_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceBuffer a_, b_, c_, d_, bias_, a_scale_, b_scale_, workspace_;
};

}  // namespace

std::unique_ptr<CublasLt> load_cublaslt() { return std::make_unique<LoadedCublasLt>(); }

}  // namespace tcnum

#else

namespace tcnum {
std::unique_ptr<CublasLt> load_cublaslt() {
  throw UnavailableError("cublaslt: tcnum was built without cublasLt.h, which the CUDA toolkit has");
}
}  // namespace tcnum

#endif
