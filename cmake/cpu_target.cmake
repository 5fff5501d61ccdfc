# Leaves in TCNUM_CPU_TARGET the one CPU, by Highway's name, that kernels are compiled for beside the compiler's baseline;
# nothing if they are compiled for all.
set(TCNUM_CPU_TARGET "")
if(TCNUM_CPU_TARGETS STREQUAL native AND NOT CMAKE_CROSSCOMPILING)
  try_run(runs compiles SOURCES ${CMAKE_CURRENT_LIST_DIR}/native_target.cpp
    NO_CACHE CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR} LINK_LIBRARIES ${HWY_LIBRARY} CXX_STANDARD 20
    RUN_OUTPUT_VARIABLE TCNUM_CPU_TARGET)
  if(NOT compiles OR NOT runs EQUAL 0)
    message(STATUS "This machine's CPU is not known: kernels are compiled for all")
    set(TCNUM_CPU_TARGET "")
  endif()
elseif(TCNUM_CPU_TARGETS MATCHES "^(AVX2|AVX3|AVX3_DL|NEON)$")
  set(TCNUM_CPU_TARGET ${TCNUM_CPU_TARGETS})
elseif(NOT TCNUM_CPU_TARGETS MATCHES "^(all|native)$")
  message(FATAL_ERROR "TCNUM_CPU_TARGETS is ${TCNUM_CPU_TARGETS}; expected all, native, AVX2, AVX3, AVX3_DL or NEON")
endif()

# Sanitizers watch the kernels of one CPU: with AVX-512 where tests can run that and threads are not what is watched, else
# with AVX2.
if(TCNUM_SANITIZE AND TCNUM_CPU_TARGETS STREQUAL all)
  set(TCNUM_CPU_TARGET AVX2)
  if(EXISTS /proc/cpuinfo AND NOT TCNUM_SANITIZE MATCHES thread)
    file(STRINGS /proc/cpuinfo has_avx512 REGEX "^flags.* avx512f " LIMIT_COUNT 1)
    if(has_avx512)
      set(TCNUM_CPU_TARGET AVX3)
    endif()
  endif()
endif()
if(TCNUM_CPU_TARGET)
  message(STATUS "Kernels are compiled for ${TCNUM_CPU_TARGET} and the compiler's baseline")
endif()
