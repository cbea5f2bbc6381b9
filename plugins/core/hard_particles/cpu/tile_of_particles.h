// SPDX-License-Identifier: BSD-3-Clause
// The policy `Particles` on a core: a tile's cycle, with the neighbors of a particle side by side
// in SIMD registers. Compiled once per SIMD level, by kernels.cpp; nothing here may instantiate
// what other sources also instantiate.
#pragma once

#include <array>

#include "kernels.h"

namespace manymove::hard_particles::MANYMOVE_SIMD {
namespace {

constexpr int kChunk = 16;  // trial moves for which neighbors are listed at once

// Calls cell(from, at) for the old cells that a tile's new cells cover, with their coordinates from
// the tile's first.
template <int D, class Cell>
inline __attribute__((always_inline)) void for_old_cells(const Geometry& g, const Draw& d,
                                                         const TileBounds& b, Cell&& cell) {
  int at[3] = {0, 0, 0};
  for (at[2] = 0; at[2] <= (D == 3 ? b.size[2] + 1 : 0); ++at[2])
    for (at[1] = 0; at[1] <= b.size[1] + 1; ++at[1])
      for (at[0] = 0; at[0] <= b.size[0] + 1; ++at[0]) cell(old_cell<D>(g, d, b, at), at);
}

template <int D>
int cells_of_tile(const TileBounds& b) {
  return local_cells<D>(b, 0) * local_cells<D>(b, 1) * local_cells<D>(b, 2);
}

template <int D>
std::size_t count(const Geometry& g, const Draw& d, const TileBounds& bounds, const CycleArrays& b,
                  std::uint32_t* first) {
  const int cells = cells_of_tile<D>(bounds);
  // Counting sort: numbers by cell, then their exclusive sums.
  for (int i = 0; i <= cells; ++i) first[i] = 0;
  for_old_cells<D>(g, d, bounds, [&](std::int64_t from, const int at[3]) {
    for (std::uint32_t s = 0; s < b.old_counts[from]; ++s) {
      const auto l = land<D>(g, d, bounds, b.old_spheres[from * g.slots + s], at);
      if (l.here) ++first[local_index<D>(bounds, l.cell)];
    }
  });
  std::uint32_t sum = 0;
  for (int i = 0; i <= cells; ++i) {
    const std::uint32_t here = first[i];
    first[i] = sum;
    sum += here;
  }
  return sum;
}

// Puts the particles into the tile, each cell's in the order of their indices.
template <int D, Contact C>
void land_all(const Geometry& g, const Law& law, const Draw& d, const TileBounds& bounds,
              const CycleArrays& b, const Workspace& w) {
  const int cells = cells_of_tile<D>(bounds);
  for (int i = 0; i < cells; ++i) w.next[i] = w.first[i];
  for_old_cells<D>(g, d, bounds, [&](std::int64_t from, const int at[3]) {
    for (std::uint32_t s = 0; s < b.old_counts[from]; ++s) {
      const Sphere& p = b.old_spheres[from * g.slots + s];
      const auto l = land<D>(g, d, bounds, p, at);
      if (!l.here) continue;
      const int cell = local_index<D>(bounds, l.cell);
      std::uint32_t k = w.next[cell]++;
      // Insertion by index: places in a cell do not depend on the order in which particles land.
      for (; k > w.first[cell] && w.id[k - 1] > p.id; --k) {
        for (int a = 0; a < D; ++a) w.at[a][k] = w.at[a][k - 1];
        w.id[k] = w.id[k - 1];
        if constexpr (C != Contact::one_size) w.label[k] = w.label[k - 1];
      }
      for (int a = 0; a < D; ++a) w.at[a][k] = l.r[a];
      w.id[k] = p.id;
      if constexpr (C != Contact::one_size) w.label[k] = law.labels[p.id];
    }
  });
}

inline FloatLanes load(const float* p) {
  FloatLanes v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, FloatLanes v) { __builtin_memcpy(p, &v, sizeof v); }

template <Contact C>
inline __attribute__((always_inline)) FloatLanes sigmas_of(const Law& law, Label mine,
                                                           const Label* others) {
  if constexpr (C == Contact::one_size) return broadcast(law.largest);
  if constexpr (C == Contact::additive)
    return load(&others->radius) + mine.radius;
  else {
    IntLanes type;
    __builtin_memcpy(&type, others, sizeof type);
    // Those behind the last particle are anything; they are not used.
    type = (type >= 0) & (type < law.types) & type;
    return gather(law.sigmas + mine.type * law.types, type);
  }
}

// The random words of a visit.
struct VisitWords {
  std::uint32_t where;
  std::uint64_t cycle;
  int round;
  void draw(std::uint32_t word[4], const Geometry& g, Purpose purpose, int call) const {
    random_words(word, g, where, cycle, purpose, round, call);
  }
};

// The part of the fields in a visit, of a chunk of moves at a time.
template <int D, class F>
struct VisitInField {
  const F& field;
  const Geometry& g;
  const VisitWords& words;
  double energy = 0;       // of the particle
  std::int64_t pairs = 0;  // the same in the steps
  int first = 0;           // move of the chunk
  std::uint32_t word[kChunk + 4] = {};

