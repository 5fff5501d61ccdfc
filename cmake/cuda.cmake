# What CUDA sources are compiled for, and with.

# Machine code for exactly these; each .cu leaves out the instructions that an architecture lacks. 100f and 120f are
# families: sm_100 and sm_103, sm_120 and sm_121.
set(TCNUM_CUDA_ARCHS "75-real;80-real;86-real;89-real;90a-real;100f-real;120f-real" CACHE STRING
  "CUDA architectures to build the probes for, as in CMAKE_CUDA_ARCHITECTURES; families such as 100f-real too")
# CMake 3.25 does not know families: nvcc is told of them by an option.
set(CMAKE_CUDA_ARCHITECTURES ${TCNUM_CUDA_ARCHS})
list(FILTER CMAKE_CUDA_ARCHITECTURES EXCLUDE REGEX "f-real$")
set(TCNUM_CUDA_FAMILIES "")
foreach(arch ${TCNUM_CUDA_ARCHS})
  if(arch MATCHES "^([0-9]+f)-real$")
    list(APPEND TCNUM_CUDA_FAMILIES
      "$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_${CMAKE_MATCH_1},code=[sm_${CMAKE_MATCH_1}]>")
  endif()
endforeach()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES OFF)
endif()
enable_language(CUDA)
# Kernels that know no architecture's own instructions: built for several, they are machine code for Hopper alone, and
# PTX that the driver compiles for the others.
set(TCNUM_ORDINARY_CUDA_ARCHS "${TCNUM_CUDA_ARCHS}")
list(LENGTH TCNUM_CUDA_ARCHS arch_count)
if(arch_count GREATER 1 OR TCNUM_CUDA_FAMILIES)
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
# Where no GPU runs them, kernels need but compile: what sm_100 has beside tcgen05, which has a source of its own, sm_120
# has.
option(TCNUM_CUDA_UNOPTIMIZED "Compile GPU parts with few optimizations, and what families share for one, in half the time"
  OFF)
if(TCNUM_CUDA_UNOPTIMIZED AND "120f-real" IN_LIST TCNUM_CUDA_ARCHS)
  list(FILTER TCNUM_CUDA_FAMILIES EXCLUDE REGEX "compute_100f")
endif()
set(TCNUM_CUDA_OPTIMIZED_OPTIONS ${TCNUM_CUDA_OPTIONS}) # for what says only then whether it is right
if(TCNUM_CUDA_UNOPTIMIZED AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  list(APPEND TCNUM_CUDA_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max;-Xcompiler=-O0>")
endif()
