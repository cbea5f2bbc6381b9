// SPDX-License-Identifier: BSD-3-Clause
// The schedule "brush" (section 3): one kernel makes a sweep, or one kernel on each of several
// devices. A group of trials is the work of one block, which decides them one after the other when
// the group before is decided.
#pragma once

#include <cuda/atomic>

#include "trials.cuh"

namespace manymove::coulomb {
namespace {

// Blocks on a multiprocessor. In float64 Ewald's potential needs registers more than it needs other
// blocks.
constexpr int blocks_wanted(bool exact, Space space, int threads) {
  if (space == Space::ewald && exact) return threads < 512 ? 512 / threads : 1;
  return threads == 256 ? (exact ? 3 : 4) : 1024 / threads;
}

// What a block holds in shared memory.
template <bool Double, int S>
struct GroupMemory {
  // Guest ions (Y of Algorithm 2): one tile is read while the next is written.
  alignas(16) Partner<Double> tile[2][S];
  // Places of the group's ions by row, present and proposed; `own` follows the decisions.
  alignas(16) Site own[S];
  alignas(16) Site trial[S];
  // For two warps of trials in turn: what trial i's change of potential, times the sign of its
  // charge, gains from ion l if l stays or moves, [l][i], 0 unless i > l; and whether they overlap
  // then, a bit per i.
  std::int64_t stays[2][32 * 32], moves[2][32 * 32];
  unsigned stays_overlap[2][32], moves_overlap[2][32];
  // By row: the sum of equation 2 so far, the largest that is accepted, an overlap found, the ion.
  std::int64_t change[S], most[S];
  unsigned overlap[S];
  std::int32_t ion[S];
  Dipole dipole;
  // Thread 0 tells the block by these: how many groups are decided, and the block's ticket.
  unsigned known, block;
};

// How a block sees the progress of those before it. On each device blocks take their numbers from a
// ticket when they begin, so the first undecided group has begun or is the next to begin on its
// device, and it waits for none: one of them always continues, whatever the number of blocks that
// run at a time, and however fast the devices are beside each other.
struct Progress {
  template <cuda::thread_scope Scope>
  using Counter = cuda::atomic_ref<unsigned, Scope>;
  const ChainArrays& a;
  const PeerArrays& peers;

  __device__ unsigned groups() const {
    // Acquire pairs with the release of announce(): who sees the count sees those groups' moves.
    return peers.count == 1
               ? Counter<cuda::thread_scope_device>(*a.decided).load(cuda::memory_order_acquire)
               : Counter<cuda::thread_scope_system>(*a.decided).load(cuda::memory_order_acquire);
  }
  // Until `group` is decided.
  __device__ unsigned wait(unsigned group) const {
    // One thread polls for its block; a barrier passes on what it has acquired.
    unsigned known;
    while ((known = groups()) <= group)
      // A group whose turn is far away leaves the memory to those that are closer to theirs.
      if (group - known > 2) __nanosleep(300);
    return known;
  }
  // The device of the next group receives it last, with all that was written before: what that
  // group announces then comes after this on every device, so that no counter goes back.
  __device__ void announce(unsigned group) const {
    if (peers.count == 1) {
      // The barrier before has ordered the block's stores before this one, which publishes them
      // all.
      Counter<cuda::thread_scope_device>(*a.decided).store(group + 1, cuda::memory_order_release);
      return;
    }
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    for (int ahead = 2; ahead <= peers.count; ++ahead)
      counter(ahead).store(group + 1, cuda::memory_order_relaxed);
    counter(1).store(group + 1, cuda::memory_order_release);
  }
  __device__ Counter<cuda::thread_scope_system> counter(int ahead) const {
    return Counter<cuda::thread_scope_system>(*peers.decided[(peers.own + ahead) % peers.count]);
  }
};

// The trials of a block, eta threads for each (Fig. 7): thread e of trial i takes every eta-th
// partner. The sum of equation 2 over j is made of later groups and the other ions, later ions of
// the group, earlier groups as they are decided, and earlier ions of the group (Algorithms 2 to 5).
// Terms are integers, so that the order of these parts does not matter.
template <bool Double, Space B, int S, int Eta>
struct Group {
  using Memory = GroupMemory<Double, S>;
  static constexpr int kWarps = S * Eta / 32;

  using Rest = SmoothRest<typename Partner<Double>::Real>;

  const Rules& r;
  const ChainArrays& a;
  const PeerArrays& peers;
  Memory& m;
  const Rest& rest;
  const int tid = threadIdx.x, i = tid / Eta, e = tid % Eta, lane = tid % 32, warp = tid / 32;
  unsigned group;
  int ion;  // of row i
  Site from, to;
  int buffer = 0;
  std::int64_t change = 0;
  bool overlap = false;

