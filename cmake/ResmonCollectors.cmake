# SPDX-License-Identifier: MIT
# Lists the collectors by name: every `const struct rm_collector rm_collect_NAME = {` at the start of a line
# of lib/recorder/collect.  So a new collector needs no edit of a table by hand, and none is lost from a
# static library, as one that registered itself in a constructor would be.  Which file it is in changes nothing.
function(resmon_list_collectors output)
  set(names "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^const struct rm_collector rm_collect_[a-z0-9_]+ = {")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^const struct rm_collector rm_collect_([a-z0-9_]+) = {.*" "\\1" name "${line}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(SORT names)
  list(TRANSFORM names REPLACE "(.+)" "RM_COLLECTOR(\\1)\n")
  list(JOIN names "" names)
  set(text "/* Made by cmake/ResmonCollectors.cmake. */\n${names}")
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
