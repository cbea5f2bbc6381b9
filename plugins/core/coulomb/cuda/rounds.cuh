// SPDX-License-Identifier: BSD-3-Clause
// How the block of a group of trials decides them in rounds (rounds.h), with bounds for what the
// trials before them can still do. What it decides the others read at once, from one word per 32
// trials.
#pragma once

#include "kernels.cuh"

namespace manymove::coulomb {
namespace {

// What a block holds in shared memory.
template <bool Double, Space B, int S>
struct GroupMemory {
  static constexpr int kWords = S / 32;   // of the outcomes of a group
  static constexpr int kSlots = 512 / S;  // groups whose open trials have bounds, this one the last
  alignas(16) Partner<Double> tile[2][S];
  alignas(16) Site own[S];
  alignas(16) Site trial[S];
  std::int64_t change[S], most[S];
  // What the trials of a slot can still do to those of this group, for the outcomes `used`.
  Range range[kSlots][S];
  Hits hits[kSlots][S];
  Outcomes used[kSlots][kWords];
  Outcomes seen[32];  // of the groups from the first on that is not yet added
  Outcomes outcome[kWords];
  unsigned overlap[S];
  std::int32_t ion[S];
  unsigned char row[S];  // a list of `rows` rows
  unsigned rows, next, ready, fresh, filled, block;
};

template <bool Double, Space B, int S, int Eta>
struct Rounds {
  using Memory = GroupMemory<Double, B, S>;
  using Real = typename Partner<Double>::Real;
  static constexpr int kWords = Memory::kWords, kSlots = Memory::kSlots, kWindow = kSlots - 1;
  static constexpr int kSums = 16;  // of add_tile(): a lane of bound() has one of them

  const Rules& r;
  const Buffers& b;
  const Devices& devices;
  Memory& m;
  const SmoothRest<Real> rest;
  const unsigned group;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

  __device__ Rounds(const Rules& r, const Buffers& b, const Devices& devices, Memory& m,
                    const SmoothRest<Real>& rest, unsigned group)
      : r(r), b(b), devices(devices), m(m), rest(rest), group(group) {}

  __device__ unsigned first_slot() const { return group > kWindow ? group - kWindow : 0; }
  __device__ unsigned group_of_slot(int slot) const {
    return slot == kWindow ? group : first_slot() + slot;
  }

  // The outcomes of 32 places of this group or one before.
  __device__ Outcomes outcome_of(unsigned word) const {
    const unsigned own = word - group * kWords;
    return word < group * kWords ? outcomes(b, word)
                                 : *static_cast<const volatile Outcomes*>(m.outcome + own);
  }

  // One warp: what is decided of the groups from `done` on, m.ready of them as a whole; and the
  // slots m.fresh that have no bounds yet and are to get them, one at a time while those groups are
  // far away.
  __device__ void look(unsigned done) {
    const unsigned begin = done, at = done * kWords + lane;
    const Outcomes word = at < group * kWords ? outcomes(b, at) : 0;
    m.seen[lane] = word;
    __syncwarp();
    const unsigned whole = __ballot_sync(0xffffffffu, all_decided(word));
    const unsigned ready = ~whole ? (__ffs(~whole) - 1) / kWords : 32 / kWords;
    done += ready;
    const unsigned of = lane < kSlots ? group_of_slot(lane) : 0;
    const bool missing = lane < kSlots && waits(lane, done) && !(m.filled >> lane & 1);
    unsigned fresh = __ballot_sync(0xffffffffu, missing);
    if (done < first_slot()) fresh &= ~fresh + 1;
    if (fresh >> lane & 1)
      for (int k = 0; k < kWords; ++k) {
        const unsigned index = (of - begin) * kWords + k;
        m.used[lane][k] = lane != kWindow && index < 32 ? m.seen[index] : 0;
      }
    if (lane == 0) {
      m.filled |= fresh;
      m.ready = ready;
      m.fresh = fresh;
    }
    if (fresh == 0 && ready == 0 && first_slot() > done + 4) __nanosleep(300);
  }
  // Whether a slot has trials that may be open.
  __device__ bool waits(int slot, unsigned done) const {
    const unsigned of = group_of_slot(slot);
    return slot == kWindow || (of >= done && of < group);
  }

