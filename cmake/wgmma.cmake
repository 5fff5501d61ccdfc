# What the asm texts of wgmma say of their operands, for so many 32-bit accumulators: see probes/wgmma_kernel.cuh
# and bench/device/time_wgmma_kernel.cuh.
function(wgmma_register_texts out count)
  set(accumulators "")
  set(constraints "")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    list(APPEND accumulators "%${i}")
    list(APPEND constraints "\"+r\"(d[${i}])")
  endforeach()
  list(JOIN accumulators ", " accumulators)
  list(JOIN constraints ", " constraints)
  set(text "#define TCNUM_D_${count} \"{${accumulators}}\"\n#define TCNUM_INOUT_D_${count} ${constraints}\n")

  foreach(i RANGE 19)
    math(EXPR operand "${count} + ${i}")
    string(APPEND text "#define TCNUM_AT_${count}_${i} \"${operand}\"\n")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Makes NAME_FAMILY_nN.cu of NAME.cu.in for each N of TCNUM_WGMMA_N and each family that has it. Leaves the sources, and
# "FAMILY N" of each.
function(tcnum_wgmma_sources name sources families_and_widths)
  set(made "")
  set(which "")
  set(widths ${TCNUM_WGMMA_N})
  if(widths STREQUAL "ALL")
    set(widths "")
    foreach(n RANGE 8 256 8)
      list(APPEND widths ${n})
    endforeach()
  endif()
  foreach(n ${widths})
    math(EXPR registers_32 "${n} / 2") # 64 rows for 128 threads
    math(EXPR registers_16 "${n} / 4")
    wgmma_register_texts(texts_32 ${registers_32})
    wgmma_register_texts(texts_16 ${registers_16})
    set(register_texts "${texts_32}${texts_16}")
    set(families dense sparse)
    math(EXPR odd "${n} % 16")
    if(n LESS_EQUAL 32 OR odd EQUAL 0) # the others are illegal for integers
      list(APPEND families integer)
    endif()
    # Short instructions are timed in a longer loop: its counter and branch must not show.
    if(n LESS_EQUAL 64)
      set(loop_texts "#define TCNUM_BODY \"16\"\n#define TCNUM_REPEAT(FOUR) FOUR FOUR FOUR FOUR")
    else()
      set(loop_texts "#define TCNUM_BODY \"4\"\n#define TCNUM_REPEAT(FOUR) FOUR")
    endif()
    foreach(family ${families})
      configure_file(${name}.cu.in ${name}_${family}_n${n}.cu @ONLY)
      list(APPEND made ${CMAKE_CURRENT_BINARY_DIR}/${name}_${family}_n${n}.cu)
      list(APPEND which "${family} ${n}")
    endforeach()
  endforeach()
  set(${sources} "${made}" PARENT_SCOPE)
  set(${families_and_widths} "${which}" PARENT_SCOPE)
endfunction()

# ptxas only informs of a wgmma that it serialises or puts waits into, and has no option that refuses it; with few
# optimizations it serialises all.
function(tcnum_compile_wgmma target)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 90a-real)
  target_compile_options(${target} PRIVATE ${TCNUM_CUDA_OPTIMIZED_OPTIONS})
  set_property(TARGET ${target} PROPERTY CUDA_COMPILER_LAUNCHER
    sh ${PROJECT_SOURCE_DIR}/cmake/refuse_serialised_wgmma.sh ${CMAKE_CUDA_COMPILER_LAUNCHER})
endfunction()
