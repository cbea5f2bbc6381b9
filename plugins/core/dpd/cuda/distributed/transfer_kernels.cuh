// SPDX-License-Identifier: BSD-3-Clause
// The kernels with which particles of several ranks go back to the arrays of the host programs.
#pragma once

#include "exchange_kernels.cuh"

namespace manymove::dpd {

// What a step seldom needs has a slot, where it stays while particles are sorted: origins, images.
struct Origins {
  const unsigned* slot;  // by index in the order of particles
  const Origin* origin;  // by slot
  __device__ const Origin& of(int i) const { return origin[slot[i]]; }
};

// Particles of another host program.
struct LivesAt {
  int self;
  Origins origins;
  __device__ bool operator()(int rank, int i) const {
    return rank != self && origins.of(i).rank == rank;
  }
};

static __global__ void start_slots_kernel(int count, int rank, unsigned* slot, Origin* origin) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  slot[i] = static_cast<unsigned>(i);
  origin[i] = {rank, i};
}
static __global__ void set_origins_kernel(int count, const unsigned* slot, const Origin* to,
                                          Origin* origin) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i < count) origin[slot[i]] = to[i];
}

// Particles of this host, to their places there. Values: Velocity or Vector.
template <class P>
__global__ void own_positions_kernel(int count, BoxFrame frame, int self, Origins origins,
                                     const typename P::Position* position, double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const Origin origin = origins.of(i);
  if (origin.rank == self) leave_frame<P>(frame, position[i], to[origin.index]);
}
template <class Values>
__global__ void own_vectors_kernel(int count, int self, Origins origins, const Values* values,
                                   double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const Origin origin = origins.of(i);
  if (origin.rank != self) return;
  double* place = to[origin.index];
  place[0] = values[i].x;
  place[1] = values[i].y;
  place[2] = values[i].z;
}
static __global__ void own_images_kernel(int count, int self, Origins origins, const int3* image,
                                         int3* to) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const Origin origin = origins.of(i);
  if (origin.rank == self) to[origin.index] = image[origins.slot[i]];
}

template <class P>
__global__ void depart_kernel(int count, BoxFrame frame, const unsigned* who, Origins origins,
                              const int3* image, const typename P::Position* position,
                              const typename P::Velocity* velocity,
                              const Vector<typename P::Real>* force, Arrival* to) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k >= count) return;
  const unsigned i = who[k];
  const int3 crossed = image[origins.slot[i]];
  Arrival a;
  a.index = origins.of(static_cast<int>(i)).index;
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
