// SPDX-License-Identifier: BSD-3-Clause
// What differs between the releases of HOOMD-blue, 4.8 to 7.
#pragma once

#include <HOOMDVersion.h>
#include <hoomd/ExecutionConfiguration.h>
#include <hoomd/GPUArray.h>

#if HOOMD_VERSION_MAJOR < 4 || (HOOMD_VERSION_MAJOR == 4 && HOOMD_VERSION_MINOR < 8)
#error hoomd.manymove needs HOOMD-blue 4.8 or later
#endif

namespace manymove::host {

// The GPU that a rank works on, counted among those visible to the process.
inline unsigned int gpu_index(const hoomd::ExecutionConfiguration& configuration) {
#if HOOMD_VERSION_MAJOR >= 5
  return configuration.getGPUId();
#else
  return configuration.getGPUIds()[0];  // several GPUs per rank went in HOOMD-blue 5
#endif
}

inline std::size_t gpus_per_rank(const hoomd::ExecutionConfiguration& configuration) {
#if HOOMD_VERSION_MAJOR >= 5
  (void)configuration;
  return 1;
#else
  return configuration.getGPUIds().size();
#endif
}

// Where a device keeps its arrays; a build without GPU has no word for the other place.
inline hoomd::access_location::Enum home_of(const hoomd::ExecutionConfiguration& configuration) {
#if defined(ENABLE_HIP)
  if (configuration.isCUDAEnabled()) return hoomd::access_location::device;
#endif
  (void)configuration;
  return hoomd::access_location::host;
}

}  // namespace manymove::host
