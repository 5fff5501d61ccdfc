// What cuBLASLt, the library of the GPU at hand, offers for a product that is asked, and what it says of it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "asked_products.hpp"
#include "probes/cublaslt.hpp"
#include "tcnum/cublaslt.hpp"

namespace tcnum {

LibraryProduct library_product(const AskedShape& asked);
/// For how many clusters the device has room, which decides how an algorithm divides k where it says no number of
/// parts; else 0.
int clusters_at_once(CublasLt& library, const LibraryAlgorithm& algorithm);
CublasLtConfiguration configuration_of(const AskedShape& asked, const LibraryAlgorithm& algorithm,
                                       int clusters_at_once);

/// What surveys say of an algorithm, and of where it was asked.
nlohmann::ordered_json algorithm_json(const LibraryAlgorithm& algorithm, int clusters_at_once);
nlohmann::ordered_json source_json(const CublasLt& library);

}  // namespace tcnum
