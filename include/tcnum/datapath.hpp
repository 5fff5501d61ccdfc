// The datapath: a complete, declarative description of how one dot product d = c + Σ a[k]·b[k] gets its bits.
//
// A datapath is a tree. Its leaves are the accumulator operand c and the products a[k]·b[k]; each inner node is one
// evaluation of a *unit*, which sums the node's terms: aligns them to the largest exponent, cuts each at a fixed number
// of bits below it, adds the integers exactly, and rounds the sum in zero or more steps. An FMA is a unit with exact
// alignment and the terms [accumulator, product]; a floating-point add is one with two terms; a fused sum is one with
// many terms and finite `fraction_bits`. Everything published about tensor cores is some tree of such units.
//
// emulate_exact() (exact.hpp) defines the meaning. docs/datapath.md describes the JSON form field by field.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tcnum/format.hpp"
#include "tcnum/rounding.hpp"

namespace tcnum {

/// `fraction_bits` of a unit that cuts nothing.
inline constexpr int kExact = 1 << 20;
/// `min_exponent` / `max_exponent` of a rounding step without a limit on that side.
inline constexpr int kUnbounded = 1 << 20;

enum class Subnormals : std::uint8_t { kept, flushed };

/// The exponent with which an operand takes part in alignment when it is subnormal.
enum class SubnormalExponent : std::uint8_t {
  minimum,     ///< the format's smallest; the significand stays below one
  normalised,  ///< that of its leading bit
};

/// What a "product" of two operands is.
enum class ProductOperation : std::uint8_t {
  multiply,      ///< of single bits: their conjunction
  exclusive_or,  ///< of single bits only: 1 where they differ
};

/// The exponent with which a product takes part in alignment.
enum class ProductExponent : std::uint8_t {
  sum,         ///< ea + eb; the significand lies in [1, 4) (below one if an operand is subnormal)
  normalised,  ///< that of the product's leading bit
};

/// How zero terms, and sums of very small terms, take part in the alignment of a unit.
enum class ZeroExponentKind : std::uint8_t {
  none,     ///< zero terms do not take part
  natural,  ///< a zero takes part like a subnormal: with the smallest exponent of its operand's format, for a product
            ///< plus the other operand's exponent
  floor,    ///< the alignment exponent is never below `value`
  zeros,    ///< a zero term takes part with exponent `value`
};
struct ZeroExponent {
  ZeroExponentKind kind = ZeroExponentKind::none;
  int value = 0;
  friend constexpr bool operator==(const ZeroExponent&, const ZeroExponent&) = default;
};


/// One rounding of a unit's sum (or of a product).
struct RoundStep {
  /// Bits kept below the leading bit, or below the alignment exponent if `from_alignment`.
  int fraction_bits = 23;
  bool from_alignment = false;
  /// Exponents of the smallest normal and the largest finite number. Numbers below the smallest normal keep the
  /// bits above 2^(min_exponent − fraction_bits); those beyond the largest are rounded as it would be. If even the
  /// largest is below the smallest normal number, all numbers are evenly spaced: fixed point, such as integers.
  int min_exponent = -kUnbounded;
  int max_exponent = kUnbounded;
  /// −2^(max_exponent + 1) is a number too.
  bool twos_complement = false;
  Rounding rounding = Rounding::toward_zero;
  Subnormals subnormals = Subnormals::kept;
  Overflow overflow = Overflow::ieee;
  friend constexpr bool operator==(const RoundStep&, const RoundStep&) = default;
};

/// A step that rounds to a format of the table (one with a sign).
constexpr RoundStep round_to(const Format& f, Rounding mode, Overflow overflow = Overflow::ieee,
                             Subnormals subnormals = Subnormals::kept) {
  return {f.fraction_bits, false, f.min_exponent(), f.max_exponent(), !f.floating, mode, subnormals, overflow};
}

/// A short list of rounding steps, applied in order; empty: the value stays exact.
struct RoundSteps {
  std::array<RoundStep, 3> step{};
  int count = 0;

