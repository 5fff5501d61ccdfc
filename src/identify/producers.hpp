// What may have given results, and what it gives for other operands.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "src/fit/chain.hpp"
#include "tcnum/identify.hpp"

namespace tcnum {

struct Producer {
  Suspect suspect;                     ///< without a word on answers
  std::shared_ptr<const Chain> chain;  ///< of a datapath
  int k = 1;                           ///< products of a step of it; of a plan 1

  bool repeats() const { return takes(static_cast<std::size_t>(k) + 1); }
  bool takes(std::size_t products) const { return !chain || chain->takes(products); }
  /// The results for these operands, in tiles.d_format. NaNs are one code.
  Codes results(const Tiles& tiles) const;
};

/// Each datapath and plan that takes the formats and that many products, once.
std::vector<Producer> producers_of(const Tiles& answered, const IdentifyOptions& options);

/// The codes of the same numbers in another format; nothing if it lacks one of them.
std::optional<Codes> same_numbers(const Codes& codes, FormatId from, FormatId to);

/// Of crafted and random operands, few that leave as many groups of producers as all of them do: at each step the one
/// that makes most groups, and of these the one with the fewest terms.
Separation separate(const Tiles& answered, const std::vector<const Producer*>& producers,
                    const IdentifyOptions& options);

}  // namespace tcnum
