// Dot problems on the command line: operands as numbers or codes, and places of results in files.
#pragma once

#include <cstddef>
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

/// "tile,row,column" of a result in a file, as its number.
std::size_t parse_place(const std::string& option, const std::string& text, const Tiles& tiles,
                        const std::string& file);

}  // namespace tcnum
