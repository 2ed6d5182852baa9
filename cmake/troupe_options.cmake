# Build options and the flags every target shares.
option(TROUPE_TESTS "build the tests" ON)
option(TROUPE_BENCH "build bench/ (needs Google Benchmark)" OFF)
set(TROUPE_SANITIZE "" CACHE STRING "address or thread: build with this sanitizer")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(troupe_flags INTERFACE)
target_include_directories(troupe_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(troupe_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
  # The compiler must not fuse or reorder arithmetic: bits are the product.
  -ffp-contract=off -fno-fast-math
  # GCC 12 sees overlapping copies in `"x" + std::string{...}` (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(TROUPE_SANITIZE)
  target_compile_options(troupe_flags INTERFACE
    -fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer -g1
    # Instrumented code confuses GCC's flow analysis (its bug 105562).
    -Wno-maybe-uninitialized)
  target_link_options(troupe_flags INTERFACE -fsanitize=${TROUPE_SANITIZE})
endif()

find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TROUPE_CCACHE}")
endif()