  __device__ Group(const Rules& r, const ChainArrays& a, const PeerArrays& peers, Memory& m,
                   const Rest& rest, unsigned group)
      : r(r), a(a), peers(peers), m(m), rest(rest), group(group) {
    const unsigned row = group * S + i;
    ion = a.ion[row];
    from = load(row);
    // A hole "moves" to where it is, so that its terms cancel.
    to = ion >= 0 ? site_of(a.trial[ion], from.charge) : from;
    if (e == 0) {
      m.own[i] = from;
      m.trial[i] = to;
      m.ion[i] = ion;
      m.most[i] = ion >= 0 ? a.most[ion] : 0;
    }
    // Trials of the group are partners of one another.
    __syncthreads();
  }

  // Past the first-level cache, which does not see what other blocks write.
  __device__ Site load(unsigned place) const {
    const float4 v = __ldcg(reinterpret_cast<const float4*>(a.partner) + place);
    return site_of(v, v.w);
  }

  template <bool Check>
  __device__ void add_pairs_of_tile(const Pairs<Double, B>& pairs, unsigned tile) {
    // The sum only keeps the least squared distance in float32; the exact test is made where that
    // is below the limit beyond which no pair overlaps.
    float nearest2 = 3e38f;
    add_tile<Check, Double, B, S, Eta>(pairs, m.tile[buffer], e, change, nearest2);
    if constexpr (Check)
      if (nearest2 < r.surely_free)
        for (int j = e; j < S; j += Eta) {
          const Partner<Double>& g = m.tile[buffer][j];
          const Site other{static_cast<float>(g.x), static_cast<float>(g.y),
                           static_cast<float>(g.z), 0};
          overlap = overlap || exact_overlap(r, a.radius, to, ion, other, a.ion[tile * S + j]);
        }
    buffer = 1 - buffer;
  }

  // Tiles of ions that stand still meanwhile (Algorithm 2).
  template <bool Check>
  __device__ void add_tiles(const Pairs<Double, B>& pairs, unsigned begin, unsigned end) {
    if (begin >= end) return;
    Site ahead;
    if (tid < S) ahead = load(begin * S + tid);
    for (unsigned tile = begin; tile < end; ++tile) {
      if (tid < S) m.tile[buffer][tid] = as_partner<Double>(ahead);
      __syncthreads();
      // The next tile is on its way while this one is used; two buffers need one barrier per tile.
      if (tid < S && tile + 1 < end) ahead = load((tile + 1) * S + tid);
      add_pairs_of_tile<Check>(pairs, tile);
    }
  }

  // Tiles of groups as they are decided.
  __device__ void add_decided(const Pairs<Double, B>& pairs) {
    const Progress progress{a, peers};
    unsigned known = 0;
    Site ahead;
    bool have = false;
    for (unsigned tile = 0; tile < group; ++tile) {
      if (tile >= known) {
        // One thread waits until the group is decided, and tells the block how many are by now.
        if (tid == 0) m.known = progress.wait(tile);
        __syncthreads();
        known = m.known;
      }
      if (tid < S) {
        if (!have) ahead = load(tile * S + tid);
        m.tile[buffer][tid] = as_partner<Double>(ahead);
      }
      // The tile is there; its other buffer has been read by all.
      __syncthreads();
      // Only sites that are decided may be read ahead.
      have = tile + 1 < group && tile + 1 < known;
      if (tid < S && have) ahead = load((tile + 1) * S + tid);
      add_pairs_of_tile<true>(pairs, tile);
    }
  }

  // Pairs with later ions of the group, which have not moved (Algorithm 3).
  __device__ void upper_triangle(const Pairs<Double, B>& pairs) {
    for (int j = e; j < S; j += Eta) {
      const Partner<Double> g = as_partner<Double>(m.own[j]);
      // All threads compute all terms, so that no branch divides a warp; those below the diagonal
      // are dropped.
      const std::int64_t term = pairs.change(g, pairs.to(g));
      if (j > i) change = wrapping_sum(change, term);
    }
  }

