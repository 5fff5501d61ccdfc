// What a program of this tree does from its start to its end: tcnum, and tcnum-bench beside it.
#pragma once

#include "command_line.hpp"

namespace tcnum {

/// Throws InputError if the command line is none.
using Parse = Action(int argc, char** argv);

/// Does what the command line asks for, and maps failures to exit statuses, which it returns.
int run_program(int argc, char** argv, Parse* parse);

}  // namespace tcnum
