// SPDX-License-Identifier: BSD-3-Clause
// The kernels with which particles of several ranks go back to the arrays of the host programs.
#pragma once

#include "ranks.cuh"

namespace manymove::dpd {

__global__ void live_kernel(int count, int rank, unsigned* seat, Home* home) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  seat[i] = static_cast<unsigned>(i);
  home[i] = {rank, i};
}
__global__ void rehome_kernel(int count, const unsigned* seat, const Home* to, Home* home) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i < count) home[seat[i]] = to[i];
}

// Particles of this host, to their places there. Values: Velocity or Vector.
template <class P>
__global__ void stay_position_kernel(int count, BoxFrame frame, int self, Homes homes,
                                     const typename P::Position* position, double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const Home home = homes.of(i);
  if (home.rank == self) leave_frame<P>(frame, position[i], to[home.index]);
}
template <class Values>
__global__ void stay_vector_kernel(int count, int self, Homes homes, const Values* values,
                                   double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const Home home = homes.of(i);
  if (home.rank != self) return;
  double* place = to[home.index];
  place[0] = values[i].x;
  place[1] = values[i].y;
  place[2] = values[i].z;
}
__global__ void stay_image_kernel(int count, int self, Homes homes, const int3* image, int3* to) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const Home home = homes.of(i);
  if (home.rank == self) to[home.index] = image[homes.seat[i]];
}

template <class P>
__global__ void depart_kernel(int count, BoxFrame frame, const unsigned* who, Homes homes,
                              const int3* image, const typename P::Position* position,
                              const typename P::Velocity* velocity,
                              const Vector<typename P::Real>* force, Arrival* to) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k >= count) return;
  const unsigned i = who[k];
  const int3 crossed = image[homes.seat[i]];
  Arrival a;
  a.index = homes.of(static_cast<int>(i)).index;
  a.image[0] = crossed.x;
  a.image[1] = crossed.y;
  a.image[2] = crossed.z;
  leave_frame<P>(frame, position[i], a.position);
  a.velocity[0] = velocity[i].x;
  a.velocity[1] = velocity[i].y;
  a.velocity[2] = velocity[i].z;
  a.force[0] = force[i].x;
  a.force[1] = force[i].y;
  a.force[2] = force[i].z;
  to[k] = a;
}

}  // namespace manymove::dpd
