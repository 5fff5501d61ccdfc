// Lets the host get ahead of the device.
#pragma once

#include <cuda_runtime_api.h>

namespace tcnum {

/// Keeps the default CUDA stream busy for about so long, so that the host can submit what is to follow without gaps.
/// Returns what cudaGetLastError() says of the launch.
cudaError_t launch_hold(unsigned nanoseconds);

}  // namespace tcnum
