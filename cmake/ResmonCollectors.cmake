# SPDX-License-Identifier: MIT
# Lists the collectors: every `const struct rm_collector rm_collect_NAME = {` at the start of a line
# of lib/collect.  So a new collector needs no edit of a table by hand, and none is lost from a
# static library, as one that registered itself in a constructor would be.
function(resmon_list_collectors output)
  set(text "/* Made by cmake/ResmonCollectors.cmake. */\n")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^const struct rm_collector rm_collect_[a-z0-9_]+ = {")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^const struct rm_collector rm_collect_([a-z0-9_]+) = {.*" "\\1" name "${line}")
      string(APPEND text "RM_COLLECTOR(${name})\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
