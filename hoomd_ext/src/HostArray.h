// SPDX-License-Identifier: BSD-3-Clause
// One of HOOMD-blue's arrays in the memory of the host.
#pragma once

#include <hoomd/GPUArray.h>

namespace manymove::host {

template <class T>
struct HostArray : hoomd::ArrayHandle<T> {
  template <class Array>
  explicit HostArray(const Array& array, hoomd::access_mode::Enum mode = hoomd::access_mode::read)
      : hoomd::ArrayHandle<T>(array, hoomd::access_location::host, mode) {}
};

}  // namespace manymove::host
