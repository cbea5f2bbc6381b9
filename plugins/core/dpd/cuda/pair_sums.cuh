// SPDX-License-Identifier: BSD-3-Clause
// The sum of pair forces over the neighbor lists of a block (Eq. 2 of the paper, in the order of
// sections 3.4 and 3.5: which pairs are near first, then their forces).
#pragma once

#include "step_arguments.cuh"

namespace manymove::dpd {

// Forces of pairs in mixed precision are rounded to multiples of a unit. Sums of integers have no
// order: what a pair gives to one particle it takes from the other, to the last bit, wherever that
// one is, and whichever comes first.
template <Precision P>
constexpr bool kIntegers = std::is_same_v<typename P::Real, float>;
// Whether two particles of a tile have their pair in one of their lists only. What scalars exchange
// is added up in double precision by the threads of both particles.
template <Precision P>
constexpr bool kHalfLists = kIntegers<P> && !has_scalars<P>;

struct Triplets {  // of the particles of a block
  int x[kThreads], y[kThreads], z[kThreads];
  __device__ void add(int k, int a, int b, int c) {
    atomicAdd(&x[k], a);
    atomicAdd(&y[k], b);
    atomicAdd(&z[k], c);
  }
};
struct BlockForces {
  static constexpr float kMany = 0x1p20f;  // units
  Triplets units, many;                    // the latter of what is too large for the former
};
// The same where forces may be kForbidden, which is not a number, so that integers have no sum for
// it: a bit of each particle that has such a force.
struct MarkedBlockForces : BlockForces {
  unsigned forbidden[kThreads / 32];

  __device__ void forbid(unsigned k) { atomicOr(&forbidden[k / 32], 1u << k % 32); }
  __device__ bool is_forbidden(unsigned k) const { return forbidden[k / 32] >> k % 32 & 1u; }
};

// One thread's own particle, `mine` of its block, feels a pair force (in units), and particle
// `other` of the block the reverse; or a particle elsewhere, where other is not below the tile. 255
// pairs are within the range of integers.
template <class Forces>
__device__ inline void give(Forces& block, int3& own, unsigned mine, unsigned other, unsigned tile,
                            float x, float y, float z) {
  if constexpr (std::is_same_v<Forces, MarkedBlockForces>)
    if (x != x) {
      block.forbid(mine);
      if (other < tile) block.forbid(other);
      return;
    }
  // Beyond 2^23 units a pair would use up the integers: 255 2^23 < 2^31. This is rare.
  if (fmaxf(fmaxf(fabsf(x), fabsf(y)), fabsf(z)) > 0x1p23f) {
    // f = n + 2^20 m with integers: m = round(f / 2^20), and n is what is left of f.
    const float a = rintf(x / BlockForces::kMany), b = rintf(y / BlockForces::kMany),
                c = rintf(z / BlockForces::kMany);
    const int3 many = {__float2int_rn(a), __float2int_rn(b), __float2int_rn(c)};
    block.many.add(static_cast<int>(mine), many.x, many.y, many.z);
    if (other < tile) block.many.add(static_cast<int>(other), -many.x, -many.y, -many.z);
    x -= a * BlockForces::kMany;
    y -= b * BlockForces::kMany;
    z -= c * BlockForces::kMany;
  }
  const int3 units = {__float2int_rn(x), __float2int_rn(y), __float2int_rn(z)};
  own.x += units.x;
  own.y += units.y;
  own.z += units.z;
  // other is an unsigned difference of indices: particles before the block wrap to large numbers.
  if (other < tile) block.units.add(static_cast<int>(other), -units.x, -units.y, -units.z);
}

// Pairs that a warp has collected and any of its threads may compute: owner has whose pair it is,
// as a number within the block, like position and velocity.
template <Precision P, int particles, int hits>
struct SharedHits {
  typename P::Position position[particles];
  typename P::Velocity velocity[particles];
  unsigned char owner[hits * kThreads];
};

// A kernel of a step: what the compiler knows of it. plain: as in add_pair(); reading: the state is
// read next, with energy and virial; `lanes` threads have one particle.
template <Precision P, bool is_plain, bool is_reading, int lanes_per_particle, ParticleRange Who,
          Extra extra_>
struct StepVariant {
  using Precision = P;
  using Real = typename P::Real;
  using Math = MathOf<P>;
  static constexpr bool plain = is_plain, reading = is_reading;
  static constexpr int lanes = lanes_per_particle;
  static constexpr Extra extra = extra_;
  static constexpr bool sheared = may_be_sheared(plain, extra), upright = is_upright(plain, extra);
  static constexpr bool may_be_forbidden = kIntegers<P> && extra == Extra::potential;
  // Where latency counts most, the threads of a warp share its hits equally.
  static constexpr bool shared_hits = kHalfLists<P> && !reading && lanes == 4;
  // Hits that a thread can keep, and those of the last ones that are computed when a thread is
  // full: what shared memory does not need is left to the L1 cache.
  static constexpr int kHits = kIntegers<P> && !shared_hits ? 12 : 20;
  static constexpr unsigned kFewHits = 4;
  // Few particles are a matter of latency: what only a build of lists changes is read while the
  // step before runs.
  static constexpr bool early = lanes > 1 && Who::follows_a_step;
  static constexpr bool early_sphere = early && (lanes > 2 || !kIntegers<P>);  // registers are left

