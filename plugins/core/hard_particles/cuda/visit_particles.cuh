// SPDX-License-Identifier: BSD-3-Clause
// Visits of the cells of a set on a GPU: a thread, or several together, for each cell.
#pragma once

#include "../fields.h"
#include "neighbors.cuh"

namespace manymove::hard_particles {
namespace {

// Reads shared memory now, and not before a loop.
__device__ float4 load_again(const float4* from) {
  float4 q;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))));
  return q;
}

// What the threads of a block write down for a visit, in shared memory.
struct Workspace {
  float4* moves;         // [moves of a cell, and a WallNear][threads / Lanes]
  std::uint16_t* lists;  // [threads][list]
  int list;
};

// The visits of a set, with Lanes threads for each cell (1, 2, 4 or 8). The neighbors that a visit
// can reach are listed once, by each thread a share of what is in the cells around, from Runs runs
// of cells at a time, of each of which a thread loads AtOnce at once. Then the threads have equal
// shares of the neighbors, K of them in registers. F: NoField, TileField<D> or TileSteps<D>.
template <int D, Contact C, bool Sums, int K, int Lanes, int Runs, int AtOnce, class F>
struct Visit {
  static constexpr bool kSums = Sums;
  // Whether estimates decide about moves in the fields.
  static constexpr bool kEstimates = F::kIs && !F::kSteps;
  using Field = F;
  // The visits in other fields.
  template <class Other>
  using In = Visit<D, C, Sums, K, Lanes, Runs, AtOnce, Other>;
  static constexpr float kFar = 1e38f;  // a square beyond all
  static constexpr int kRuns = D == 3 ? 9 : 3;
  // Calls of the random number generator by each thread before a list is made, and the moves that
  // it and all threads of the cell get from them.
  static constexpr int kCalls = Lanes < 4 ? 4 / Lanes : 1;
  static constexpr int kMoves = kCalls * kMovesPerCall<D> * Lanes;
  // What a thread keeps: its share of the moves and, in fields, of a WallNear.
  static constexpr int kMine = kMoves / Lanes + (kEstimates ? (1 + Lanes) / Lanes : 0);
  // Neighbors that a thread has room to list, twice what is expected at high densities; what is
  // loaded at once may not be any. An odd number of 32-bit words, so that threads use all banks.
  static constexpr int kExpected = (F::kSteps                ? 80
                                    : C == Contact::one_size ? 20
                                                             : 40) /
                                       Lanes +
                                   Runs * AtOnce + 5;
  static constexpr int kRoom =
      (kExpected > kRuns * AtOnce + 3 ? kExpected : kRuns * AtOnce + 3) / 4 * 4 + 2;
  static_assert(K <= kRoom && kRuns % Runs == 0);
  using T = Tile<D, C>;
  using Near = Nearest<D, C, Sums, K, Lanes>;

  // The neighbors that a thread has listed; more than `room`: the list is not complete.
  struct Listed {
    int cell;
    const std::uint16_t* list;
    int number, room;
  };

  // Calls look(j) for the neighbors that this thread has listed, and for the particle itself or
  // not. A list that is too short for them is not asked.
  static __device__ __forceinline__ void for_listed(const T& tile, const Listed& listed,
                                                    auto&& look) {
    if (listed.number <= listed.room)
      for (int k = 0; k < listed.number; ++k) look(listed.list[k]);
    else
      for (int row = 0; row < kRuns; ++row) {
        const auto [begin, end] = tile.run(listed.cell, row);
        for (std::uint32_t j = begin + (threadIdx.x + row) % Lanes; j < end; j += Lanes) look(j);
      }
  }

  // Whether the particle at r is apart from its listed neighbors, exactly.
  static __device__ __noinline__ bool exactly_free(const T& tile, std::uint32_t self, float4 r,
                                                   Listed listed) {
    bool free = true;
    for_listed(tile, listed, [&](std::uint32_t j) {
      const float4 q = tile.spheres[j];
      if (j != self &&
          !apart<C>(tile.law, tile.id(self), tile.id(j), q.x - r.x, q.y - r.y, q.z - r.z))
        free = false;
    });
    return free;
  }

