// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a host program whose adaptor is compiled with its <mpi.h>. C++17, as HOOMD-blue is.
#pragma once

#include <mpi.h>

#include <type_traits>

#include "mpi_channel.h"

namespace manymove {

using HostHandle = std::conditional_t<std::is_pointer_v<MPI_Comm>, void*, int>;

inline const Mpi<HostHandle>& host_mpi() {
  static const Mpi<HostHandle> table = [] {
    Mpi<HostHandle> mpi;
#define MANYMOVE_TAKE(name, ...) mpi.name = reinterpret_cast<decltype(mpi.name)>(&MPI_##name);
    MANYMOVE_MPI_FUNCTIONS(MANYMOVE_TAKE)
#undef MANYMOVE_TAKE
    mpi.byte = (HostHandle)MPI_BYTE;
    mpi.int64 = (HostHandle)MPI_INT64_T;
    mpi.uint64 = (HostHandle)MPI_UINT64_T;
    mpi.max = (HostHandle)MPI_MAX;
    mpi.sum = (HostHandle)MPI_SUM;
    mpi.no_request = (HostHandle)MPI_REQUEST_NULL;
    mpi.any_source = MPI_ANY_SOURCE;
    mpi.status_bytes = sizeof(MPI_Status);
    mpi.cuda_aware = is_cuda_aware(RTLD_DEFAULT);
    return mpi;
  }();
  return table;
}

class HostCommunicator final : public MpiCommunicator<HostHandle> {
 public:
  // Collective.
  explicit HostCommunicator(MPI_Comm host)
      : MpiCommunicator(MpiChannel<HostHandle>::of(host_mpi(), (HostHandle)host),
                        Watchdog::timeout()) {}
};

}  // namespace manymove
