// Products of matrices tile by tile along k, by the evaluators of tiles.
#pragma once

#include <cstddef>

#include "cpu_emulator.hpp"
#include "matrix_codes.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

class TileChain {
 public:
  explicit TileChain(const Datapath& datapath)
      : emulator_(datapath), depth_(static_cast<std::size_t>(datapath.tree.k)) {}

  /// As MatrixProduct::multiply(), in tiles that have all rows and columns.
  void multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d,
                const BlockScales& scales = {}) const;

 private:
  CpuEmulator emulator_;
  std::size_t depth_;
};

}  // namespace tcnum
