// SPDX-License-Identifier: BSD-3-Clause
// The choice of an engine by the name of the device.
#include <string>

#include "../parallel/communicator.h"
#include "../runtime/text.h"
#include "engine_base.h"
#include "fixed_point.h"
#include "settings.h"

namespace manymove::dpd {

std::unique_ptr<Engine> make_engine(const Settings& settings, const std::string& device,
                                    int threads, Communicator* communicator) {
  check_settings(settings);
  if (communicator && communicator->ranks() == 1) communicator = nullptr;
  if (device == "cpu") return make_cpu_engine(settings, threads, communicator);
#if defined(MANYMOVE_HAVE_CUDA)
  if (device.starts_with("cuda")) {
    const auto make =
        settings.pairs.double_precision ? &make_cuda_engine<Double> : &make_cuda_engine<Mixed>;
    return make(settings, device.size() > 5 ? std::stoi(device.substr(5)) : -1, communicator);
  }
#endif
  refuse("no engine for device ", device);
}

}  // namespace manymove::dpd
