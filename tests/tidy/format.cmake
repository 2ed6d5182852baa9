# Checks (-D MODE=check, the `format` test) or repairs (-D MODE=fix) the layout
# of all sources. Each clang-format release lays out differently, so only the
# one that .clang-format was written for counts; without it nothing is done,
# and the message says so.
set(version_wanted 14)
set(folders actors bench config kernels runtime tests)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

find_program(clang_format NAMES clang-format-${version_wanted} clang-format)
if(NOT clang_format)
  message("format: skipped, clang-format ${version_wanted} is not installed")
  return()
endif()
execute_process(COMMAND "${clang_format}" --version OUTPUT_VARIABLE version)
if(NOT version MATCHES "version ${version_wanted}\\.")
  string(STRIP "${version}" version)
  message("format: skipped, clang-format ${version_wanted} is needed, found ${version}")
  return()
endif()

set(sources)
foreach(folder IN LISTS folders)
  file(GLOB_RECURSE found "${root}/${folder}/*.cpp" "${root}/${folder}/*.hpp")
  list(APPEND sources ${found})
endforeach()
list(LENGTH sources count)

if(MODE STREQUAL "fix")
  execute_process(COMMAND "${clang_format}" -i ${sources} COMMAND_ERROR_IS_FATAL ANY)
  message("format: ${count} files are in form")
else()
  execute_process(COMMAND "${clang_format}" --dry-run --Werror ${sources}
                  ERROR_VARIABLE complaints RESULT_VARIABLE status)
  if(status)
    string(REGEX MATCHALL "[^\n]+:[0-9]+:[0-9]+: error:" places "${complaints}")
    list(TRANSFORM places REPLACE ":[0-9]+:[0-9]+: error:" "")
    list(REMOVE_DUPLICATES places)
    list(JOIN places "\n  " places)
    message(FATAL_ERROR
      "format: run ./dev format, these files differ:\n  ${places}")
  endif()
  message("format: ${count} files are in form")
endif()
