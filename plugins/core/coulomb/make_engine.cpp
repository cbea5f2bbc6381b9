// SPDX-License-Identifier: BSD-3-Clause
// The choice of an engine by the name of the device.
#include <stdexcept>
#include <string>
#include <vector>

#include "../runtime/devices.h"
#include "state.h"

namespace manymove::coulomb {
namespace {

// The state is made only once the device and the threads are known to make sense.
template <class MakeState>
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, MakeState&& state) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device, true);
  if (!gpus.empty()) return make_cuda_engine(state(), gpus);
  return make_cpu_engine(state(), threads);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Ions& ions, const Parameters& parameters,
                                    const std::string& device, int threads) {
  return engine_on(device, threads, [&] { return make_state(ions, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Ions& ions,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(snapshot, ions, parameters); });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, const std::vector<int>&) {
  throw std::invalid_argument("this build of manymove has no CUDA engine");
}
#endif

}  // namespace manymove::coulomb
