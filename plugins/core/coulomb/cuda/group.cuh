// SPDX-License-Identifier: BSD-3-Clause
// A group of trials of the brush: the work of one block. It sums the pairs with ions that stand
// still until the group is decided and with those of earlier groups as they are decided, and decides
// its trials in rounds, with bounds for what the trials before them can still do (rounds.h). What it
// decides the others read at once, from one word per 32 trials.
#pragma once

#include "kernels.cuh"

namespace manymove::coulomb {
namespace {

// With a vacuum around the images: what the dipole moment adds, beside the pairs.
template <int Slots, int S>
struct VacuumMemory {
  Range range[Slots][S];
  Dipole dipole;  // after the groups that are added
};
struct NoVacuum {};

// What a block holds in shared memory.
template <bool Double, Space B, int S>
struct GroupMemory {
  static constexpr int kWords = S / 32;  // of the outcomes of a group
  static constexpr int kWindow = S == 64 ? 8 : 32 / kWords;  // groups before this one with bounds
  static constexpr int kSlots = kWindow + 1;                 // the last one is the group itself
  alignas(16) Partner<Double> tile[2][S];
  alignas(16) Site own[S];
  alignas(16) Site trial[S];
  std::int64_t change[S], most[S];
  // What the trials of a slot can still do to those of this group, for these outcomes.
  Range range[kSlots][S];
  Hits hits[kSlots][S];
  Outcomes used[kSlots][kWords];
  Outcomes seen[32];  // of the groups from the first on that is not yet added
  unsigned overlap[S];
  std::int32_t ion[S];
  unsigned open[kWords], moved[kWords];  // bit per row
  unsigned char row[S];                  // those that bounds are to be computed for
  unsigned rows, ready, stale, block;
  std::conditional_t<B == Space::ewald, VacuumMemory<kSlots, S>, NoVacuum> vacuum;
};

template <bool Double, Space B, int S, int Eta>
struct GroupOfTrials {
  using Memory = GroupMemory<Double, B, S>;
  using Rest = SmoothRest<typename Partner<Double>::Real>;
  static constexpr int kWords = Memory::kWords, kWindow = Memory::kWindow;
  static constexpr int kSums = 16;  // of add_tile(): a lane of bounds() has one of them

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
      m.row[i] = static_cast<unsigned char>(i);
      m.change[i] = 0;
      m.overlap[i] = 0;
    }
    if (tid < kWords) {
      m.open[tid] = ~0u;
      m.moved[tid] = 0;
    }
    if constexpr (B == Space::ewald)
      if (tid == 0 && in_vacuum()) m.vacuum.dipole = *b.dipole;
    __syncthreads();
  }

  __device__ bool in_vacuum() const { return B == Space::ewald && r.vacuum != 0; }

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

  // One warp: the dipole moment follows the groups from `begin` on that are decided.
  __device__ void add_dipole(unsigned begin, unsigned groups) {
    if constexpr (B == Space::ewald) {
      Dipole sum{};
      for (unsigned k = lane; k < groups * S; k += 32)
        if (has_moved(m.seen[k / 32], lane)) sum = sum + b.gain[begin * S + k];
      MM_UNROLL
      for (int step = 16; step > 0; step /= 2)
        sum = sum + Dipole{__shfl_xor_sync(0xffffffffu, sum.x, step),
                           __shfl_xor_sync(0xffffffffu, sum.y, step),
                           __shfl_xor_sync(0xffffffffu, sum.z, step)};
      if (lane == 0) m.vacuum.dipole = m.vacuum.dipole + sum;
    }
  }
  // When the trial of a row comes, all before it being decided.
  __device__ Dipole dipole_before(int row) const {
    if constexpr (B == Space::ewald) {
      Dipole dipole = m.vacuum.dipole;
      for (int j = 0; j < row; ++j)
        if (has_moved(m.used[kWindow][j / 32], j % 32)) dipole = dipole + b.gain[group * S + j];
      return dipole;
    } else {
      return {};
    }
  }
  __device__ std::int64_t exact_dipole_term(int row) const {
    return dipole_term(r, m.own[row].charge, dipole_before(row), b.gain[group * S + row]);
  }

  // ---- rounds ----------------------------------------------------------------------------------

  __device__ unsigned first_slot() const { return group > kWindow ? group - kWindow : 0; }
  __device__ unsigned group_of_slot(int slot) const {
    return slot == kWindow ? group : first_slot() + slot;
  }

