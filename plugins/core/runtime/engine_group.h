// SPDX-License-Identifier: BSD-3-Clause
// Engines of GPUs, many small ones above all, that run at the same time in threads of their own and
// share launches of kernels. That does not change what an engine does; an
// error of a launch is one of all engines that share it. The group has
// the objects that launch for them: one for each type of launcher, each device and each kernel.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <typeindex>

namespace manymove {

class EngineGroup {
 public:
  // The one for a device and a kernel, which is made if there is none yet.
  template <class Launcher>
  std::shared_ptr<Launcher> launcher(int device, const void* kernel) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void>& found = launchers_[{typeid(Launcher), device, kernel}];
    if (!found) found = std::make_shared<Launcher>(device);
    return std::static_pointer_cast<Launcher>(found);
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::type_index, int, const void*>, std::shared_ptr<void>> launchers_;
};

}  // namespace manymove
