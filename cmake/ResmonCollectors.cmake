# SPDX-License-Identifier: MIT
# Lists the collectors: every file of lib/collect that defines a `const struct rm_collector
# rm_collect_NAME`.  So a new collector needs no edit of a table by hand, and none is lost from a
# static library, as one that registered itself in a constructor would be.
function(resmon_list_collectors output)
  set(text "/* Made by cmake/ResmonCollectors.cmake. */\n")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} line REGEX "^const struct rm_collector rm_collect_[a-z0-9_]+ = {")
    if(line)
      string(REGEX REPLACE "^const struct rm_collector rm_collect_([a-z0-9_]+) = {.*" "\\1" name "${line}")
      string(APPEND text "RM_COLLECTOR(${name})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