  // m.stays and m.moves of 32 trials from 32 `part` on; a warp per ion l, a lane per trial.
  __device__ void prepare(int part, int first_warp) {
    const int row = 32 * part + lane, which = part & 1;
    const Site mine = m.own[row], mine_to = m.trial[row];
    const Pairs<Double, B> pairs(r, rest, mine, mine_to);
    const int mine_ion = m.ion[row];
    // While warp 0 decides, the others share the ions (first_warp is 1).
    for (int l = warp - first_warp; l < 32; l += kWarps - first_warp) {
      const Site other[2] = {m.own[32 * part + l], m.trial[32 * part + l]};
      const int other_ion = m.ion[32 * part + l];
      for (int k = 0; k < 2; ++k) {
        const Partner<Double> g = as_partner<Double>(other[k]);
        const auto now = pairs.to(g);
        // The term of equation 2 for i > j with x_j as either decision of trial j leaves it,
        // z_j [psi(to_i - x_j) - psi(from_i - x_j)]. Times the sign of z_i, so that the decision is
        // a comparison without a branch.
        const std::int64_t gain = signed_for(mine, pairs.change(g, now));
        (k ? m.moves : m.stays)[which][32 * l + lane] = lane > l ? gain : 0;
        const bool hit = lane > l && static_cast<float>(now.squared) < r.surely_free &&
                         exact_overlap(r, a.radius, mine_to, mine_ion, other[k], other_ion);
        const unsigned hits = __ballot_sync(kWholeWarp, hit);
        if (lane == 0) (k ? m.moves_overlap : m.stays_overlap)[which][l] = hits;
      }
    }
  }

  // With a vacuum around: the dipole moment after all groups before this one, past the first-level
  // cache.
  __device__ Dipole dipole_before() const {
    const double* at = &a.dipole->x;
    return {__ldcg(at), __ldcg(at + 1), __ldcg(at + 2)};
  }
  __device__ static Dipole of_lane(const Dipole& d, int lane) {
    return {value_of_lane(d.x, lane), value_of_lane(d.y, lane), value_of_lane(d.z, lane)};
  }

  // The decisions of 32 trials in order, by one warp (Algorithm 4): the vote of trial l
  // determines which of the two prepared terms of equation 2 the others add for ion l. With a
  // vacuum around each decision also takes the dipole moment of its time.
  template <bool Vacuum>
  __device__ void decide(int part, MoveCounts& counts) {
    const int row = 32 * part + lane, which = part & 1;
    const int mine = m.ion[row];
    const Site at = m.own[row];
    const Site then = m.trial[row];
    const std::int64_t most = m.most[row];
    // Rows of terms with l >= lane are 0: after its turn a lane's sum stays as it was decided.
    std::int64_t change = signed_for(at, m.change[row]);
    unsigned blocked = m.overlap[row] || mine < 0, moved = 0;
    [[maybe_unused]] Dipole dipole{}, gain{};
    [[maybe_unused]] std::int64_t from_vacuum = 0;
    if constexpr (Vacuum) {
      dipole = part == 0 ? dipole_before() : m.dipole;
      if (mine >= 0) gain = dipole_gain(r, at, then, a.image + 3 * static_cast<std::size_t>(mine));
    }
#pragma unroll(Vacuum ? 1 : 8)
    for (int l = 0; l < 32; ++l) {
      const std::int64_t if_stays = m.stays[which][32 * l + lane],
                         if_moves = m.moves[which][32 * l + lane];
      const unsigned stays_overlap = m.stays_overlap[which][l] >> lane & 1,
                     moves_overlap = m.moves_overlap[which][l] >> lane & 1;
      std::int64_t whole = change;
      if constexpr (Vacuum) {
        // Lanes before l have had their turn and keep the term of that.
        if (lane >= l) from_vacuum = signed_for(at, dipole_term(r, at.charge, dipole, gain));
        whole = wrapping_sum(change, from_vacuum);
      }
      // Equation 1, sign(z) dphi <= -ln(u) / (|z| strength), for all lanes at once. Only the vote
      // of lane l counts: it has the terms of all before it.
      const unsigned votes = __ballot_sync(kWholeWarp, (blocked == 0) & (whole <= most));
      const unsigned moves = votes >> l & 1;
      moved |= moves << l;
      if constexpr (Vacuum)
        if (moves) dipole = dipole + of_lane(gain, l);
      change = wrapping_sum(change, moves ? if_moves : if_stays);
      blocked |= moves ? moves_overlap : stays_overlap;
    }
    if constexpr (Vacuum) {
      change = wrapping_sum(change, from_vacuum);
      if (lane == 0) m.dipole = dipole;
      // The last part hands the moment on to the next group, wherever that is decided.
      if (lane == 0 && 32 * (part + 1) == S)
        for (int d = 0; d < peers.count; ++d) *peers.dipole[d] = dipole;
    }
    if (moved >> lane & 1) {
      m.own[row] = then;
      // Written past the first-level cache, where the blocks of the later groups read it.
      for (int d = 0; d < peers.count; ++d) {
        __stcg(reinterpret_cast<float4*>(peers.partner[d]) + group * S + row,
               make_float4(then.x, then.y, then.z, then.charge));
        peers.site[d][mine] = then;
        if constexpr (Vacuum)
          follow(r, at, then, peers.image[d] + 3 * static_cast<std::size_t>(mine));
      }
      // dE = |z| sign(z) dphi, in quanta.
      counts.add_accepted(nearest_integer(abs_of(at.charge) * static_cast<double>(change)));
    }
  }

