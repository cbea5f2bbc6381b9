// SPDX-License-Identifier: BSD-3-Clause
// Swap moves of a mixture of types: two particles exchange their types, with the energies of their
// steps. Cells, sets and pairs are those of swap moves of diameters (swaps.h); section 9 of
// docs/theory/constant_pressure.md.
#pragma once

#include <vector>

#include "insertions.h"

namespace manymove::hard_particles {

// The particle of an active cell that takes part. Its type changes in the rounds of a set, and the
// label afterwards.
struct TypeCandidate {
  std::uint32_t id;
  std::int32_t slot, former, type;
};

// A set of active cells of a tile.
template <int D>
struct TypeSwaps {
  const TileOfCells& t;
  const SwapRules& rules;
  int set;
  int n[3];  // cells along the axes

  MM_HD TypeCandidate candidate(int k) const {
    int at[3];
    const CellVisit<D, Contact::table> cell = visit(k, at);
    if (cell.particles() == 0) return {kNoParticle, 0, 0, 0};
    // In the order of the indices, because a GPU's slots are in any order.
    const std::uint32_t drawn = candidate_slot<D>(t.g, t.bounds, t.tile, at, rules.cycle,
                                                  static_cast<std::uint32_t>(cell.particles()));
    int slot = 0;
    for (int s = 0; s < cell.particles(); ++s) {
      std::uint32_t before = 0;
      for (int o = 0; o < cell.particles(); ++o) before += cell.slots()[o].id < cell.slots()[s].id;
      if (before == drawn) slot = s;
    }
    const std::uint32_t id = cell.slots()[slot].id;
    const std::int32_t type = t.law.labels[id].type;
    return {id, slot, type, type};
  }

  // Whether the candidates a and b of the cells j < k exchange their types.
  MM_HD bool accepts(int round, int j, int k, const TypeCandidate& a,
                     const TypeCandidate& b) const {
    std::int64_t rise = 0;
    int at[3];
    if (!changes(visit(j, at), a, b.type, rise) || !changes(visit(k, at), b, a.type, rise))
      return false;
    swap_cell<D>(n, set, j, at);
    std::uint32_t word[4];
    random_words(word, t.g,
                 static_cast<std::uint32_t>(t.tile) * static_cast<std::uint32_t>(t.g.plane) +
                     static_cast<std::uint32_t>(local_index<D>(t.bounds, at)),
                 rules.cycle, Purpose::swap, 1 + set, round);
    return accepts_rise(kQuantum * static_cast<double>(rise), word[0], [&] { return word[1]; });
  }

 private:
  MM_HD CellVisit<D, Contact::table> visit(int k, int at[3]) const {
    swap_cell<D>(n, set, k, at);
    return {t, at, grid_cell<D>(t.g, t.bounds, at)};
  }
  // Whether there is room for another type, and the change of the energy. Neighbors of a candidate
  // take no part in the set.
  MM_HD bool changes(const CellVisit<D, Contact::table>& cell, const TypeCandidate& c,
                     std::int32_t to, std::int64_t& rise) const {
    const Sphere p = cell.slots()[c.slot];
    std::int64_t before = 0, after = 0;
    if (!cell.has_room(p, to, c.slot, after)) return false;
    if (t.fields) cell.has_room(p, c.type, c.slot, before);
    rise += after - before;
    return true;
  }
};

// Makes the swap moves in a tile, set after set; of the cells of a set, and of the pairs of a
// round, a thread has every `threads`-th. candidates: room for the cells of a set. changed(id,
// type) is called for each particle that has another type after a set, and wait() before threads
// read what others have written.
template <int D, class Changed, class Wait>
MM_HD void swap_types_of_tile(const TileOfCells& t, const SwapRules& rules, int thread, int threads,
                              TypeCandidate* candidates, TrialCounters& counts,
                              const Changed& changed, const Wait& wait) {
  for (int turn = 0; turn < 1 << D; ++turn) {
    TypeSwaps<D> swaps{t, rules, static_cast<int>(rules.order >> (3 * turn) & 7u), {}};
    const int cells = swap_cells<D>(t.bounds, swaps.set, swaps.n);
    for (int k = thread; k < cells; k += threads) candidates[k] = swaps.candidate(k);
    wait();
    for (int round = 0; round < rules.rounds && cells > 1; ++round) {
      const int offset = swap_offset<D>(t.g, t.tile, rules.cycle, swaps.set, round, cells);
      for (int k = thread; k < cells; k += threads) {
        const int other = swap_partner(offset, k, cells);
        if (other <= k) continue;
        TypeCandidate &a = candidates[k], &b = candidates[other];
        if (a.id == kNoParticle || b.id == kNoParticle || a.type == b.type) continue;
        ++counts.trials;
        if (!swaps.accepts(round, k, other, a, b)) continue;
        exchange(a.type, b.type);
        ++counts.accepted;
      }
      wait();  // pairs of the next round are others
    }
    for (int k = thread; k < cells; k += threads) {
      const TypeCandidate c = candidates[k];
      if (c.id != kNoParticle && c.type != c.former) changed(c.id, c.type);
    }
    wait();  // the next set reads these types
  }
}

// ---- on the host ----

struct TypeChange {
  std::uint32_t id;
  std::int32_t type;
};
// Adopts the new types of all ranks' particles. Collective.
void settle_types(State& state, std::vector<TypeChange> mine);

}  // namespace manymove::hard_particles