  // Shared memory. Sums in double precision are of the threads' own.
  using BlockSums =
      std::conditional_t<kIntegers<P>,
                         std::conditional_t<may_be_forbidden, MarkedBlockForces, BlockForces>, int>;
  using Hits = std::conditional_t<shared_hits, SharedHits<P, kThreads / lanes, kHits>, int>;
};

// The particle of a thread.
template <Precision P>
struct OwnParticle {
  int first, i;  // indices of the first particle of the block and of this one
  bool here;     // whether there is one
  typename P::Position r;
  typename P::Velocity v;
  ShortPosition about;
};

// The groups of entries in the list of a particle that this thread takes: `lanes` threads take
// turns. The first ones may be read ahead, before the step begins.
template <class V>
struct OwnGroups {
  static constexpr int kApart = kGroup * V::lanes;  // entries from a group to the thread's next one
  const uint4* next;
  std::size_t stride;  // of groups
  int number = 0;      // entries of the list
  uint4 ahead{}, second{};

  __device__ OwnGroups(const NeighborLists& lists, int i)
      : stride(static_cast<std::size_t>(static_cast<unsigned>(lists.stride))) {
    // entry[group][particle][kGroup]: the threads of a warp read rows of neighboring particles.
    next =
        reinterpret_cast<const uint4*>(lists.entry) + static_cast<std::size_t>(lane()) * stride + i;
  }
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % V::lanes; }
  __device__ int left() const { return number - kGroup * lane(); }
  __device__ void read_ahead() {
    if (number > kGroup * lane()) ahead = *next;
    if constexpr (V::shared_hits)
      if (number > kGroup * (lane() + V::lanes)) second = next[V::lanes * stride];
  }
  // The next group, where `left` entries are left.
  __device__ uint4 take(int left) {
    if constexpr (!V::early) return *next;
    const uint4 four = ahead;
    if (left > kApart) ahead = next[V::lanes * stride];
    return four;
  }
};

// What the sum of pair forces over the list of a particle works on.
template <class V>
struct PairSums {
  using P = typename V::Precision;
  using Real = typename V::Real;
  const Step<P>& s;
  const OwnParticle<P>& own;
  typename V::BlockSums& block;

  // rho_i + rho_j of many-body forces.
  __device__ Real densities(int i, unsigned j) const {
    if constexpr (V::extra == Extra::many_body) return s.density[i] + s.density[j];
    return Real(0);
  }
  static __device__ unsigned index_of(unsigned entry) {
    return V::plain ? entry : entry & kIndexBits;
  }
  // Which particle of the block j is; not below the tile for one elsewhere.
  __device__ unsigned in_block(unsigned j) const { return j - static_cast<unsigned>(own.first); }
  __device__ unsigned tile() const {
    return kHalfLists<P> ? static_cast<unsigned>(s.lists.tile) : 0;
  }
  __device__ void read_places(const uint4& four, ShortPosition (&other)[kGroup]) const {
    const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int q = 0; q < kGroup; ++q) other[q] = s.short_position[index_of(entry[q])];
  }
  __device__ bool maybe_near(const ShortPosition& other) const {
    return maybe_within_cutoff<V::upright>(s.shorts, own.about, other);
  }
};

