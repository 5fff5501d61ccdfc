// Dot products and their results as a user has them: typed, or in a file of any form.
#pragma once

#include "commands.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

struct GivenAnswers {
  Tiles tiles;                        ///< dense
  FormatId scales = FormatId::ue8m0;  ///< of block scales, if there are any
  bool sparse = false;                ///< of a sparse instruction, as a file says
};

/// What --in, or --a, --b, --c and --d, say. Throws InputError.
GivenAnswers read_answers(const IdentifyCommandOptions& options);

}  // namespace tcnum