  // Lists this thread's share of the particles closer than the contact distance of `law`, or with
  // steps the range, plus `reach`; returns how many there are, or more than `room` if there may not
  // be room for all.
  static __device__ int list_neighbors(const T& tile, const Law& law, int cell, std::uint32_t self,
                                       const float4& p, float reach, std::uint16_t* list,
                                       int room) {
    int listed = 0;
    constexpr bool kSum = Sums || C == Contact::additive;
    // Listed if |r_j - r| < sigma_j + reach: no other can be met on a way of length `reach`.
    const float own = kSum ? p.w + reach : reach;  // what does not depend on the neighbor
    const bool one_type = C == Contact::table && law.types == 1;
    const float only = one_type ? law.sigmas[0] : 0;
    const auto look = [&](std::uint32_t j, const float4& q) {
      const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
      const float square = fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f));
      const float far = own + (kSum ? q.w : one_type ? only : local_sigma<C, Sums>(law, p, q));
      if (square < far * far && j != self) list[listed++] = static_cast<std::uint16_t>(j);
    };
    std::uint32_t begin[kRuns], end[kRuns];
#pragma unroll
    for (int row = 0; row < kRuns; ++row) {
      const auto run = tile.run(cell, row);
      begin[row] = run.begin + (threadIdx.x + row) % Lanes;  // the first of a run have equal turns
      end[row] = run.end;
    }
    unsigned more = 0;  // a bit for each run that holds more than is loaded at once
#pragma unroll
    for (int row = 0; row < kRuns; row += Runs) {
      std::uint32_t name[Runs][AtOnce];
      float4 q[Runs][AtOnce];
#pragma unroll
      for (int r = 0; r < Runs; ++r) {
#pragma unroll
        for (int k = 0; k < AtOnce; ++k) {
          const std::uint32_t j = begin[row + r] + k * Lanes;
          // A load beyond the run's end becomes one of the particle itself, which is never listed.
          name[r][k] = j < end[row + r] ? j : self;
          q[r][k] = tile.spheres[name[r][k]];
        }
        if (begin[row + r] + AtOnce * Lanes < end[row + r]) more |= 1u << (row + r);
      }
#pragma unroll
      for (int r = 0; r < Runs; ++r)
#pragma unroll
        for (int k = 0; k < AtOnce; ++k) look(name[r][k], q[r][k]);
    }
    // The rest of all runs in one loop, because few threads of a warp have any.
    std::uint32_t j = 0, last = 0;
