// SPDX-License-Identifier: BSD-3-Clause
// The kernels that take particles from the host's arrays, and the state of one rank back to them.
#pragma once

#include "list_kernels.cuh"

namespace manymove::dpd {

// One thread per particle of the host. first_bad: the smallest index that has no place.
template <class P>
__global__ void enter_kernel(int count, BoxFrame frame, const double (*position)[3],
                             const unsigned* kind, int3* image, typename P::Position* to,
                             unsigned* origin, unsigned* first_bad) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  typename P::Position p{};
  int crossed[3] = {image[i].x, image[i].y, image[i].z};
  if (!enter_frame<P>(frame, position[i], p, crossed))
    atomicMin(first_bad, static_cast<unsigned>(i));
  p.kind = kind[i];
  to[i] = p;
  image[i] = {crossed[0], crossed[1], crossed[2]};
  origin[i] = static_cast<unsigned>(i);
}

template <class P>
__global__ void enter_velocity_kernel(int count, const double (*velocity)[3], const unsigned* tag,
                                      typename P::Velocity* to, unsigned* first_bad) {
  using Real = typename P::Real;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const double* v = velocity[i];
  if (!isfinite(v[0] + v[1] + v[2])) atomicMin(first_bad, static_cast<unsigned>(i));
  to[i] = {static_cast<Real>(v[0]), static_cast<Real>(v[1]), static_cast<Real>(v[2]), tag[i]};
}

// Replaces positions; origin: where those of the particles are, null for their own order.
// first_bad: the smallest such index of a particle without a place.
template <class P>
__global__ void set_position_kernel(int count, BoxFrame frame, const unsigned* origin,
                                    const double (*position)[3], typename P::Position* to,
                                    unsigned* first_bad) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const unsigned from = origin ? origin[i] : static_cast<unsigned>(i);
  typename P::Position p = to[i];
  int crossed[3] = {};
  if (!enter_frame<P>(frame, position[from], p, crossed)) atomicMin(first_bad, from);
  to[i] = p;
}

// Replaces velocities; origin: where those of the particles are, null for their own order.
template <class Velocity>
__global__ void set_velocity_kernel(int count, const unsigned* origin, const double (*velocity)[3],
                                    Velocity* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  using Real = decltype(to->x);
  const double* v = velocity[origin ? origin[i] : static_cast<unsigned>(i)];
  to[i].x = static_cast<Real>(v[0]);
  to[i].y = static_cast<Real>(v[1]);
  to[i].z = static_cast<Real>(v[2]);
}

template <class Real>
__global__ void enter_force_kernel(int count, const double (*force)[3], Vector<Real>* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const double* f = force[i];
  to[i] = {static_cast<Real>(f[0]), static_cast<Real>(f[1]), static_cast<Real>(f[2])};
}

template <class P>
__global__ void leave_kernel(int count, BoxFrame frame, const unsigned* origin,
                             const typename P::Position* position, double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) leave_frame<P>(frame, position[i], to[origin[i]]);
}

// Values: Velocity or Vector.
template <class Values>
__global__ void leave_vector_kernel(int count, const unsigned* origin, const Values* values,
                                    double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const Values value = values[i];
  double* place = to[origin[i]];
  place[0] = value.x;
  place[1] = value.y;
  place[2] = value.z;
}

}  // namespace manymove::dpd