  // One warp: what is decided of the groups from `done` on, m.ready of them as a whole; and the
  // slots whose bounds are not those of these outcomes. Bounds that are too wide are bounds.
  __device__ void look(unsigned done, unsigned& filled) {
    const unsigned at = done * kWords + lane;
    Outcomes word = 0;
    if (at < group * kWords) word = outcomes(b, at);
    m.seen[lane] = word;
    const unsigned whole = __ballot_sync(0xffffffffu, all_decided(word));
    const unsigned ready = ~whole ? (__ffs(~whole) - 1) / kWords : 32 / kWords, begin = done;
    done += ready;
    const bool near = done >= first_slot();
    // A lane per slot. One slot at a time while the others are far away.
    const unsigned of = lane <= kWindow ? group_of_slot(lane) : 0;
    const bool waits = lane == kWindow || (lane < kWindow && of >= done && of < group),
               fresh = waits && !(filled >> lane & 1);
    const int first_fresh = __ffs(__ballot_sync(0xffffffffu, fresh)) - 1;
    bool stale = fresh && (near || lane == first_fresh);
    if (waits) {
      Outcomes now[kWords];
      for (int k = 0; k < kWords; ++k) {
        const unsigned index = (of - begin) * kWords + k;
        now[k] = lane == kWindow ? own_outcomes(k) : index < 32 ? m.seen[index] : 0;
        stale = stale || (near && now[k] != m.used[lane][k]);
      }
      if (stale)
        for (int k = 0; k < kWords; ++k) m.used[lane][k] = now[k];
    }
    const unsigned all = __ballot_sync(0xffffffffu, stale);
    filled |= all;
    if (lane == 0) {
      m.ready = ready;
      m.stale = all;
    }
    // Far behind.
    if (all == 0 && ready == 0 && first_slot() > done + kWindow) __nanosleep(300);
  }
  __device__ Outcomes own_outcomes(int k) const {
    return (Outcomes{m.moved[k]} << 32) | static_cast<std::uint32_t>(~m.open[k]);
  }

  // What the trials of a slot can do to that of a row, by 16 lanes. In the group itself only those
  // before the row, pair by pair.
  template <bool Own>
  __device__ void bound(int row, int slot) {
    constexpr bool kIntegers = Double || Own;
    const unsigned tile = group_of_slot(slot);
    const Site then = m.trial[row];
    const Pairs<Double, B> pairs(r, rest, m.own[row], then);
    Range range{0, 0};
    [[maybe_unused]] FloatRange sums{0, 0};
    [[maybe_unused]] DipoleSum dipole{0, 0, 0};
    Hits hits{false, false};
    MM_NO_UNROLL
    for (int j = lane % kSums; j < (Own ? row : S); j += kSums) {
      const unsigned place = tile * S + j;
      const Site other[2] = {Own ? m.own[j] : b.partner[place], Own ? m.trial[j] : b.goal[place]};
      const Partner<Double> g[2] = {as_partner<Double>(other[0]), as_partner<Double>(other[1])};
      const Separation<typename Partner<Double>::Real> now[2] = {pairs.to(g[0]), pairs.to(g[1])};
      bool hit[2];
      for (int k = 0; k < 2; ++k)
        hit[k] = static_cast<float>(now[k].squared) < r.surely_free &&
                 exact_overlap(r, b, then, m.ion[row], other[k], b.ion[place]);
      Choices choices = Choices::of(m.used[slot][j / 32], j % 32);
      choices.without(hit[0], hit[1], hits);
      if (!choices.stays && !choices.moves) continue;
      if constexpr (B == Space::ewald)
        if (in_vacuum())
          add_choice(dipole, r, then.charge, b.gain[group * S + row], choices, b.gain[place]);
      if constexpr (kIntegers) {
        const std::int64_t stays = choices.stays ? pairs.change(g[0], now[0]) : 0,
                           moves = choices.moves ? pairs.change(g[1], now[1]) : 0;
        add_choice(range, choices, stays, moves);
      } else {
        float potential[4];
        pairs.template potentials<2>(g, now, potential);
        add_choice(sums, choices, g[0].charge, {potential[0], potential[2]},
                   {potential[1], potential[3]});
      }
    }
    if constexpr (!kIntegers)
      range = {to_fixed(sums.least, r.magic), to_fixed(sums.most, r.magic)};
    const unsigned half = 0xffffu << (lane & 16);
    const auto sum_of_lanes = [&](Range a) {
      MM_UNROLL
      for (int step = kSums / 2; step > 0; step /= 2)
        a = a + Range{__shfl_xor_sync(half, a.least, step, kSums),
                      __shfl_xor_sync(half, a.most, step, kSums)};
      return a;
    };
    range = sum_of_lanes(range);
    if constexpr (B == Space::ewald)
      if (in_vacuum()) {
        const Range whole = sum_of_lanes(range_of(dipole));
        if (lane % kSums == 0) m.vacuum.range[slot][row] = whole;
      }
    const bool possible = __ballot_sync(half, hits.possible) != 0,
               certain = __ballot_sync(half, hits.certain) != 0;
    if (lane % kSums == 0) {
      m.range[slot][row] = range;
      m.hits[slot][row] = {possible, certain};
    }
  }
  // Those of the rows m.row for the slots of a mask.
  __device__ void bounds(unsigned slots, unsigned rows) {
    const unsigned count = __popc(slots);
    for (unsigned task = tid / kSums; task < count * rows; task += S * Eta / kSums) {
      unsigned left = slots;
      for (unsigned skip = task / rows; skip > 0; --skip) left &= left - 1;
      const int slot = __ffs(left) - 1, row = m.row[task % rows];
      if (slot == kWindow)
        bound<true>(row, slot);
      else
        bound<false>(row, slot);
    }
  }

