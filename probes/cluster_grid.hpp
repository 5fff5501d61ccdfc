// How a kernel of clusters is started, and how many clusters a device has room for.
#pragma once

#include <cuda_runtime_api.h>

namespace tcnum {

struct ClusterGrid {
  unsigned blocks = 0, threads = 1, cluster = 1;
};

/// How many clusters of so many blocks run at the same time, each block on an SM of its own; 0 where there are none.
cudaError_t count_clusters(unsigned cluster, int* clusters);

}  // namespace tcnum
