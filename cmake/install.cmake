# cmake --install, and what find_package(tcnum) finds: tcnum::core (all of the library), tcnum::emu, tcnum::probes, and
# tcnum::c, which is libtcnum.so.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TCNUM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tcnum)

foreach(part io emu isa probes core)
  set_target_properties(tcnum_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
install(TARGETS tcnum_io tcnum_emu tcnum_isa tcnum_probes tcnum_core EXPORT tcnumTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TCNUM_SHARED)
  set_target_properties(tcnum_c PROPERTIES EXPORT_NAME c)
  install(TARGETS tcnum_c EXPORT tcnumTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # pkg-config's file finds the prefix from where it lies.
  set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH TCNUM_PKGCONFIG_TO_PREFIX /${pkgconfig} /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tcnum.pc.in ${PROJECT_BINARY_DIR}/tcnum.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tcnum.pc DESTINATION ${pkgconfig})
endif()
install(TARGETS tcnum RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET tcnum_mpi)
  install(TARGETS tcnum_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}) # src/ranks/launch.cpp looks for it there
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tcnum DESTINATION include FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/vectors/ DESTINATION ${TCNUM_VECTORS_INSTALL_DIR})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/schemas DESTINATION share/tcnum FILES_MATCHING PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What shells and man(1) read is what the program says of its own command line.
if(NOT CMAKE_CROSSCOMPILING)
  set(texts ${PROJECT_BINARY_DIR}/texts)
  add_custom_command(OUTPUT ${texts}/tcnum ${texts}/_tcnum ${texts}/tcnum.fish ${texts}/tcnum.1
    COMMAND ${CMAKE_COMMAND} -E make_directory ${texts}
    COMMAND tcnum --completion bash > ${texts}/tcnum
    COMMAND tcnum --completion zsh > ${texts}/_tcnum
    COMMAND tcnum --completion fish > ${texts}/tcnum.fish
    COMMAND tcnum --man > ${texts}/tcnum.1
    DEPENDS tcnum COMMENT "Describing the command line to shells and man")
  add_custom_target(tcnum_texts ALL DEPENDS ${texts}/tcnum)
  if(TARGET quick_tests)
    add_dependencies(quick_tests tcnum_texts) # one of which installs all
  endif()
  install(FILES ${texts}/tcnum DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${texts}/_tcnum DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${texts}/tcnum.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES ${texts}/tcnum.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

install(EXPORT tcnumTargets NAMESPACE tcnum:: DESTINATION ${TCNUM_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tcnumConfig.cmake.in ${PROJECT_BINARY_DIR}/tcnumConfig.cmake
  INSTALL_DESTINATION ${TCNUM_PACKAGE_DIR} PATH_VARS TCNUM_VECTORS_INSTALL_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tcnumConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tcnumConfig.cmake ${PROJECT_BINARY_DIR}/tcnumConfigVersion.cmake
  DESTINATION ${TCNUM_PACKAGE_DIR})
