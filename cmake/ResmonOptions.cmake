# SPDX-License-Identifier: MIT
# Options of the build, the third-party libraries behind them, and the flags of our own code.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

option(RESMON_BUILD_TESTS "Build the tests (needs cmocka)" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_INSTALL "Define the install rules" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_WERROR "Treat warnings as errors (for our own CI)" OFF)
option(RESMON_FUZZ "Build the fuzz targets with libFuzzer (clang only)" OFF)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
set(RESMON_LIBRARIES "")
set(RESMON_DEFINITIONS "")
set(RESMON_PC_REQUIRES "")
set(RESMON_INCLUDE_DIRS "")

# Each third-party library is an option RESMON_WITH_<NAME>: AUTO uses it when it is there, ON insists, OFF
# leaves it out.  Makes RESMON_HAVE_<NAME>, and the definition RM_HAVE_<NAME>.
function(resmon_third_party name what package is_found)
  set(RESMON_WITH_${name} AUTO CACHE STRING "${what}: AUTO, ON or OFF")
  set_property(CACHE RESMON_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(RESMON_WITH_${name} STREQUAL "OFF")
    set(is_found FALSE)
  elseif(RESMON_WITH_${name} STREQUAL "ON" AND NOT is_found)
    message(FATAL_ERROR "RESMON_WITH_${name} is ON, but it was not found (Debian: ${package})")
  endif()
  if(is_found)
    set(RESMON_HAVE_${name} TRUE PARENT_SCOPE)
    set(RESMON_DEFINITIONS ${RESMON_DEFINITIONS} RM_HAVE_${name} PARENT_SCOPE)
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    if(is_found)
      message(STATUS "${what}: yes")
    else()
      message(STATUS "${what}: no")
    endif()
  endif()
endfunction()

# Headers only: the library itself is loaded when it is first needed, so that programs that have no
# use for it neither need it nor wait for it.
function(resmon_loaded_library name what package header)
  find_path(RESMON_${name}_INCLUDE_DIR ${header})
  mark_as_advanced(RESMON_${name}_INCLUDE_DIR)
  resmon_third_party(${name} "${what}" ${package} "${RESMON_${name}_INCLUDE_DIR}")
  set(RESMON_HAVE_${name} ${RESMON_HAVE_${name}} PARENT_SCOPE)
  set(RESMON_DEFINITIONS ${RESMON_DEFINITIONS} PARENT_SCOPE)
  if(RESMON_HAVE_${name})
    set(RESMON_INCLUDE_DIRS ${RESMON_INCLUDE_DIRS} ${RESMON_${name}_INCLUDE_DIR} PARENT_SCOPE)
  endif()
endfunction()

find_package(ResmonCJSON QUIET)
resmon_third_party(CJSON "Run documents in JSON (cJSON)" libcjson-dev "${ResmonCJSON_FOUND}")
if(RESMON_HAVE_CJSON)
  list(APPEND RESMON_LIBRARIES ResmonCJSON::cjson)
  list(APPEND RESMON_PC_REQUIRES libcjson)
endif()
resmon_loaded_library(CURL "Sinks over HTTP (libcurl)" libcurl4-openssl-dev curl/curl.h)
resmon_loaded_library(PFM "Names of hardware events (libpfm4)" libpfm4-dev perfmon/pfmlib_perf_event.h)
resmon_loaded_library(UNWIND "Stacks (libunwind)" libunwind-dev libunwind.h)
resmon_loaded_library(DW "Lines of stacks (libdw)" libdw-dev elfutils/libdw.h)
resmon_loaded_library(ZLIB "Compressed profiles (zlib)" zlib1g-dev zlib.h)

set(RESMON_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Wformat=2
  -Wundef -Wcast-qual -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wnull-dereference
  -Wframe-larger-than=8192)
if(RESMON_WERROR)
  list(APPEND RESMON_WARNINGS -Werror)
endif()

# Everything that the library's own sources, and tests of its inside, are compiled with.
function(resmon_set_up_internal target)
  target_compile_features(${target} PUBLIC c_std_11)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF)
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib ${PROJECT_BINARY_DIR}/generated)
  target_compile_definitions(${target} PUBLIC _POSIX_C_SOURCE=200809L ${RESMON_DEFINITIONS})
  target_compile_options(${target} PRIVATE ${RESMON_WARNINGS} -fno-common)
  target_include_directories(${target} SYSTEM PRIVATE ${RESMON_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} ${RESMON_LIBRARIES})
endfunction()
