// Functions that are compiled for several CPUs, of which the program picks when it starts.
#pragma once

// Goes before a function. What the function calls must be inlined to be compiled for the same CPU.
//
// Not with the thread sanitizer, which is not there yet when the program picks. GCC's alone: Clang's cannot be called by
// files that see no more than a declaration, and refuses vectors that such functions pass to what they inline. What it
// builds is for the default CPU, with the same bits.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define TCNUM_ALSO_FOR(feature) [[gnu::target_clones(feature, "default")]]
#else
#define TCNUM_ALSO_FOR(feature)
#endif
