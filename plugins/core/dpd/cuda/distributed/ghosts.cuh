// SPDX-License-Identifier: BSD-3-Clause
// Copies of particles near the parts of other ranks: exchanged when lists are built, and their
// positions and velocities once a step in between; their local densities, if there are any, once in
// every step.
#pragma once

#include <algorithm>
#include <vector>

#include "rank_context.cuh"

namespace manymove::dpd {

// Particles that another rank knows: all of them are outer ones.
struct IsKnown {
  const Brick* reached;  // by neighbor
  const Bounds* bounds;
  const BoundingSphere* sphere;
  __device__ bool operator()(int neighbor, int i) const {
    if (static_cast<unsigned>(i) >= bounds->outer) return false;
    const BoundingSphere b = sphere[i];
    return is_in(reached[neighbor], b.x, b.y, b.z);
  }
};

template <Precision P>
__global__ void pack_ghosts_kernel(const unsigned* who, const typename P::Position* position,
                                   const typename P::Velocity* velocity,
                                   const __grid_constant__ Records<Ghost<P>> to) {
  const int k = to.index();
  if (k >= 0) to.mine() = {position[who[k]], velocity[who[k]]};
}

template <Precision P>
__global__ void ghost_key_kernel(const __grid_constant__ Records<Ghost<P>> from, Cells cells,
                                 const __grid_constant__ Motion<P> motion, Ghost<P>* ghost,
                                 unsigned* key, unsigned* order, Absent absent) {
  const int k = from.index();
  if (k < 0) return;
  Ghost<P> g = from.mine();
  if (absent.are_all()) absent.replace<P>(k, g.position, g.velocity);
  const BoundingSphere b = bounding_sphere_of<P>(cells, motion, g.position, g.velocity);
  ghost[k] = g;
  key[k] = morton_key(cells, b.x, b.y, b.z);
  order[k] = static_cast<unsigned>(k);
}

// One thread per ghost, in the order of cells; they are kept behind the rank's own particles.
template <Precision P>
__global__ void place_ghosts_kernel(int count, int first,
                                    const __grid_constant__ CellOrder<P> sorted,
                                    const Ghost<P>* ghost, SortedArrays<P> to, unsigned* place,
                                    int2* range) {
  const int k = index_of_thread();
  if (k >= count) return;
  const int i = first + k;
  const Ghost<P> g = ghost[sorted.order[k]];
  to.put(static_cast<unsigned>(i), g.position, g.velocity, sorted.shorts, sorted.cells,
         sorted.motion);
  place[sorted.order[k]] = static_cast<unsigned>(i);
  mark_cell(sorted.cells, k, first, count, sorted.key, range);
}

template <Precision P>
__global__ void pack_updates_kernel(const unsigned* who, const typename P::Position* position,
                                    const typename P::Velocity* velocity,
                                    const __grid_constant__ Records<GhostUpdate<P>> to) {
  __shared__ alignas(16) GhostUpdate<P> record[kThreads];
  if (const int k = to.index(); k >= 0)
    record[threadIdx.x] = GhostUpdate<P>::of(position[who[k]], velocity[who[k]]);
  // Records are carried word by word, by threads that have not made them.
  __syncthreads();
  carry<true>(to, record);
}

// known: positions and velocities at the last build.
template <Precision P>
__global__ void unpack_updates_kernel(
    ShortFormat shorts, const unsigned* place, const __grid_constant__ Records<GhostUpdate<P>> from,
    const typename P::Position* known_position, const typename P::Velocity* known_velocity,
    typename P::Position* position, typename P::Velocity* velocity, ShortPosition* short_position) {
  __shared__ alignas(16) GhostUpdate<P> record[kThreads];
  carry<false>(from, record);
  // The words of a record have come by several threads.
  __syncthreads();
  const int k = from.index();
  if (k < 0) return;
  const unsigned i = place[k];
  typename P::Position p = known_position[i];
  typename P::Velocity v = known_velocity[i];
  record[threadIdx.x].act_on(p, v);
  position[i] = p;
  velocity[i] = v;
  short_position[i] = short_of(shorts, p);
}

template <class Real>
__global__ void pack_densities_kernel(const unsigned* who, const Real* density,
                                      const __grid_constant__ Records<Real> to) {
  if (const int k = to.index(); k >= 0) to.mine() = density[who[k]];
}
template <class Real>
__global__ void unpack_densities_kernel(const unsigned* place,
                                        const __grid_constant__ Records<Real> from, Real* density) {
  if (const int k = from.index(); k >= 0) density[place[k]] = from.mine();
}

template <Precision P>
class GhostExchange {
  static constexpr int kBuilt = ParticleStore<P>::kBuilt;

 public:
  explicit GhostExchange(RankContext<P>& context) : c_(context), s_(context.store) { set_reach(); }

  // Called after the reach of ranks has changed, with empty streams.
  void set_reach() {
    std::vector<Brick> reached;
    for (const int r : c_.ranks.neighbors())
      reached.push_back(c_.ranks.reached()[static_cast<std::size_t>(r)]);
    reached_ = on_device(reached, c_.streams.main);
  }

