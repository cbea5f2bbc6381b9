// SPDX-License-Identifier: BSD-3-Clause
// Particles between the arrays of a host and the GPU.
#pragma once

#include <bit>
#include <type_traits>
#include <vector>

#include "device_particles.cuh"
#include "engine_stream.cuh"

namespace manymove::dpd {

// ---- from the host ----

constexpr unsigned kNoneBad = ~0u;

// One thread per particle: the values that never change, and the order of the host.
template <Precision P>
__global__ void identify_kernel(int count, const unsigned* kind, const unsigned* tag,
                                typename P::Position* position, typename P::Velocity* velocity,
                                unsigned* slot) {
  const int i = index_of_thread();
  if (i >= count) return;
  position[i].kind = kind[i];
  velocity[i].tag = tag[i];
  slot[i] = static_cast<unsigned>(i);
}

// One thread per particle: its position is at from[i] in the array, or at i if this is null. image:
// counts the faces that were crossed, by slot, or null. first_bad: the smallest index of the array
// whose position is outside the box, or not finite.
template <Precision P>
__global__ void set_position_kernel(int count, BoxFrame frame, const unsigned* from,
                                    const double (*position)[3], Image* image,
                                    typename P::Position* to, unsigned* first_bad) {
  const int i = index_of_thread();
  if (i >= count) return;
  const unsigned k = from ? from[i] : static_cast<unsigned>(i);
  typename P::Position p = to[i];
  int crossed[3] = {};
  if (!enter_frame<P>(frame, position[k], p, crossed)) atomicMin(first_bad, k);
  to[i] = p;
  if (image) image[i] = {image[i].x + crossed[0], image[i].y + crossed[1], image[i].z + crossed[2]};
}
// The same for velocities and forces, or for the scalars of velocities.
template <bool scalars, class Values>
__global__ void set_values_kernel(int count, const unsigned* from, const double (*value)[3],
                                  Values* to) {
  const int i = index_of_thread();
  if (i >= count) return;
  const double* const v = value[from ? from[i] : static_cast<unsigned>(i)];
  if constexpr (scalars)
    to[i].set_scalars(vector_from<double>(v));
  else
    set_components(to[i], v);
}

// Gives the particles the values of an array of the host, which has value[from[i]] for particle i,
// or value[i] if `from` is null. image: as in set_position_kernel.
template <Precision P>
class ValuesFromHost {
  using Triple = double[3];

 public:
  ValuesFromHost(DeviceParticles<P>& particles, const unsigned* from, const EngineStream& stream)
      : particles_(particles), from_(from), stream_(stream) {}

  // Returns the smallest index of a position that cannot be, or kNoneBad.
  unsigned set_positions(const Triple* value, const BoxFrame& frame, Image* image) {
    DeviceBuffer<unsigned> bad(1);
    unsigned first_bad = kNoneBad;
    bad.upload(&first_bad, stream_);
    launch_each(particles_.count, stream_, &set_position_kernel<P>, particles_.count, frame, from_,
                staged(value), image, particles_.present().position.data(), bad.data());
    stream_.fetch(bad.data(), &first_bad, 1);
    return first_bad;
  }
  // scalars: whether the values are the scalars of velocities.
  template <bool scalars = false, class Values>
  void set_values(const Triple* value, Values* to) {
    launch_each(particles_.count, stream_, &set_values_kernel<scalars, Values>, particles_.count,
                from_, staged(value), to);
    stream_.finish("upload");
  }

 private:
  const Triple* staged(const Triple* value) {
    copy_in(particles_.staging.data(), value,
            sizeof(Triple) * static_cast<unsigned>(particles_.count), stream_);
    return particles_.staging.data();
  }

