// SPDX-License-Identifier: BSD-3-Clause
// Insertions and deletions of particles at given chemical potentials in the policy `Particles`, on
// every backend. Numbers of sections are those of docs/theory/grand_canonical.md.
#pragma once

#include <vector>

#include "fields.h"
#include "swaps.h"

namespace manymove::hard_particles {

struct State;

// What all tiles share in the insertions and deletions after a cycle.
struct InsertionRules {
  std::uint64_t cycle;
  std::uint32_t order;        // of the sets, three bits each, first set lowest
  int attempts;               // of a visit
  int kinds;                  // types that are inserted and deleted
  const std::int32_t* types;  // [kinds]
  const double* logarithms;   // [kinds], ln(z V) with the volume V of a cell
};

// Until all cells have been visited, an inserted particle has its type instead of an index.
inline constexpr std::uint32_t kFirstNew = 0xffffffc0u;  // of 64 types
MM_HD std::uint32_t new_index(std::int32_t type) { return ~static_cast<std::uint32_t>(type); }
MM_HD bool is_new(std::uint32_t id) { return id >= kFirstNew; }
MM_HD std::int32_t type_of_new(std::uint32_t id) { return static_cast<std::int32_t>(~id); }
// The slot of a new particle, counted from the first cell on, and its type in one number.
inline constexpr std::uint64_t kNewTypes = 64;
MM_HD std::uint64_t place_of_new(std::uint64_t slot, std::int32_t type) {
  return slot * kNewTypes + static_cast<std::uint64_t>(type);
}

// Counts of deletions [0] and insertions [1]. changes: length of the list that a GPU writes.
struct InsertionCounts {
  unsigned long long trials[2], accepted[2], changes;
};

// The cells of a tile, and what decides there.
struct TileOfCells {
  const Geometry& g;
  const Law& law;
  const FieldView* fields;  // null: no fields and no steps
  const TileBounds& bounds;
  int tile;
  Sphere* spheres;  // of all cells of a rank
  std::uint32_t* counts;
};

// A coordinate of a new particle along an axis, relative to the center of its cell: one of its H
// odd integers, with the same probability up to 2^-22 of it, by 42 random bits. Each axis has a
// word of its own, and ten bits of the fourth one.
MM_HD float uniform_place(const std::uint32_t word[4], int axis, float half) {
  const std::uint64_t random =
      static_cast<std::uint64_t>(word[axis]) << 10 | (word[3] >> (10 * axis) & 1023u);
  const auto places = static_cast<std::uint64_t>(half);
  return static_cast<float>(2 * (random * places >> 42) + 1) - half;
}

template <Contact C>
MM_HD std::int32_t type_of(const Law& law, std::uint32_t id) {
  if constexpr (C != Contact::table) return 0;
  return is_new(id) ? type_of_new(id) : law.labels[id].type;
}

// One cell. Cells that have a part in the decision are not visited meanwhile (section 3).
template <int D, Contact C>
struct CellVisit {
  const TileOfCells& t;
  const int* at;  // in the tile
  std::int64_t here;

  MM_HD Sphere* slots() const { return t.spheres + here * t.g.slots; }
  MM_HD int particles() const { return static_cast<int>(t.counts[here]); }

  // One of the three cells along an axis: its number in the grid, the way to its center from a
  // particle of the middle one, and the squared distance of that particle from its nearest side.
  struct Beside {
    int cell;
    float away, near2;
  };
  MM_HD Beside beside(int axis, int by, float local) const {
    const float half = t.g.half[axis],
                side = by == 0 ? 0.0f : half - static_cast<float>(by) * local;
    int cell = t.bounds.first[axis] + at[axis] + by;
    if (cell < 0) cell += t.g.cells[axis];
    if (cell >= t.g.cells[axis]) cell -= t.g.cells[axis];
    return {cell, 2.0f * half * static_cast<float>(by) - local, side * side};
  }

