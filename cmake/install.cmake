# cmake --install, and what find_package(tcnum) finds: tcnum::core (all of the library), tcnum::emu, tcnum::probes, and
# tcnum::c, which is libtcnum.so.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TCNUM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tcnum)

set(exported_parts io emu isa probes core)
if(TCNUM_SHARED)
  list(APPEND exported_parts c)
endif()
list(TRANSFORM exported_parts PREPEND tcnum_ OUTPUT_VARIABLE exported_targets)

# Everything that is built and installed. `cmake --install` refuses before it writes if a file of it is missing.
add_custom_target(tcnum_installation ALL)
add_dependencies(tcnum_installation ${exported_targets} tcnum tcnum-bench)
if(TARGET quick_tests)
  add_dependencies(quick_tests tcnum_installation) # the test `install` is one of them
endif()
set(built "")
foreach(target ${exported_targets} tcnum tcnum-bench)
  list(APPEND built $<TARGET_FILE:${target}>)
endforeach()
install(CODE "
  set(built [[${built}]])
  foreach(file IN LISTS built)
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \" \${file} is not built; expected `${PROJECT_SOURCE_DIR}/run install FOLDER`, or `cmake --build ${PROJECT_BINARY_DIR} --target tcnum_installation` before\")
    endif()
  endforeach()")

# Libraries of other packages are found in the prefix, for a machine that lacks them, and where the build found them.
set_target_properties(${exported_targets} tcnum tcnum-bench PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "$ORIGIN")
set_property(TARGET tcnum tcnum-bench PROPERTY INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

foreach(part ${exported_parts})
  set_target_properties(tcnum_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
install(TARGETS ${exported_targets} EXPORT tcnumTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TCNUM_SHARED)
  # pkg-config's file finds the prefix from where it lies.
  set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH TCNUM_PKGCONFIG_TO_PREFIX /${pkgconfig} /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tcnum.pc.in ${PROJECT_BINARY_DIR}/tcnum.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tcnum.pc DESTINATION ${pkgconfig})
endif()
install(TARGETS tcnum tcnum-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tcnum DESTINATION include FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/vectors/ DESTINATION ${TCNUM_VECTORS_INSTALL_DIR})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/schemas DESTINATION share/tcnum FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/CITATION.cff ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT tcnumTargets NAMESPACE tcnum:: DESTINATION ${TCNUM_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tcnumConfig.cmake.in ${PROJECT_BINARY_DIR}/tcnumConfig.cmake
  INSTALL_DESTINATION ${TCNUM_PACKAGE_DIR} PATH_VARS TCNUM_VECTORS_INSTALL_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tcnumConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tcnumConfig.cmake ${PROJECT_BINARY_DIR}/tcnumConfigVersion.cmake
  DESTINATION ${TCNUM_PACKAGE_DIR})
