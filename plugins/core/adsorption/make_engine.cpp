// SPDX-License-Identifier: BSD-3-Clause
// The choice of an engine by the name of the device.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../runtime/devices.h"
#include "state.h"

namespace manymove::adsorption {
namespace {

// The state is made only once the device and the threads are known to make sense.
std::unique_ptr<Engine> engine_on(const std::string& device, int threads,
                                  const Parameters& parameters, const Adopt& molecules) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  State state = make_state(parameters);
  if (!gpus.empty()) return make_cuda_engine(std::move(state), molecules, gpus[0]);
  return make_cpu_engine(std::move(state), molecules, threads);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, parameters, {});
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Parameters& parameters,
                                    const std::string& device, int threads) {
  return engine_on(device, threads, parameters, [&](State& state) { adopt(state, snapshot); });
}

std::unique_ptr<Engine> make_engine(const double* positions, const Parameters& parameters,
                                    const std::string& device, int threads) {
  return engine_on(device, threads, parameters, [&](State& state) { adopt(state, positions); });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, const Adopt&, int) {
  throw std::invalid_argument("this build of manymove has no CUDA engine");
}
#endif

}  // namespace manymove::adsorption