  // What the trials of a slot can do to that of a row, by 16 lanes. In the group itself only those
  // before the row, pair by pair.
  // word_of: the outcomes of 32 trials of the slot.
  template <bool Own, class WordOf>
  __device__ void bound(int row, int slot, const WordOf& word_of) {
    constexpr bool kIntegers = Double || Own;
    const unsigned tile = group_of_slot(slot);
    const Site then = m.trial[row];
    const Pairs<Double, B> pairs(r, rest, m.own[row], then);
    Range range{0, 0};
    [[maybe_unused]] FloatRange sums{0, 0};
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
      Choices choices = Choices::of(word_of(j / 32), j % 32);
      choices.without(hit[0], hit[1], hits);
      if (!choices.stays && !choices.moves) continue;
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
    if constexpr (!kIntegers) range = {to_fixed(sums.least, r.magic), to_fixed(sums.most, r.magic)};
    const unsigned half = 0xffffu << (lane & 16);
    MM_UNROLL
    for (int step = kSums / 2; step > 0; step /= 2)
      range = range + Range{__shfl_xor_sync(half, range.least, step, kSums),
                            __shfl_xor_sync(half, range.most, step, kSums)};
    const bool possible = __ballot_sync(half, hits.possible) != 0,
               certain = __ballot_sync(half, hits.certain) != 0;
    if (lane % kSums == 0) {
      m.range[slot][row] = range;
      m.hits[slot][row] = {possible, certain};
    }
  }
  template <class WordOf>
  __device__ void bound(int row, int slot, const WordOf& word_of) {
    if (slot == kWindow)
      bound<true>(row, slot, word_of);
    else
      bound<false>(row, slot, word_of);
  }
  // Those of all rows for the slots of a mask.
  __device__ void bounds(unsigned slots) {
    for (; slots; slots &= slots - 1) {
      const int slot = __ffs(slots) - 1;
      for (int row = tid / kSums; row < S; row += S * Eta / kSums)
        bound(row, slot, [&](int k) { return m.used[slot][k]; });
    }
  }

  // What is known of a row beside the trials of its group and of those from `done` on.
  struct Known {
    Range pairs;
    Hits hits;
  };
  __device__ Known known(int row, unsigned done) const {
    Known all{exactly(m.change[row]), {false, m.overlap[row] || m.ion[row] < 0}};
    for (int slot = 0; slot < kSlots; ++slot) {
      if (!waits(slot, done)) continue;
      all.pairs = all.pairs + m.range[slot][row];
      all.hits.possible = all.hits.possible || m.hits[slot][row].possible;
      all.hits.certain = all.hits.certain || m.hits[slot][row].certain;
    }
    return all;
  }

  // The first round, a thread per row; m.row are the rows that are left.
  __device__ void judge_rows(unsigned done) {
    Outcome outcome = Outcome::open;
    if (warp < kWords) {
      const int row = tid;
      const Known now = known(row, done);
      outcome = judge(signed_for(m.own[row].charge, now.pairs), m.most[row], now.hits);
      const unsigned stays = __ballot_sync(0xffffffffu, outcome == Outcome::stays),
                     moves = __ballot_sync(0xffffffffu, outcome == Outcome::moves);
      if (lane == 0) {
        m.outcome[warp] = Outcomes{moves} << 32 | stays | moves;
        announce(devices, group * kWords + warp, m.outcome[warp]);
      }
    }
    __syncthreads();
    list_rows([&](int k) { return ~static_cast<unsigned>(m.outcome[k]); });
  }
  // m.row are those of a mask per 32 rows.
  template <class MaskOf>
  __device__ void list_rows(const MaskOf& mask_of) {
    if (warp < kWords) {
      unsigned before = 0;
      for (int k = 0; k < warp; ++k) before += __popc(mask_of(k));
      const unsigned mine = mask_of(warp);
      if (mine >> lane & 1)
        m.row[before + __popc(mine & ((1u << lane) - 1))] = static_cast<unsigned char>(tid);
      if (warp == kWords - 1 && lane == 0) {
        m.rows = before + __popc(mine);
        m.next = 0;
      }
    }
    __syncthreads();
  }

