# What compiles against the headers of the core needs: the target manymove_headers, and
# MANYMOVE_CORE_BUILD, which names the version and the headers. In the source tree core.cmake and the
# plugin for LAMMPS read this file; installed, manymove_core-config.cmake does. They have set
# MANYMOVE_CORE_VERSION and MANYMOVE_CORE_INCLUDE_DIR (the folder above core/).

set(MANYMOVE_SANITIZE "" CACHE STRING "Sanitizers for the C++ sources, e.g. address,undefined")

file(GLOB_RECURSE headers RELATIVE ${MANYMOVE_CORE_INCLUDE_DIR} ${MANYMOVE_CORE_INCLUDE_DIR}/core/*.h)
list(SORT headers)
set(digests "")
foreach(header ${headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${MANYMOVE_CORE_INCLUDE_DIR}/${header})
  file(SHA256 ${MANYMOVE_CORE_INCLUDE_DIR}/${header} digest)
  string(APPEND digests "${header} ${digest}\n")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 8 digest)
set(MANYMOVE_CORE_BUILD "${MANYMOVE_CORE_VERSION} (headers ${digest})")

# Contraction is spelled out with fma in the sources, so that CPU and GPU decide alike. No code reads
# errno or floating-point traps, which keep compilers from vectorizing square roots and selections.
if(NOT TARGET manymove_headers)
  add_library(manymove_headers INTERFACE)
  target_include_directories(manymove_headers INTERFACE ${MANYMOVE_CORE_INCLUDE_DIR})
  target_compile_options(
    manymove_headers
    INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fno-math-errno;-fno-trapping-math>)
  if(MANYMOVE_SANITIZE)
    set(sanitize -fsanitize=${MANYMOVE_SANITIZE} -fno-omit-frame-pointer -g)
    target_compile_options(manymove_headers INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${sanitize}>)
    target_link_options(manymove_headers INTERFACE -fsanitize=${MANYMOVE_SANITIZE})
  endif()
endif()
