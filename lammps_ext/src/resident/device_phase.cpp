// SPDX-License-Identifier: GPL-2.0-or-later
#include "resident/device_phase.h"

#include "core/runtime/devices.h"

using namespace LAMMPS_NS;

DevicePhase::DevicePhase(LAMMPS* lmp, const DeviceWishes& wishes)
    : Pointers(lmp), communicator_(communicator_of(lmp)), wishes_(wishes), device_(wishes.device) {
  // One GPU for each rank of a host as far as there are so many.
  if (device_ != "cuda" || comm->nprocs == 1) return;
  guarded([&] {
    char host[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(host, &length);
    const std::string name(host, static_cast<std::size_t>(length));
    const int rank = manymove::rank_among_namesakes(communicator_, name);
    device_ += ":" + std::to_string(rank % manymove::cuda_devices().size());
  });
}

// Without images.
manymove::dpd::HostArrays DevicePhase::arrays() const {
  manymove::dpd::HostArrays arrays{};
  arrays.count = atom->nlocal;
  arrays.position = reinterpret_cast<double (*)[3]>(atom->x[0]);
  arrays.velocity = reinterpret_cast<double (*)[3]>(atom->v[0]);
  arrays.force = reinterpret_cast<double (*)[3]>(atom->f[0]);
  return arrays;
}
