# SPDX-License-Identifier: MIT
# The one Python of tests, checks and benches: what RESMON_PYTHON says, here and in the environment of whoever
# runs them; else the system's, which has the distribution's packages (psutil, jsonschema), whichever other is
# first in PATH.
#
#   resmon_python   the word of a shell command that runs it
#   resmon-python   the target that makes what the headers decide of the Python package, among its sources: an import of
#                   these needs it, and the same is in a wheel

if(NOT RESMON_PYTHON AND DEFINED ENV{RESMON_PYTHON})
  set(RESMON_PYTHON "$ENV{RESMON_PYTHON}")
endif()
if(NOT RESMON_PYTHON)
  find_program(RESMON_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH DOC "The Python of tests and benches")
  find_program(RESMON_PYTHON python3)
endif()
if(NOT RESMON_PYTHON)
  set(RESMON_PYTHON python3)
endif()
set(resmon_python "\"\${RESMON_PYTHON:-${RESMON_PYTHON}}\"")

set(resmon_package ${PROJECT_SOURCE_DIR}/bindings/python/resmon)
set(resmon_made ${resmon_package}/_generated.py ${resmon_package}/_generated_records.py ${resmon_package}/__init__.pyi)
find_program(RESMON_PYTHON_FOUND ${RESMON_PYTHON})
mark_as_advanced(RESMON_PYTHON_FOUND)
if(PROJECT_IS_TOP_LEVEL AND RESMON_PYTHON_FOUND)
  file(GLOB resmon_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/resmon/*.h)
  add_custom_command(OUTPUT ${resmon_made}
    COMMAND ${RESMON_PYTHON_FOUND} ${PROJECT_SOURCE_DIR}/cmake/make_python.py ${resmon_package}
    DEPENDS ${resmon_headers} ${PROJECT_SOURCE_DIR}/lib/common/run/records.def ${PROJECT_SOURCE_DIR}/cmake/make_python.py
      ${PROJECT_SOURCE_DIR}/cmake/make_records.py ${resmon_package}/__init__.py VERBATIM)
  set(all "")
  if(RESMON_BUILD_TESTS)
    set(all ALL)
  endif()
  add_custom_target(resmon-python ${all} DEPENDS ${resmon_made})
endif()
