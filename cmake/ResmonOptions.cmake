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

# Each third-party library: AUTO uses it when it is there, ON insists, OFF leaves it out.
set(RESMON_WITH_CJSON AUTO CACHE STRING "Run documents in JSON (cJSON): AUTO, ON or OFF")
set_property(CACHE RESMON_WITH_CJSON PROPERTY STRINGS AUTO ON OFF)

set(RESMON_WITH_CURL AUTO CACHE STRING "Sinks over HTTP (libcurl, loaded at run time): AUTO, ON or OFF")
set_property(CACHE RESMON_WITH_CURL PROPERTY STRINGS AUTO ON OFF)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
set(RESMON_LIBRARIES "")
set(RESMON_DEFINITIONS "")
set(RESMON_PC_REQUIRES "")

if(NOT RESMON_WITH_CJSON STREQUAL "OFF")
  find_package(ResmonCJSON QUIET)
  if(ResmonCJSON_FOUND)
    list(APPEND RESMON_LIBRARIES ResmonCJSON::cjson)
    list(APPEND RESMON_DEFINITIONS RM_HAVE_CJSON)
    list(APPEND RESMON_PC_REQUIRES libcjson)
  elseif(RESMON_WITH_CJSON STREQUAL "ON")
    message(FATAL_ERROR "RESMON_WITH_CJSON is ON, but cJSON was not found (Debian: libcjson-dev)")
  endif()
endif()

# Headers only: the library itself is loaded when a sink first asks for it, so that programs that send
# nothing neither need it nor wait for it.
if(NOT RESMON_WITH_CURL STREQUAL "OFF")
  find_path(RESMON_CURL_INCLUDE_DIR curl/curl.h)
  mark_as_advanced(RESMON_CURL_INCLUDE_DIR)
  if(RESMON_CURL_INCLUDE_DIR)
    list(APPEND RESMON_DEFINITIONS RM_HAVE_CURL)
  elseif(RESMON_WITH_CURL STREQUAL "ON")
    message(FATAL_ERROR "RESMON_WITH_CURL is ON, but curl/curl.h was not found (Debian: libcurl4-openssl-dev)")
  endif()
endif()
if(PROJECT_IS_TOP_LEVEL)
  if("RM_HAVE_CURL" IN_LIST RESMON_DEFINITIONS)
    message(STATUS "Sinks over HTTP: yes (libcurl)")
  else()
    message(STATUS "Sinks over HTTP: no")
  endif()
  if("RM_HAVE_CJSON" IN_LIST RESMON_DEFINITIONS)
    message(STATUS "JSON run documents: yes (cJSON)")
  else()
    message(STATUS "JSON run documents: no")
  endif()
endif()

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
  if(RESMON_CURL_INCLUDE_DIR)
    target_include_directories(${target} SYSTEM PRIVATE ${RESMON_CURL_INCLUDE_DIR})
  endif()
  target_link_libraries(${target} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} ${RESMON_LIBRARIES})
endfunction()