  void begin(std::uint32_t id, const float r[D]) {
    bool forbidden = false;
    energy = field.energy(id, r, forbidden);
  }
  // The words of the next `count` moves, from `made` on.
  void draw(int made, int count) {
    first = made;
    if (!field.f.soft) return;
    for (int m = -(made % 4); m < count; m += 4) {
      std::uint32_t four[4];
      words.draw(four, g, Purpose::field, field_call(made + m));
      for (int k = 0; k < 4; ++k)
        if (m + k >= 0) word[m + k] = four[k];
    }
  }
  // to: the energy in the steps at r.
  bool accepts(int m, std::uint32_t id, const float r[D], std::int64_t to) {
    const auto second = [&] {
      std::uint32_t words_of_four[4];
      words.draw(words_of_four, g, Purpose::field, kSecondWord + field_call(first + m));
      return words_of_four[(first + m) % 4];
    };
    if constexpr (F::kSteps) {
      const double rise = kQuantum * static_cast<double>(to - pairs);
      if (!field.accepts(id, r, energy, word[m], second, rise)) return false;
      pairs = to;
      return true;
    } else {
      return field.accepts(id, r, energy, word[m], second);
    }
  }
};

// Without fields nothing is left of it.
template <int D>
struct VisitInField<D, NoField> {
  const NoField& field;
  const Geometry& g;
  const VisitWords& words;
};

// One particle's visit. F: NoField, TileField<D> or TileSteps<D>.
template <int D, Contact C, class F>
struct ParticleVisit {
  const Geometry& g;
  const Law& law;
  const Workspace& w;
  std::uint32_t self;     // the particle in the tile
  float low[D], high[D];  // the cell, from the particle's place at the start of the chunk
  int listed = 0;

  std::array<float, D> place() const {
    std::array<float, D> r;
    for (int a = 0; a < D; ++a) r[a] = w.at[a][self];
    return r;
  }

