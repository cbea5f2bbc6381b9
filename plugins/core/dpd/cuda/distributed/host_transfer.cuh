// SPDX-License-Identifier: BSD-3-Clause
// Particles between the arrays of the hosts and the GPU of a rank.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "../transfer_kernels.cuh"
#include "exchange_kernels.cuh"
#include "rank_context.cuh"

namespace manymove::dpd {

// Particles of another host program.
struct LivesAt {
  int self;
  Origins origins;
  __device__ bool operator()(int rank, int i) const {
    return rank != self && origins.of(i).rank == rank;
  }
};

// Where the particles of this host are in its arrays.
struct OwnOrder {
  int self;
  Origins origins;
  __device__ int of(int i) const {
    const Origin origin = origins.of(i);
    return origin.rank == self ? origin.index : -1;
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

static __global__ void own_images_kernel(int count, OwnOrder order, const int3* image, int3* to) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const int k = order.of(i);
  if (k >= 0) to[k] = image[order.origins.slot[i]];
}

// What the arrays of a host hold of the particles of a rank.
template <class P>
struct HostedState {
  Origins origins;
  const int3* image;  // by slot
  const typename P::Position* position;
  const typename P::Velocity* velocity;
  const Vector<typename P::Real>* force;
};
template <class P>
__global__ void depart_kernel(int count, BoxFrame frame, const unsigned* who, HostedState<P> from,
                              Arrival* to) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (k >= count) return;
  const unsigned i = who[k];
  const int3 crossed = from.image[from.origins.slot[i]];
  Arrival a;
  a.index = from.origins.of(static_cast<int>(i)).index;
  a.image[0] = crossed.x;
  a.image[1] = crossed.y;
  a.image[2] = crossed.z;
  leave_frame<P>(frame, from.position[i], a.position);
  const typename P::Velocity v = from.velocity[i];
  const Vector<typename P::Real> f = from.force[i];
  a.velocity[0] = v.x, a.velocity[1] = v.y, a.velocity[2] = v.z;
  a.force[0] = f.x, a.force[1] = f.y, a.force[2] = f.z;
  to[k] = a;
}

template <class P>
class HostTransfer {
  using Triple = double[3];

 public:
  explicit HostTransfer(RankContext<P>& context) : c_(context), s_(context.store) {}

  // Bonds and special neighbors of the rank's particles, in the slots that these have at first. All
  // ranks agree on the length of rows, and on whether there are any. Collective.
  void take_links(const Topology& topology) {
    std::int64_t most[2] = {most_links(s_.count, topology.first_bond),
                            most_links(s_.count, topology.first_special)};
    c_.communicator().maximum(most, 2);
    s_.links.bonds = static_cast<std::uint32_t>(most[0]);
    s_.links.specials = static_cast<std::uint32_t>(most[1]);
    s_.reserve_links();
    const std::vector<LinkWord> rows = rows_of(s_.count, topology, s_.links);
    if (rows.empty()) return;
    copy_in(s_.link.data(), rows.data(), rows.size() * sizeof(LinkWord), main());
    c_.streams.finish("upload");
  }

  // The particles of this host, of which there is one at least. Returns the index of one that is
  // outside the box or not at a finite place, else a negative number.
  int enter(const HostArrays& arrays, const Topology& topology, const BoxFrame& frame) {
    const auto n = static_cast<std::size_t>(s_.count);
    s_.ensure(s_.staging, n);
    copy_in(s_.tag.data(), topology.tag, n * sizeof(unsigned), main());
    const unsigned bad = enter_particles<P>(
        arrays, topology, frame,
        {s_.staging, s_.image, s_.state[0].position, s_.order[0], s_.rest, s_.force}, main(),
        [this] { c_.streams.finish("upload"); });
    start_slots_kernel<<<blocks_for(s_.count, kSorters), kSorters, 0, main()>>>(
        s_.count, c_.ranks.rank(), s_.slot.data(), s_.origin.data());
    check_launch();
    return static_cast<int>(bad);
  }

  // Collective.
  void download(const HostArrays& arrays, const BoxFrame& frame) {
    const int blocks = blocks_for(s_.count, kSorters);
    const OwnOrder order{c_.ranks.rank(), s_.origins()};
    const auto stay = [&](Triple* host, auto launch) {
      if (!host || s_.hosts == 0) return;
      if (s_.count > 0) launch();
      check_launch();
      copy_out(host, s_.staging.data(), sizeof(Triple) * static_cast<unsigned>(s_.hosts), main());
      c_.streams.finish("download");
    };
    stay(arrays.position, [&] {
      leave_kernel<P><<<blocks, kSorters, 0, main()>>>(
          s_.count, frame, order, s_.present().position.data(), s_.staging.data());
    });
    stay(arrays.velocity, [&] {
      leave_vector_kernel<<<blocks, kSorters, 0, main()>>>(s_.count, order, s_.rest.data(),
                                                           s_.staging.data());
    });
    stay(arrays.force, [&] {
      leave_vector_kernel<<<blocks, kSorters, 0, main()>>>(s_.count, order, s_.force.data(),
                                                           s_.staging.data());
    });
    if (arrays.image && s_.hosts > 0) {
      auto* images = reinterpret_cast<int3*>(s_.staging.data());
      if (s_.count > 0)
        own_images_kernel<<<blocks, kSorters, 0, main()>>>(s_.count, order, s_.image.data(),
                                                           images);
      check_launch();
      copy_out(arrays.image, images, sizeof(int3) * static_cast<unsigned>(s_.hosts), main());
      c_.streams.finish("download");
    }
    for (const Arrival& arrival : deliver(c_.communicator(), departures(frame)))
      arrival.enter(arrays);
  }