  // The other rounds, a warp per row, from the first row on: each round reads the outcomes of the
  // trials before it, of whatever group. What an open trial changes when it moves is kept in
  // float32; if its rounding matters when all are decided, the sum is made exactly.
  __device__ void settle(int row, unsigned done) {
    constexpr int kPairs = kSlots / 2, kTerms = S / kSums;
    constexpr float kHitIfStays = INFINITY, kHitIfMoves = -INFINITY;
    const int l = lane % kSums, half = lane / kSums;
    const Site at = m.own[row], then = m.trial[row];
    const Pairs<Double, B> pairs(r, rest, at, then);
    const float sign = at.charge > 0 ? 1.0f : -1.0f;
    const double quanta = magic_for(double{}) / r.magic;  // per unit of the potential
    float gain[kPairs][kTerms];
    unsigned open = 0;  // bit per gain
    double sum = 0, size = 0, rounded = 0;
    MM_UNROLL
    for (int p = 0; p < kPairs; ++p) {
      const int slot = 2 * p + half;
      const bool own = slot == kWindow, here = waits(slot, done);
      const unsigned first = (here ? group_of_slot(slot) : group) * S;
      MM_UNROLL
      for (int t = 0; t < kTerms; ++t) {  // without branches, so that loads and terms overlap
        const int j = l + kSums * t;
        const bool counts = here && (!own || j < row) && !is_decided(m.used[slot][j / 32], j % 32);
        open |= static_cast<unsigned>(counts) << (p * kTerms + t);
        const Site other[2] = {b.partner[first + j], b.goal[first + j]};
        const Partner<Double> g[2] = {as_partner<Double>(other[0]), as_partner<Double>(other[1])};
        const Separation<Real> now[2] = {pairs.to(g[0]), pairs.to(g[1])};
        double change, error = 0;
        if constexpr (Double) {
          change = static_cast<double>(
              wrapping_difference(pairs.change(g[1], now[1]), pairs.change(g[0], now[0])));
        } else {
          float potential[4];
          pairs.template potentials<2>(g, now, potential);
          const double unit = quanta * g[0].charge;
          change = unit * ((potential[2] - potential[0]) - (potential[3] - potential[1]));
          error = abs_of(unit) * ((potential[0] + potential[1]) + (potential[2] + potential[3]));
        }
        change = counts ? change : 0;
        const float nearest2 =
            min_of(static_cast<float>(now[0].squared), static_cast<float>(now[1].squared));
        if (counts && nearest2 < r.surely_free) {
          bool hit[2];
          for (int k = 0; k < 2; ++k)
            hit[k] = exact_overlap(r, b, then, m.ion[row], other[k], b.ion[first + j]);
          if (hit[0] || hit[1]) {
            gain[p][t] = hit[0] ? kHitIfStays : kHitIfMoves;
            continue;
          }
        }
        rounded += counts ? error : 0;
        size += abs_of(change);
        gain[p][t] = sign * static_cast<float>(change);
        sum += gain[p][t];
      }
    }
    const auto all_lanes = [](double a) {
      MM_UNROLL
      for (int step = 16; step > 0; step /= 2) a += __shfl_xor_sync(0xffffffffu, a, step);
      return a;
    };
    sum = all_lanes(sum);
    size = all_lanes(size);
    const Known start = known(row, done);
    const Range whole = signed_for(at.charge, start.pairs);
    const double threshold = static_cast<double>(m.most[row]);
    // The middle of the range is that of all gains.
    double without =
        0.5 * static_cast<double>(whole.least) + 0.5 * static_cast<double>(whole.most) - 0.5 * sum;
    double slack = 0x1p-17 * size + 0x1p-50 * (abs_of(without) + abs_of(threshold)) + 1024;
    if constexpr (!Double) slack += 0x1p-18 * all_lanes(rounded);
    Outcome outcome = Outcome::open;
    while (outcome == Outcome::open) {
      float least = 0, most = 0;
      bool possible = false, certain = false, unknown = false;
      Outcomes word[kPairs][kWords];
      MM_UNROLL
      for (int p = 0; p < kPairs; ++p) MM_UNROLL
      for (int k = 0; k < kWords; ++k) {
        const int slot = 2 * p + half;
        word[p][k] = waits(slot, done) ? outcome_of(group_of_slot(slot) * kWords + k) : 0;
      }
      MM_UNROLL
      for (int p = 0; p < kPairs; ++p) MM_UNROLL
      for (int t = 0; t < kTerms; ++t) {
        const int bit = l + kSums * (t & 1);
        const bool counts = open >> (p * kTerms + t) & 1, decided = is_decided(word[p][t / 2], bit),
                   moved = has_moved(word[p][t / 2], bit);
        const float a = gain[p][t];
        const bool hit = abs_of(a) == INFINITY;
        unknown = unknown || (counts && !decided);
        possible = possible || (hit && !decided);
        certain = certain || (hit && decided && moved == (a == kHitIfMoves));
        const float low = decided ? (moved ? a : 0.0f) : fminf(a, 0.0f),
                    high = decided ? (moved ? a : 0.0f) : fmaxf(a, 0.0f);
        least += hit ? 0.0f : low;
        most += hit ? 0.0f : high;
      }
      MM_UNROLL
      for (int step = 16; step > 0; step /= 2) {
        least += __shfl_xor_sync(0xffffffffu, least, step);
        most += __shfl_xor_sync(0xffffffffu, most, step);
      }
      possible = __any_sync(0xffffffffu, possible);
      certain = __any_sync(0xffffffffu, certain);
      unknown = __any_sync(0xffffffffu, unknown);
      if (certain || without + least - slack > threshold)
        outcome = Outcome::stays;
      else if (!possible && without + most + slack <= threshold)
        outcome = Outcome::moves;
      else if (!unknown)
        outcome = exact_outcome(row, done);
    }
    if (lane == 0) {
      const Outcomes bits = Outcomes{1} << (row % 32) | Outcomes{outcome == Outcome::moves}
                                                            << (32 + row % 32);
      auto* const word = reinterpret_cast<unsigned long long*>(m.outcome + row / 32);
      announce(devices, group * kWords + row / 32, atomicOr(word, bits) | bits);
    }
  }
  // One warp, all trials before the row being decided.
  __device__ Outcome exact_outcome(int row, unsigned done) {
    for (int slot = lane / kSums; slot < kSlots; slot += 2)
      if (waits(slot, done))
        bound(row, slot, [&](int k) { return outcome_of(group_of_slot(slot) * kWords + k); });
    __syncwarp();
    const Known now = known(row, done);
    return judge(signed_for(m.own[row].charge, now.pairs), m.most[row], now.hits);
  }