  constexpr RoundSteps() = default;
  constexpr RoundSteps(std::initializer_list<RoundStep> steps) {
    for (const RoundStep& s : steps) step[static_cast<std::size_t>(count++)] = s;
  }
  constexpr const RoundStep* begin() const { return step.data(); }
  constexpr const RoundStep* end() const { return step.data() + count; }
  constexpr bool empty() const { return count == 0; }
  friend constexpr bool operator==(const RoundSteps&, const RoundSteps&) = default;
};

/// Sign of a sum whose aligned terms add up to exactly zero.
enum class ZeroSign : std::uint8_t {
  positive,  ///< always +0
  ieee,      ///< −0 if all terms are negative (or −0), or if the last rounding is downward and not all are positive
};

/// Sign of a nonzero sum that a rounding step turns into zero.
enum class UnderflowSign : std::uint8_t { kept, positive };

struct Unit {
  /// Bits kept below the alignment exponent, the largest exponent of the node's terms; kExact: all.
  int fraction_bits = kExact;
  /// The same for the node's first term, where the hardware cuts its accumulator elsewhere.
  std::optional<int> first_fraction_bits;
  /// Terms after the first whose exponent is more than this below the alignment exponent are left out, not cut.
  std::optional<int> drop_below;
  /// How each term is cut. `down` is what dropping bits of a two's complement number does.
  Rounding align_rounding = Rounding::toward_zero;
  ZeroExponent zero_exponent;
  RoundSteps result;
  ZeroSign zero_sign = ZeroSign::ieee;
  UnderflowSign underflow_sign = UnderflowSign::kept;
  /// The node's sum is multiplied by the block scales of its products (which must all lie in one scale block).
  bool scaled = false;
  /// If it is scaled: the sum is aligned by the exponents of its scales alone, also if it cancels to zero; not if all of
  /// its products are zero, or a scale is.
  bool scale_exponents_alone = false;
  friend constexpr bool operator==(const Unit&, const Unit&) = default;
};

/// What a NaN result looks like.
enum class NanOperand : std::uint8_t { a, b, c };
struct NanRule {
  /// The code of a NaN that comes from no NaN operand (Inf−Inf, Inf·0), and of every NaN unless `propagate`.
  std::uint64_t code = 0x7fffffff;
  /// A NaN operand's payload comes back, made quiet, with its sign. Of several, in each node the accumulator (any
  /// term that is not a product) and the operands of the products compete in this order.
  bool propagate = false;
  std::array<NanOperand, 3> order = {NanOperand::a, NanOperand::b, NanOperand::c};
  friend constexpr bool operator==(const NanRule&, const NanRule&) = default;
};

/// How an operand's codes are read.
struct OperandRule {
  FormatId format = FormatId::fp16;
  Subnormals subnormals = Subnormals::kept;
  SubnormalExponent subnormal_exponent = SubnormalExponent::minimum;
  friend constexpr bool operator==(const OperandRule&, const OperandRule&) = default;
};

struct ProductRule {
  ProductOperation operation = ProductOperation::multiply;
  ProductExponent exponent = ProductExponent::sum;
  /// Rounding of each product before it is summed; empty: exact.
  RoundSteps round;
  /// A product whose magnitude is 2^this or more counts as infinity.
  std::optional<int> infinite_from;
  friend constexpr bool operator==(const ProductRule&, const ProductRule&) = default;
};

/// Block scales: one for every `block_k` elements of A's row and B's column. If no unit is `scaled`, each product is
/// multiplied by its block's scales; else every product must be a term of a scaled unit.
struct ScaleRule {
  FormatId format = FormatId::ue8m0;
  int block_k = 32;
  friend constexpr bool operator==(const ScaleRule&, const ScaleRule&) = default;
};

inline constexpr std::size_t kMaxUnits = 4;

/// Everything but the tree.
struct Numerics {
  OperandRule a, b, c;
  FormatId result = FormatId::fp32;
  ProductRule product;
  std::optional<ScaleRule> scales;
  std::array<Unit, kMaxUnits> units{};
  NanRule nan;
  friend constexpr bool operator==(const Numerics&, const Numerics&) = default;
};

struct Term {
  enum class Kind : std::uint8_t { accumulator, product, node };
  Kind kind = Kind::accumulator;
  int index = 0;  ///< k of the product, or the number of the node
  friend constexpr auto operator<=>(const Term&, const Term&) = default;
};

struct Node {
  int unit = 0;
  std::vector<Term> terms;
  friend bool operator==(const Node&, const Node&) = default;
};

/// Nodes in the order of evaluation: a node's terms refer only to earlier nodes, the last node gives the result, and
/// each product and each node but the last is a term exactly once (c at most once: a datapath may ignore it).
struct Tree {
  int k = 0;
  std::vector<Node> nodes;
  friend bool operator==(const Tree&, const Tree&) = default;
};

struct Datapath {
  Numerics numerics;
  std::vector<std::string> unit_names;  ///< as many as units are in use
  Tree tree;
  friend bool operator==(const Datapath&, const Datapath&) = default;
};

/// Throws InputError, with `where` in front and the field's name, if the description contradicts itself: a tree that
/// is none, a last rounding that the result format cannot hold, widths out of range.
void validate(const Datapath& datapath, std::string_view where = "datapath");

/// JSON form. `where` names the source (a file) in errors; each error is one InputError that names the field and what
/// would be right. Reading validates.
nlohmann::ordered_json to_json(const Datapath& datapath);
Datapath datapath_from_json(const nlohmann::ordered_json& json, std::string_view where = "datapath");
/// Reads a file; throws InputError if it cannot be read or is not a datapath.
Datapath read_datapath(const std::string& path);

}  // namespace tcnum
