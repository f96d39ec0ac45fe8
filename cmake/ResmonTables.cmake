# SPDX-License-Identifier: MIT
# Tables of lib/carbon: each CSV file of lib/carbon/data becomes rows of C at build time.
#
#   country.csv: FRA,FR,France,56.039,2023     with TYPES ssnn. (the dot: left out)
#   country.inc: RM_ROW("FRA", "FR", 56.039, 2023)
#
# A number that is not given is -1.  Run with -P for one file; included for the function that asks
# for that.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${CSV} lines ENCODING UTF-8)
  list(POP_FRONT lines)
  string(LENGTH "${TYPES}" columns)
  math(EXPR last "${columns} - 1")
  set(text "/* Made from ${NAME} by cmake/ResmonTables.cmake. */\n")
  foreach(line IN LISTS lines)
    set(row "")
    foreach(column RANGE ${last})
      set(CMAKE_MATCH_1 "")
      set(CMAKE_MATCH_2 "")
      if(line MATCHES "^\"")
        string(REGEX MATCH "^\"([^\"]*)\",?(.*)$" line "${line}")
      elseif(NOT line STREQUAL "")
        string(REGEX MATCH "^([^,]*),?(.*)$" line "${line}")
      endif()
      set(field "${CMAKE_MATCH_1}")
      set(line "${CMAKE_MATCH_2}")
      string(SUBSTRING "${TYPES}" ${column} 1 type)
      if(type STREQUAL "s")
        string(APPEND row ", \"${field}\"")
      elseif(type STREQUAL "n" AND field STREQUAL "")
        string(APPEND row ", -1")
      elseif(type STREQUAL "n" AND field MATCHES "^[0-9.]+$")
        string(APPEND row ", ${field}")
      elseif(NOT type STREQUAL ".")
        message(FATAL_ERROR "${NAME}: '${field}' is not a number")
      endif()
    endforeach()
    string(SUBSTRING "${row}" 2 -1 row)
    string(APPEND text "RM_ROW(${row})\n")
  endforeach()
  file(WRITE ${OUTPUT} "${text}")
  return()
endif()

set(resmon_tables_script ${CMAKE_CURRENT_LIST_FILE})

# A target that makes all of them: each table as NAME:TYPES.
function(resmon_make_tables target directory)
  foreach(table ${ARGN})
    string(REPLACE ":" ";" table ${table})
    list(GET table 0 name)
    list(GET table 1 types)
    set(csv ${directory}/${name}.csv)
    set(output ${PROJECT_BINARY_DIR}/generated/carbon/${name}.inc)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DCSV=${csv} -DNAME=${name}.csv -DTYPES=${types} -DOUTPUT=${output}
        -P ${resmon_tables_script}
      DEPENDS ${csv} ${resmon_tables_script} VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()
