# How a build of all reads headers less often; TCNUM_TOGETHER asks for it.

# Compiles files of a room together, up to 64 at a time: most of the time that one takes goes to headers that its
# neighbours read too. ACROSS_ROOMS: of all rooms. Files that call something of their own as a neighbour does stand ALONE,
# and so do those with options of their own.
function(tcnum_compile_together target)
  if(NOT TCNUM_TOGETHER)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg ACROSS_ROOMS "" ALONE)
  foreach(path ${arg_ALONE}) # a build may leave out files that are there
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${path})
      message(FATAL_ERROR "${path} is to be compiled alone, and is not there")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    if(path IN_LIST arg_ALONE)
      continue()
    endif()
    cmake_path(GET path PARENT_PATH room)
    string(MAKE_C_IDENTIFIER "room_${room}" room)
    if(arg_ACROSS_ROOMS)
      set(room all)
    endif()
    if(NOT DEFINED files_${room})
      set(files_${room} 0)
    endif()
    math(EXPR part "${files_${room}} / 64")
    math(EXPR files_${room} "${files_${room}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${part})
  endforeach()
endfunction()

# Gives all files of a target the headers that most of them read, compiled once: tcnum_precompile(TARGET [AS OTHER] …).
# AS another target, whose language options are the same, takes what that one has. More headers may follow.
# Not where warnings are errors: behind a precompiled header GCC 12 gives false alarms about std::string. Nor with
# sanitizers, whose targets have levels of optimization that Clang does not let share one.
function(tcnum_precompile target)
  if(NOT TCNUM_TOGETHER OR TCNUM_DEVELOPER OR TCNUM_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" AS "")
  if(arg_AS)
    target_precompile_headers(${target} REUSE_FROM ${arg_AS})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <bit> <cmath> <cstddef> <cstdint> <functional> <limits>
    <map> <memory> <optional> <set> <span> <stdexcept> <string> <string_view> <tuple> <utility> <variant> <vector>
    <fmt/format.h> <fmt/ranges.h> <nlohmann/json_fwd.hpp> ${arg_UNPARSED_ARGUMENTS})
endfunction()
