// A datapath as plain data, and its evaluation in code that a GPU compiles as well as a CPU: what the CUDA emulator
// runs and the tests run without a GPU. It covers what hardware was found to do; the rest is the other emulators'.
#pragma once

#include <cstdint>
#include <string>

#include "integer_sums.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// A node sums `count` products from place `first` of PortableDatapath::order on, and up to two other terms.
struct PortableNode {
  static constexpr int kNone = -2, kAccumulator = -1;  // else the node of that number
  std::int16_t unit = 0, first = 0, count = 0;
  std::int16_t others[2] = {kNone, kNone};
  bool is_pair = false;  ///< exact, of the two others alone
};

/// How a code of at most 32 bits is taken apart if it is a normal number.
struct PortableFields {
  int storage_bits = 32, fraction_bits = 0, padding_bits = 0, bias = 0;
  std::uint32_t top = 0;  ///< the largest exponent field, which may be special
};

/// The only rounding of a unit's sum, if it is to nearest even or toward zero: what needs no more where the result is
/// normal and far from overflow.
struct PortableRounding {
  bool usable = false, to_nearest = false;
  int fraction_bits = 0, min_exponent = 0, max_exponent = 0;
};

struct PortableDatapath {
  static constexpr int kMostNodes = 32, kMostProducts = 256;

  enum class Kind : std::uint8_t {
    sums,       ///< of floating-point products: aligned, cut, added; and floating-point additions
    fma_chain,  ///< of IEEE 754's double-precision FMAs
    integers,   ///< sums that an int64 holds, of products whose sums an int32 does
  };

  Kind kind = Kind::sums;
  Format a{}, b{}, c{}, result{};
  OperandRule a_rule, b_rule, c_rule;
  PortableFields a_fields, b_fields, c_fields;
  NanRule nan;
  Unit units[kMaxUnits];
  PortableRounding roundings[kMaxUnits];
  IntegerUnits integers;
  int k = 0, nodes = 0;
  PortableNode node[kMostNodes];
  std::uint16_t order[kMostProducts] = {};  ///< k of the products, node by node
  /// Every sum cuts toward zero, and every node's other terms are c and the node before: what a patch takes.
  bool in_sequence = false;
};

/// The datapath as plain data, or in `why_not` one line that says what of it this form cannot hold.
struct MadePortable {
  PortableDatapath datapath;
  std::string why_not;
};
MadePortable make_portable(const Datapath& datapath);

}  // namespace tcnum
