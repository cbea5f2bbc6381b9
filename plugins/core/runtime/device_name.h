// SPDX-License-Identifier: BSD-3-Clause
// The names of devices and the numbers of threads that users give.
#pragma once

#include <string>
#include <vector>

namespace manymove {

// The GPUs of "cuda:<index>", or of "cuda:<index>,<index>,..." where several are possible; none for
// "cpu". Throws std::invalid_argument for any other name.
std::vector<int> cuda_indices(const std::string& device, bool several = false);

// Threads of a CPU engine: 0 asks for as many as this machine has. Throws std::invalid_argument for
// a negative number.
int cpu_threads(int asked);

}  // namespace manymove
