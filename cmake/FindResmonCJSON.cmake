# SPDX-License-Identifier: MIT
# cJSON as one imported target.  Its own CMake package names its targets differently from version to
# version, and Debian's pkg-config file needs pkg-config: header and library are all that we need.
find_path(ResmonCJSON_INCLUDE_DIR cjson/cJSON.h)
find_library(ResmonCJSON_LIBRARY cjson)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ResmonCJSON DEFAULT_MSG ResmonCJSON_LIBRARY ResmonCJSON_INCLUDE_DIR)
mark_as_advanced(ResmonCJSON_INCLUDE_DIR ResmonCJSON_LIBRARY)
if(ResmonCJSON_FOUND AND NOT TARGET ResmonCJSON::cjson)
  add_library(ResmonCJSON::cjson UNKNOWN IMPORTED)
  set_target_properties(ResmonCJSON::cjson PROPERTIES
    IMPORTED_LOCATION ${ResmonCJSON_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ResmonCJSON_INCLUDE_DIR})
endif()
