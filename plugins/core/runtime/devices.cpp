// SPDX-License-Identifier: BSD-3-Clause
#include "devices.h"

#include <stdexcept>

#if !defined(MANYMOVE_HAVE_CUDA)
namespace manymove {

std::vector<Device> cuda_devices() { return {}; }

std::string why_no_cuda_devices() { return "this build has no CUDA"; }

std::uint64_t copied_bytes() { return 0; }

void copy_from_device(void*, const void*, std::size_t, std::optional<std::uintptr_t>) {
  throw std::runtime_error("a CUDA array, but this build of manymove has no CUDA");
}

}  // namespace manymove
#endif
