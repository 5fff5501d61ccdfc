# Installs a build, and builds and runs a project that finds it there.
#   cmake -D BUILD=… -D WORK=… -D SOURCE=… -D SHARED=ON|OFF [-D MPIRUN=…] -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY COMMAND_ECHO STDOUT)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
if(SHARED) # a program in C, without CMake
  find_program(PKG_CONFIG pkg-config REQUIRED)
  find_program(CC NAMES cc gcc clang REQUIRED)
  file(GLOB_RECURSE pc ${WORK}/installed/*/tcnum.pc)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${pc} OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CC} -std=c99 -Wall -Wextra -pedantic -Werror ${SOURCE}/tests/c/example.c -o ${WORK}/example ${flags})
  file(GLOB_RECURSE library ${WORK}/installed/*/libtcnum.so)
  get_filename_component(folder ${library} DIRECTORY)
  set(ENV{LD_LIBRARY_PATH} ${folder})
  run(${WORK}/example ${WORK}/installed/share/tcnum/vectors/sm_90/mma.m8n8k4.f32.f16.f16.f16.safetensors)
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${WORK}/build -G Ninja -D EXAMPLE=${SOURCE}/tests/c/example.c
  -D CMAKE_PREFIX_PATH=${WORK}/installed)
run(${CMAKE_COMMAND} --build ${WORK}/build)
if(SHARED)
  run(${WORK}/build/uses_c ${WORK}/installed/share/tcnum/vectors/sm_90/mma.m8n8k4.f32.f16.f16.f16.safetensors)
endif()
run(${WORK}/build/uses_core)
run(${WORK}/build/uses_emu ${SOURCE}/docs/datapaths/hopper-fp16.json)
run(${WORK}/installed/bin/tcnum list --arch sm_90 --json ${WORK}/list.json)
if(MPIRUN) # finds its library
  foreach(variable OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe)
    set(ENV{${variable}} 1)
  endforeach()
  run(${MPIRUN} -n 2 ${WORK}/installed/bin/tcnum verify --arch sm_90 --instr mma.m16n8k16.f32.f16.f16.f32 --count 1e4
    --from datapath:${SOURCE}/docs/datapaths/hopper-fp16.json)
endif()

# What shells and man(1) look for, where they look for it.
foreach(text bash-completion/completions/tcnum zsh/site-functions/_tcnum fish/vendor_completions.d/tcnum.fish man/man1/tcnum.1)
  file(READ ${WORK}/installed/share/${text} content)
  if(NOT content MATCHES "tcnum" OR NOT content MATCHES "campaign")
    message(FATAL_ERROR "${text}: says nothing of tcnum's options")
  endif()
endforeach()

file(GLOB installed RELATIVE ${WORK}/installed/share/tcnum/schemas ${WORK}/installed/share/tcnum/schemas/*)
file(GLOB written RELATIVE ${SOURCE}/docs/schemas ${SOURCE}/docs/schemas/*)
if(NOT installed STREQUAL written)
  message(FATAL_ERROR "installed schemas: ${installed}; right would be ${written}")
endif()

# No header but the promised ones.
file(GLOB_RECURSE installed RELATIVE ${WORK}/installed/include ${WORK}/installed/include/*)
file(GLOB promised RELATIVE ${SOURCE}/include ${SOURCE}/include/tcnum/*)
if(NOT installed STREQUAL promised)
  message(FATAL_ERROR "installed headers: ${installed}; right would be ${promised}")
endif()
