// SPDX-License-Identifier: BSD-3-Clause
// The resident engines on GPUs: one, or one of each rank.
#include "cuda_engine.cuh"
#include "cuda_ranks_engine.cuh"

namespace manymove::dpd {
namespace {

template <class P>
std::unique_ptr<ResidentEngine> make(const Settings& settings, Communicator* communicator) {
  if (communicator) return std::make_unique<CudaRanksEngine<P>>(settings, *communicator);
  return std::make_unique<CudaEngine<P>>(settings);
}

}  // namespace

std::unique_ptr<ResidentEngine> make_cuda_engine(const Settings& settings, int device,
                                                 Communicator* communicator) {
  if (device >= 0) select_device(device);
  if (settings.pairs.double_precision) return make<Double>(settings, communicator);
  return make<Mixed>(settings, communicator);
}

}  // namespace manymove::dpd