  // Rows after part `part` of the group see its ions as decided.
  __device__ void lower_triangle(const Pairs<Double, B>& pairs, int part) {
    if (i < 32 * (part + 1)) return;  // whole bundles of Eta threads
    std::int64_t gained = 0;
    bool hit = false;
    for (int l = e; l < 32; l += Eta) {
      const int j = 32 * part + l;
      const Partner<Double> g = as_partner<Double>(m.own[j]);
      const auto now = pairs.to(g);
      gained = wrapping_sum(gained, pairs.change(g, now));
      if (static_cast<float>(now.squared) < r.surely_free)
        hit = hit || exact_overlap(r, a.radius, to, ion, m.own[j], m.ion[j]);
    }
    store(gained, hit, true);
  }

  // Sums over the threads of a trial; only whole bundles of Eta threads come here.
  __device__ void store(std::int64_t sum, bool hit, bool on_top) {
    // The Eta threads of a trial are neighbors in a warp.
    const unsigned bundle = ((1u << Eta) - 1) << (lane / Eta * Eta);
    sum = warp_sum_wrapping<Eta>(sum, bundle);
    const bool any = __ballot_sync(bundle, hit) != 0;
    if (e != 0) return;
    m.change[i] = on_top ? wrapping_sum(m.change[i], sum) : sum;
    m.overlap[i] = (on_top && m.overlap[i]) || any;
  }

  // Algorithm 5. In its last three parts only the decisions of 32 trials at a time are serial;
  // other warps prepare the next 32 meanwhile.
  __device__ void run(unsigned groups, unsigned tiles) {
    MoveCounts counts{};
    const Pairs<Double, B> pairs(r, rest, from, to);
    add_tiles<false>(pairs, group + 1, groups);  // overlaps with later ions have been found already
    // Ions that stay in this sweep lie behind the candidates' groups.
    add_tiles<true>(pairs, groups, tiles);
    upper_triangle(pairs);
    prepare(0, 0);
    add_decided(pairs);
    store(change, overlap, false);
    // The first warp decides by the sums of all trials.
    __syncthreads();
    for (int part = 0; part < S / 32; ++part) {
      // One warp decides 32 trials in order, while the others add up the sums of the next ones.
      if (warp == 0)
        B == Space::ewald&& r.vacuum != 0 ? decide<B == Space::ewald>(part, counts)
                                          : decide<false>(part, counts);
      else if (32 * (part + 1) < S)
        prepare(part + 1, 1);
      // Later trials see where the 32 that are decided have gone,
      __syncthreads();
      if (32 * (part + 1) < S) {
        lower_triangle(pairs, part);
        // and their sums are complete before they are decided.
        __syncthreads();
      }
    }
    if (tid == 0) Progress{a, peers}.announce(group);
    if (warp == 0 && counts.accepted) {
      atomicAdd(&a.counts->accepted, counts.accepted);
      add_energy(a.counts, counts);
    }
  }
};

// The decisions of a group, which a block chooses by its ticket.
template <bool Double, Space B, int S, int Eta>
__device__ void decide_group(const Rules& r, const ChainArrays& a, const PeerArrays& peers) {
  extern __shared__ float4 memory[];
  auto& m = *reinterpret_cast<GroupMemory<Double, S>*>(memory);
  // Groups are dealt to the devices in turn: block b of device d decides group b devices + d.
  if (threadIdx.x == 0) m.block = atomicAdd(a.ticket, 1u);
  __syncthreads();
  const unsigned count = *a.count, groups = groups_of<S>(count),
                 group = m.block * peers.count + peers.own;
  if (group >= groups) return;
  // The candidates fill whole groups, holes included; the other ions follow.
  const unsigned places = groups * S + (a.ions - count);
  auto rest = rest_for<Double>(r);
  if constexpr (B == Space::ewald) rest = in_shared_memory(rest, &m + 1);
  Group<Double, B, S, Eta>(r, a, peers, m, rest, group).run(groups, (places + S - 1) / S);
}

template <bool Double, Space B, int S, int Eta>
__global__ void __launch_bounds__(S* Eta, blocks_wanted(Double, B, S* Eta))
    brush_kernel(const __grid_constant__ Rules r, const __grid_constant__ ChainArrays a,
                 const __grid_constant__ PeerArrays peers) {
  decide_group<Double, B, S, Eta>(r, a, peers);
}

}  // namespace
}  // namespace manymove::coulomb
