// SPDX-License-Identifier: BSD-3-Clause
#include "engine.cuh"

namespace manymove::dpd {
template std::unique_ptr<Engine> make_single_engine<Double>(const Settings&);
}
