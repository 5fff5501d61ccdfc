// Dot problems on the command line: operands as numbers or codes, and places of results in files.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A dot problem as --a, --b, --c, --sa and --sb have it: each a list of what code_of_written() reads, between commas.
struct ProblemText {
  std::string a, b, c, sa = {}, sb = {};
};

/// The problem for a datapath. Elements that are left out are zeros, and block scales 1. Where there are more products
/// than the datapath takes, they are those of a chain, and the problem has as many as the chain takes. Throws
/// InputError that names the option.
Problem parse_problem(const Datapath& datapath, const ProblemText& text);
/// The same of as many products as the last function says, which is told the option with most elements, and how many
/// these are.
Problem parse_problem(const Numerics& numerics, const ProblemText& text,
                      const std::function<std::size_t(const std::string& option, std::size_t given)>& products);

/// A tile of 1 × 1 that is the problem, in the formats of the numerics.
Tiles tile_of(const Numerics& numerics, const Problem& problem);

}  // namespace tcnum
