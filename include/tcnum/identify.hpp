// Who gave these results: which datapaths of the catalogue give all of them, and which kernels' plans do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tcnum/catalogue.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What may have given the results: the instructions of one datapath, of which chains run along k from c on, or a plan.
struct Suspect {
  std::vector<CatalogueEntry> of;  ///< instructions with the datapath, or one of another length with the same chain; of
                                   ///< each the account to believe first
  std::optional<GemmPlan> plan;    ///< then `of` is empty
  bool rounded = false;            ///< results are rounded to D's format afterwards, to nearest even, as a kernel does
  std::size_t agreeing = 0;
  std::optional<std::size_t> first_wrong;  ///< an index as problem_at() has it
  std::uint64_t its_result = 0;            ///< of that

  bool agrees() const { return !first_wrong; }
};

/// What tells those apart that agree with every answer.
struct Separation {
  std::size_t inputs = 0;  ///< so many more answers are enough
  std::size_t groups = 0;  ///< that they leave: fewer than suspects where nothing that was tried tells two apart
  std::size_t tried = 0;   ///< inputs
  Tiles next;              ///< one of them, as a tile of 1 × 1 of the narrowest format of c, without its result
  std::vector<std::uint64_t> results;  ///< of each suspect that agrees, in their order
};

/// The same code, or both NaN.
bool same_result(FormatId format, std::uint64_t one, std::uint64_t other);

struct Identification {
  std::size_t answers = 0;
  std::vector<Suspect> suspects;         ///< those that agree with most answers first
  std::optional<Separation> separation;  ///< where more than one agrees with all

  std::size_t agreeing() const;  ///< suspects that agree with all answers
};

struct IdentifyOptions {
  std::vector<ArchId> archs = {};     ///< whose instructions are looked at; empty: all
  bool sparse = false;                ///< sparse instructions too, whose gathered products the answers are of
  FormatId scales = FormatId::ue8m0;  ///< of the tiles' block scales, where they have some
  std::uint64_t seed = 1;             ///< of random inputs that are tried to tell suspects apart
  std::function<void(std::size_t done, std::size_t all)> progress = {};  ///< called after each suspect,
  ///< by any thread but never by two at once
};

/// Dot products and their results: dense tiles, of any k. Results of a narrower format than a datapath's may be its
/// rounded ones. c stands in tiles.c_format, and is the same number in a datapath's. Two NaNs are the same result.
/// Throws InputError if no datapath of the catalogue takes these formats.
Identification identify(const Tiles& answered, const IdentifyOptions& options = {});

}  // namespace tcnum