  // Lists the particles that can be met on the way, which leads at most `reach` away, and with
  // steps those whose energies can be.
  inline __attribute__((always_inline)) void list(const TileBounds& b, const int cell[3],
                                                  float reach, const F& field) {
    Law ranges = law;
    if constexpr (F::kSteps) ranges.sigmas = field.f.steps.reaches;
    float from[D];
    for (int a = 0; a < D; ++a) from[a] = w.at[a][self];
    const Label mine = C == Contact::one_size ? Label{} : w.label[self];
    listed = 0;
    for (int z = D == 3 ? -1 : 0; z <= (D == 3 ? 1 : 0); ++z)
      for (int y = -1; y <= 1; ++y) {
        const int row[3] = {cell[0] - 1, cell[1] + y, cell[2] + z};
        const int begin = local_index<D>(b, row);
        const std::uint32_t end = w.first[begin + 3];
        for (std::uint32_t j = w.first[begin]; j < end; j += kLanes) {
          FloatLanes d[D];
          for (int a = 0; a < D; ++a) d[a] = load(w.at[a] + j) - from[a];
          const FloatLanes square = squared_length<D>(d);
          const FloatLanes sigma = sigmas_of<C>(law, mine, w.label + j);
          // |d_j| >= sigma_j + reach: particle j cannot be met on the way.
          const FloatLanes far =
              (F::kSteps ? sigmas_of<C>(ranges, mine, w.label + j) : sigma) + reach;
          std::uint32_t near = lane_bits(square < far * far);
          // Not beyond the run's end, and not the particle itself.
          if (end - j < static_cast<std::uint32_t>(kLanes)) near &= (1u << (end - j)) - 1;
          if (self - j < static_cast<std::uint32_t>(kLanes)) near &= ~(1u << (self - j));
          if (!near) continue;
          float from_here[D + 1][kLanes];
          for (int a = 0; a < D; ++a) store(from_here[a], d[a]);
          store(from_here[D], square - sigma * sigma);
          for (; near; near &= near - 1, ++listed) {
            const int lane = __builtin_ctz(near);
            for (int a = 0; a < D; ++a) w.near[a][listed] = from_here[a][lane];
            w.gap[listed] = from_here[D][lane];
            w.near_id[listed] = w.id[j + static_cast<std::uint32_t>(lane)];
            if constexpr (F::kSteps)
              w.near_type[listed] = w.label[j + static_cast<std::uint32_t>(lane)].type;
          }
        }
      }
    for (int k = listed; k < listed + kLanes; ++k) {  // the last vector's rest: out of reach
      for (int a = 0; a < D; ++a) w.near[a][k] = 0;
      w.gap[k] = 1e30f;
    }
  }

  // Whether the particle, moved by u, overlaps no other.
  inline __attribute__((always_inline)) bool free(const float u[D]) const {
    // |d_j - u|^2 - sigma_j^2 = gap_j - 2 d_j . u + |u|^2, with d_j from the particle to neighbor j
    // and gap_j = |d_j|^2 - sigma_j^2 (section 1.3). |u|^2 is on the other side of the comparisons.
    const float square = squared_length<D>(u);
    FloatLanes least = broadcast(1e30f), minus_2u[D];
    for (int a = 0; a < D; ++a) minus_2u[a] = broadcast(-2.0f * u[a]);
    for (int k = 0; k < listed; k += kLanes) {
      FloatLanes d[D];
      for (int a = 0; a < D; ++a) d[a] = load(w.near[a] + k);
      least = min_of(least, gap_after<D>(load(w.gap + k), d, minus_2u));
    }
    if (!lane_bits(least <= law.margin - square)) return true;
    if (lane_bits(least < -law.margin - square)) return false;
    // Within the error the squares are compared exactly, sum_a (d_a - u_a)^2 >= sigma^2
    // (section 1.2).
    for (int k = 0; k < listed; ++k) {
      const float z = D == 3 ? w.near[D - 1][k] - u[D - 1] : 0.0f;
      if (!apart<C>(law, w.id[self], w.near_id[k], w.near[0][k] - u[0], w.near[1][k] - u[1], z))
        return false;
    }
    return true;
  }

  // The energy of the particle, moved by u, in the steps of all pairs.
  std::int64_t pairs(const StepView& steps, const float u[D]) const {
    const std::int32_t mine = w.label[self].type;
    std::int64_t sum = 0;
    for (int k = 0; k < listed; k += kLanes) {
      FloatLanes d[D];
      for (int a = 0; a < D; ++a) d[a] = load(w.near[a] + k) - u[a];
      const FloatLanes square = squared_length<D>(d);
      std::uint32_t near = lane_bits(square < steps.farthest2);
      if (listed - k < kLanes) near &= (1u << (listed - k)) - 1;
      // Pairs of a single type are counted, but for those near the end of a step.
      if (steps.types == 1) {
        std::uint32_t unsure = 0;
        for (int s = 0; s < steps.number; ++s)
          unsure |= lane_bits(square >= steps.bounds[s] - steps.margin) &
                    lane_bits(square <= steps.bounds[s] + steps.margin) & near;
        near &= ~unsure;
        for (int s = 0; s < steps.number; ++s)
          sum += steps.energies[s] * __builtin_popcount(lane_bits(square < steps.bounds[s]) & near);
        near = unsure;
      }
      for (; near; near &= near - 1) {
        const int j = k + __builtin_ctz(near);
        sum += pair_energy(steps, mine, w.near_type[j], w.near[0][j] - u[0], w.near[1][j] - u[1],
                           D == 3 ? w.near[D - 1][j] - u[D - 1] : 0.0f);
      }
    }
    return sum;
  }

