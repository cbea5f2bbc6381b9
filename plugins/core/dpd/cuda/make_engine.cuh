// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "distributed/engine.cuh"
#include "engine.cuh"

namespace manymove::dpd {

template <Precision P>
std::unique_ptr<Engine> make_cuda_engine(const Settings& settings, int device,
                                         Communicator* communicator) {
  if (communicator) return std::make_unique<DistributedEngine<P>>(settings, device, *communicator);
  return std::make_unique<CudaEngine<P>>(settings, device);
}

}  // namespace manymove::dpd
