# SPDX-License-Identifier: MIT
# The scripts and styles of report pages (lib/reader/view) as a source file of C, with the hash of each, by which the page's policy
# knows its scripts.  Run with -P: OUTPUT, and DIRECTORY with the files; included for the function that asks for that.
set(resmon_assets uplot_script:vendor/uplot/uPlot.iife.min.js uplot_style:vendor/uplot/uPlot.min.css script:page.js
  style:page.css)
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "/* Made by cmake/ResmonAssets.cmake. */\n#include \"view/assets.h\"\n")
  foreach(asset IN LISTS resmon_assets)
    string(REGEX MATCH "^([^:]*):(.*)$" unused "${asset}")
    set(name ${CMAKE_MATCH_1})
    file(READ ${DIRECTORY}/${CMAKE_MATCH_2} bytes HEX)
    file(SHA256 ${DIRECTORY}/${CMAKE_MATCH_2} hash)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const unsigned char ${name}[] = {${bytes}0};\n"
      "const struct rm_asset rm_asset_${name} = {(const char *)${name}, sizeof ${name} - 1, \"${hash}\"};\n")
  endforeach()
  file(WRITE ${OUTPUT} "${text}")
  return()
endif()

# resmon_make_assets(OUTPUT DIRECTORY)
function(resmon_make_assets output directory)
  set(files "")
  foreach(asset IN LISTS resmon_assets)
    string(REGEX REPLACE "^[^:]*:" "${directory}/" file "${asset}")
    list(APPEND files ${file})
  endforeach()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DDIRECTORY=${directory} -P ${PROJECT_SOURCE_DIR}/cmake/ResmonAssets.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/ResmonAssets.cmake VERBATIM)
endfunction()
