// What works say of single properties of an instruction's sums, where they describe no whole datapath.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// Of fused sums of products and c, chained in ascending k.
enum class StatedProperty : std::uint8_t {
  block_k,               ///< products that enter one sum
  fraction_bits,         ///< bits that a term keeps below the largest exponent
  align_rounding,        ///< how a term is cut there
  output_fraction_bits,  ///< bits that the sum is rounded to
};
/// "fraction_bits".
std::string_view name(StatedProperty property);

/// A property and what it is: a number, or of align_rounding a Rounding.
struct StatedValue {
  StatedProperty property;
  int value;

  constexpr StatedValue(StatedProperty of, int number) : property(of), value(number) {}
  constexpr StatedValue(StatedProperty of, Rounding rounding) : property(of), value(static_cast<int>(rounding)) {}
  /// "13", "toward_zero".
  std::string text() const;
  /// The nearest other values, which an answer must refute before the answers settle the statement.
  std::vector<StatedValue> alternatives() const;
  friend constexpr bool operator==(const StatedValue&, const StatedValue&) = default;
};

struct Statement {
  ArchId arch;
  std::string_view instruction;
  std::string_view work, origin;  ///< short name, and which publication
  std::string_view where, says;   ///< in the work, and its words
  StatedValue read_as;            ///< what these mean here
};

std::span<const Statement> statements();

/// What the datapath says of the property; none if it is not one chain of such sums.
std::optional<StatedValue> stated_value(const Datapath& datapath, StatedProperty property);
/// The datapath with that value in place of its own; none likewise.
std::optional<Datapath> with(Datapath datapath, const StatedValue& value);

}  // namespace tcnum
