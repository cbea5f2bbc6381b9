// SPDX-License-Identifier: BSD-3-Clause
// What a rank has in the memory of its GPU: its particles, then its ghosts, and their lists.
#pragma once

#include <algorithm>
#include <utility>

#include "../../link_rows.h"
#include "../../settings.h"
#include "../device_particles.cuh"
#include "../host_transfer.cuh"
#include "../sort.h"
#include "../step_constants.cuh"
#include "rank_device.cuh"

namespace manymove::dpd {

// What the place of a particle in the order of cells depends on.
template <Precision P>
struct CellOrder {
  Cells cells;
  Motion<P> motion;
  ShortFormat shorts;
  unsigned *key, *order;  // of the sort: Morton keys, and which particle has them
};
struct SlotArrays {  // by slot
  Image* image;
  Origin* origin;
  LinkRows links;
};

// Arrays only grow, and keep what is in them. Memory that is missing is thrown as std::bad_alloc;
// the sizes are then those of before.
template <Precision P>
class ParticleStore : public DeviceParticles<P> {
 public:
  using Real = typename P::Real;
  using Particles = DeviceParticles<P>;
  using Particles::count, Particles::density, Particles::flux, Particles::force, Particles::image,
      Particles::list_capacity, Particles::now, Particles::number, Particles::partial,
      Particles::slot, Particles::slot_there, Particles::sphere, Particles::staging,
      Particles::state;
  using typename Particles::State;
  static constexpr int kBuilt = 2;  // the state at the last build, kept until the next
  static constexpr int kMostLanes = 4;

  // densities: whether there are local densities, of many-body forces.
  ParticleStore(const RankStreams& streams, bool densities)
      : streams_(streams), has_densities_(densities) {}

  // Index of the first ghost: the number of owned particles rounded up to whole blocks.
  static int first_ghost(int owned) { return blocks_for(owned) * kThreads; }

  // Room for so many particles and ghosts.
  void reserve(int owned, int ghosts) {
    const int all = checked_count(std::int64_t{first_ghost(owned)} + ghosts);
    for (State& each : state) {
      ensure(each.position, all);
      ensure(each.velocity, all);
      ensure(each.shorts, all);
    }
    ensure(sphere, all);
    ensure(density, has_densities_ ? all : 0);
    for (int k = 0; k < 2; ++k) {
      // Own particles and ghosts are sorted one after the other.
      ensure(key[k], std::max(owned, ghosts));
      ensure(order[k], std::max(owned, ghosts));
    }
    ensure(place, ghosts);
    if (owned <= owned_capacity) return;
    // A sixteenth more than needed, so that arrivals rarely make the arrays grow.
    const int before = std::exchange(owned_capacity, owned + owned / 16 + 1024);
    try {
      reserve_owned();
    } catch (...) {
      owned_capacity = before;
      throw;
    }
    lists_lost = true;
  }

  // Room for lists of so many entries; what is in them is lost. again: also if there is room, for
  // more particles.
  void reserve_lists(int entries, bool again = false) {
    const int wanted = whole_groups(entries);
    if (wanted <= list_capacity && !again) return;
    streams_.finish_all();
    this->allocate_lists(wanted, owned_capacity);
  }

  // Room for the links of owned_capacity particles.
  void reserve_links() {
    const auto room = static_cast<std::size_t>(owned_capacity);
    // Words of links by slot, and room for as many bonds of each particle.
    ensure(link, room * links.words());
    links.word = link.data();
    ensure(bond_partner, entries_of_bonds(links, room));
  }

  HostOrder host_order(int rank) const { return {slot.data(), origin.data(), rank}; }
  SlotArrays slot_arrays() const { return {image.data(), origin.data(), links}; }
  Partners bonds() const { return {bond_partner.data(), static_cast<int>(links.bonds)}; }
  LinkedParticles linked() const { return {links, slot.data()}; }
  ParticleArrays<P> particles(const State& which, const DeviceBuffer<unsigned>& slots) const {
    return {which.position.data(), which.velocity.data(), slots.data()};
  }
  SortedArrays<P> sorted_arrays(const State& which, const DeviceBuffer<unsigned>& slots) const {
    return {particles(which, slots), which.shorts.data(), sphere.data(), tag.data()};
  }
  void copy_images(const DeviceBuffer<Image>& from, DeviceBuffer<Image>& to, cudaStream_t stream) {
    copy_on_device(to.data(), from.data(), sizeof(Image) * static_cast<unsigned>(slots), stream);
  }

