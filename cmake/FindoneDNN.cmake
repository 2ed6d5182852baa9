# Finds oneDNN (2.6 or 3.x). Debian's own dnnl-config.cmake asks for OpenCL
# development files that its package does not need for the CPU engine.
# Defines oneDNN_FOUND, oneDNN_VERSION and the target oneDNN::dnnl.
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)

if(oneDNN_INCLUDE_DIR)
  file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" lines
       REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" oneDNN_VERSION "${lines}")
  string(REPLACE ";" "." oneDNN_VERSION "${oneDNN_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN
  REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
  VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::dnnl)
  add_library(oneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(oneDNN::dnnl PROPERTIES
    IMPORTED_LOCATION "${oneDNN_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${oneDNN_INCLUDE_DIR}")
endif()
