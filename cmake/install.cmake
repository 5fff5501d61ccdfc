# cmake --install, and what find_package(tcnum) finds: tcnum::core (all of the library), tcnum::emu, tcnum::probes.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TCNUM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tcnum)

foreach(part io emu isa probes core)
  set_target_properties(tcnum_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
install(TARGETS tcnum_io tcnum_emu tcnum_isa tcnum_probes tcnum_core EXPORT tcnumTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tcnum RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tcnum DESTINATION include FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/vectors/ DESTINATION ${TCNUM_VECTORS_INSTALL_DIR})

install(EXPORT tcnumTargets NAMESPACE tcnum:: DESTINATION ${TCNUM_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tcnumConfig.cmake.in ${PROJECT_BINARY_DIR}/tcnumConfig.cmake
  INSTALL_DESTINATION ${TCNUM_PACKAGE_DIR} PATH_VARS TCNUM_VECTORS_INSTALL_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tcnumConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tcnumConfig.cmake ${PROJECT_BINARY_DIR}/tcnumConfigVersion.cmake
  DESTINATION ${TCNUM_PACKAGE_DIR})
