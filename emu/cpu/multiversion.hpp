// Functions that are compiled for several CPUs, of which the program picks when it starts.
#pragma once

// Goes before a function. What the function calls must be inlined to be compiled for the same CPU.
#if defined(__x86_64__) && defined(__linux__)
#define TCNUM_ALSO_FOR(feature) [[gnu::target_clones(feature, "default")]]
#else
#define TCNUM_ALSO_FOR(feature)
#endif
