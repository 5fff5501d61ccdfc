# What CUDA sources are compiled for, and with.

# Machine code for exactly these; each .cu leaves out the instructions that an architecture lacks.
set(TCNUM_CUDA_ARCHS "75-real;80-real;86-real;89-real;90a-real;100a-real;120a-real" CACHE STRING
  "CUDA architectures to build the probes for, as in CMAKE_CUDA_ARCHITECTURES")
set(CMAKE_CUDA_ARCHITECTURES ${TCNUM_CUDA_ARCHS})
enable_language(CUDA)
# Kernels that know no architecture's own instructions: built for several, they are machine code for Hopper alone, and
# PTX that the driver compiles for the others.
set(TCNUM_ORDINARY_CUDA_ARCHS "${TCNUM_CUDA_ARCHS}")
list(LENGTH TCNUM_CUDA_ARCHS arch_count)
if(arch_count GREATER 1)
  set(TCNUM_ORDINARY_CUDA_ARCHS "80-virtual;90a-real")
endif()
find_package(CUDAToolkit REQUIRED)
# CMake 3.25 does not know how nvcc spells C++20; CUDA sources have the standard of the C++ ones.
foreach(kind STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()
# --expt-relaxed-constexpr: kernels use the same constexpr fragment layouts as the rest of the library.
set(TCNUM_CUDA_OPTIONS
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>")
if(TCNUM_DEVELOPER)
  list(APPEND TCNUM_CUDA_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xptxas=-Werror>")
endif()
