# SPDX-License-Identifier: MIT
# Options of the build, the third-party libraries behind them, and the flags of our own code.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

option(RESMON_BUILD_TESTS "Build the tests (needs cmocka)" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_BUILD_COMMAND "Build the command resmon" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_STATIC_COMMAND "Link the command statically (musl)" OFF)
option(RESMON_INSTALL "Define the install rules" ${PROJECT_IS_TOP_LEVEL})
option(RESMON_WERROR "Treat warnings as errors (for our own CI)" OFF)
option(RESMON_FAULT_INJECTION "Tests can make calls of the library fail: not for installation" OFF)
option(RESMON_FUZZ "Build the fuzz targets with libFuzzer (clang only)" OFF)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
set(RESMON_LIBRARIES "")
set(RESMON_DEFINITIONS "")
set(RESMON_PC_LIBRARIES "")
set(RESMON_INCLUDE_DIRS "")

# Libraries of others that may be left out, each by an option RESMON_WITH_<NAME>.  Makes RESMON_HAVE_<NAME>, the
# definition RM_HAVE_<NAME>, and a row of features.inc, by which the library says what it lacks
# (lib/common/base/feature.h).  Which files are left out, and what stands in for them, is said in CMakeLists.txt.
set_property(GLOBAL PROPERTY resmon_features "/* Made by cmake/ResmonOptions.cmake. */\n")
function(resmon_feature name what is_built)
  if(is_built)
    set(is_built 1)
    set(answer yes)
    set(RESMON_HAVE_${name} TRUE PARENT_SCOPE)
    set(RESMON_DEFINITIONS ${RESMON_DEFINITIONS} RM_HAVE_${name} PARENT_SCOPE)
  else()
    set(is_built 0)
    set(answer no)
    set(RESMON_HAVE_${name} FALSE PARENT_SCOPE)
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY resmon_features "RM_FEATURE(${name}, ${is_built}, \"${what}\")\n")
  if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "With ${what}: ${answer}")
  endif()
endfunction()

# Each third-party library: AUTO uses it when it is there, ON insists, OFF leaves it out.
macro(resmon_third_party name what package is_found)
  set(RESMON_WITH_${name} AUTO CACHE STRING "With ${what}: AUTO, ON or OFF")
  set_property(CACHE RESMON_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  set(resmon_is_found "${is_found}")
  if(RESMON_WITH_${name} STREQUAL "OFF")
    set(resmon_is_found FALSE)
  elseif(RESMON_WITH_${name} STREQUAL "ON" AND NOT resmon_is_found)
    message(FATAL_ERROR "RESMON_WITH_${name} is ON, but it was not found (Debian: ${package})")
  endif()
  resmon_feature(${name} "${what}" "${resmon_is_found}")
endmacro()

# Headers only: the library itself is loaded when it is first needed, so that programs that have no
# use for it neither need it nor wait for it.
set(resmon_files "/* Made by cmake/ResmonOptions.cmake: what is given to dlopen(). */\n")
macro(resmon_loaded_library name what package header file)
  set(RESMON_${name}_FILE "${file}" CACHE STRING "What is loaded for ${what}: a file name, or an absolute path")
  mark_as_advanced(RESMON_${name}_FILE)
  string(APPEND resmon_files "#define RM_${name}_FILE \"${RESMON_${name}_FILE}\"\n")
  find_path(RESMON_${name}_INCLUDE_DIR ${header})
  mark_as_advanced(RESMON_${name}_INCLUDE_DIR)
  resmon_third_party(${name} "${what}" ${package} "${RESMON_${name}_INCLUDE_DIR}")
  if(RESMON_HAVE_${name})
    list(APPEND RESMON_INCLUDE_DIRS ${RESMON_${name}_INCLUDE_DIR})
  endif()
endmacro()

# Of those that are loaded: which are linked in instead, statically.  For a command that is one file (packaging/build).
set(RESMON_LINKED "" CACHE STRING "Libraries that are linked in instead of loaded: a list of UNWIND and ZLIB")
function(resmon_link_in name)
  set(libraries "")
  foreach(file ${ARGN})
    find_library(RESMON_${file}_FILE ${file} REQUIRED)
    mark_as_advanced(RESMON_${file}_FILE)
    list(APPEND libraries ${RESMON_${file}_FILE})
  endforeach()
  set(RESMON_LIBRARIES ${RESMON_LIBRARIES} ${libraries} PARENT_SCOPE)
  set(RESMON_DEFINITIONS ${RESMON_DEFINITIONS} RM_LINKED_${name} PARENT_SCOPE)
endfunction()
foreach(library ${RESMON_LINKED})
  if(library STREQUAL "UNWIND")
    resmon_link_in(UNWIND libunwind-${CMAKE_SYSTEM_PROCESSOR}.a libunwind.a)
  elseif(library STREQUAL "ZLIB")
    resmon_link_in(ZLIB libz.a)
  else()
    message(FATAL_ERROR "RESMON_LINKED has ${library}: it may have UNWIND and ZLIB")
  endif()
endforeach()

find_package(ResmonCJSON QUIET)
resmon_third_party(CJSON "the reading of JSON (cJSON)" libcjson-dev "${ResmonCJSON_FOUND}")
if(RESMON_HAVE_CJSON)
  list(APPEND RESMON_LIBRARIES ResmonCJSON::cjson)
  # By its name, and not as a package: pkg-config would want its package for the shared library too.
  get_filename_component(folder "${ResmonCJSON_LIBRARY}" DIRECTORY)
  if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND RESMON_PC_LIBRARIES "-L${folder}")
  endif()
  list(APPEND RESMON_PC_LIBRARIES -lcjson)
endif()
resmon_loaded_library(CURL "HTTP (libcurl)" libcurl4-openssl-dev curl/curl.h libcurl.so.4)
resmon_loaded_library(PFM "names of hardware events (libpfm4)" libpfm4-dev perfmon/pfmlib_perf_event.h libpfm.so.4)
resmon_loaded_library(UNWIND "the following of stacks (libunwind)" libunwind-dev libunwind.h
  libunwind-${CMAKE_SYSTEM_PROCESSOR}.so.8)
resmon_loaded_library(DW "functions and lines of stacks (libdw)" libdw-dev elfutils/libdw.h libdw.so.1)
resmon_loaded_library(ZLIB "compression (zlib)" zlib1g-dev zlib.h libz.so.1)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/library_files.inc CONTENT "${resmon_files}" @ONLY)
get_property(resmon_features GLOBAL PROPERTY resmon_features)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/features.inc CONTENT "${resmon_features}" @ONLY)

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
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib/common ${PROJECT_SOURCE_DIR}/lib/recorder
    ${PROJECT_SOURCE_DIR}/lib/reader ${PROJECT_BINARY_DIR}/generated)
  target_compile_definitions(${target} PUBLIC _POSIX_C_SOURCE=200809L ${RESMON_DEFINITIONS})
  target_compile_options(${target} PRIVATE ${RESMON_WARNINGS} -fno-common)
  target_include_directories(${target} SYSTEM PRIVATE ${RESMON_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} ${RESMON_LIBRARIES})
endfunction()