// Pairs within the cutoff that the threads of a warp have found, in a queue from which any of its
// threads computes them.
template <class V>
struct WarpHits : PairSums<V> {
  using P = typename V::Precision;
  using PairSums<V>::s;
  typename V::Hits& sharing;
  unsigned* queue;       // of this warp
  unsigned char* owner;  // of each pair of the queue
  int queued = 0;

  __device__ WarpHits(const PairSums<V>& sums, typename V::Hits& hits, unsigned* hit)
      : PairSums<V>(sums),
        sharing(hits),
        queue(hit + threadIdx.x / 32 * (32 * V::kHits)),
        owner(hits.owner + threadIdx.x / 32 * (32 * V::kHits)) {}

  // Eqs. 3 to 5 for all pairs of the queue, 32 at a time.
  __device__ __forceinline__ void compute() {
    // A lane computes pairs that others have put into the queue,
    __syncwarp();
    for (int k = static_cast<int>(threadIdx.x % 32); k < queued; k += 32) {
      const unsigned entry = queue[k], j = this->index_of(entry);
      const int its = owner[k];
      Sum<typename V::Real> pair;
      add_pair<P, typename V::Math, V::plain, false, V::extra>(
          pair, s.forces, sharing.position[its], sharing.velocity[its], s.position[j],
          s.velocity[j], entry, this->densities(this->own.first + its, j));
      int3 units = {0, 0, 0};
      give(this->block, units, static_cast<unsigned>(its), this->in_block(j), this->tile(),
           pair.force.x, pair.force.y, pair.force.z);
      this->block.units.add(its, units.x, units.y, units.z);
    }
    // which is filled again from its beginning.
    __syncwarp();
    queued = 0;
  }
  // A vote tells each thread where its hits go.
  __device__ __forceinline__ void collect(int left, const uint4& four,
                                          const ShortPosition (&other)[kGroup]) {
    const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int q = 0; q < kGroup; ++q) {
      const bool in = left > q && this->maybe_near(other[q]);
      const unsigned vote = __ballot_sync(kWholeWarp, in);
      if (in) {
        // Behind the hits of lower lanes: no atomic operation is needed for the queue's end.
        const int k = queued + lanes_before(vote, lane);
        queue[k] = entry[q];
        owner[k] = static_cast<unsigned char>(threadIdx.x / V::lanes);
      }
      queued += __popc(vote);
    }
  }
};

template <class V>
__device__ __forceinline__ void add_pairs_of_warp(const PairSums<V>& sums, OwnGroups<V>& groups,
                                                  typename V::Hits& sharing, unsigned* hit) {
  WarpHits<V> hits(sums, sharing, hit);
  const int mine = static_cast<int>(threadIdx.x) / V::lanes;
  if (groups.lane() == 0) sharing.position[mine] = sums.own.r, sharing.velocity[mine] = sums.own.v;
  // Two groups of entries at a time, whose places are read together.
  constexpr int apart = OwnGroups<V>::kApart;
  int left = groups.left();
  if constexpr (!V::early) {
    if (left > 0) groups.ahead = *groups.next;
    if (left > apart) groups.second = groups.next[V::lanes * groups.stride];
  }
  while (__any_sync(kWholeWarp, left > 0)) {
    ShortPosition near[kGroup] = {}, far[kGroup] = {};
    if (left > 0) sums.read_places(groups.ahead, near);
    if (left > apart) sums.read_places(groups.second, far);
    const uint4 these = groups.ahead, those = groups.second;
    groups.next += 2 * V::lanes * groups.stride;
    if (left > 2 * apart) groups.ahead = *groups.next;
    if (left > 3 * apart) groups.second = groups.next[V::lanes * groups.stride];
    hits.collect(left, these, near);
    hits.collect(left - apart, those, far);
    left -= 2 * apart;
    // Room is left for two more groups of each of the 32 lanes.
    if (hits.queued > 32 * (V::kHits - 2 * kGroup)) hits.compute();
  }
  hits.compute();
}