  // For the outcomes that the bounds are for.
  __device__ bool is_first_open(int row) const {
    for (int k = 0; k < row / 32; ++k)
      if (!all_decided(m.used[kWindow][k])) return false;
    const unsigned before = (1u << (row % 32)) - 1;
    return (m.used[kWindow][row / 32] & before) == before;
  }
  // A thread per row: decides what can be. Returns whether something was.
  __device__ bool judge_rows(unsigned done) {
    bool news = false;
    if (warp < kWords) {
      const int row = tid;
      Outcome outcome = Outcome::open;
      if (m.open[warp] >> lane & 1) {
        Range range = exactly(m.change[row]);
        Hits hits{false, m.overlap[row] || m.ion[row] < 0};
        [[maybe_unused]] Range dipole{0, 0};
        for (int slot = 0; slot <= kWindow; ++slot) {
          const unsigned of = group_of_slot(slot);
          if (slot < kWindow && (of < done || of >= group)) continue;
          range = range + m.range[slot][row];
          hits.possible = hits.possible || m.hits[slot][row].possible;
          hits.certain = hits.certain || m.hits[slot][row].certain;
          if constexpr (B == Space::ewald)
            if (in_vacuum()) dipole = dipole + m.vacuum.range[slot][row];
        }
        const float charge = m.own[row].charge;
        if constexpr (B == Space::ewald)
          if (in_vacuum())
            dipole = dipole +
                     dipole_range(r, charge, m.vacuum.dipole, b.gain[group * S + row]);
        outcome = judge(signed_for(charge, range + dipole), m.most[row], hits);
        // The bounds of the dipole moment's term are never a single value.
        if constexpr (B == Space::ewald)
          if (in_vacuum() && needs_sum(outcome, done < group || !is_first_open(row)))
            outcome = judge(signed_for(charge, range + exactly(exact_dipole_term(row))),
                            m.most[row], hits);
      }
      const unsigned stays = __ballot_sync(0xffffffffu, outcome == Outcome::stays),
                     moves = __ballot_sync(0xffffffffu, outcome == Outcome::moves);
      news = stays | moves;
      if (lane == 0 && news) {
        m.open[warp] &= ~(stays | moves);
        m.moved[warp] |= moves;
        announce(devices, group * kWords + warp, own_outcomes(warp));
      }
    }
    return __syncthreads_or(news);
  }
  // m.row are those of a mask.
  __device__ void list_rows(const unsigned (&mask)[kWords]) {
    if (warp < kWords) {
      unsigned before = 0;
      for (int k = 0; k < warp; ++k) before += __popc(mask[k]);
      const unsigned mine = mask[warp];
      if (mine >> lane & 1)
        m.row[before + __popc(mine & ((1u << lane) - 1))] = static_cast<unsigned char>(tid);
      if (warp == kWords - 1 && lane == 0) m.rows = before + __popc(mine);
    }
    __syncthreads();
  }