  struct Misplaced {
    std::uint32_t tag;
    double position[3];
  };
  // Collective. position (which may be null) and velocity: of the particles of this host. Returns a
  // particle of this rank that has no place, if there is one.
  std::optional<Misplaced> set_particles(const Triple* position, const Triple* velocity,
                                         const BoxFrame& frame) {
    std::vector<unsigned> slot(static_cast<std::size_t>(s_.count));
    std::vector<Origin> by_slot(static_cast<std::size_t>(s_.slots)), origins;
    if (s_.count > 0) {
      c_.streams.fetch(s_.slot, slot.data(), slot.size());
      c_.streams.fetch(s_.origin, by_slot.data(), by_slot.size());
    }
    for (const unsigned s : slot) origins.push_back(by_slot[s]);
    std::vector<std::array<double, 3>> places;
    if (position) places = fetch_from_origins(c_.communicator(), origins, position);
    const auto velocities = fetch_from_origins(c_.communicator(), origins, velocity);
    if (s_.count == 0) return {};
    s_.ensure(s_.staging, s_.count);
    const auto send_fetched = [&](const auto& fetched) {
      copy_in(s_.staging.data(), fetched.data(), fetched.size() * sizeof(Triple), main());
    };
    std::optional<Misplaced> misplaced;
    if (position) {
      DeviceBuffer<unsigned> bad(1);
      unsigned index = ~0u;
      bad.upload(&index, main());
      send_fetched(places);
      set_position_kernel<P><<<blocks_for(s_.count), kThreads, 0, main()>>>(
          s_.count, frame, nullptr, s_.staging.data(), s_.state[s_.now].position.data(),
          bad.data());
      check_launch();
      c_.streams.fetch(bad, &index, 1);
      if (index != ~0u) {
        std::vector<unsigned> tag(static_cast<std::size_t>(s_.count));
        c_.streams.fetch(s_.tag, tag.data(), tag.size());
        misplaced = Misplaced{tag[index], {}};
        std::copy_n(places[index].data(), 3, misplaced->position);
      }
    }
    send_fetched(velocities);
    set_velocity_kernel<<<blocks_for(s_.count), kThreads, 0, main()>>>(
        s_.count, nullptr, s_.staging.data(), s_.rest.data());
    check_launch();
    c_.streams.finish("upload");
    return misplaced;
  }

  // Collective. This host's particles are tag[count] now.
  void set_origins(int count, const std::uint32_t* tag) {
    std::vector<std::uint32_t> resident(static_cast<std::size_t>(s_.count));
    if (s_.count > 0) c_.streams.fetch(s_.tag, resident.data(), resident.size());
    const std::vector<Origin> origins = find_origins(c_.communicator(), resident, count, tag);
    s_.hosts = count;
    s_.ensure(s_.staging, s_.hosts);
    if (s_.count == 0) return;
    const auto to = on_device(origins, main());
    set_origins_kernel<<<blocks_for(s_.count, kSorters), kSorters, 0, main()>>>(
        s_.count, s_.slot.data(), to.data(), s_.origin.data());
    check_launch();
    c_.streams.finish("upload");
  }

 private:
  cudaStream_t main() const { return c_.streams.main; }
  void send(const Triple* host) {
    copy_in(s_.staging.data(), host, sizeof(Triple) * static_cast<unsigned>(s_.count), main());
  }

  // Particles of other hosts, by rank.
  std::vector<std::vector<Arrival>> departures(const BoxFrame& frame) {
    std::vector<std::vector<Arrival>> result(c_.ranks.parts().size());
    const LivesAt test{c_.ranks.rank(), s_.origins()};
    c_.selection.count(s_.count, c_.ranks.ranks(), test);
    c_.streams.finish("download");
    const int away = c_.selection.total(c_.ranks.ranks());
    if (away == 0) return result;
    s_.ensure(picked_, away);
    c_.selection.pick(s_.count, c_.ranks.ranks(), test, picked_);
    DeviceBuffer<Arrival> leaving(static_cast<std::size_t>(away));
    depart_kernel<P><<<blocks_for(away, kSorters), kSorters, 0, main()>>>(
        away, frame, picked_.data(),
        HostedState<P>{s_.origins(), s_.image.data(), s_.present().position.data(), s_.rest.data(),
                       s_.force.data()},
        leaving.data());
    check_launch();
    std::vector<Arrival> all(static_cast<std::size_t>(away));
    c_.streams.fetch(leaving, all.data(), all.size());
    auto at = all.begin();
    for (std::size_t r = 0; r < result.size(); ++r) {
      const unsigned number = c_.report.answers().total[r];
      result[r].assign(at, at + number);
      at += number;
    }
    return result;
  }

  RankContext<P>& c_;
  ParticleStore<P>& s_;
  DeviceBuffer<unsigned> picked_;  // who leaves
};

}  // namespace manymove::dpd
