// SPDX-License-Identifier: BSD-3-Clause
// What differs between the releases of HOOMD-blue, 4.8 to 7.
#pragma once

#include <HOOMDVersion.h>
#include <hoomd/ExecutionConfiguration.h>
#include <hoomd/GPUArray.h>

#include <vector>

#if HOOMD_VERSION_MAJOR < 4 || (HOOMD_VERSION_MAJOR == 4 && HOOMD_VERSION_MINOR < 8)
#error hoomd.manymove needs HOOMD-blue 4.8 or later
#endif

namespace manymove::host {

// The GPUs that a rank works on, counted among those visible to the process; none on a CPU.
inline std::vector<unsigned int> gpus_of(const hoomd::ExecutionConfiguration& configuration) {
  if (!configuration.isCUDAEnabled()) return {};
#if !defined(ENABLE_HIP)
  return {};
#elif HOOMD_VERSION_MAJOR >= 5
  return {configuration.getGPUId()};
#else
  return configuration.getGPUIds();  // HOOMD-blue 5 gave up several GPUs per rank
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
