# Runs a program, and compares what it prints with a file.
#   cmake -D PROGRAM=… -D ARGUMENTS=… -D EXPECTED=FILE [-D COLUMN=1: the first word of each line] -P compare.cmake
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(COLUMN)
  string(REGEX REPLACE " [^\n]*" "" printed "${printed}")
endif()
file(READ ${EXPECTED} expected)
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "printed:\n${printed}\n${EXPECTED} has:\n${expected}")
endif()
