// SPDX-License-Identifier: BSD-3-Clause
#include "devices.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "errors.h"

namespace manymove {

std::vector<int> cuda_indices(const std::string& device, bool several) {
  if (device == "cpu") return {};
  const auto unknown = [&] {
    refuse("unknown device \"", device, "\": expected \"cpu\"", several ? ", " : " or ",
           "\"cuda:<index>\"", several ? " or several, \"cuda:0,1\"" : "");
  };
  if (!device.starts_with("cuda:")) unknown();
  std::vector<int> indices;
  // The indices between commas, each of up to three digits.
  for (std::size_t at = 5, end; at <= device.size(); at = end + 1) {
    end = several ? std::min(device.find(',', at), device.size()) : device.size();
    const std::string index = device.substr(at, end - at);
    if (index.empty() || index.size() > 3 ||
        index.find_first_not_of("0123456789") != std::string::npos)
      unknown();
    indices.push_back(std::stoi(index));
  }
  return indices;
}

int cpu_threads(int asked) {
  if (asked < 0) refuse(Parameter{"threads"}, "must not be negative, got ", asked);
  // It is 0 where the system does not report it.
  return asked ? asked : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::vector<Device> cuda_devices() { return {}; }

std::string why_no_cuda_devices() {
  return "this build of manymove has no CUDA engine: " MANYMOVE_WHY_NO_CUDA;
}

std::uint64_t copied_bytes() { return 0; }

void copy_from_device(void*, const void*, std::size_t, std::optional<std::uintptr_t>) {
  throw std::runtime_error("a CUDA array, but this build of manymove has no CUDA");
}

std::shared_ptr<void> device_memory(int, std::size_t, const void*) {
  throw std::runtime_error(why_no_cuda_devices());
}

void wait_for_device(int) { throw std::runtime_error(why_no_cuda_devices()); }

void prepare_for_threads(int, bool) { throw std::runtime_error(why_no_cuda_devices()); }
#endif

}  // namespace manymove
