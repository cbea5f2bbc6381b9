// SPDX-License-Identifier: BSD-3-Clause
// Rigid bodies on CPUs. Every rank has all bodies, and moves the particles of its own: the sums
// over particles are of integers, so that the bodies are the same on all of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "../body_states.h"
#include "particle_loops.h"
#include "rank_links.h"

namespace manymove::dpd {

template <Precision P>
class RigidParticles {
  using Real = typename P::Real;

 public:
  // The arrays of a rank's particles, from which bodies are moved.
  struct Arrays {
    std::vector<typename P::Position>& position;
    std::vector<typename P::Velocity>& velocity;
    std::vector<CoarsePosition>& coarse;  // empty where the positions are
    std::vector<Image>& image;
  };
  struct Outcome {
    bool expired;        // a particle has left its sphere
    std::uint32_t lost;  // the largest tag of those that are
  };

  explicit RigidParticles(const Settings& settings) : states_(settings) {}

  // Throws std::invalid_argument; local, the same on all ranks.
  void take(const RigidBodies* bodies, const BoxFrame& frame) {
    states_.take(bodies, frame);
    body_of_.clear();
    own_.clear();
    const std::size_t n = states_.particles().size();
    if (n == 0) return;
    const int bits = TagIndex::bits_for(static_cast<std::int64_t>(n));
    entry_.assign(std::size_t{1} << bits, 0);
    known_ = {entry_.data(), bits};
    for (std::size_t k = 0; k < n; ++k)
      known_.add(states_.particles()[k].tag, static_cast<std::uint32_t>(k), ClaimOnHost{});
  }
  bool any() const { return states_.any(); }
  std::vector<RigidBody> bodies(const BoxFrame& frame) const { return states_.leave(frame); }

  // Room for the forces on particles, which step() reads; null without bodies.
  Vector<Real>* forces(std::size_t count) {
    force_.resize(any() ? count : 0);
    return any() ? force_.data() : nullptr;
  }

  // The first `count` particles, the rank's own, and the ghosts behind them have other places.
  void find(ThreadPool& pool, int count, const std::vector<typename P::Position>& position,
            const std::vector<typename P::Velocity>& velocity) {
    if (!any()) return;
    constexpr auto kNone = TagIndex::kMissing;
    body_of_.resize(position.size());
    place_.resize(static_cast<std::size_t>(count));
    for_each_index(pool, static_cast<int>(position.size()), [&](int i) {
      const bool moves = position[i].kind >> 16 & kIntegrated;
      const std::uint32_t k = moves ? kNone : known_.find(velocity[i].tag);
      body_of_[i] = k == kNone ? -1 : states_.particles()[k].body;
      if (i < count) place_[i] = k;
    });
    own_.clear();
    for (int i = 0; i < count; ++i)
      if (place_[i] != kNone) own_.push_back({i, static_cast<int>(place_[i])});
    std::ranges::sort(own_, {}, &Own::number);
  }

  // Drops the pairs within bodies from the lists of a chunk. Returns the number of entries that are
  // left.
  std::int64_t exclude(const Chunk& chunk, std::vector<std::uint32_t>& list,
                       std::vector<int>& number) const {
    std::size_t from = 0, to = 0;
    for (int i = chunk.first; i < chunk.last; ++i) {
      const std::size_t end = from + static_cast<std::size_t>(number[i]), begin = to;
      for (; from < end; ++from)
        if (body_of_[i] < 0 || body_of_[list[from] & kIndexBits] != body_of_[i])
          list[to++] = list[from];
      number[i] = static_cast<int>(to - begin);
    }
    std::fill_n(list.begin() + static_cast<std::ptrdiff_t>(to), kReadAhead, 0u);
    return static_cast<std::int64_t>(to);
  }
  bool excludes() const { return states_.excluded(); }

  // Moves the bodies by the forces of a step, and their particles. communicator: null for one rank;
  // collective otherwise. spheres: those of the lists, or null.
  Outcome step(ThreadPool& pool, Communicator* communicator, BodyPhase phase, const BoxFrame& frame,
               Arrays arrays, const Cells& cells, const BoundingSphere* spheres) {
    const BodyStep step = states_.step_in(frame);
    add_forces(pool, step);
    if (communicator) communicator->sum(words_.data(), words_.size());
    for_each_index(pool, static_cast<int>(states_.count()), [&](int b) {
      step_body(step, phase, states_.constants()[b], states_.state()[b],
                BodySums(step.scale, words_.data() + std::int64_t{b} * kBodyWords));
    });
    return over_all<Outcome>(
        pool, static_cast<int>(own_.size()),
        [&](int first, int last) {
          Outcome part{};
          for (int k = first; k < last; ++k)
            follow(step, phase == BodyPhase::rest, own_[k], arrays, cells, spheres, part);
          return part;
        },
        [](Outcome& all, const Outcome& part) {
          all.expired = all.expired || part.expired;
          all.lost = std::max(all.lost, part.lost);
        });
  }
  // Of all bodies, after a step that ends at rest.
  EnergySum constraints() const { return states_.constraints(); }

 private:
  struct Own {
    int particle, number;  // its place in the arrays, and among the particles of all bodies
  };

  void add_forces(ThreadPool& pool, const BodyStep& step) {
    words_.assign(states_.count() * kBodyWords, 0);
    for_each_range(pool, static_cast<int>(own_.size()), [&](int first, int last) {
      std::int64_t sums[kBodyWords] = {};
      for (int k = first; k < last; ++k) {
        const RigidParticle& particle = states_.particles()[own_[k].number];
        const Vector<double> r =
            states_.state()[particle.body].axes.outward(vector_from<double>(particle.place));
        add_to_body(step.scale, r, vector_of<double>(force_[own_[k].particle]),
                    [&](int word, std::int64_t value) { sums[word] += value; });
        // Particles are sorted by body, which other threads may share.
        if (k + 1 < last && states_.particles()[own_[k + 1].number].body == particle.body) continue;
        for (int word = 0; word < kBodyWords; ++word) {
          std::atomic_ref(words_[std::size_t(particle.body) * kBodyWords + word])
              .fetch_add(std::exchange(sums[word], 0), std::memory_order_relaxed);
        }
      }
    });
  }

  void follow(const BodyStep& step, bool rests, const Own& own, Arrays& arrays, const Cells& cells,
              const BoundingSphere* spheres, Outcome& outcome) const {
    const RigidParticle& particle = states_.particles()[own.number];
    const int i = own.particle;
    auto& r = arrays.position[i];
    const FaceCrossings crossing =
        follow_body<P>(step, rests, states_.state()[particle.body],
                       vector_from<double>(particle.place), force_[i].x, r, arrays.velocity[i]);
    if (crossing.lost) outcome.lost = std::max(outcome.lost, arrays.velocity[i].tag);
    if (rests) return;
    arrays.image[i].add(crossing.x, crossing.y, crossing.z);
    if (!arrays.coarse.empty()) arrays.coarse[i] = coarse_position_of(r);
    if (spheres && moved_far(cells, spheres[i], r)) outcome.expired = true;
  }

  BodyStates states_;
  std::vector<std::uint64_t> entry_;  // of the table of tags
  TagIndex known_;                    // the number of each particle of a body
  std::vector<int> body_of_;          // of each particle and ghost; -1: none
  std::vector<std::uint32_t> place_;
  std::vector<Own> own_;
  std::vector<Vector<Real>> force_;  // of each of the rank's particles, where bodies need it
  std::vector<std::int64_t> words_;  // [bodies][kBodyWords]
};

}  // namespace manymove::dpd
