// Elements of a product that panels leave to other evaluators, link by link along k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emu/cpu/cpu_emulator.hpp"
#include "emu/cpu/matrix_codes.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

class LeftOver {
 public:
  LeftOver(const Datapath& datapath, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
           const MatrixCodes<const std::byte>& b, const BlockScales& scales = {})
      : numerics_(datapath.numerics),
        depth_(datapath.tree.k),
        shape_(shape),
        a_(a),
        b_(b),
        scales_(scales),
        emulator_(datapath) {}

  /// One link, from product k on, of some columns of a row: codes of c, which become those of the results.
  void evaluate(std::size_t k, std::size_t row, std::span<const std::size_t> columns,
                std::span<std::uint64_t> codes) const;

 private:
  void put_scales(std::size_t k, std::size_t products, std::size_t row, std::span<const std::size_t> columns,
                  Tiles& tile) const;

  Numerics numerics_;
  int depth_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_;
  BlockScales scales_;
  CpuEmulator emulator_;
};

}  // namespace tcnum::panels