  // Restores the particles of the last build, which is then repeated.
  void take_back_build(cudaStream_t stream) {
    copy_images(built_image, image, stream);
    std::swap(state[0], state[kBuilt]);  // a build writes to the latter
    now = 0;
  }

  // Sorts the first `count` of key[0] and order[0] in streams.work; see sort_pairs().
  void sort(int count, int first_bit, int last_bit) {
    std::size_t bytes = 0;
    sort_pairs(nullptr, bytes, key, order, count, first_bit, last_bit, streams_.work);
    ensure(scratch_, bytes);
    const int there =
        sort_pairs(scratch_.data(), bytes, key, order, count, first_bit, last_bit, streams_.work);
    sorted_key = key[there].data();
    sorted = order[there].data();
  }

  template <class T, class Count>
  void ensure(DeviceBuffer<T>& buffer, Count count) const {
    streams_.ensure(buffer, count);
  }

  int hosts = 0;            // particles of this rank's host
  int ghosts = 0;           // that are here
  int outer = 0, near = 0;  // as in Bounds
  int owned_capacity = 0;
  bool lists_lost = false;  // by growing memory; built again before they are used

  // In the order of particles.
  DeviceBuffer<typename P::Velocity> rest;  // at whole steps
  DeviceBuffer<unsigned> tag;
  DeviceBuffer<unsigned> key[2], order[2];
  unsigned *sorted = nullptr, *sorted_key = nullptr;  // of the last sort()
  DeviceBuffer<unsigned> place;                       // of each ghost that has come
  DeviceBuffer<Partner> bond_partner;
  // By slot.
  DeviceBuffer<Image> built_image;
  DeviceBuffer<Origin> origin;
  LinkRows links;
  DeviceBuffer<LinkWord> link;  // of links
  int slots = 0;                // ever taken
  DeviceBuffer<unsigned> left_slot;
  int slots_left = 0;  // of these left again

 private:
  void reserve_owned() {
    const auto each = [&](auto&... buffer) { (ensure(buffer, owned_capacity), ...); };
    each(rest, force, image, built_image, origin, slot, slot_there, left_slot, tag, number);
    ensure(flux, has_scalars<P> ? owned_capacity : 0);
    ensure(staging, std::max(owned_capacity, hosts));
    reserve_links();
    // A row of sums for each block; there are the most blocks with the most lanes per particle.
    ensure(partial, (blocks_for(owned_capacity, kThreads / kMostLanes) + 2) * kStepSums);
    if (list_capacity > 0) reserve_lists(list_capacity, true);
  }

  const RankStreams& streams_;
  const bool has_densities_;
  DeviceBuffer<char> scratch_;
};

// Copies of the particles at rest, for steps that are repeated.
template <Precision P>
struct StartState {
  DeviceBuffer<typename P::Position> position;
  DeviceBuffer<typename P::Velocity> rest;
  DeviceBuffer<Vector<typename P::Real>> force;
  DeviceBuffer<Vector<double>> flux;
  DeviceBuffer<Image> image;

  void keep(const ParticleStore<P>& s, cudaStream_t stream) {
    copy(s, s.present().position, position, s.count, stream);
    copy(s, s.rest, rest, s.count, stream);
    copy(s, s.force, force, s.count, stream);
    if (has_scalars<P>) copy(s, s.flux, flux, s.count, stream);
    copy(s, s.image, image, s.slots, stream);
  }
  void restore(ParticleStore<P>& s, cudaStream_t stream) const {
    s.now = 0;
    copy(s, position, s.state[0].position, s.count, stream);
    copy(s, rest, s.rest, s.count, stream);
    copy(s, force, s.force, s.count, stream);
    if (has_scalars<P>) copy(s, flux, s.flux, s.count, stream);
    copy(s, image, s.image, s.slots, stream);
  }
  template <class T>
  static void copy(const ParticleStore<P>& s, const DeviceBuffer<T>& from, DeviceBuffer<T>& to,
                   int count, cudaStream_t stream) {
    s.ensure(to, count);
    copy_on_device(to.data(), from.data(), sizeof(T) * static_cast<unsigned>(count), stream);
  }
};

}  // namespace manymove::dpd
