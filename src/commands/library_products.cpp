#include "library_products.hpp"

#include <nlohmann/json.hpp>

#include "tcnum/oracle.hpp"

namespace tcnum {

using nlohmann::ordered_json;

LibraryProduct library_product(const AskedShape& asked) {
  return {.a = asked.formats.a,
          .b = asked.formats.b,
          .d = asked.formats.d,
          .m = asked.shape[0],
          .n = asked.shape[1],
          .k = asked.shape[2],
          .fast = asked.formats.fast,
          .a_k_outermost = asked.layout.a_k_outermost,
          .b_k_outermost = asked.layout.b_k_outermost,
          .gap = asked.layout.gap};
}

int clusters_at_once(CublasLt& library, const LibraryAlgorithm& algorithm) {
  const auto tile = cublaslt_tile(algorithm.tile, algorithm.cluster);
  if (algorithm.split_k >= 0 || !tile) return 0;
  return library.clusters_at_once(tile->cluster_rows * tile->cluster_columns);
}

CublasLtConfiguration configuration_of(const AskedShape& asked, const LibraryAlgorithm& algorithm,
                                       int clusters_at_once) {
  const auto [m, n, k] = asked.shape;
  const OperandLayout& layout = asked.layout;
  return {.a = asked.formats.a,
          .b = asked.formats.b,
          .d = asked.formats.d,
          .k = k,
          .fast_accumulation = asked.fast_accumulation(),
          .id = algorithm.id,
          .stages = algorithm.stages,
          .split_k = algorithm.split_k,
          .reduction = algorithm.reduction,
          .custom = algorithm.custom,
          .a_k_outermost = layout.a_k_outermost,
          .b_k_outermost = layout.b_k_outermost,
          .a_lead = (layout.a_k_outermost ? m : k) + layout.gap,
          .b_lead = (layout.b_k_outermost ? n : k) + layout.gap,
          .m = m,
          .n = n,
          .tile = algorithm.tile,
          .cluster = algorithm.cluster,
          .swizzle = algorithm.swizzle,
          .workspace = algorithm.workspace,
          .clusters_at_once = clusters_at_once};
}

ordered_json algorithm_json(const LibraryAlgorithm& algorithm, int clusters_at_once) {
  ordered_json json = {{"id", algorithm.id},
                       {"tile", algorithm.tile},
                       {"stages", algorithm.stages},
                       {"split_k", algorithm.split_k},
                       {"reduction", algorithm.reduction},
                       {"swizzle", algorithm.swizzle},
                       {"custom", algorithm.custom},
                       {"inner_shape", algorithm.inner_shape},
                       {"cluster", algorithm.cluster}};
  if (clusters_at_once != 0) {
    json["workspace"] = algorithm.workspace;
    json["clusters_at_once"] = clusters_at_once;
  }
  return json;
}

ordered_json source_json(const CublasLt& library) {
  const GpuInfo gpu = gpu_info();
  return {{"kind", "cublaslt"}, {"library", library.version()}, {"device", gpu.device}, {"driver", gpu.driver},
          {"cuda", gpu.cuda},   {"date", today_utc()}};
}

}  // namespace tcnum