// Pairs within the cutoff that a thread has found and computes itself: a stack whose words are
// kThreads apart.
template <class V>
struct ThreadHits : PairSums<V> {
  using P = typename V::Precision;
  using Real = typename V::Real;
  using PairSums<V>::s;
  using PairSums<V>::own;
  // Threads of a warp have neighboring words at any depth of their stacks: no bank conflicts.
  static constexpr unsigned kApart = kThreads * sizeof(unsigned);
  SumOf<P>& sum;
  const unsigned bottom;
  unsigned top;
  int3 units = {0, 0, 0};

  __device__ ThreadHits(const PairSums<V>& sums, SumOf<P>& sum, unsigned* hit)
      : PairSums<V>(sums), sum(sum), bottom(shared_address(hit + threadIdx.x)), top(bottom) {}

  __device__ void push(unsigned entry) {
    store_shared(top, entry);
    top += kApart;
  }
  __device__ bool is_full() const { return top > bottom + (V::kHits - kGroup) * kApart; }
  // Eqs. 3 to 5 for one pair.
  __device__ __forceinline__ void add_hit(unsigned at) {
    const unsigned entry = load_shared(at), j = this->index_of(entry);
    if constexpr (kIntegers<P>) {
      SumOf<P> pair;
      if constexpr (has_scalars<P>) pair.flux = sum.flux;
      add_pair<P, typename V::Math, V::plain, V::reading, V::extra>(
          pair, s.forces, own.r, own.v, s.position[j], s.velocity[j], entry,
          this->densities(own.i, j));
      if constexpr (has_scalars<P>) sum.flux = pair.flux;
      const unsigned other = this->in_block(j), tile = this->tile();
      give(this->block, units, static_cast<unsigned>(own.i - own.first), other, tile, pair.force.x,
           pair.force.y, pair.force.z);
      if constexpr (V::reading) {
        // A half list within the tile: the pair counts at both ends.
        const float ends = other < tile ? 2 : 1;
        sum.energy += ends * pair.energy;
        for (int a = 0; a < 6; ++a) sum.virial[a] += ends * pair.virial[a];
      }
    } else {
      add_pair<P, typename V::Math, V::plain, V::reading, V::extra>(
          sum, s.forces, own.r, own.v, s.position[j], s.velocity[j], entry,
          this->densities(own.i, j));
    }
  }
  // In mixed precision, when a thread is full, its warp computes the last few hits of each thread,
  // which nearly all of them have. Sums of integers have no order; the flux of scalars, a sum in
  // double precision, is then added up in an order that depends on the other threads of the warp.
  // In double precision the order is that of the lists, and all hits are computed.
  __device__ __forceinline__ void compute(unsigned down_to) {
    if constexpr (kIntegers<P>) {
      while (top != down_to) add_hit(top -= kApart);
    } else {
      for (unsigned at = bottom; at != top; at += kApart) add_hit(at);
      top = bottom;
    }
  }
};

template <class V>
__device__ __forceinline__ void add_pairs_of_thread(const PairSums<V>& sums, OwnGroups<V>& groups,
                                                    SumOf<typename V::Precision>& sum,
                                                    unsigned* hit) {
  ThreadHits<V> hits(sums, sum, hit);
  constexpr int apart = OwnGroups<V>::kApart;
  // Lanes stay together: when one has no room for more hits, all compute those that they have.
  for (int left = groups.left(); __any_sync(kWholeWarp, left > 0);
       left -= apart, groups.next += V::lanes * groups.stride) {
    if (left > 0) {
      const uint4 four = groups.take(left);
      const unsigned entry[kGroup] = {four.x, four.y, four.z, four.w};
      ShortPosition other[kGroup];
      sums.read_places(four, other);
#pragma unroll
      for (int q = 0; q < kGroup; ++q)
        if (sums.maybe_near(other[q]) && left > q) hits.push(entry[q]);
    }
    const bool full = hits.is_full();
    if (__any_sync(kWholeWarp, full && left > apart)) {
      constexpr unsigned few = V::kFewHits * ThreadHits<V>::kApart;
      hits.compute(hits.top > hits.bottom + few ? hits.top - few : hits.bottom);
    }
  }
  hits.compute(hits.bottom);
  if constexpr (kIntegers<typename V::Precision>)
    sums.block.units.add(sums.own.i - sums.own.first, hits.units.x, hits.units.y, hits.units.z);
}

}  // namespace manymove::dpd
