// The exact emulator: what a datapath means. Slow and obvious; everything fast is tested against it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The result of one dot problem: a and b hold tree.k codes each; sa and sb one scale code for each block (empty where
/// the datapath has no scales). Throws InputError if they do not, or if the datapath is not valid (validate()).
std::uint64_t emulate_exact(const Datapath& datapath, std::span<const std::uint64_t> a,
                            std::span<const std::uint64_t> b, std::uint64_t c, std::span<const std::uint64_t> sa = {},
                            std::span<const std::uint64_t> sb = {});

/// How a result came about, for people to read.
struct TracedNumber {
  enum class Kind : std::uint8_t { finite, infinity, nan };
  Kind kind = Kind::finite;
  bool negative = false;
  std::string bits;  ///< of the significand, the leading one first; "0" for zero. The value is ±bits · 2^lsb
  int lsb = 0;
  int exponent = 0;  ///< with which it takes part in alignment
};
struct TracedTerm {
  Term term;
  TracedNumber value, kept;  ///< as it is, and as it enters the sum
};
struct TracedNode {
  std::vector<TracedTerm> terms;
  std::optional<int> alignment;  ///< none: infinities or NaNs decided
  TracedNumber sum, result;      ///< exact, and rounded
};
/// The same result, and what each node of the tree did. Throws as emulate_exact() does.
std::uint64_t trace_exact(const Datapath& datapath, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c, std::vector<TracedNode>& trace, std::span<const std::uint64_t> sa = {},
                          std::span<const std::uint64_t> sb = {});

/// Fills tiles.d. Throws InputError, and changes nothing, if the datapath is not valid, or if the tiles are sparse, are
/// not of its k, formats and scale blocks, or have fewer or more codes than their count, m and n say.
void emulate_exact(const Datapath& datapath, Tiles& tiles);

}  // namespace tcnum
