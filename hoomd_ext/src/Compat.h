// SPDX-License-Identifier: BSD-3-Clause
// What differs between the releases of HOOMD-blue, 4.8 to 7.
#pragma once

#include <HOOMDVersion.h>
#include <hoomd/ExecutionConfiguration.h>
#include <hoomd/GPUArray.h>

#include <stdexcept>
#include <string>
#include <vector>

#if HOOMD_VERSION_MAJOR < 4 || (HOOMD_VERSION_MAJOR == 4 && HOOMD_VERSION_MINOR < 8)
#error hoomd.manymove needs HOOMD-blue 4.8 or later
#endif

namespace manymove::host {

// The device that a rank works on, as the core names it. GPUs are counted among those visible to
// the process. Since version 5, HOOMD-blue has one GPU per rank.
inline std::string device_of(const hoomd::ExecutionConfiguration& configuration,
                             const std::string& integrator) {
  std::vector<unsigned int> gpus;
#if defined(ENABLE_HIP) && HOOMD_VERSION_MAJOR >= 5
  if (configuration.isCUDAEnabled()) gpus = {configuration.getGPUId()};
#elif defined(ENABLE_HIP)
  if (configuration.isCUDAEnabled()) gpus = configuration.getGPUIds();
#endif
  if (gpus.size() > 1)
    throw std::runtime_error(integrator + " runs on one GPU per rank, not on " +
                             std::to_string(gpus.size()));
  return gpus.empty() ? "cpu" : "cuda:" + std::to_string(gpus[0]);
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
