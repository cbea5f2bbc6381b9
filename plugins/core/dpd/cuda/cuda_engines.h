// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engines, one translation unit for each precision. The device is current.
#pragma once

#include <memory>

#include "../engine.h"

namespace manymove::dpd {

template <class P>
std::unique_ptr<Engine> make_single_engine(const Settings& settings);
// Collective.
template <class P>
std::unique_ptr<Engine> make_distributed_engine(const Settings& settings,
                                                Communicator& communicator);

}  // namespace manymove::dpd
