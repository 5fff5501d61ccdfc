# Installs a build, and builds and runs a project that finds it there.
#   cmake -D BUILD=… -D WORK=… -D SOURCE=… -P check.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY COMMAND_ECHO STDOUT)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${WORK}/build -G Ninja -D CMAKE_PREFIX_PATH=${WORK}/installed)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/uses_core)
run(${WORK}/build/uses_emu ${SOURCE}/docs/datapaths/hopper-fp16.json)
run(${WORK}/installed/bin/tcnum list --arch sm_90 --json ${WORK}/list.json)

# No header but the promised ones.
file(GLOB_RECURSE installed RELATIVE ${WORK}/installed/include ${WORK}/installed/include/*)
file(GLOB promised RELATIVE ${SOURCE}/include ${SOURCE}/include/tcnum/*)
if(NOT installed STREQUAL promised)
  message(FATAL_ERROR "installed headers: ${installed}; right would be ${promised}")
endif()