  // Whether a particle overlaps no other. Leaves out `slot` of the own cell, and adds the energies
  // of the pairs. The own cell, where most overlaps are, comes first.
  MM_HD bool has_room(const Sphere& p, std::int32_t type, int slot, std::int64_t& pairs) const {
    constexpr int kLayers = D == 3 ? 3 : 1, kCells = 9, kSelf = kCells / 2;
#if defined(__CUDA_ARCH__)
    constexpr int kAtOnce = kCells;
#else
    constexpr int kAtOnce = 1;  // a core does not wait for one load before it begins the next
#endif
    const float far2 = t.law.largest * t.law.largest * 1.00001f;
    const bool steps = t.fields && t.fields->steps.number > 0;
    Beside x[3], y[3];
    MM_UNROLL
    for (int k = 0; k < 3; ++k) {
      x[k] = beside(0, k - 1, p.x);
      y[k] = beside(1, k - 1, p.y);
    }
    MM_NO_UNROLL
    for (int layer = 0; layer < kLayers; ++layer) {
      const Beside z = D == 3 ? beside(2, layer == 2 ? -1 : layer, p.z) : Beside{};
      for (int first = 0; first < kCells; first += kAtOnce) {
        const Sphere* others[kAtOnce];
        float away[kAtOnce][3];
        int n[kAtOnce], most = 0;
        MM_UNROLL
        for (int c = 0; c < kAtOnce; ++c) {
          const int other = (kSelf + first + c) % kCells;
          const Beside &i = x[other % 3], &j = y[other / 3];
          const int there = (z.cell * t.g.cells[1] + j.cell) * t.g.cells[0] + i.cell;
          away[c][0] = i.away;
          away[c][1] = j.away;
          away[c][2] = z.away;
          others[c] = t.spheres + static_cast<std::int64_t>(there) * t.g.slots;
          n[c] = i.near2 + j.near2 + z.near2 > far2 ? 0 : static_cast<int>(t.counts[there]);
          if (n[c] > most) most = n[c];
        }
        MM_NO_UNROLL
        for (int s = 0; s < most; ++s) {
          Sphere q[kAtOnce];
          float least = 1;  // of the squared distances less the squared contact distances
          MM_UNROLL
          for (int c = 0; c < kAtOnce; ++c)
            if (s < n[c]) q[c] = others[c][s];
          // Calls look(d, type) for these particles.
          const auto for_all = [&](auto&& look) {
            MM_UNROLL
            for (int c = 0; c < kAtOnce; ++c) {
              if (s >= n[c] || (layer + first + c == 0 && s == slot)) continue;
              const float d[3] = {q[c].x + away[c][0], q[c].y + away[c][1],
                                  D == 3 ? q[c].z + away[c][2] : 0.0f};
              look(d, type_of<C>(t.law, q[c].id));
            }
          };
          for_all([&](const float* d, std::int32_t its) {
            const float sigma =
                C == Contact::table ? t.law.sigmas[type * t.law.types + its] : t.law.largest;
            least = min_of(least, squared_length<D>(d) - sigma * sigma - t.law.margin);
          });
          // The estimate, whose error is below the margin, decides all but few overlaps.
          if (least < -2 * t.law.margin) return false;
          bool free = true;
          if (least < 0 || steps)
            for_all([&](const float* d, std::int32_t its) {
              free &=
                  exact_square(d[0], d[1], d[2]) >=
                  (C == Contact::table ? t.law.contacts[type * t.law.types + its] : t.law.contact);
              if (steps) pairs += pair_energy(t.fields->steps, type, its, d[0], d[1], d[2]);
            });
          if (!free) return false;
        }
      }
    }
    return true;
  }

  // The energy of a particle, or false where it may not be.
  MM_HD bool energy(const Sphere& p, std::int32_t type, int slot, double& sum) const {
    std::int64_t pairs = 0;
    if (!has_room(p, type, slot, pairs)) return false;
    bool forbidden = false;
    sum = 0;
    if (t.fields) {
      const float local[3] = {p.x, p.y, p.z};
      float r[D];
      for (int a = 0; a < D; ++a) r[a] = local[a] + cell_center(t.g, t.bounds, a, at[a]);
      // Fields are the same for all particles.
      sum = TileField<D>{*t.fields, t.g, t.bounds}.energy(0, r, forbidden);
      sum = sum + kQuantum * static_cast<double>(pairs);
    }
    return !forbidden;
  }
};

// One cell, in which particles come and go.
template <int D, Contact C>
struct InsertionVisit : CellVisit<D, C> {
  const InsertionRules& rules;

  using CellVisit<D, C>::t, CellVisit<D, C>::at, CellVisit<D, C>::here;
  using CellVisit<D, C>::slots, CellVisit<D, C>::particles, CellVisit<D, C>::has_room,
      CellVisit<D, C>::energy;

  MM_HD int number(std::int32_t type) const {
    int n = 0;
    for (int s = 0; s < particles(); ++s) n += type_of<C>(t.law, slots()[s].id) == type;
    return n;
  }
  // The slot of the k-th particle of a type: by the indices, and then the new ones as they came. A
  // GPU's slots are in any order, and few enough to count those before each.
  MM_HD int slot_of(std::int32_t type, int k) const {
    for (int s = 0; s < particles(); ++s) {
      if (type_of<C>(t.law, slots()[s].id) != type) continue;
      int before = 0;
      for (int o = 0; o < particles(); ++o) {
        if (type_of<C>(t.law, slots()[o].id) != type) continue;
        const std::uint32_t its = slots()[o].id, id = slots()[s].id;
        before += is_new(its) == is_new(id) && is_new(id) ? o < s : its < id;
      }
      if (before == k) return s;
    }
    return -1;  // never
  }

