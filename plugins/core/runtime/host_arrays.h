// SPDX-License-Identifier: BSD-3-Clause
// The memory behind a struct of pointers that kernels of a core take. Those kernels are compiled
// once per SIMD level and must not instantiate std::vector, which other sources also do.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace manymove {

// Arrays that live as long as this object, each aligned to the widest SIMD register. As
// DeviceArrays of device.cuh, but the values begin as zeros.
class HostArrays {
 public:
  void make(std::size_t count, auto*&... array) {
    const auto one = [&](auto*& values) {
      const std::size_t bytes = count * sizeof *values;
      arrays_.emplace_back(::operator new(bytes, kAlignment));
      values = static_cast<std::remove_reference_t<decltype(values)>>(
          std::memset(arrays_.back().get(), 0, bytes));
    };
    (one(array), ...);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::vector<std::unique_ptr<void, Free>> arrays_;
};

}  // namespace manymove
