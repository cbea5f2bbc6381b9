// SPDX-License-Identifier: BSD-3-Clause
// The choice of an engine by the name of the device.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../runtime/devices.h"
#include "distributed.h"

namespace manymove::hard_particles {
namespace {

// The state is made only once the device and the threads are known to make sense.
template <class MakeState>
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, MakeState&& state) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  if (!gpus.empty()) return make_cuda_engine(state(), gpus[0]);
  return make_cpu_engine(state(), threads);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const double* xy, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(xy, particles, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(snapshot, particles, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads, Communicator& ranks,
                                    const std::string& transport) {
  return make_distributed_engine(ranks, [&](State& part) {
    std::int64_t kinds[2] = {device == "cpu", device != "cpu"};
    ranks.maximum(kinds, 2);
    std::vector<int> edges;
    together(ranks, [&] {
      if (kinds[0] && kinds[1])
        throw std::invalid_argument(
            "some ranks are to run on CPUs and others on CUDA devices: choose one kind for all");
      part = make_part(particles, parameters, ranks);
      part.transport = transport;
      edges = first_strips(part.geometry, ranks.ranks());
    });
    Snapshot strip = deal_out(ranks, whole, edges);
    return engine_on(device, threads, [&] {
      State state = part;
      put_in(state, std::move(strip));
      return state;
    });
  });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, int) {
  throw std::invalid_argument("this build of manymove has no CUDA engine");
}
#endif

}  // namespace manymove::hard_particles
