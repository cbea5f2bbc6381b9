// SPDX-License-Identifier: BSD-3-Clause
// The engines of each backend, of which make_engine() of engine.h chooses one. The settings have
// been checked; a communicator has several ranks and is null for one. Collective if it is not null.
#pragma once

#include <memory>

#include "engine.h"

namespace manymove::dpd {

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(const Settings& settings, int threads,
                                        Communicator* communicator);
#if defined(MANYMOVE_HAVE_CUDA)
// device: the index of a CUDA device, negative for the current one of the calling thread.
std::unique_ptr<Engine> make_cuda_engine(const Settings& settings, int device,
                                         Communicator* communicator);
#endif

}  // namespace manymove::dpd
