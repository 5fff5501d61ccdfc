// Problems whose results are hashes of their operands, for tests of what only carries operands and results.
#pragma once

#include <cstdint>

#include "sparse_operands.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {

/// Stands for a dot product: any difference in any operand's bits, or in their order, shows.
class Hash {
 public:
  void add(std::uint64_t code) { state_ = (state_ ^ code) * 0x100000001b3 + (state_ >> 40); }
  std::uint64_t code(FormatId id) const { return (state_ ^ state_ >> 32) & format(id).code_mask(); }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

/// The result of an element.
inline std::uint64_t expected(const Tiles& tiles, std::size_t index) {
  const Problem problem = problem_at(tiles, index);
  Hash hash;
  for (std::size_t kk = 0; kk < problem.a.size(); ++kk) {
    hash.add(problem.a[kk]);
    hash.add(problem.b[kk]);
  }
  hash.add(problem.c);
  for (std::size_t s = 0; s < problem.sa.size(); ++s) {
    hash.add(problem.sa[s]);
    hash.add(problem.sb[s]);
  }
  return hash.code(tiles.d_format);
}

}  // namespace tcnum
