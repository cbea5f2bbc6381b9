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

// Where particle i is in the arrays of a host; negative for a particle of another host.
struct HostOrder {
  const unsigned* origin;
  __device__ int of(int i) const { return static_cast<int>(origin[i]); }
};

template <class P, class Order>
__global__ void leave_kernel(int count, BoxFrame frame, Order order,
                             const typename P::Position* position, double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int k = i < count ? order.of(i) : -1;
  if (k >= 0) leave_frame<P>(frame, position[i], to[k]);
}

// Values: Velocity or Vector.
template <class Values, class Order>
__global__ void leave_vector_kernel(int count, Order order, const Values* values, double (*to)[3]) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int k = i < count ? order.of(i) : -1;
  if (k < 0) return;
  const Values value = values[i];
  to[k][0] = value.x;
  to[k][1] = value.y;
  to[k][2] = value.z;
}

// The buffers that a host's particles come to, in its order.
template <class P>
struct EnteringParticles {
  DeviceBuffer<double[3]>& staging;
  DeviceBuffer<int3>& image;
  DeviceBuffer<typename P::Position>& position;
  DeviceBuffer<unsigned>& order;
  DeviceBuffer<typename P::Velocity>& velocity;
  DeviceBuffer<Vector<typename P::Real>>& force;
};
constexpr unsigned kNoneBad = ~0u;

// Takes the particles of a host, of which there is one at least. finish(): waits for the stream.
// Returns the index of one that is outside the box or not at a finite place, or kNoneBad.
template <class P, class Finish>
unsigned enter_particles(const HostArrays& arrays, const Topology& topology, const BoxFrame& frame,
                         const EnteringParticles<P>& to, cudaStream_t stream,
                         const Finish& finish) {
  const auto n = static_cast<std::size_t>(arrays.count);
  std::vector<unsigned> kind(n);
  for (std::size_t i = 0; i < n; ++i)
    kind[i] = static_cast<unsigned>(topology.type[i]) | topology.flags[i] << 16;
  const auto kinds = on_device(kind, stream), tags = on_device(topology.tag, n, stream);
  DeviceBuffer<unsigned> bad(1);
  unsigned first_bad = kNoneBad;
  bad.upload(&first_bad, stream);
  if (arrays.image)
    copy_in(to.image.data(), arrays.image, n * sizeof(int3), stream);
  else
    to.image.clear(stream);
  const auto send = [&](const double (*host)[3]) {
    copy_in(to.staging.data(), host, n * sizeof(double[3]), stream);
  };
  const int blocks = blocks_for(arrays.count);
  send(arrays.position);
  enter_kernel<P><<<blocks, kThreads, 0, stream>>>(arrays.count, frame, to.staging.data(),
                                                   kinds.data(), to.image.data(),
                                                   to.position.data(), to.order.data(), bad.data());
  check_launch();
  send(arrays.velocity);
  enter_velocity_kernel<P><<<blocks, kThreads, 0, stream>>>(
      arrays.count, to.staging.data(), tags.data(), to.velocity.data(), bad.data());
  check_launch();
  if (arrays.force) {
    send(arrays.force);
    enter_force_kernel<<<blocks, kThreads, 0, stream>>>(arrays.count, to.staging.data(),
                                                        to.force.data());
    check_launch();
  } else {
    to.force.clear(stream);
  }
  copy_out(&first_bad, bad.data(), sizeof first_bad, stream);
  finish();
  return first_bad;
}

}  // namespace manymove::dpd
