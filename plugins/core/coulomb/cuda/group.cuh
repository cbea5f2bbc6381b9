// SPDX-License-Identifier: BSD-3-Clause
// A group of trials of the brush: the work of one block. It sums the pairs with ions that stand
// still until the group is decided, and with those of earlier groups as they are decided.
#pragma once

#include "rounds.cuh"

namespace manymove::coulomb {
namespace {

template <bool Double, Space B, int S, int Eta>
struct GroupOfTrials {
  using Memory = GroupMemory<Double, B, S>;
  using Rest = SmoothRest<typename Partner<Double>::Real>;
  static constexpr int kWords = Memory::kWords;

  const Rules& r;
  const Buffers& b;
  const Devices& devices;
  Memory& m;
  const Rest& rest;
  const int tid = threadIdx.x, i = tid / Eta, e = tid % Eta, lane = tid % 32, warp = tid / 32;
  unsigned group;
  int ion;  // of row i
  Site from, to;
  int buffer = 0;
  std::int64_t change = 0;
  bool overlap = false;

  __device__ GroupOfTrials(const Rules& r, const Buffers& b, const Devices& devices, Memory& m,
                           const Rest& rest, unsigned group)
      : r(r), b(b), devices(devices), m(m), rest(rest), group(group) {
    const unsigned place = group * S + i;
    ion = b.ion[place];
    from = b.partner[place];
    to = b.goal[place];
    if (e == 0) {
      m.own[i] = from;
      m.trial[i] = to;
      m.ion[i] = ion;
      m.most[i] = ion >= 0 ? b.most[ion] : 0;
      m.change[i] = 0;
      m.overlap[i] = 0;
    }
    if (tid < kWords) m.outcome[tid] = 0;
    if (tid == 0) m.filled = 0;
    __syncthreads();
  }

  template <bool Check>
  __device__ void add_pairs_of_tile(const Pairs<Double, B>& pairs, unsigned tile) {
    float nearest2 = 3e38f;
    add_tile<Check, Double, B, S, Eta>(pairs, m.tile[buffer], e, change, nearest2);
    if constexpr (Check)
      if (nearest2 < r.surely_free)
        for (int j = e; j < S; j += Eta) {
          const Partner<Double>& g = m.tile[buffer][j];
          const Site other{static_cast<float>(g.x), static_cast<float>(g.y),
                           static_cast<float>(g.z), 0};
          overlap = overlap || exact_overlap(r, b, to, ion, other, b.ion[tile * S + j]);
        }
    buffer = 1 - buffer;
  }

  // Tiles of ions at the places that `site_of` tells.
  template <bool Check, class SiteOf>
  __device__ void add_tiles(const Pairs<Double, B>& pairs, unsigned begin, unsigned end,
                            const SiteOf& site_of) {
    if (begin >= end) return;
    Site ahead;
    if (tid < S) ahead = site_of(begin * S + tid);
    for (unsigned tile = begin; tile < end; ++tile) {
      if (tid < S) m.tile[buffer][tid] = as_partner<Double>(ahead);
      __syncthreads();
      if (tid < S && tile + 1 < end) ahead = site_of((tile + 1) * S + tid);
      add_pairs_of_tile<Check>(pairs, tile);
    }
  }

  __device__ void upper_triangle(const Pairs<Double, B>& pairs) {
    for (int j = e; j < S; j += Eta) {
      const Partner<Double> g = as_partner<Double>(m.own[j]);
      const std::int64_t term = pairs.change(g, pairs.to(g));
      if (j > i) change = wrapping_sum(change, term);
    }
  }

  // The sums over the threads of a trial go to those of the group.
  __device__ void store() {
    const unsigned bundle = ((1u << Eta) - 1) << (lane / Eta * Eta);
    MM_UNROLL
    for (int step = Eta / 2; step > 0; step /= 2)
      change = wrapping_sum(change, __shfl_xor_sync(bundle, change, step, Eta));
    const bool any = __ballot_sync(bundle, overlap) != 0;
    if (e == 0) {
      m.change[i] = wrapping_sum(m.change[i], change);
      m.overlap[i] = m.overlap[i] || any;
    }
    change = 0;
    overlap = false;
  }

  template <RoundStep Step>
  __device__ void round(unsigned done) {
    round_step<Step, Double, B, S, Eta>(r, b, devices, m, rest, group, done);
  }

  __device__ void decide(const Pairs<Double, B>& pairs) {
    unsigned done = 0;
    bool open = true;
    while (done < group || open) {
      if (warp == 0) round<RoundStep::look>(done);
      __syncthreads();
      const unsigned begin = done, end = begin + m.ready;
      if (end > begin) {
        add_tiles<true>(pairs, begin, end, [&](unsigned place) {
          const Outcomes word = m.seen[place / 32 - begin * kWords];
          return has_moved(word, place % 32) ? b.goal[place] : b.partner[place];
        });
        store();
        done = end;
      }
      if (open && m.fresh) round<RoundStep::bounds>(done);
      __syncthreads();
      if (!open || done + Memory::kSlots <= group) continue;
      open = false;
      round<RoundStep::decide>(done);
    }
  }

  __device__ void run(unsigned groups, unsigned tiles) {
    const Pairs<Double, B> pairs(r, rest, from, to);
    const auto at_start = [&](unsigned place) { return b.partner[place]; };
    // Overlaps with later ions have been found already.
    add_tiles<false>(pairs, group + 1, groups, at_start);
    add_tiles<true>(pairs, groups, tiles, at_start);
    upper_triangle(pairs);
    store();
    decide(pairs);
    round<RoundStep::finish>(group);
    if (tid == 0) *static_cast<volatile unsigned*>(b.decided) = group + 1;
  }
};

template <bool Double, Space B, int S, int Eta>
__global__ void __launch_bounds__(S* Eta, blocks_side_by_side(Double, B, S* Eta))
    rounds_kernel(const __grid_constant__ Rules r, const __grid_constant__ Buffers b,
                  const __grid_constant__ Devices devices) {
  extern __shared__ float4 memory[];
  auto& m = *reinterpret_cast<GroupMemory<Double, B, S>*>(memory);
  if (threadIdx.x == 0) m.block = atomicAdd(b.ticket, 1u);
  __syncthreads();
  const unsigned count = *b.count, groups = groups_of<S>(count),
                 group = m.block * devices.count + devices.own;
  if (group >= groups) return;
  const unsigned places = groups * S + (b.particles - count);
  const auto rest = rest_for<Double>(r);
  GroupOfTrials<Double, B, S, Eta>(r, b, devices, m, rest, group).run(groups, (places + S - 1) / S);
}

}  // namespace
}  // namespace manymove::coulomb