  __device__ void decide(const Pairs<Double, B>& pairs) {
    unsigned done = 0, rows = S, filled = 0;
    while (done < group || rows > 0) {
      if (warp == 0) look(done, filled);
      __syncthreads();
      const unsigned ready = m.ready, begin = done;
      unsigned stale = m.stale;
      if (ready > 0) {
        add_tiles<true>(pairs, begin, begin + ready, [&](unsigned place) {
          const Outcomes word = m.seen[place / 32 - begin * kWords];
          return has_moved(word, place % 32) ? b.goal[place] : b.partner[place];
        });
        store();
        if (in_vacuum() && warp == 0) add_dipole(begin, ready);
        done += ready;
      }
      while (rows > 0) {
        bounds(stale, rows);
        __syncthreads();
        if (done < first_slot()) break;
        const bool news = judge_rows(done);
        if (!news) break;
        list_rows(m.open);
        rows = m.rows;
        // Those of the group itself that now know more.
        if (tid < kWords) m.used[kWindow][tid] = own_outcomes(tid);
        stale = 1u << kWindow;
        __syncthreads();
      }
      __syncthreads();
    }
  }

  // All is decided: what moved moves, by a thread per row.
  __device__ void finish() {
    list_rows(m.moved);
    if (tid < kWords) m.used[kWindow][tid] = own_outcomes(tid);
    __syncthreads();
    bounds(1u << kWindow, m.rows);
    __syncthreads();
    if (warp >= kWords) return;
    const int row = tid;
    if (!(m.moved[warp] >> lane & 1)) return;
    const Site at = m.own[row], then = m.trial[row];
    std::int64_t whole = wrapping_sum(m.change[row], m.range[kWindow][row].least);
    if (in_vacuum()) whole = wrapping_sum(whole, exact_dipole_term(row));
    const std::int64_t energy = nearest_integer(at.charge * static_cast<double>(whole));
    for (int d = 0; d < devices.count; ++d) {
      devices.site[d][m.ion[row]] = then;
      if (in_vacuum())
        follow(r, at, then, devices.image[d] + 3 * static_cast<std::size_t>(m.ion[row]));
    }
    atomicAdd(&b.tally->accepted, 1ull);
    atomicAdd(&b.tally->low, static_cast<unsigned long long>(energy) & 0xffffffffu);
    atomicAdd(reinterpret_cast<unsigned long long*>(&b.tally->high),
              static_cast<unsigned long long>(energy >> 32));
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
    finish();
    if (in_vacuum() && group + 1 == groups && tid == 0) {
      const Dipole dipole = dipole_before(S);
      for (int d = 0; d < devices.count; ++d) *devices.dipole[d] = dipole;
    }
    if (tid == 0) *static_cast<volatile unsigned*>(b.decided) = group + 1;
  }
};

// Blocks on a multiprocessor. In float64 Ewald's potential needs registers more than it needs other
// blocks.
constexpr int blocks_side_by_side(bool exact, Space space, int threads) {
  if (space == Space::ewald && exact) return threads < 512 ? 512 / threads : 1;
  return threads == 256 ? (exact ? 3 : 4) : 1024 / threads;
}

template <bool Double, Space B, int S, int Eta>
__global__ void __launch_bounds__(S* Eta, blocks_side_by_side(Double, B, S* Eta))
    brush_kernel(const __grid_constant__ Rules r, const __grid_constant__ Buffers b,
                 const __grid_constant__ Devices devices) {
  extern __shared__ float4 memory[];
  auto& m = *reinterpret_cast<GroupMemory<Double, B, S>*>(memory);
  if (threadIdx.x == 0) m.block = atomicAdd(b.ticket, 1u);
  __syncthreads();
  const unsigned count = *b.count, groups = groups_of<S>(count),
                 group = m.block * devices.count + devices.own;
  if (group >= groups) return;
  const unsigned places = groups * S + (b.particles - count);
  auto rest = rest_for<Double>(r);
  if constexpr (B == Space::ewald) rest = in_shared_memory(rest, &m + 1);
  GroupOfTrials<Double, B, S, Eta>(r, b, devices, m, rest, group).run(groups, (places + S - 1) / S);
}

}  // namespace
}  // namespace manymove::coulomb
