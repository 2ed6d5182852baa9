# troupe_library(NAME SOURCES a.cpp ... [DEPENDS targets] [PRIVATE_DEPENDS targets])
# One static library per folder; a folder without sources is an INTERFACE one.
function(troupe_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC troupe_flags ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE troupe_flags ${arg_DEPENDS})
  endif()
endfunction()

# troupe_test(NAME SOURCES a_test.cpp ... DEPENDS targets
#             [LABELS long ...] [TIMEOUT seconds])
# One Boost.Test program per test folder; main() comes from tests/support.
# The label `long` keeps a test out of a plain `./dev test`. Tests of folders
# that need CAF get the label `actors`: ThreadSanitizer leaves them out, since
# it reports what it cannot see inside a library built without it.
function(troupe_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(TROUPE_SANITIZE)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(unit/actors|unit/runtime/cli|cluster|chaos)")
    list(APPEND arg_LABELS actors)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE test_main ${arg_DEPENDS})
  if(NOT "actors" IN_LIST arg_LABELS)
    add_dependencies(tests_without_actors ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
