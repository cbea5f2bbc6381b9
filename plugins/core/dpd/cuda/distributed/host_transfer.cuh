// SPDX-License-Identifier: BSD-3-Clause
// Particles between the arrays of the hosts and the GPU of a rank.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "../host_transfer.cuh"
#include "exchange_kernels.cuh"
#include "rank_context.cuh"

namespace manymove::dpd {

// Particles of another host program.
struct LivesAt {
  HostOrder order;
  __device__ bool operator()(int rank, int i) const {
    return rank != order.rank && order.of(i).rank == rank;
  }
};

static __global__ void set_origins_kernel(int count, const unsigned* slot, const Origin* to,
                                          Origin* origin) {
  const int i = index_of_thread();
  if (i < count) origin[slot[i]] = to[i];
}

// One thread per particle that leaves.
template <Precision P>
__global__ void depart_kernel(int count, BoxFrame frame, const unsigned* who,
                              RestingParticles<P> from, Arrival* to) {
  const int k = index_of_thread();
  if (k < count) to[k] = from.arrival(frame, static_cast<int>(who[k]));
}

template <Precision P>
class HostTransfer {
  using Triple = double[3];

 public:
  explicit HostTransfer(RankContext<P>& context) : c_(context), s_(context.store) {}

  // Bonds and special neighbors of the rank's particles, in the slots that these have at first. All
  // ranks agree on the length of rows, and on whether there are any. Collective.
  void take_links(const Topology& topology) {
    s_.links = rows_for(s_.count, topology, &c_.communicator());
    s_.reserve_links();
    const std::vector<LinkWord> rows = rows_of(s_.count, topology, s_.links);
    if (rows.empty()) return;
    copy_in(s_.link.data(), rows.data(), rows.size() * sizeof(LinkWord), main());
    main().finish("upload");
  }

  // The particles of this host, of which there is one at least. Returns the index of one that is
  // outside the box or not at a finite place, else a negative number.
  int enter(const HostArrays& arrays, const Topology& topology, const BoxFrame& frame) {
    const auto n = static_cast<std::size_t>(s_.count);
    s_.ensure(s_.staging, n);
    copy_in(s_.tag.data(), topology.tag, n * sizeof(unsigned), main());
    const unsigned bad = enter_particles<P>(arrays, topology, frame, s_, s_.rest.data(), main());
    std::vector<Origin> origin;
    // At first each particle is on the rank of its host.
    for (int i = 0; i < s_.count; ++i) origin.push_back({c_.ranks.rank(), i});
    copy_in(s_.origin.data(), origin.data(), n * sizeof(Origin), main());
    main().finish("upload");
    return static_cast<int>(bad);
  }

  // Collective.
  void download(const HostArrays& arrays, const BoxFrame& frame) {
    leave_particles<P>(arrays, s_.hosts, resting(), frame, s_, main());
    for (const Arrival& arrival : deliver(c_.communicator(), departures(frame)))
      arrival.enter(arrays);
  }

  // Collective. position (which may be null) and velocity: of the particles of this host. Sets
  // `misplaced` to a particle of this rank that has no place, if there is one.
  template <class Misplaced>
  void set_particles(std::size_t hosted, const Triple* position, const Triple* velocity,
                     const BoxFrame& frame, std::optional<Misplaced>& misplaced) {
    // A particle keeps its slot when particles are sorted; origin[slot] is its place on its host.
    std::vector<unsigned> slot(static_cast<std::size_t>(s_.count));
    std::vector<Origin> by_slot(static_cast<std::size_t>(s_.slots)), origins;
    main().fetch(s_.slot.data(), slot.data(), slot.size());
    main().fetch(s_.origin.data(), by_slot.data(), by_slot.size());
    for (const unsigned s : slot) origins.push_back(by_slot[s]);
    std::vector<std::array<double, 3>> positions;
    if (position) positions = fetch_from_origins(c_.communicator(), origins, position, hosted);
    const auto velocities = fetch_from_origins(c_.communicator(), origins, velocity, hosted);
    if (s_.count == 0) return;
    s_.ensure(s_.staging, s_.count);
    ValuesFromHost<P> values(s_, nullptr, main());
    const auto triples = [](const auto& fetched) {
      return reinterpret_cast<const Triple*>(fetched.data());
    };
    if (position) {
      const unsigned bad = values.set_positions(triples(positions), frame, nullptr);
      if (bad != kNoneBad) {
        misplaced.emplace();
        main().fetch(s_.tag.data() + bad, &misplaced->tag, 1);
        std::copy_n(positions[bad].data(), 3, misplaced->position);
      }
    }
    values.set_values(triples(velocities), s_.rest.data());
  }

  // Collective. This host's particles are tag[count] now.
  void set_origins(int count, const std::uint32_t* tag) {
    std::vector<std::uint32_t> resident(static_cast<std::size_t>(s_.count));
    main().fetch(s_.tag.data(), resident.data(), resident.size());
    const std::vector<Origin> origins = find_origins(c_.communicator(), resident, count, tag);
    s_.hosts = count;
    s_.ensure(s_.staging, s_.hosts);
    const auto to = on_device(origins, main());
    launch_each(s_.count, main(), &set_origins_kernel, s_.count, s_.slot.data(), to.data(),
                s_.origin.data());
    main().finish("upload");
  }

 private:
  const EngineStream& main() const { return c_.streams.main; }
  RestingParticles<P> resting() const {
    return {s_.host_order(c_.ranks.rank()),
            s_.image.data(),
            s_.present().position.data(),
            s_.rest.data(),
            s_.force.data(),
            s_.flux.data()};
  }

  // Particles of other hosts, by rank.
  std::vector<std::vector<Arrival>> departures(const BoxFrame& frame) {
    std::vector<std::vector<Arrival>> result(c_.ranks.parts().size());
    const LivesAt test{s_.host_order(c_.ranks.rank())};
    c_.selection.count(s_.count, c_.ranks.ranks(), test);
    main().finish("download");
    const int away = c_.selection.total(c_.ranks.ranks());
    if (away == 0) return result;
    s_.ensure(picked_, away);
    c_.selection.pick(s_.count, c_.ranks.ranks(), test, picked_);
    DeviceBuffer<Arrival> leaving(static_cast<std::size_t>(away));
    launch_each(away, main(), &depart_kernel<P>, away, frame, picked_.data(), resting(),
                leaving.data());
    std::vector<Arrival> all(static_cast<std::size_t>(away));
    main().fetch(leaving.data(), all.data(), all.size());
    // They arrive in the order of ranks.
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
