# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)

install(TARGETS resmon resmon-static resmon-reader resmon-reader-static EXPORT resmon-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS resmon-names RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/resmon)
install(DIRECTORY include/resmon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# As source: compiled modules are of one compiler.
install(FILES bindings/fortran/resmon.f90 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/resmon)
install(FILES lib/common/format/resmon-run.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/resmon)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
# Documents link to headers as they do in the repository.
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_DOCDIR}")
  file(RELATIVE_PATH resmon_docs_to_headers ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  install(CODE "file(CREATE_LINK \"${resmon_docs_to_headers}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/include\" SYMBOLIC)")
endif()
install(FILES lib/reader/view/vendor/uplot/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.uplot)
# Which the README names; to be built with what pkg-config or find_package(resmon) tells.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.c" PATTERN "*.ipynb" PATTERN "*.png" PATTERN "README.md"
  PATTERN "task_prolog.sh" PATTERN "resmon.module" PATTERN "grafana.json" PATTERN "scopes.*" PATTERN ".ipynb_checkpoints" EXCLUDE)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/resmon)
install(EXPORT resmon-targets NAMESPACE resmon:: DESTINATION ${config_dir})
configure_package_config_file(cmake/resmonConfig.cmake.in ${PROJECT_BINARY_DIR}/resmonConfig.cmake
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/resmonConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/resmonConfig.cmake ${PROJECT_BINARY_DIR}/resmonConfigVersion.cmake
  cmake/FindResmonCJSON.cmake DESTINATION ${config_dir})

# The same package straight from the build tree.
export(EXPORT resmon-targets NAMESPACE resmon:: FILE ${PROJECT_BINARY_DIR}/resmon-targets.cmake)
configure_file(cmake/FindResmonCJSON.cmake ${PROJECT_BINARY_DIR}/FindResmonCJSON.cmake COPYONLY)

# Relative, so that `cmake --install --prefix` and a moved tree are right too.
file(RELATIVE_PATH RESMON_PC_TO_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
list(JOIN RESMON_PC_LIBRARIES " " RESMON_PC_LIBRARIES_TEXT)
configure_file(cmake/resmon.pc.in ${PROJECT_BINARY_DIR}/resmon.pc @ONLY)
configure_file(cmake/resmon-reader.pc.in ${PROJECT_BINARY_DIR}/resmon-reader.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/resmon.pc ${PROJECT_BINARY_DIR}/resmon-reader.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
