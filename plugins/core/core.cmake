# The core: the shared library manymove_core for the Python module and the plugins of host programs, and
# manymove_internals, its object files, for the C++ tests. Include this at the top of a project, which
# is where CMake wants languages to be enabled.

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

set(MANYMOVE_CUDA AUTO CACHE STRING "Compile the CUDA engines: AUTO, ON or OFF")
set_property(CACHE MANYMOVE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(MANYMOVE_ALGORITHMS adsorption coulomb dpd hard_particles CACHE STRING "Algorithms to compile")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)  # GCC 14 and later would scan every source
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# ---- CUDA ------------------------------------------------------------------------------------
# Sets manymove_cuda. AUTO compiles the CUDA engines for the GPUs of this machine, or for the
# architectures that are named. Without both it leaves the engines out, because compilation for all
# architectures takes long. ON compiles for all if none is named, and fails if CUDA is unavailable.
set(manymove_cuda OFF)
set(why_no_cuda "")  # the compiled package reports it, too
set(architectures "${CMAKE_CUDA_ARCHITECTURES}")
if(NOT architectures)
  set(architectures "$ENV{CUDAARCHS}")
endif()
if(NOT MANYMOVE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MANYMOVE_CUDA is \"${MANYMOVE_CUDA}\"; it must be AUTO, ON or OFF")
elseif(MANYMOVE_CUDA STREQUAL "OFF")
  set(why_no_cuda "MANYMOVE_CUDA is OFF")
else()
  # CMake itself looks on the PATH only.
  find_program(MANYMOVE_NVCC nvcc PATH_SUFFIXES bin
               HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda)
  foreach(candidate "$ENV{CUDACXX}" "${MANYMOVE_NVCC}")
    if(candidate AND NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER "${candidate}")
    endif()
  endforeach()
  foreach(candidate "$ENV{CUDAHOSTCXX}" "${CMAKE_CXX_COMPILER}")
    if(candidate AND NOT CMAKE_CUDA_HOST_COMPILER)
      set(CMAKE_CUDA_HOST_COMPILER "${candidate}")
    endif()
  endforeach()
  if(NOT CMAKE_CUDA_COMPILER)
    set(why_no_cuda "no nvcc found (CUDACXX names one)")
  elseif(MANYMOVE_CUDA STREQUAL "AUTO" AND NOT architectures)
    set(capabilities "")
    find_program(nvidia_smi nvidia-smi PATHS /usr/lib/wsl/lib NO_CACHE)
    if(nvidia_smi)
      execute_process(COMMAND "${nvidia_smi}" --query-gpu=compute_cap --format=csv,noheader TIMEOUT 60
                      OUTPUT_VARIABLE output ERROR_QUIET)
      string(REGEX MATCHALL "[89][.][0-9]|[1-9][0-9][.][0-9]" capabilities "${output}")
      execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    endif()
    foreach(capability ${capabilities})
      string(REPLACE "." "" architecture ${capability})
      if(NOT known MATCHES "compute_${architecture}\n")
        # nvcc is older than this GPU, whose driver compiles the code of the last architecture.
        set(architectures "")
        break()
      endif()
      list(APPEND architectures ${architecture})
    endforeach()
    list(REMOVE_DUPLICATES architectures)
    if(NOT capabilities)
      set(why_no_cuda "no NVIDIA GPU of compute capability 8.0 or later was found when it was compiled \
(-DMANYMOVE_CUDA=ON compiles for all GPUs, -DCMAKE_CUDA_ARCHITECTURES=90 for an H100)")
    endif()
  endif()

  # A failing enable_language cannot be caught, hence this trial, the standard library included.
  if(NOT why_no_cuda)
    set(trial "${CMAKE_BINARY_DIR}/cuda-trial")
    file(WRITE "${trial}.cu" "#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>
__global__ void kernel(float* x) { *x = fmaf(*x, *x, 1.0f); }
int main() { kernel<<<1, 1>>>(nullptr); return int(std::vector<int>(3).size()) - 3; }
")
    set(trial_output "")
    execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" -std=c++20 -ccbin "${CMAKE_CUDA_HOST_COMPILER}"
                            -o "${trial}" "${trial}.cu"
                    RESULT_VARIABLE failed OUTPUT_VARIABLE trial_output ERROR_VARIABLE trial_output)
    if(failed)
      set(why_no_cuda "${CMAKE_CUDA_COMPILER} does not compile C++20 with the host compiler \
${CMAKE_CUDA_HOST_COMPILER} (CUDAHOSTCXX names another one)")
    else()
      set(manymove_cuda ON)
    endif()
  endif()

  if(manymove_cuda)
    if(NOT architectures)
      set(CMAKE_CUDA_ARCHITECTURES 80)  # for CMake's own trial; nvcc's version is not known yet
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${architectures})
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # unknown to CMake up to 3.25
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    # 8.6 and 8.9 run what is made for 8.0.
    if(NOT architectures AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
      set(architectures 80-real 90)
    elseif(NOT architectures)
      set(architectures 80-real 90-real 100-real 120)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${architectures})
    list(JOIN architectures " " architectures)
    message(STATUS "manymove: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${architectures}")
  elseif(MANYMOVE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "MANYMOVE_CUDA is ON: ${why_no_cuda}\n${trial_output}")
  endif()