  // Bytes of the largest segment with ghosts, since the last find().
  std::int64_t largest_segment() const { return segment_; }
  // Collective. Of State kBuilt, in streams.work. had_lists: there were about as many outer
  // particles when these were built. range: of the ghosts in each cell.
  void find(bool had_lists, DeviceBuffer<int2>& range) {
    const auto& neighbors = c_.ranks.neighbors();
    const int boxes = static_cast<int>(neighbors.size());
    const cudaStream_t work = c_.streams.work;
    const int suspects = count_known(had_lists);
    to_.assign(c_.ranks.parts().size(), 0);
    from_.assign(c_.ranks.parts().size(), 0);
    for (int k = 0; k < boxes; ++k)
      // Numbers by rank: those that go there and, transposed, those that come.
      to_[static_cast<std::size_t>(neighbors[k])] = c_.report.answers().total[k];
    c_.communicator().transpose(to_.data(), from_.data());
    known_ = c_.selection.total(boxes);
    s_.ghosts = checked_count(total_of(from_, sizeof(Ghost<P>)));
    segment_ =
        *std::max_element(to_.begin(), to_.end()) * static_cast<std::int64_t>(sizeof(Ghost<P>));
    if (!had_lists) {  // otherwise the vote before this build has told the transport
      std::int64_t most = segment_;
      c_.communicator().maximum(&most, 1);
      c_.transport->expect(static_cast<std::size_t>(most));
    }
    s_.ensure(border_, known_);
    s_.ensure(ghost_, s_.ghosts);
    s_.reserve(s_.count, s_.ghosts);
    auto& state = s_.state[kBuilt];
    const auto t = place_records<Ghost<P>>(*c_.transport, to_, from_);
    // Growing may have moved the particles.
    if (known_ > 0) c_.selection.pick(suspects, boxes, is_known(), border_);
    launch_records(t.to, work, &pack_ghosts_kernel<P>, border_.data(), state.position.data(),
                   state.velocity.data(), t.to);
    c_.transport->exchange(t.sent, t.received, work);
    range.clear(work);
    if (s_.ghosts == 0) return;
    launch_records(t.from, work, &ghost_key_kernel<P>, t.from, c_.cells, c_.base.motion,
                   ghost_.data(), s_.key[0].data(), s_.order[0].data(), c_.absent());
    // A key interleaves the bits of three cell numbers.
    s_.sort(s_.ghosts, 0, 3 * c_.cells.bits);
    launch_each(s_.ghosts, work, &place_ghosts_kernel<P>, s_.ghosts, s_.first_ghost(s_.count),
                c_.sorted(), ghost_.data(), s_.sorted_arrays(state, s_.slot), s_.place.data(),
                range.data());
  }

  // Collective. Copies of the particles that others know go there, and theirs come; of the present
  // state, in this stream.
  void refresh(cudaStream_t stream) {
    const auto &state = s_.present(), &built = s_.state[kBuilt];
    const auto t = place_records<GhostUpdate<P>>(*c_.transport, to_, from_);
    launch_records(t.to, stream, &pack_updates_kernel<P>, border_.data(), state.position.data(),
                   state.velocity.data(), t.to);
    c_.transport->exchange(t.sent, t.received, stream);
    launch_records(t.from, stream, &unpack_updates_kernel<P>, c_.base.shorts, s_.place.data(),
                   t.from, built.position.data(), built.velocity.data(), state.position.data(),
                   state.velocity.data(), state.shorts.data());
  }

  // Collective. The same for the densities of this step, in this stream.
  void share_densities(cudaStream_t stream) {
    using Real = typename P::Real;
    const auto t = place_records<Real>(*c_.transport, to_, from_);
    launch_records(t.to, stream, &pack_densities_kernel<Real>, border_.data(), s_.density.data(),
                   t.to);
    c_.transport->exchange(t.sent, t.received, stream);
    launch_records(t.from, stream, &unpack_densities_kernel<Real>, s_.place.data(), t.from,
                   s_.density.data());
  }

 private:
  IsKnown is_known() const {
    return {reached_.data(), c_.report.bounds().data(), s_.sphere.data()};
  }
  // In answers(), for each neighbor: the particles that it knows. These are outer ones, of which
  // there are about as many as before; the host gets their number only now. Returns how many have
  // been looked at.
  int count_known(bool had_lists) {
    const int boxes = static_cast<int>(c_.ranks.neighbors().size());
    // Tests an eighth more particles than last time; if more are found, a second round tests all.
    int suspects = had_lists ? std::min(s_.outer + s_.outer / 8 + 1024, s_.count) : s_.count;
    for (;; suspects = s_.count) {
      c_.selection.count(suspects, boxes, is_known());
      c_.report.ask();
      s_.outer = static_cast<int>(c_.report.answers().bounds.outer);
      s_.near = static_cast<int>(c_.report.answers().bounds.near);
      if (s_.outer <= suspects) return suspects;
    }
  }

  RankContext<P>& c_;
  ParticleStore<P>& s_;
  DeviceBuffer<Brick> reached_;          // by neighbor
  DeviceBuffer<unsigned> border_;        // who has copies elsewhere
  DeviceBuffer<Ghost<P>> ghost_;         // in the order of ranks
  std::vector<std::int64_t> to_, from_;  // how many, by rank
  int known_ = 0;                        // copies elsewhere
  std::int64_t segment_ = 0;
};

}  // namespace manymove::dpd
