# SPDX-License-Identifier: MIT
# The one Python of tests, checks and benches: what RESMON_PYTHON says, here and in the environment of whoever
# runs them; else the system's, which has the distribution's packages (psutil, jsonschema), whichever other is
# first in PATH.
#
#   resmon_python   the word of a shell command that runs it

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