  // All trials of the group, when all but those of the slots are decided.
  __device__ void decide(unsigned done) {
    judge_rows(done);
    for (;;) {
      const unsigned k = __shfl_sync(0xffffffffu, lane == 0 ? atomicAdd(&m.next, 1u) : 0, 0);
      if (k >= m.rows) break;
      settle(m.row[k], done);
    }
    __syncthreads();
    // Warps may have written an older word last.
    if (tid < kWords) announce(devices, group * kWords + tid, m.outcome[tid]);
  }

  // All is decided: what moved moves, by a thread per row.
  __device__ void finish() {
    list_rows([&](int k) { return static_cast<unsigned>(m.outcome[k] >> 32); });
    for (unsigned k = tid / kSums; k < m.rows; k += S * Eta / kSums)
      bound(m.row[k], kWindow, [&](int word) { return m.outcome[word]; });
    __syncthreads();
    if (tid >= m.rows) return;
    const int row = m.row[tid];
    const Site at = m.own[row], then = m.trial[row];
    const std::int64_t whole = wrapping_sum(m.change[row], m.range[kWindow][row].least);
    const std::int64_t energy = nearest_integer(at.charge * static_cast<double>(whole));
    for (int d = 0; d < devices.count; ++d) devices.site[d][m.ion[row]] = then;
    atomicAdd(&b.tally->accepted, 1ull);
    atomicAdd(&b.tally->low, static_cast<unsigned long long>(energy) & 0xffffffffu);
    atomicAdd(reinterpret_cast<unsigned long long*>(&b.tally->high),
              static_cast<unsigned long long>(energy >> 32));
  }
};

enum class RoundStep { look, bounds, decide, finish };

// Not a part of the loops over pairs, which need all registers.
template <RoundStep Step, bool Double, Space B, int S, int Eta>
__device__ __noinline__ void round_step(const Rules& r, const Buffers& b, const Devices& devices,
                                        GroupMemory<Double, B, S>& m,
                                        SmoothRest<typename Partner<Double>::Real> rest,
                                        unsigned group, unsigned done) {
  Rounds<Double, B, S, Eta> rounds(r, b, devices, m, rest, group);
  if constexpr (Step == RoundStep::look) rounds.look(done);
  if constexpr (Step == RoundStep::bounds) rounds.bounds(m.fresh);
  if constexpr (Step == RoundStep::decide) rounds.decide(done);
  if constexpr (Step == RoundStep::finish) rounds.finish();
}

}  // namespace
}  // namespace manymove::coulomb