  // removed(id) is called for each particle that goes and had an index.
  template <class Removed>
  MM_HD void make(InsertionCounts& counts, const Removed& removed) const {
    const auto where = static_cast<std::uint32_t>(t.tile) * static_cast<std::uint32_t>(t.g.plane) +
                       static_cast<std::uint32_t>(local_index<D>(t.bounds, at));
    for (int attempt = 0; attempt < rules.attempts; ++attempt) {
      std::uint32_t word[4], place[4];
      const auto draw = [&](std::uint32_t words[4], int call) {
        random_words(words, t.g, where, rules.cycle, Purpose::insertion, 0, 2 * attempt + call);
      };
      draw(word, 0);
      const auto drawn =
          static_cast<int>(uniform_below(word[2], 2 * static_cast<std::uint32_t>(rules.kinds)));
      const std::int32_t type = rules.types[drawn / 2];
      const bool comes = drawn % 2 == 0;
      for (int k = 0; k < 2; ++k) counts.trials[k] += comes == (k == 1);
      int n = number(type), slot = -1;
      // A full cell has no room for another particle (section 2).
      if (comes ? particles() == t.g.slots : n == 0) continue;
      Sphere p{0, 0, 0, new_index(type)};
      if (comes) {
        draw(place, 1);
        p.x = uniform_place(place, 0, t.g.half[0]);
        p.y = uniform_place(place, 1, t.g.half[1]);
        if (D == 3) p.z = uniform_place(place, 2, t.g.half[2]);
        ++n;
      } else {
        slot =
            slot_of(type, static_cast<int>(uniform_below(word[3], static_cast<std::uint32_t>(n))));
        p = slots()[slot];
      }
      double sum = 0;
      const auto accepted = [&] {
        // exp(-rise) = z V exp(-U) / n, with the particle counted in n, or its inverse.
        const double rise = sum - (rules.logarithms[drawn / 2] - logarithm(n));
        return accepts_rise(comes ? rise : -rise, word[0], [&] { return word[1]; });
      };
      // Without energies the random word alone decides most attempts.
      std::int64_t none = 0;
      if (t.fields ? !energy(p, type, slot, sum) || !accepted()
                   : !accepted() || (comes && !has_room(p, type, slot, none)))
        continue;
      for (int k = 0; k < 2; ++k) counts.accepted[k] += comes == (k == 1);
      if (comes) {
        slots()[t.counts[here]++] = p;
        continue;
      }
      if (!is_new(p.id)) removed(p.id);
      for (int s = slot + 1; s < particles(); ++s) slots()[s - 1] = slots()[s];
      --t.counts[here];
    }
  }
};

// Visits the cells of a tile, set after set; of each set a thread has every `threads`-th cell.
// removed(id) is called for each particle that goes and had an index, inserted(cell, slot, type)
// for each new one, and wait() before the next set, which reads these cells.
template <int D, Contact C, class Removed, class Inserting, class Wait>
MM_HD void visit_tile(const TileOfCells& t, const InsertionRules& rules, int thread, int threads,
                      InsertionCounts& counts, const Removed& removed, const Inserting& inserted,
                      const Wait& wait) {
  for (int turn = 0; turn < 1 << D; ++turn) {
    const auto set = static_cast<int>(rules.order >> (3 * turn) & 7u);
    int n[3];
    const int cells = swap_cells<D>(t.bounds, set, n);
    for (int k = thread; k < cells; k += threads) {
      int at[3];
      swap_cell<D>(n, set, k, at);
      const std::int64_t here = grid_cell<D>(t.g, t.bounds, at);
      const InsertionVisit<D, C> visit{{t, at, here}, rules};
      visit.make(counts, removed);
      for (int s = 0; s < visit.particles(); ++s)
        if (const std::uint32_t id = visit.slots()[s].id; is_new(id))
          inserted(here, s, type_of_new(id));
    }
    wait();
  }
}

// ---- on the host ----

// Refuses what does not go with insertions, when the contact distances are known.
void settle_insertions(State& state);
void check_fugacities(const std::vector<double>& fugacities, std::size_t types);
std::vector<std::uint32_t> take_former_indices(State& state);
// ln(z V), when the grid is known.
void fill_insertions(State& state);
InsertionRules insertion_rules(const State& state, std::uint64_t cycle);

// What the visits of a rank have changed.
struct Changes {
  InsertionCounts counts{};
  std::vector<std::uint64_t> inserted;  // place_of_new(), from this rank's first slot
  std::vector<std::uint32_t> removed;
};
// The indices of particles after the visits (section 4).
struct NewIndices {
  std::vector<std::uint64_t> inserted;     // of this rank, in the order of the whole grid
  std::vector<std::uint32_t> of_inserted;  // as many
  // Of the particles whose index was N + k, with the new number N of particles; for those that
  // have been removed, anything.
  std::vector<std::uint32_t> of_former;
};
// Counts the changes of all ranks, gives the particles indices from 0 to N - 1, and changes N and
// the types of the state. Collective.
NewIndices settle_changes(State& state, Changes mine);

}  // namespace manymove::hard_particles
