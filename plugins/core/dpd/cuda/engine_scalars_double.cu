// SPDX-License-Identifier: BSD-3-Clause
#include "make_engine.cuh"

namespace manymove::dpd {
template std::unique_ptr<Engine> make_cuda_engine<DoubleWithScalars>(const Settings&, int,
                                                                     Communicator*);
}
