# SPDX-License-Identifier: MIT
# For one processor and libc, whatever this machine has: RESMON_TARGET is a target of zig, such as
# x86_64-linux-gnu.2.17 or aarch64-linux-musl.  Libraries of others come from RESMON_PREFIX only (packaging/build).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RESMON_TARGET RESMON_PREFIX RESMON_TOOLS)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${RESMON_TARGET}")
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_TARGET ${RESMON_TARGET})
endforeach()
set(CMAKE_C_COMPILER ${RESMON_TOOLS}/cc)
# No path of this machine, so that others make the same bytes.
get_filename_component(resmon_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_C_FLAGS_INIT -ffile-prefix-map=${resmon_root}=.)
# zig's objects have debug information, and the strip of this machine knows its own processor only.
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT -Wl,-s)
endforeach()
# The install step of CMake cannot change the run path of every file that zig links.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_AR ${RESMON_TOOLS}/ar)
set(CMAKE_RANLIB ${RESMON_TOOLS}/ranlib)
set(CMAKE_FIND_ROOT_PATH ${RESMON_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind INCLUDE LIBRARY PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
