# Finds CAF 0.17 (core, io), for which Debian and Ubuntu ship headers and
# libraries but neither a CMake package nor a .pc file.
# Defines CAF017_FOUND, CAF017_VERSION and the targets CAF::core, CAF::io.
find_path(CAF017_INCLUDE_DIR caf/actor_system.hpp)
find_library(CAF017_CORE_LIBRARY caf_core)
find_library(CAF017_IO_LIBRARY caf_io)

if(CAF017_INCLUDE_DIR)
  # caf/config.hpp says e.g. "#define CAF_VERSION 1706" (major, minor, patch).
  file(STRINGS "${CAF017_INCLUDE_DIR}/caf/config.hpp" version_line
       REGEX "#define CAF_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" version "${version_line}")
  math(EXPR major "${version} / 10000")
  math(EXPR minor "${version} / 100 % 100")
  math(EXPR patch "${version} % 100")
  set(CAF017_VERSION "${major}.${minor}.${patch}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF017
  REQUIRED_VARS CAF017_CORE_LIBRARY CAF017_IO_LIBRARY CAF017_INCLUDE_DIR
  VERSION_VAR CAF017_VERSION)

if(CAF017_FOUND AND NOT TARGET CAF::core)
  if(NOT CAF017_VERSION VERSION_LESS 0.18)
    message(FATAL_ERROR "CAF 0.17.6 is needed, found ${CAF017_VERSION}")
  endif()
  find_package(Threads REQUIRED)
  add_library(CAF::core UNKNOWN IMPORTED)
  set_target_properties(CAF::core PROPERTIES
    IMPORTED_LOCATION "${CAF017_CORE_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAF017_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
  add_library(CAF::io UNKNOWN IMPORTED)
  set_target_properties(CAF::io PROPERTIES
    IMPORTED_LOCATION "${CAF017_IO_LIBRARY}"
    INTERFACE_LINK_LIBRARIES CAF::core)
endif()