endif()
if(why_no_cuda)
  message(STATUS "manymove: without CUDA: ${why_no_cuda}\n${trial_output}")
endif()

# ---- flags that every source shares ------------------------------------------------------------
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../../pyproject.toml version_line REGEX "^version = " LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" MANYMOVE_CORE_VERSION "${version_line}")
set(MANYMOVE_CORE_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/..)
include(${CMAKE_CURRENT_LIST_DIR}/interface.cmake)
add_library(manymove_flags INTERFACE)
target_link_libraries(manymove_flags INTERFACE manymove_headers)
target_compile_options(
  manymove_flags
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>
            $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
            $<$<COMPILE_LANGUAGE:CUDA>:--threads=0>
            $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
if(manymove_cuda)
  target_compile_definitions(
    manymove_flags
    INTERFACE MANYMOVE_HAVE_CUDA MANYMOVE_CUDA_VERSION="${CMAKE_CUDA_COMPILER_VERSION}"
              MANYMOVE_CUDA_ARCHITECTURES="${architectures}")
endif()

# ---- time of compilation -----------------------------------------------------------------------
# Most sources spend a third of their time on headers of the standard library. Compiler caches do not
# take sources with precompiled headers, and therefore have none.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(MANYMOVE_PRECOMPILE "Precompile headers of the standard library" ${precompile})
function(manymove_precompile target)
  if(MANYMOVE_PRECOMPILE)
    target_precompile_headers(
      ${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional>
                        <limits> <map> <memory> <mutex> <numeric> <optional> <sstream> <stdexcept>
                        <string> <thread> <utility> <vector>)
  endif()
endfunction()

# ---- SIMD levels -------------------------------------------------------------------------------
# cpu/kernels.cpp of each algorithm is compiled once per level; its CPU engine picks one at run time.
# By default there is one level, because most of the time of a build goes there: the best one that this
# machine runs. Wheels for other machines need all of them.
set(MANYMOVE_SIMD_LEVELS native CACHE STRING
    "SIMD levels to compile: native (the best one of this machine), all, or baseline,avx2,avx512")
set(known_levels baseline)
set(simd_flags_avx2 -mavx2 -mfma -mbmi2)
set(simd_flags_avx512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mbmi2
                      -Wno-uninitialized -Wno-maybe-uninitialized)  # GCC 12's own headers
check_cxx_source_compiles("#if !defined(__x86_64__)
#error another architecture
#endif
int main() {}" MANYMOVE_X86_64)
if(MANYMOVE_X86_64)
  foreach(level avx2 avx512)
    list(JOIN simd_flags_${level} " " flags)
    string(TOUPPER ${level} LEVEL)
    check_cxx_compiler_flag("${flags}" MANYMOVE_COMPILER_KNOWS_${LEVEL})
    if(MANYMOVE_COMPILER_KNOWS_${LEVEL})
      list(APPEND known_levels ${level})
    endif()
  endforeach()
endif()

# runtime/simd.cpp itself tells the best level of this machine. No result is cached: several machines
# may share the build folder.
if(CMAKE_CROSSCOMPILING)
  set(native_levels ${known_levels})
else()
  set(have "")
  foreach(level ${known_levels})
    string(TOUPPER ${level} LEVEL)
    string(APPEND have "#define MANYMOVE_HAVE_${LEVEL}\n")
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/native_level.cpp "${have}#include \"${CMAKE_CURRENT_LIST_DIR}/runtime/simd.cpp\"
#include <cstdio>
int main() {
  unsetenv(\"MANYMOVE_SIMD\");
  std::fputs(manymove::simd_level_name(manymove::simd_level()).c_str(), stdout);
}
")
  try_run(exit_code compiles ${CMAKE_BINARY_DIR}/native_level ${CMAKE_BINARY_DIR}/native_level.cpp
          CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
          COMPILE_OUTPUT_VARIABLE trial_output RUN_OUTPUT_VARIABLE native_levels)
  if(NOT compiles OR NOT exit_code EQUAL 0)
    message(FATAL_ERROR "The SIMD level of this machine is unknown; -DMANYMOVE_SIMD_LEVELS=all compiles "
                        "all of them\n${trial_output}${native_levels}")
  endif()
endif()
string(REGEX REPLACE "[ ,]+" ";" wanted_levels "${MANYMOVE_SIMD_LEVELS}")
foreach(level ${wanted_levels})
  if(NOT level MATCHES "^(native|all|baseline|avx2|avx512)$")
    message(FATAL_ERROR "MANYMOVE_SIMD_LEVELS has \"${level}\"; it must name native, all, baseline, avx2 "
                        "or avx512")
  elseif(level STREQUAL "native")
    list(APPEND wanted_levels ${native_levels})
  elseif(level STREQUAL "all")
    list(APPEND wanted_levels ${known_levels})
  elseif(NOT level IN_LIST known_levels)
    message(FATAL_ERROR "MANYMOVE_SIMD_LEVELS has ${level}, which this compiler or architecture lacks")
  endif()
endforeach()
set(manymove_simd_levels "")
add_library(manymove_levels INTERFACE)
foreach(level ${known_levels})
  if(level IN_LIST wanted_levels)
    list(APPEND manymove_simd_levels ${level})
    string(TOUPPER ${level} LEVEL)
    target_compile_definitions(manymove_levels INTERFACE MANYMOVE_HAVE_${LEVEL})
  endif()
endforeach()
if(NOT manymove_simd_levels)
  message(FATAL_ERROR "MANYMOVE_SIMD_LEVELS is empty; it must name native, all, baseline, avx2 or avx512")
endif()
list(JOIN manymove_simd_levels " " levels)
message(STATUS "manymove: SIMD levels ${levels}")

# ---- the core: per algorithm plain C++ files, cpu/kernels.cpp (once per level) and *.cu ---------
# The plain objects come first, then those of the lowest level: where several emit the same inline
# function of the standard library, the linker keeps the first, which must run wherever a level does.
foreach(folder runtime parallel ${MANYMOVE_ALGORITHMS})
  if(NOT IS_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/${folder})
    message(FATAL_ERROR "MANYMOVE_ALGORITHMS names \"${folder}\", which is not an algorithm; remove "
                        "CMakeCache.txt if it is of an earlier version")
  endif()
  list(APPEND plain_globs ${CMAKE_CURRENT_LIST_DIR}/${folder}/*.cpp)
  list(APPEND kernel_globs ${CMAKE_CURRENT_LIST_DIR}/${folder}/cpu/kernels.cpp
                           ${CMAKE_CURRENT_LIST_DIR}/${folder}/*/cpu/kernels.cpp)
  list(APPEND cuda_globs ${CMAKE_CURRENT_LIST_DIR}/${folder}/*.cu)
endforeach()
file(GLOB_RECURSE plain_sources CONFIGURE_DEPENDS ${plain_globs})
file(GLOB kernel_sources CONFIGURE_DEPENDS ${kernel_globs})
list(REMOVE_ITEM plain_sources ${kernel_sources})
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/runtime/build.cpp PROPERTIES
                            COMPILE_DEFINITIONS MANYMOVE_CORE_BUILD="${MANYMOVE_CORE_BUILD}")
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/runtime/devices.cpp PROPERTIES
                            COMPILE_DEFINITIONS MANYMOVE_WHY_NO_CUDA="${why_no_cuda}")
# What prepares, checks and stores a system takes no part of a long run, and neither does the engine of
# adsorption, which only hands systems to threads: it is compiled for a short build, one unit per
# algorithm, because headers take most of the time of its sources.
set(host_sources ${plain_sources})
list(FILTER host_sources EXCLUDE REGEX "/((coulomb|dpd|hard_particles)/cpu|constant_pressure)/")
list(REMOVE_ITEM plain_sources ${host_sources})
foreach(source ${host_sources})
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_LIST_DIR} OUTPUT_VARIABLE group)
  string(REGEX REPLACE "/.*" "" group "${group}")
  set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
endforeach()
add_library(manymove_plain OBJECT ${plain_sources})
add_library(manymove_host OBJECT ${host_sources})
set_target_properties(manymove_host PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
target_compile_options(manymove_host PRIVATE $<$<CONFIG:Release>:-O1>)
foreach(target manymove_host manymove_plain)
  target_link_libraries(${target} PRIVATE manymove_flags manymove_levels)
endforeach()
manymove_precompile(manymove_plain)
if(MANYMOVE_PRECOMPILE)
  target_precompile_headers(manymove_host REUSE_FROM manymove_plain)
endif()
set(core_objects $<TARGET_OBJECTS:manymove_host> $<TARGET_OBJECTS:manymove_plain>)
foreach(level ${manymove_simd_levels})
  add_library(manymove_${level} OBJECT ${kernel_sources})
  target_link_libraries(manymove_${level} PRIVATE manymove_flags)
  target_compile_definitions(manymove_${level} PRIVATE MANYMOVE_SIMD=${level})
  target_compile_options(manymove_${level} PRIVATE ${simd_flags_${level}})
  list(APPEND core_objects $<TARGET_OBJECTS:manymove_${level}>)
endforeach()
if(manymove_cuda)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${cuda_globs})
  # Their steps and sums are also compiled for CPUs, where nothing is contracted.
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/adsorption/cuda/fill_grid.cu
                              ${CMAKE_CURRENT_LIST_DIR}/adsorption/molecules/cuda/molecules_engine.cu
                              ${CMAKE_CURRENT_LIST_DIR}/dpd/charges/cuda/device_charges.cu
                              ${CMAKE_CURRENT_LIST_DIR}/dpd/cuda/engine_scalars_double.cu
                              PROPERTIES COMPILE_OPTIONS -fmad=false)
  add_library(manymove_kernels OBJECT ${cuda_sources})
  target_link_libraries(manymove_kernels PRIVATE manymove_flags)
  list(APPEND core_objects $<TARGET_OBJECTS:manymove_kernels>)
endif()

find_package(Threads REQUIRED)
add_library(manymove_core SHARED ${core_objects})
target_link_libraries(manymove_core PUBLIC manymove_flags Threads::Threads ${CMAKE_DL_LIBS})
# The CUDA runtime inside is this library's own, because the host program may have another.
target_link_options(manymove_core PRIVATE LINKER:--exclude-libs,libcudart_static.a)

add_library(manymove_internals INTERFACE)
target_sources(manymove_internals INTERFACE ${core_objects})
target_link_libraries(manymove_internals INTERFACE manymove_flags manymove_levels Threads::Threads ${CMAKE_DL_LIBS})
