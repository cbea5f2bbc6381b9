// SPDX-License-Identifier: BSD-3-Clause
// Copies of particles near the parts of other ranks: exchanged when lists are built, and their
// positions and velocities once a step in between.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "rank_context.cuh"
#include "record_exchange.cuh"

namespace manymove::dpd {

template <class P>
class GhostExchange {
  static constexpr int kBuilt = ParticleStore<P>::kBuilt;

 public:
  explicit GhostExchange(RankContext<P>& context) : c_(context), s_(context.store) {
    std::vector<Brick> reached;
    for (const int r : c_.ranks.neighbors())
      reached.push_back(c_.ranks.reached()[static_cast<std::size_t>(r)]);
    reached_ = on_device(reached, c_.streams.main);
  }

  // Bytes of the largest segment with ghosts, since the last find().
  std::int64_t largest_segment() const { return segment_; }
  // Collective: the same on all ranks, if particles were everywhere as dense as on average, and a
  // tenth more. particles: of all ranks.
  std::size_t expected_segment(double particles) const {
    double largest = 0;
    for (const int r : c_.ranks.neighbors()) {
      double share = 1;
      for (int a = 0; a < 3; ++a)
        share *= common_share(c_.own(), c_.ranks.reached()[static_cast<std::size_t>(r)], a) *
                 (c_.settings.box.periodic[a] ? 1 : 2);
      largest = std::max(largest, share);
    }
    std::int64_t bytes =
        static_cast<std::int64_t>((1.1 * largest * particles + 256) * sizeof(Ghost<P>));
    c_.communicator().maximum(&bytes, 1);
    return static_cast<std::size_t>(bytes);
  }

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
      to_[static_cast<std::size_t>(neighbors[k])] = c_.report.answers().total[k];
    c_.communicator().transpose(to_.data(), from_.data());
    known_ = c_.selection.total(boxes);
    s_.ghosts = checked_count(std::accumulate(from_.begin(), from_.end(), std::int64_t(0)));
    segment_ =
        *std::max_element(to_.begin(), to_.end()) * static_cast<std::int64_t>(sizeof(Ghost<P>));
    s_.ensure(border_, known_);
    s_.ensure(ghost_, s_.ghosts);
    s_.reserve(s_.count, s_.ghosts);
    auto& state = s_.state[kBuilt];
    const auto t = place_records<Ghost<P>>(*c_.transport, to_, from_);
    if (known_ > 0) {
      // Growing may have moved the particles.
      c_.selection.pick(suspects, boxes, is_known(), border_);
      pack_ghosts_kernel<P><<<grid_of(t.to), kSorters, 0, work>>>(
          border_.data(), state.position.data(), state.velocity.data(), t.to);
      check_launch();
    }
    c_.transport->exchange(t.sent, t.received, work);
    range.clear(work);
    if (s_.ghosts == 0) return;
    ghost_key_kernel<P><<<grid_of(t.from), kSorters, 0, work>>>(t.from, c_.cells, c_.base.motion,
                                                                ghost_.data(), s_.key[0].data(),
                                                                s_.order[0].data(), c_.absent());
    check_launch();
    s_.sort(s_.ghosts, 0, 3 * c_.cells.bits);
    place_ghosts_kernel<P><<<blocks_for(s_.ghosts, kSorters), kSorters, 0, work>>>(
        s_.ghosts, s_.first_ghost(s_.count), c_.cells, c_.base.motion, c_.base.shorts,
        s_.sorted_key, s_.sorted, ghost_.data(), state.position.data(), state.velocity.data(),
        state.shorts.data(), s_.ball.data(), s_.place.data(), range.data());
    check_launch();
  }

  // Collective. Copies of the particles that others know go there, and theirs come; of the present
  // state, in this stream.
  void refresh(cudaStream_t stream) {
    const auto &state = s_.present(), &built = s_.state[kBuilt];
    const auto t = place_records<GhostUpdate<P>>(*c_.transport, to_, from_);
    if (known_ > 0) {
      pack_updates_kernel<P><<<grid_of(t.to), kSorters, 0, stream>>>(
          border_.data(), state.position.data(), state.velocity.data(), t.to);
      check_launch();
    }
    c_.transport->exchange(t.sent, t.received, stream);
    if (s_.ghosts > 0) {
      unpack_updates_kernel<P><<<grid_of(t.from), kSorters, 0, stream>>>(
          c_.base.shorts, s_.place.data(), t.from, built.position.data(), built.velocity.data(),
          state.position.data(), state.velocity.data(), state.shorts.data());
      check_launch();
    }
  }

 private:
  IsKnown is_known() const { return {reached_.data(), c_.report.bounds().data(), s_.ball.data()}; }
  // In answers(), for each neighbor: the particles that it knows. These are outer ones, of which
  // there are about as many as before; the host hears only now. Returns how many have been looked
  // at.
  int count_known(bool had_lists) {
    const int boxes = static_cast<int>(c_.ranks.neighbors().size());
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
