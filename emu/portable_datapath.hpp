// A datapath as plain data, and its evaluation in code that a GPU compiles as well as a CPU: what the CUDA emulator
// runs and the tests run without a GPU. It covers what hardware was found to do; the rest is the other emulators'.
#pragma once

#include <cstdint>
#include <string>

#include "integer_sums.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// A node sums the `count` products at place `first` (PortableDatapath::place) and on, and up to two other terms.
struct PortableNode {
  static constexpr int kNone = -2, kAccumulator = -1;  // else the node of that number
  std::int16_t unit = 0, first = 0, count = 0;
  std::int16_t others[2] = {kNone, kNone};
  bool is_pair = false;  ///< exact, of the two others alone
};

/// How an operand's code of at most 32 bits is taken apart.
struct PortableFields {
  int storage_bits = 32, fraction_bits = 0, padding_bits = 0, bias = 0;
  std::uint32_t top = 0;            ///< the largest exponent field, which may be special
  std::uint32_t first_special = 0;  ///< codes without sign and padding from this on are infinities or NaNs
  std::uint32_t infinity = 0;       ///< that of infinity; first_special − 1 if there is none
  std::uint32_t smallest = 1;       ///< codes below this are read as zero
  int floor = 0;                    ///< no number takes part in alignment with a smaller exponent
};

/// What patches of problems (portable_patch.hpp) want to know of a node.
struct PatchNode {
  static constexpr int kLowest = -900;  ///< alignment where all is zero: below every other, and doubles have it

  int first = 0, count = 0;  ///< as of PortableNode
  std::uint32_t places = 0;  ///< of its products, as bits
  bool takes_c = false, takes_before = false, is_pair = false;
  int alignment = kLowest;     ///< at least this
  int before_floor = kLowest;  ///< the exponent that the result before takes part with, at least
  int fraction_bits = 0;       ///< of the alignment

  // Rounding, toward zero or to nearest even. Exponents are those of a double's field.
  bool to_nearest = false;
  std::uint32_t kept_signs = 0;  ///< all ones if a number that becomes zero keeps its sign
  int result_bits = 0;
  std::uint32_t coarse = 0;  ///< from an exponent to that of 2^52 units in the result's last place, as a high word
  std::uint32_t lowest = 0, highest = 0;
  // Of the last node: codes without their sign, of the largest number and of what a larger one becomes; how far up
  // codes of result_bits go, and how far down a sign does from the highest of 32 bits.
  int up = 0, sign_down = 0;
  std::uint32_t largest = 0, beyond = 0;
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
  OperandRule c_rule;
  PortableFields a_fields, b_fields, c_fields;
  NanRule nan;
  Unit units[kMaxUnits];
  IntegerUnits integers;
  int k = 0, nodes = 0;
  PortableNode node[kMostNodes];
  std::uint16_t place[kMostProducts] = {};  ///< of each product, by k: nodes have theirs side by side
  bool takes_patches = false;               ///< patches give every result that is ordinary
  static constexpr int kMostPatchNodes = 8;
  PatchNode patch[kMostPatchNodes];
};

/// The datapath as plain data, or in `why_not` one line that says what of it this form cannot hold.
struct MadePortable {
  PortableDatapath datapath;
  std::string why_not;
};
MadePortable make_portable(const Datapath& datapath);

}  // namespace tcnum