  inline __attribute__((always_inline)) int moves(const TileBounds& b, const int cell[3],
                                                  const float (*by)[D], int count,
                                                  VisitInField<D, F>& in_field) {
    // The way leads at most as far as the sums of the moves to either side, within the cell
    // (section 1.3 of docs/theory/hard_spheres.md, as the margin of what float32 rounds below).
    float reach2 = 0;
    for (int a = 0; a < D; ++a) {
      const float center = cell_center(g, b, a, cell[a]);
      low[a] = center - g.half[a] - w.at[a][self];
      high[a] = center + g.half[a] - w.at[a][self];
      float up = 0, down = 0;
      for (int m = 0; m < count; ++m) {
        up += by[m][a] > 0 ? by[m][a] : 0;
        down -= by[m][a] < 0 ? by[m][a] : 0;
      }
      up = min_of(up, high[a]);
      down = min_of(down, -low[a]);
      const float most = up > down ? up : down;
      reach2 += most * most;
    }
    list(b, cell, square_root(reach2) * (1 + 4e-6f) + 4e-6f * law.largest, in_field.field);
    float u[D] = {};
    if constexpr (F::kSteps) in_field.pairs = pairs(in_field.field.f.steps, u);
    int accepted = 0;
    for (int m = 0; m < count; ++m) {
      float to[D];
      bool inside = true;
      for (int a = 0; a < D; ++a) {
        to[a] = u[a] + by[m][a];
        inside = inside && to[a] > low[a] && to[a] < high[a];
      }
      // A move that leaves the cell, or into an overlap, is rejected; the particle stays at u.
      if (!inside || !free(to)) continue;
      if constexpr (F::kIs) {
        float r[D];
        for (int a = 0; a < D; ++a) r[a] = w.at[a][self] + to[a];
        std::int64_t there = 0;
        if constexpr (F::kSteps) there = pairs(in_field.field.f.steps, to);
        if (!in_field.accepts(m, w.id[self], r, there)) continue;
      }
      for (int a = 0; a < D; ++a) u[a] = to[a];
      ++accepted;
    }
    for (int a = 0; a < D; ++a) w.at[a][self] += u[a];
    return accepted;
  }
};

template <int D, Contact C, class F>
int visit(const Geometry& g, const Law& law, const TileBounds& b, const VisitWords& words,
          const int cell[3], const Workspace& w, const F& field) {
  const std::uint32_t first = w.first[local_index<D>(b, cell)],
                      n = w.first[local_index<D>(b, cell) + 1] - first;
  ParticleVisit<D, C, F> visit{g, law, w, first, {}, {}};
  VisitInField<D, F> in_field{field, g, words};
  int accepted = 0, in_chunk = 0;
  float by[kChunk][D];
  for (int made = 0, call = 0; made < g.moves_per_cell; ++call) {
    std::uint32_t word[4];
    words.draw(word, g, Purpose::displacement, call);
    if (call == 0) {
      visit.self += uniform_below(word[3], n);
      if (is_pinned(law, w.id[visit.self])) return 0;
      if constexpr (F::kIs) in_field.begin(w.id[visit.self], visit.place().data());
    }
    for (int m = 0; m < kMovesPerCall<D> && made < g.moves_per_cell; ++m, ++made) {
      displacements<D>(word, m, g.step, by[in_chunk++]);
      // The moves of a chunk share one list of neighbors.
      if (in_chunk < kChunk && made + 1 < g.moves_per_cell) continue;
      if constexpr (F::kIs) in_field.draw(made + 1 - in_chunk, in_chunk);
      accepted += visit.moves(b, cell, by, in_chunk, in_field);
      in_chunk = 0;
    }
  }
  return accepted;
}

template <int D, Contact C, class F>
void run_tile(const Geometry& g, const Law& law, const Draw& d, int tile, const TileBounds& bounds,
              const CycleArrays& b, const Workspace& w, MoveCounts& counts) {
  // The algorithm of section 2 for one tile: land, make the visits set by set, write back.
  // r' = r - shift for all particles under the tile (docs/theory/hard_spheres.md, section 2).
  land_all<D, C>(g, law, d, bounds, b, w);
  constexpr int kSets = 1 << D;
  int members[kSets] = {};
  int at[3] = {0, 0, 0};
  for (at[2] = D == 3 ? 1 : 0; at[2] < (D == 3 ? bounds.size[2] : 1); ++at[2])
    for (at[1] = 1; at[1] < bounds.size[1]; ++at[1])
      for (at[0] = 1; at[0] < bounds.size[0]; ++at[0]) {
        const int index = local_index<D>(bounds, at), set = set_of<D>(at);
        if (w.first[index + 1] > w.first[index])
          // Ten bits for each local coordinate.
          w.active[set * g.plane + members[set]++] =
              static_cast<std::uint32_t>(at[0] | at[1] << 10 | at[2] << 20);
      }

  const F field = field_of<F>(b.fields, g, bounds);
  const auto base = static_cast<std::uint32_t>(tile) * static_cast<std::uint32_t>(g.plane);
  for (int round = 0; round < g.rounds; ++round)
    for (int turn = 0; turn < kSets; ++turn) {
      // The order of the sets is drawn for each round and is as likely as its reverse (section 3).
      const auto set = static_cast<int>(d.order[round] >> (3 * turn) & 7u);
      for (int i = 0; i < members[set]; ++i) {
        const std::uint32_t entry = w.active[set * g.plane + i];
        const int cell[3] = {static_cast<int>(entry & 1023u), static_cast<int>(entry >> 10 & 1023u),
                             static_cast<int>(entry >> 20)};
        const auto where = base + static_cast<std::uint32_t>(local_index<D>(bounds, cell));
        counts.accepted_moves += static_cast<std::uint64_t>(
            visit<D, C>(g, law, bounds, VisitWords{where, d.cycle, round}, cell, w, field));
      }
      counts.trial_moves +=
          static_cast<std::uint64_t>(members[set]) * static_cast<std::uint64_t>(g.moves_per_cell);
    }

  for (at[2] = 0; at[2] < (D == 3 ? bounds.size[2] : 1); ++at[2])
    for (at[1] = 0; at[1] < bounds.size[1]; ++at[1])
      for (at[0] = 0; at[0] < bounds.size[0]; ++at[0]) {
        const int index = local_index<D>(bounds, at);
        const std::int64_t to = grid_cell<D>(g, bounds, at);
        std::uint32_t n = w.first[index + 1] - w.first[index];
        if (n > static_cast<std::uint32_t>(g.slots)) {
          counts.corrupt = true;
          n = static_cast<std::uint32_t>(g.slots);
        }
        b.new_counts[to] = n;
        for (std::uint32_t s = 0; s < n; ++s) {
          const std::uint32_t k = w.first[index] + s;
          const auto local = [&](int a) { return w.at[a][k] - cell_center(g, bounds, a, at[a]); };
          b.new_spheres[to * g.slots + s] = {local(0), local(1), D == 3 ? local(2) : 0.0f, w.id[k]};
        }
      }
}

template <int D, Contact C>
ParticleKernels kernels_of() {
  ParticleKernels kernels{&count<D>, &run_tile<D, C, NoField>, &run_tile<D, C, TileField<D>>,
                          nullptr};
  if constexpr (C == Contact::table) kernels.run_tile_with_steps = &run_tile<D, C, TileSteps<D>>;
  return kernels;
}
template <int D>
void use_dimension(ParticleKernels to[3]) {
  to[0] = kernels_of<D, Contact::one_size>();
  to[1] = kernels_of<D, Contact::additive>();
  to[2] = kernels_of<D, Contact::table>();
}

}  // namespace

}  // namespace manymove::hard_particles::MANYMOVE_SIMD
