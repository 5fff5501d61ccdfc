# What HIP sources are compiled for, and with. By hipcc itself, as CMake 3.25 has no HIP where Debian has put it.

if(TCNUM_GPU)
  message(FATAL_ERROR "TCNUM_HIP: a build has kernels of CUDA or of HIP; expected TCNUM_GPU=OFF or TCNUM_HIP=OFF")
endif()
set(TCNUM_HIP_ARCHS "gfx908;gfx90a;gfx942" CACHE STRING
  "AMD architectures to build the probes for: some of gfx908, gfx90a and gfx942 (which hipcc knows from ROCm 6 on)")
find_program(TCNUM_HIPCC hipcc HINTS /opt/rocm/bin REQUIRED)
find_path(TCNUM_HIP_INCLUDE hip/hip_runtime_api.h HINTS /opt/rocm/include REQUIRED)
find_library(TCNUM_HIP_RUNTIME amdhip64 HINTS /opt/rocm/lib REQUIRED)

# tcnum_hip_object(OUT source): compiles a .hip file of this folder for all of them, and says where the object is.
function(tcnum_hip_object out source)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
  set(options -std=gnu++${CMAKE_CXX_STANDARD} -O2 -fPIC -fvisibility=hidden -Wall -Wextra
    -Wno-unused-command-line-argument) # hipcc's own, where it only compiles
  if(TCNUM_DEVELOPER)
    list(APPEND options -Werror)
  endif()
  foreach(arch ${TCNUM_HIP_ARCHS})
    list(APPEND options --offload-arch=${arch})
  endforeach()
  add_custom_command(OUTPUT ${object}
    COMMAND ${TCNUM_HIPCC} ${options} -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include -MD -MF ${object}.d
      -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    MAIN_DEPENDENCY ${source} DEPFILE ${object}.d VERBATIM)
  set(${out} ${object} PARENT_SCOPE)
endfunction()