  DeviceParticles<P>& particles_;
  const unsigned* const from_;
  const EngineStream& stream_;
};

// Takes the particles of a host, of which there is one at least, in its order; velocity: where they
// come to. Returns the index of one that is outside the box or not at a finite position, or
// kNoneBad.
template <Precision P>
unsigned enter_particles(const HostArrays& arrays, const Topology& topology, const BoxFrame& frame,
                         DeviceParticles<P>& to, typename P::Velocity* velocity,
                         const EngineStream& stream) {
  const auto n = static_cast<std::size_t>(arrays.count);
  std::vector<unsigned> kind(n);
  for (std::size_t i = 0; i < n; ++i)
    // Position::kind: type, flags << 16.
    kind[i] = static_cast<unsigned>(topology.type[i]) | topology.flags[i] << 16;
  const auto kinds = on_device(kind, stream), tags = on_device(topology.tag, n, stream);
  launch_each(arrays.count, stream, &identify_kernel<P>, arrays.count, kinds.data(), tags.data(),
              to.present().position.data(), velocity, to.slot.data());
  if (arrays.image)
    copy_in(to.image.data(), arrays.image, n * sizeof(Image), stream);
  else
    to.image.clear(stream);
  ValuesFromHost<P> values(to, nullptr, stream);
  values.set_values(arrays.velocity, velocity);
  if (arrays.force)
    values.set_values(arrays.force, to.force.data());
  else
    to.force.clear(stream);
  if constexpr (has_scalars<P>) {
    values.template set_values<true>(arrays.scalars, velocity);
    values.set_values(arrays.flux, to.flux.data());
  }
  return values.set_positions(arrays.position, frame, to.image.data());
}

// ---- to the host ----

// Where the particles of an engine are in the arrays of the hosts.
struct HostOrder {
  const unsigned* slot;  // by particle
  const Origin* origin;  // by slot; null on one rank, where the slot is the index of the host
  int rank;              // of this host

  __device__ Origin of(int i) const {
    return origin ? origin[slot[i]] : Origin{rank, static_cast<int>(slot[i])};
  }
};

// The particles that an engine has, at rest.
template <Precision P>
struct RestingParticles {
  HostOrder order;
  const Image* image;  // by slot
  const typename P::Position* position;
  const typename P::Velocity* velocity;
  const Vector<typename P::Real>* force;
  const Vector<double>* flux = nullptr;  // of scalars

  __device__ Arrival arrival(const BoxFrame& frame, int i) const {
    const Vector<double> its_flux = has_scalars<P> ? flux[i] : Vector<double>{0, 0, 0};
    return arrival_of<P>(frame, order.of(i).index, position[i], velocity[i], force[i], its_flux,
                         image[order.slot[i]]);
  }
};

// One thread per particle: takes the components along `axes` of one field of those of this host to
// where the host has it.
template <Precision P, class Field, class Value>
__global__ void leave_kernel(int count, BoxFrame frame, RestingParticles<P> from, unsigned axes,
                             Value* to) {
  const int i = index_of_thread();
  if (i >= count || from.order.of(i).rank != from.order.rank) return;
  const Arrival arrival = from.arrival(frame, i);
  Value* next = to + static_cast<std::size_t>(arrival.index) * __popc(axes);
  for (int a = 0; a < 3; ++a)
    if (axes >> a & 1u) *next++ = (arrival.*Field::of)[a];
}

// One thread per particle: takes it to where the host program has it in the memory of the GPU.
template <Precision P, class Scalar>
__global__ void write_kernel(int count, BoxFrame frame, RestingParticles<P> from,
                             HostParticles to) {
  const int i = index_of_thread();
  if (i >= count) return;
  const Arrival arrival = from.arrival(frame, i);
  write_for_host<Scalar>(to, from.velocity[i].tag, arrival.position, arrival.velocity,
                         arrival.force, arrival.image);
}

// Writes the arrays of a host that has `hosted` particles; staging has room for them.
template <Precision P>
void leave_particles(const HostArrays& arrays, int hosted, const RestingParticles<P>& from,
                     const BoxFrame& frame, const DeviceParticles<P>& particles,
                     const EngineStream& stream) {
  for_each_field(arrays, [&](const char*, auto* host, auto field) {
    if (!host || hosted == 0) return;
    using Value = std::remove_reference_t<decltype(host[0][0])>;
    auto* const to = reinterpret_cast<Value*>(particles.staging.data());
    const bool all = static_cast<const void*>(host) != arrays.velocity;
    const unsigned axes = all ? 7 : arrays.velocity_axes;
    const auto components = static_cast<std::size_t>(std::popcount(axes));
    launch_each(particles.count, stream, &leave_kernel<P, decltype(field), Value>, particles.count,
                frame, from, axes, to);
    const auto n = static_cast<std::size_t>(hosted);
    if (components == 3) return stream.fetch(to, &host[0][0], 3 * n);
    std::vector<Value> some(components * n);
    stream.fetch(to, some.data(), some.size());
    auto next = some.begin();
    for (std::size_t i = 0; i < n; ++i)
      for (int a = 0; a < 3; ++a)
        if (axes >> a & 1u) host[i][a] = *next++;
  });
}

}  // namespace manymove::dpd