#pragma unroll 1
    while (more || j < last) {
      if (j >= last) {
        const int row = __ffs(static_cast<int>(more)) - 1;
        more &= more - 1;
        const auto run = tile.run(cell, row);
        j = run.begin + (threadIdx.x + row) % Lanes + AtOnce * Lanes;
        last = run.end;
      }
      if (listed == room) return room + 1;
      look(j, tile.spheres[j]);
      j += Lanes;
    }
    return listed;
  }

  // Draws the next moves of a cell, by each of its threads a share, into shared memory. up and
  // down: the sums of this thread's moves to either side. Returns the word that chooses the
  // particle, which the first thread has.
  static __device__ __forceinline__ std::uint32_t draw_moves(const T& tile, std::uint64_t cycle,
                                                             int round, int cell, int made,
                                                             float4* moves, float (&up)[D],
                                                             float (&down)[D]) {
    const Geometry& g = tile.g;
    const int lane = threadIdx.x % Lanes, groups = blockDim.x / Lanes;
    std::uint32_t chooses = 0;
#pragma unroll
    for (int a = 0; a < D; ++a) up[a] = down[a] = 0;
#pragma unroll
    for (int k = 0; k < kCalls; ++k) {
      // Call c gives the moves c kMovesPerCall and so on, whatever Lanes is.
      const int call = k * Lanes + lane;
      std::uint32_t word[4];
      random_words(word, g, tile.where + static_cast<std::uint32_t>(cell), cycle,
                   Purpose::displacement, round, made / kMovesPerCall<D> + call);
      if (k == 0) chooses = word[3];
#pragma unroll
      for (int m = 0; m < kMovesPerCall<D>; ++m) {
        const int move = call * kMovesPerCall<D> + m;
        float by[D];
        displacements<D>(word, m, tile.step, by);
        moves[move * groups] = make_float4(by[0], by[1], D == 3 ? by[D - 1] : 0.0f, kFree);
#pragma unroll
        for (int a = 0; a < D; ++a) {
          if (made + move >= g.moves_per_cell) by[a] = 0;
          up[a] += fmaxf(by[a], 0.0f);
          down[a] -= fminf(by[a], 0.0f);
        }
      }
    }
    return chooses;
  }

  // The random words of a visit in the fields.
  struct Words {
    const Geometry& g;
    std::uint32_t where;
    std::uint64_t cycle;
    int round;
    __device__ void draw(std::uint32_t (&word)[4], int call) const {
      random_words(word, g, where, cycle, Purpose::field, round, call);
    }
  };

  // A visit in the fields; without them nothing is left of it.
  struct InField {
    static constexpr int kCalls = (kMoves / 4 + Lanes - 1) / Lanes;  // of the generator

    const F& field;
    const T& tile;
    Words words;
    float4* moves;
    FieldsNear near{};
    bool walls = false;  // whether any particle of the warp is near a wall
    // The excess of the last move, and the energies in the wall where the particle is and was
    // tried.
    float excess = -1, in_wall = 0, tried = 0;
    // With steps, the energies of pairs where the particle is and where it was tried last.
    std::int64_t here = 0, there = 0;

    // The fourth components of the moves become words with steps, otherwise bounds of excesses.
    // made: the moves before these. reach: the longest displacement.
    __device__ __forceinline__ void begin(int made, std::uint32_t self, const float4& p,
                                          float reach) {
      if constexpr (F::kIs) {
        static_assert(kMoves % 4 == 0);
        const int lane = threadIdx.x % Lanes, groups = blockDim.x / Lanes;
        if constexpr (kEstimates) {
          const float r[3] = {p.x, p.y, p.z}, none[3] = {0, 0, 0};
          near = fields_near<D>(field.f, *field.here, tile.id(self), r, reach);
          walls = __any_sync(kWholeWarp, near.has_wall);
          if (walls) {
            in_wall = near.wall.template energy<D>(none);
            if (lane == 0) *wall() = near.wall;
          }
        }
        // The moves themselves have been written by other lanes.
        __syncwarp();
        if (F::kSteps || field.here->soft)
#pragma unroll
          for (int k = 0; k < kCalls; ++k) {
            std::uint32_t word[4];
            words.draw(word, field_call(made) + k * Lanes + lane);
#pragma unroll
            for (int m = 0; m < 4; ++m)
              if (const int move = 4 * (k * Lanes + lane) + m; move < kMoves) {
                float4& at = moves[move * groups];
                const float by[3] = {at.x, at.y, at.z};
                at.w = F::kSteps ? __uint_as_float(word[m])
                                 : near.template bound<D>(field.f, by, word[m]);
              }
          }
        __syncwarp();
      }
    }
    // Of the cell, in shared memory after the moves.
    __device__ __forceinline__ WallNear* wall() const {
      const int group = threadIdx.x / Lanes, groups = blockDim.x / Lanes;
      return reinterpret_cast<WallNear*>(moves - group + kMoves * groups) + group;
    }

    // Looks at a move from p + u to p + `to`, before accepts(); false if it is rejected already.
    __device__ __forceinline__ bool may_be(const float4& by, const float (&u)[3],
                                           const float (&to)[3]) {
      if constexpr (kEstimates) {
        const float way[3] = {by.x, by.y, by.z};
        excess = near.template excess<D>(field.f, way, u, by.w);
        if (walls) {
          // Registers are few: the wall is read again for each move.
          const auto* const from = reinterpret_cast<const float4*>(wall());
          const float4 a = load_again(from), b = load_again(from + 1);
          const WallNear it{{a.x, a.y, a.z}, a.w, b.x, b.y, b.z, b.w};
          tried = it.template energy<D>(to);
          excess += tried - in_wall;
        }
        return !(excess > near.error);
      }
      return true;
    }

    // The energy of a particle in the fields; infinite where it may not be. Functions for rare
    // branches are called with few registers, and arguments are passed by value: a tile whose
    // address is taken would be in local memory, and the compiler would not know that its particles
    // are in shared memory.
    static __device__ __noinline__ double energy_of(F field, std::uint32_t id, float x, float y,
                                                    float z) {
      const float r[3] = {x, y, z};
      bool forbidden = false;
      const double energy = field.energy(id, r, forbidden);
      return forbidden ? HUGE_VAL : energy;
    }
    static __device__ __noinline__ bool exceeds(Words words, int move, double rise) {
      const auto word = [&](int call) {
        std::uint32_t all[4];
        words.draw(all, call + field_call(move));
        const int m = move % 4;
        return m == 0 ? all[0] : m == 1 ? all[1] : m == 2 ? all[2] : all[3];
      };
      return accepts_rise(rise, word(0), [&] { return word(kSecondWord); });
    }
    // Whether a move is accepted, by the energies. rise: of the energy of pairs.
    __device__ __forceinline__ bool exactly(std::uint32_t self, int move, const float4& p,
                                            const float (&u)[3], const float (&to)[3],
                                            double rise = 0) const {
      const std::uint32_t id = tile.id(self);
      const double there = energy_of(field, id, p.x + to[0], p.y + to[1], p.z + to[2]);
      const double here = energy_of(field, id, p.x + u[0], p.y + u[1], p.z + u[2]);
      return exceeds(words, move, there - here + rise);
    }

    // With steps, tries the particle at p + `to`: returns the least squared distance less the
    // squared contact distance of this thread's neighbors. All threads of a warp call it. counts:
    // whether all have complete lists, of a single type.
    __device__ __forceinline__ float meet(std::uint32_t self, const float4& p, const float (&to)[3],
                                          const Listed& listed, bool counts, const Near& nearest) {
      float least = kFar;
      std::int64_t energy = 0;
      if (counts) {
        bool unsure = false;
        least = nearest.least(to, field.f.steps, energy, unsure);
        there = warp_sum<Lanes>(energy);
        if (!__any_sync(kWholeWarp, unsure)) return least;
        energy = 0;
        least = kFar;
      }
      const float4 r = make_float4(p.x + to[0], p.y + to[1], p.z + to[2], p.w);
      for_listed(tile, listed, [&](std::uint32_t j) {
        const float4 q = tile.spheres[j];
        if (j == self) return;
        const float d[3] = {q.x - r.x, q.y - r.y, D == 3 ? q.z - r.z : 0.0f};
        const float sigma = local_sigma<C, Sums>(tile.law, r, q);
        least = fminf(least, squared_length<D>(d) - sigma * sigma);
        energy += pair_energy(field.f.steps, label_of(r).type, label_of(q).type, d[0], d[1], d[2]);
      });
      there = warp_sum<Lanes>(energy);
      return least;
    }

    // Whether the estimate of a move that may_be() does not decide it.
    __device__ __forceinline__ bool unsure() const { return kEstimates && !(excess < -near.error); }

    // Whether the fields accept a move of the particle from p + u to p + `to`, and with steps those
    // that it has met there; without steps it is sure.
    __device__ __forceinline__ bool accepts(std::uint32_t self, int move, const float4& p,
                                            const float (&u)[3], const float (&to)[3], float word) {
      if constexpr (F::kSteps) {
        const double rise = kQuantum * static_cast<double>(there - here);
        const Decision decision = field.f.number > 0 ? Decision::unknown
                                  : rise > 0
                                      ? estimated(static_cast<float>(rise), __float_as_uint(word))
                                      : Decision::accepted;
        if (decision == Decision::rejected ||
            (decision == Decision::unknown && !exactly(self, move, p, u, to, rise)))
          return false;
        here = there;
      } else if constexpr (F::kIs) {
        in_wall = tried;
      }
      return true;
    }
  };

  // How far the way of the particle at p may lead: at most as far as the sums of all threads' moves
  // to either side, within the cell. middle: the cell's center, from the particle.
  static __device__ __forceinline__ float reach_of(const T& tile, const int (&at)[3],
                                                   const float4& p, float (&up)[D],
                                                   float (&down)[D], float (&middle)[3]) {
    const Geometry& g = tile.g;
    const float start[3] = {p.x, p.y, p.z};
    float reach2 = 0;
#pragma unroll
    for (int a = 0; a < D; ++a) {
      // Sums of even integers below 2^25: exact, and rounded by far less than the margin beyond.
      up[a] = warp_sum<Lanes>(up[a]);
      down[a] = warp_sum<Lanes>(down[a]);
      middle[a] = cell_center(g, tile.bounds, a, at[a]) - start[a];
      const float most =
          fmaxf(fminf(up[a], g.half[a] + middle[a]), fminf(down[a], g.half[a] - middle[a]));
      reach2 = fmaf(most, most, reach2);
    }
    return sqrtf(reach2) * (1 + 4e-6f);
  }

  // `entry`: the cell. `real`: it is not just there to fill the warp.
  static __device__ int visit(const T& tile, std::uint64_t cycle, int round, std::uint32_t entry,
                              const Workspace& work, bool real, const F& field) {
    const Geometry& g = tile.g;
    const Law law = tile.law;
    // Local x and y in five bits each, z above.
    const int at[3] = {static_cast<int>(entry & 31u), static_cast<int>(entry >> 5 & 31u),
                       static_cast<int>(entry >> 10)};
    const int cell = at[0] + tile.row_cells * at[1] + (D == 3 ? tile.layer_cells * at[2] : 0);
    const int room = work.list;
    const int lane = threadIdx.x % Lanes, groups = blockDim.x / Lanes;
    const unsigned group = mask_of_group<Lanes>(lane);
    float4* const moves = work.moves + threadIdx.x / Lanes;
    std::uint16_t* const list = work.lists + threadIdx.x * room;
    std::uint32_t self = 0;
    float4 p;
    InField in_field{
        field, tile, {g, tile.where + static_cast<std::uint32_t>(cell), cycle, round}, moves};
    int accepted = 0;
#pragma unroll 1
    for (int made = 0; made < g.moves_per_cell; made += kMoves) {
      float up[D], down[D], middle[3];
      const std::uint32_t chooses = draw_moves(tile, cycle, round, cell, made, moves, up, down);
      if (made == 0) {
        const std::uint32_t begin = tile.first[cell], n = tile.first[cell + 1] - begin;
        self = begin + uniform_below(Lanes > 1 ? value_of_lane(chooses, 0, Lanes) : chooses, n);
        p = tile.spheres[self];
      }
      // All moves of the list are known, and with them how far the particle can come.
      const float reach = reach_of(tile, at, p, up, down, middle) + 4e-6f * law.largest;
      in_field.begin(made, self, p, reach);
      Law listing = law;
      if constexpr (F::kSteps) listing.sigmas = field.f.steps.reaches;
      const Listed listed{cell, list,
                          list_neighbors(tile, listing, cell, self, p, reach, list, room), room};
      const bool complete = listed.number <= room;
      // The lanes of a cell read each other's lists.
      __syncwarp();
      const Lists<Lanes> near(list - lane * room, room, complete ? listed.number : 0);

      Near nearest{tile, law, p, near};
      const bool counts = F::kSteps && law.types == 1 && __all_sync(kWholeWarp, complete);
      if (!F::kSteps || counts) nearest.take_all(self);

      // What is below -margin overlaps and what is above `sure` does not.
      const float margin = law.margin, sure = F::kSteps || complete ? margin : 0.5f * kFar;
      float half[D];
#pragma unroll
      for (int a = 0; a < D; ++a) half[a] = in_register(g.half[a]);
      float u[3] = {0, 0, 0};
      if constexpr (F::kSteps) {
        in_field.meet(self, p, u, listed, counts, nearest);
        in_field.here = in_field.there;
      }
      const int end = min(kMoves, g.moves_per_cell - made);
      const float4* next = moves;
#pragma unroll(F::kIs ? 1 : 2)
      for (int move = 0; move < end; ++move) {
        const float4 by = *next;
        next += groups;
        // From where the list was made.
        const float to[3] = {u[0] + by.x, u[1] + by.y, u[2] + by.z};
        bool inside = true;
#pragma unroll
        for (int a = 0; a < D; ++a) inside &= fabsf(to[a] - middle[a]) < half[a];
        inside &= in_field.may_be(by, u, to);
        float least;
        if constexpr (F::kSteps) {
          least = in_field.meet(self, p, to, listed, counts, nearest);
        } else {
          least = nearest.least(to);
        }
        bool free = least > sure, overlaps = least < -margin;
        if (Lanes > 1) {
          free = (__ballot_sync(kWholeWarp, !free) & group) == 0;
          overlaps = (__ballot_sync(kWholeWarp, overlaps) & group) != 0;
        }
        // Undecided: some |d_j - u|^2 - sigma_j^2 is within the error of the estimate, or the
        // excess.
        const bool open = inside && !free && !overlaps,
                   unsure = inside && !overlaps && in_field.unsure();
        if (kEstimates ? __any_sync(kWholeWarp, open | unsure) : open) {
          if (open) {
            const float4 r = make_float4(p.x + to[0], p.y + to[1], p.z + to[2], 0.0f);
            free = exactly_free(tile, self, r, listed);
            if (Lanes > 1) free = __all_sync(group, free);
          }
          if constexpr (kEstimates) {
            if (unsure && free) free = in_field.exactly(self, made + move, p, u, to);
            // Read again, so that no register has to be saved for these rare calls.
            nearest.take_all(self);
          }
        }
        if (inside && free && in_field.accepts(self, made + move, p, u, to, by.w)) {
#pragma unroll
          for (int a = 0; a < D; ++a) u[a] = to[a];
          ++accepted;
        }
      }
      // The lists have been read by all lanes before those of the next moves replace them.
      __syncwarp();
      p.x += u[0];
      p.y += u[1];
      p.z += u[2];
    }
    if (!real || lane != 0 || accepted == 0 || is_pinned(tile.law, tile.id(self))) return 0;
    tile.spheres[self] = p;
    return accepted;
  }

  // Returns the accepted moves.
  static __device__ int visit_set(const T& tile, std::uint64_t cycle, int round,
                                  const std::uint16_t* cells, int members, const Workspace& work,
                                  const F& field) {
    constexpr int kCells = 32 / Lanes;  // of a warp
    int accepted = 0;
#pragma unroll 1
    for (int i = threadIdx.x / Lanes; (i & -kCells) < members; i += blockDim.x / Lanes) {
      const bool real = i < members;
      accepted += visit(tile, cycle, round, cells[real ? i : i & -kCells], work, real, field);
    }
    return accepted;
  }
};

}  // namespace
}  // namespace manymove::hard_particles
