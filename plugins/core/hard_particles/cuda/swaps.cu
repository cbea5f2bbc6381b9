// SPDX-License-Identifier: BSD-3-Clause
#include "swaps.h"

#include "../../runtime/launch.cuh"
#include "../../runtime/warp.cuh"

namespace manymove::hard_particles {
namespace {

constexpr int kLanes = 16;       // threads that look for the room of a candidate
constexpr int kMostCells = 512;  // of a set in a tile of kMaxTile cells along each of three axes
static_assert(kMaxTile == 16);

// A set of cells of a tile, with the candidate and the diameter of each, in shared memory.
struct SwapSet {
  const Geometry& g;
  const SwapRules& rules;
  int tile, set, cells;
  const SwapCandidate* candidates;  // [cells]
  double* diameters;                // [cells]
  std::uint16_t* from;  // [cells], the cell whose particle had the present diameter of this
                        // cell's when the set was begun
};

struct SwapCounts {
  unsigned int trials = 0, accepted = 0;
};

// The rounds of pairs of a set, by one warp, in shared memory.
template <int D>
__device__ void make_rounds(const SwapSet& s, SwapCounts& counts) {
  const auto& [g, rules, tile, set, cells, candidates, diameters, from] = s;
  const auto lane = static_cast<int>(threadIdx.x);
  int mine = 0;
  for (int round = 0; round < rules.rounds; ++round) {
    // The lanes draw s for 32 rounds at a time. Cells k and (s - k) mod n are a pair: those with
    // k <= s / 2 below s, and those above it that add up to s + n.
    if (round % 32 == 0) mine = swap_offset<D>(g, tile, rules.cycle, set, round + lane, cells);
    // Pairs of a round are disjoint: lanes change them at once.
    const int offset = value_of_lane(mine, round % 32);
    const int low = (offset + 1) / 2, pairs = low + (cells - offset - 1) / 2;
    for (int pair = lane; pair < pairs; pair += 32) {
      const int one = pair < low ? pair : offset + 1 + pair - low,
                two = swap_partner(offset, one, cells);
      const SwapCandidate a = candidates[one], b = candidates[two];
      if (a.id == kNoParticle || b.id == kNoParticle) continue;
      ++counts.trials;
      // Both have room for the larger diameter: max(sigma_a, sigma_b) <= min(rho_a, rho_b).
      if (!swaps(rules, a, b, diameters[one], diameters[two])) continue;
      exchange(diameters[one], diameters[two]);
      exchange(from[one], from[two]);
      ++counts.accepted;
    }
    // The next round pairs other cells: their diameters are those that this one leaves.
    __syncwarp();
  }
}

// The same rounds of at most 32 * Each cells, whose candidates are in the registers of a warp: cell
// k in those of lane k % 32. Both lanes of a pair find the same.
template <int D, int Each>
__device__ void make_rounds_in_registers(const SwapSet& s, SwapCounts& counts) {
  const auto& [g, rules, tile, set, cells, candidates, diameters, from] = s;
  const auto lane = static_cast<int>(threadIdx.x);
  double room[Each], diameter[Each];
  int source[Each];
  unsigned int there[Each];  // the lanes that have a particle
#pragma unroll
  for (int e = 0; e < Each; ++e) {
    const int k = lane + 32 * e;
    // Lane l has the places l, l + 32, l + 64, ...
    const bool is = k < cells && candidates[k].id != kNoParticle;
    room[e] = is ? candidates[k].room : 0;
    diameter[e] = is ? diameters[k] : 0;
    source[e] = k;
    there[e] = __ballot_sync(~0u, is);
  }
  int mine = 0;
  for (int round = 0; round < rules.rounds; ++round) {
    // The lanes draw the offsets of the next 32 rounds, one each.
    if (round % 32 == 0) mine = swap_offset<D>(g, tile, rules.cycle, set, round + lane, cells);
    const int offset = value_of_lane(mine, round % 32);
    double to[Each];
    int to_source[Each];
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      const int k = lane + 32 * e, partner = k < cells ? swap_partner(offset, k, cells) : k;
      SwapCandidate other{value_of_lane(room[0], partner % 32), 0};
      double its = value_of_lane(diameter[0], partner % 32);
      int its_source = value_of_lane(source[0], partner % 32);
      unsigned int others = there[0];
#pragma unroll
      for (int h = 1; h < Each; ++h) {
        const double its_room = value_of_lane(room[h], partner % 32),
                     diameter_h = value_of_lane(diameter[h], partner % 32);
        const int source_h = value_of_lane(source[h], partner % 32);
        if (partner / 32 == h) {
          other.room = its_room;
          its = diameter_h;
          its_source = source_h;
          others = there[h];
        }
      }
      const bool pair = partner != k && (there[e] >> lane & 1u) && (others >> partner % 32 & 1u);
      // Both partners decide by the same numbers, and each takes what the other has.
      const bool swap = pair && swaps(rules, {room[e], 0}, other, diameter[e], its);
      to[e] = swap ? its : diameter[e];
      to_source[e] = swap ? its_source : source[e];
      counts.trials += pair && k < partner;
      counts.accepted += swap && k < partner;
    }
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      diameter[e] = to[e];
      source[e] = to_source[e];
    }
  }
#pragma unroll
  for (int e = 0; e < Each; ++e)
    if (lane + 32 * e < cells) {
      diameters[lane + 32 * e] = diameter[e];
      from[lane + 32 * e] = static_cast<std::uint16_t>(source[e]);
    }
}

// A tile with its frozen borders in shared memory. Nothing else changes the diameters of its
// particles meanwhile, because its active cells have a frozen layer around them.
struct SwapTile {
  double* diameters;      // [capacity]
  float4* particles;      // [capacity], with the index
  float* about;           // [capacity], the diameters in float32
  std::uint16_t* source;  // [capacity], the particle here whose diameter one has now
  std::uint32_t* places;  // [plane], the first particle of a cell, and how many << 16

  __device__ SwapTile(int capacity, float4* memory)
      : diameters(reinterpret_cast<double*>(memory + capacity)),
        particles(memory),
        about(reinterpret_cast<float*>(diameters + capacity)),
        source(reinterpret_cast<std::uint16_t*>(about + capacity)),
        places(reinterpret_cast<std::uint32_t*>(source + capacity)) {}
  static std::size_t bytes(int capacity, int plane) {
    // 16 + 8 + 4 + 2 bytes for a particle, 4 for a cell.
    return static_cast<std::size_t>(capacity) * 30 + static_cast<std::size_t>(plane) * 4;
  }
};

// Returns false if there is no room for all particles.
template <int D>
__device__ bool fill(const SwapTile& m, const Geometry& g, const TileBounds& bounds,
                     const Sphere* spheres, const std::uint32_t* counts, const double* diameters,
                     unsigned int capacity, unsigned int& total) {
  const int across[3] = {bounds.size[0] + 1, bounds.size[1] + 1, D == 3 ? bounds.size[2] + 1 : 1};
  const int cells = across[0] * across[1] * across[2];
  if (threadIdx.x == 0) total = 0;
  // Cells of all warps are added to it.
  __syncthreads();
  for (int i = threadIdx.x; i < cells; i += blockDim.x) {
    const int at[3] = {i % across[0], i / across[0] % across[1], i / (across[0] * across[1])};
    int there = 0;  // a box has at most 1e9
#pragma unroll
    for (int a = D - 1; a >= 0; --a) {
      const int k = bounds.first[a] + at[a];
      there = there * g.cells[a] + (k >= g.cells[a] ? 0 : k);
    }
    const auto* const from =
        reinterpret_cast<const float4*>(spheres + static_cast<std::int64_t>(there) * g.slots);
    const std::uint32_t n = counts[there];
    const float4 first = from[0];
    // Cells race for their places in memory, which have no effect on the result.
    const unsigned int to = atomicAdd(&total, n);
    // The first particle of the cell in bits 0 to 15, their number above.
    m.places[i] = to | n << 16;
    if (to + n > capacity || n == 0) continue;
    m.particles[to] = first;
    constexpr std::uint32_t kAtOnce = 4;
    for (std::uint32_t s = 1; s < n; s += kAtOnce) {
      float4 next[kAtOnce];
#pragma unroll
      for (std::uint32_t k = 0; k < kAtOnce; ++k) next[k] = from[min(s + k, n - 1)];
#pragma unroll
      for (std::uint32_t k = 0; k < kAtOnce; ++k)
        if (s + k < n) m.particles[to + s + k] = next[k];
    }
  }
  // The number of all particles is known to each thread.
  __syncthreads();
  // What did not fit has not been written.
  if (total > capacity) return false;
  for (unsigned int k = threadIdx.x; k < total; k += blockDim.x) {
    m.diameters[k] = diameters[__float_as_uint(m.particles[k].w)];
    m.about[k] = static_cast<float>(m.diameters[k]);
    m.source[k] = static_cast<std::uint16_t>(k);
  }
  __syncthreads();
  return true;
}

// The square root to a few roundings of float32.
__device__ float about_root(float x) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

// room_of() for the particle `who` of a cell there: the neighbor that leaves the least room in
// float32 is looked at in float64, and all of them if another one leaves about as little.
template <int D, int Lanes>
__device__ double room_in(const SwapTile& m, const Geometry& g, const SwapRules& rules,
                          const TileBounds& bounds, const int at[3], std::uint32_t who, int lane) {
  const int row = bounds.size[0] + 1, layer = row * (bounds.size[1] + 1);
  const float4 p = m.particles[who];
  // Calls look(k, away), with the distance between the centers of the two cells.
  const auto for_all = [&](auto&& look) {
#pragma unroll
    for (int c = 0; c < ((D == 3 ? 27 : 9) + Lanes - 1) / Lanes; ++c) {
      const int other = c * Lanes + lane;
      if (other >= (D == 3 ? 27 : 9)) break;
      const int by[3] = {other % 3 - 1, other / 3 % 3 - 1, D == 3 ? other / 9 - 1 : 0};
      const std::uint32_t place =
          m.places[at[0] + by[0] + row * (at[1] + by[1]) + layer * (at[2] + by[2])];
      const float away[3] = {2.0f * g.half[0] * static_cast<float>(by[0]),
                             2.0f * g.half[1] * static_cast<float>(by[1]),
                             2.0f * g.half[2] * static_cast<float>(by[2])};
      const std::uint32_t begin = place & 0xffffu, end = begin + (place >> 16);
#pragma unroll 2
      for (std::uint32_t k = begin; k < end; ++k)
        if (k != who) look(k, away);
    }
  };
  const auto distance = [&](std::uint32_t k, const float away[3], float d[3]) {
    const float4 q = m.particles[k];
    d[0] = q.x - p.x + away[0];
    d[1] = q.y - p.y + away[1];
    d[2] = D == 3 ? q.z - p.z + away[2] : 0.0f;
    return fast_fma(d[0], d[0], fast_fma(d[1], d[1], d[2] * d[2]));
  };
  const auto exactly = [&](const float d[3], std::uint32_t k) {
    return 2 * square_root(exact_square(d[0], d[1], d[2])) - m.diameters[k];
  };
  constexpr float kFar = 1e30f;
  float least = kFar, next = kFar, nearest[3] = {0, 0, 0};
  std::uint32_t its = who;
  for_all([&](std::uint32_t k, const float away[3]) {
    float d[3];
    const float square = distance(k, away, d);
    if (square > rules.farthest2) return;
    // The room that this neighbor leaves, 2 |d| - sigma_k (docs/theory, section 6), in float32.
    const float about = 2 * about_root(square) - m.about[k];
    // `least` and the second least, `next`, of this lane.
    next = fminf(next, fmaxf(about, least));
    if (about >= least) return;
    least = about;
    its = k;
    for (int a = 0; a < 3; ++a) nearest[a] = d[a];
  });
  float all = warp_reduce<Lanes>(
      least, [](float a, float b) { return fminf(a, b); }, mask_of_group<Lanes>(lane));
  all += 2e-5f * about_root(rules.farthest2);  // more than float32 values are wrong by
  double room = 1e30;
  // Another lane has a neighbor that leaves less room by more than float32 errs.
  if (least == kFar || least > all) return room;
  room = exactly(nearest, its);
  if (next > all) return room;
  for_all([&](std::uint32_t k, const float away[3]) {
    float d[3];
    if (distance(k, away, d) <= rules.farthest2) room = fmin(room, exactly(d, k));
  });
  return room;
}

// Leaves the diameters in memory. All that is read is read before anything is written, because the
// particles exchange what they have.
__device__ void write_back(const SwapTile& m, const LawTables& of, unsigned int total) {
  const auto id = [&](unsigned int k) { return __float_as_uint(m.particles[k].w); };
  for (unsigned int k = threadIdx.x; k < total; k += blockDim.x) {
    if (m.source[k] == k) continue;
    const std::uint32_t former = id(m.source[k]);
    of.diameters[id(k)] = m.diameters[k];
    m.diameters[k] = of.reference[former];
    m.particles[k].x = of.labels[former].radius;
  }
  __syncthreads();
  for (unsigned int k = threadIdx.x; k < total; k += blockDim.x) {
    if (m.source[k] == k) continue;
    of.reference[id(k)] = m.diameters[k];
    of.labels[id(k)].radius = m.particles[k].x;
  }
}

// A block for each tile. Diameters of particles outside the set are not changed meanwhile, neither
// by this block nor by others, whose active cells have a frozen layer around them.
template <int D, int Threads>
__device__ __forceinline__ void make_swaps(const Geometry& g, const SwapRules& rules,
                                           const Sphere* spheres, const std::uint32_t* counts,
                                           const LawTables& of, unsigned long long* sums,
                                           int capacity) {
  static_assert(kMostCells <= Threads);
  extern __shared__ float4 memory[];
  __shared__ SwapCandidate candidates[kMostCells];
  __shared__ double diameters[kMostCells];
  __shared__ std::uint16_t from[kMostCells], places[kMostCells];
  __shared__ unsigned int total;
  const int tile = tile_of<D>(g, static_cast<int>(blockIdx.x)),
            mine = static_cast<int>(threadIdx.x);
  const TileBounds bounds = tile_bounds<D>(g, tile);
  const SwapTile here(capacity, memory);
  wait_for_former_kernel();
  const bool held = fill<D>(here, g, bounds, spheres, counts, of.diameters,
                            static_cast<unsigned int>(capacity), total);
  SwapCounts made;
  for (int turn = 0; turn < 1 << D; ++turn) {
    const int set = static_cast<int>(rules.order >> (3 * turn) & 7u);
    int n[3];
    const int cells = swap_cells<D>(bounds, set, n);
    if (cells < 2) continue;  // no pair
    // The candidate of each cell, a particle that is drawn without a look at diameters, and the
    // room that its neighbors leave it, rho_i = min_k (2 |r_ik| - d_k), a part of them for each
    // lane.
    for (int first = 0; first < cells; first += Threads / kLanes) {
      const int k = first + mine / kLanes;
      SwapCandidate candidate{1e30, kNoParticle};
      double diameter = 0;
      std::uint32_t who = 0;
      if (k < cells) {
        int at[3];
        swap_cell<D>(n, set, k, at);
        const std::int64_t cell_there = grid_cell<D>(g, bounds, at);
        const std::uint32_t place = held ? here.places[local_index<D>(bounds, at)] : 0;
        const std::uint32_t particles = held ? place >> 16 : counts[cell_there];
        if (particles > 0) {
          // Each particle of the cell is equally likely, whatever its diameter: the choice is
          // symmetric.
          const std::uint32_t slot = candidate_slot<D>(g, bounds, tile, at, rules.cycle, particles);
          if (held) {
            who = (place & 0xffffu) + slot;
            candidate.id = __float_as_uint(here.particles[who].w);
            diameter = here.diameters[who];
            candidate.room = room_in<D, kLanes>(here, g, rules, bounds, at, who, mine % kLanes);
          } else {
            const int cell[3] = {bounds.first[0] + at[0], bounds.first[1] + at[1],
                                 bounds.first[2] + at[2]};
            const Sphere p = spheres[cell_there * g.slots + slot];
            candidate.id = p.id;
            diameter = of.diameters[p.id];
            candidate.room =
                room_of<D, kLanes>(g, rules, cell, p, spheres, counts, of.diameters, mine % kLanes);
          }
        }
      }
      candidate.room =
          warp_reduce<kLanes>(candidate.room, [](double a, double b) { return fmin(a, b); });
      if (k < cells && mine % kLanes == 0) {
        candidates[k] = candidate;
        diameters[k] = diameter;
        places[k] = static_cast<std::uint16_t>(who);
        from[k] = static_cast<std::uint16_t>(k);
      }
    }
    // The first warp pairs the candidates that all warps have looked at;
    __syncthreads();
    if (mine < 32) {
      const auto make = [&](auto rounds) {
        rounds({g, rules, tile, set, cells, candidates, diameters, from}, made);
      };
      if (cells <= 32)
        make(make_rounds_in_registers<D, 1>);
      else if (cells <= 64)
        make(make_rounds_in_registers<D, 2>);
      else
        make(make_rounds<D>);
    }
    // then every thread takes what a cell has got.
    __syncthreads();
    // A diameter moves with its value in the caller's unit and its label. All threads read before
    // any of them writes.
    const bool moved = mine < cells && from[mine] != mine;
    double reference = 0;
    Label label{};
    std::uint16_t source = 0;
    // Whose diameter it was at the start, so that what belongs to it is written once, in the end.
    if (moved && held) source = here.source[places[from[mine]]];
    if (moved && !held) {
      const std::uint32_t former = candidates[from[mine]].id;
      reference = of.reference[former];
      label = of.labels[former];
    }
    __syncthreads();
    if (moved && held) {
      here.diameters[places[mine]] = diameters[mine];
      here.about[places[mine]] = static_cast<float>(diameters[mine]);
      here.source[places[mine]] = source;
    }
    if (moved && !held) {
      const std::uint32_t id = candidates[mine].id;
      of.diameters[id] = diameters[mine];
      of.reference[id] = reference;
      of.labels[id] = label;
    }
    // Rooms of the next set depend on these diameters.
    __syncthreads();
  }
  if (held) write_back(here, of, total);
  if (mine >= 32) return;
  made = {warp_sum(made.trials), warp_sum(made.accepted)};
  if (mine == 0) {
    atomicAdd(sums, static_cast<unsigned long long>(made.trials));
    atomicAdd(sums + 1, static_cast<unsigned long long>(made.accepted));
  }
}

template <int D, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    swap_kernel(const __grid_constant__ Geometry g, const __grid_constant__ SwapRules rules,
                const Sphere* spheres, const std::uint32_t* counts, const LawTables of,
                unsigned long long* sums, int capacity) {
  make_swaps<D, Threads>(g, rules, spheres, counts, of, sums, capacity);
}

// The swap moves of all systems whose turn it is after a cycle, with a row of blocks for each.
// draws: [systems], of this cycle.
template <int D>
__global__ void __launch_bounds__(kSwapThreads, 2)
    swap_systems_kernel(const System* systems, const Draw* draws, int cycle) {
  const System& system = systems[blockIdx.y];
  // Cycles complete after the present one.
  const std::uint64_t cycles = draws[blockIdx.y].cycle + 1;
  if (static_cast<int>(blockIdx.x) >= system.tiles || cycle >= system.cycles ||
      !system.swaps_after(cycles))
    return;
  __shared__ Geometry g;
  __shared__ SwapRules rules;
  copy_to_block(g, system.g);
  copy_to_block(rules, system.rules);
  __syncthreads();
  if (threadIdx.x == 0) {
    rules.cycle = cycles;
    rules.order = swap_order(g, D, cycles);
  }
  __syncthreads();
  const int next = (cycle + 1) & 1;
  make_swaps<D, kSwapThreads>(g, rules, system.spheres[next], system.counts[next], system.tables,
                              system.swap_counts, system.swap_capacity);
}

constexpr int kCellThreads = 128;

// A thread for each cell.
template <bool Take>
__global__ void diameters_kernel(const StoredCells cells, std::size_t number, double unit,
                                 const LawTables of) {
  const std::size_t cell = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (cell >= number) return;
  const StoredCells mine = cells.from(cell);
  for (std::uint32_t s = 0; s < *mine.counts; ++s) {
    const std::uint32_t id = mine.spheres[s].id;
    if (Take) {
      of.reference[id] = mine.diameters[s];
      of.diameters[id] = diameter_in_units(mine.diameters[s], unit);
      of.labels[id] = radius_in_units(mine.diameters[s], unit);
    } else {
      mine.diameters[s] = of.reference[id];
    }
  }
}

}  // namespace

void swap_diameters(const State& s, const SwapRules& rules, const Sphere* spheres,
                    const std::uint32_t* counts, const LawTables& of, unsigned long long* sums,
                    cudaStream_t stream) {
  const Geometry g = s.local();
  const int tiles = s.tiles();
  int most = 1;  // cells of a set in a tile
  for (int a = 0; a < s.dimensions(); ++a)
    most *= (s.geometry.cells[a] + s.geometry.tiles[a] - 1) / s.geometry.tiles[a] / 2;
  const int capacity = swap_capacity(s);
  const std::size_t bytes = swap_bytes(s, capacity);
  const auto launch = [&](auto kernel, int threads) {
    allow_shared_memory(kernel, bytes, "shared memory for swap moves");
    launch_kernel(kernel, static_cast<unsigned>(tiles), static_cast<unsigned>(threads), bytes,
                  stream, !s.ranks && waits_for_former_kernel(kernel), g, rules, spheres, counts,
                  of, sums, capacity);
  };
  if (s.dimensions() == 2)
    launch(&swap_kernel<2, 512, 2>, 512);
  else if (tiles > 128)
    launch(&swap_kernel<3, 512, 2>, 512);
  else if (most * kLanes <= 512)  // threads for a set at once
    launch(&swap_kernel<3, 512, 1>, 512);
  else
    launch(&swap_kernel<3, 1024, 1>, 1024);
}

void (*swaps_of_systems(int dimensions))(const System*, const Draw*, int cycle) {
  return dimensions == 2 ? &swap_systems_kernel<2> : &swap_systems_kernel<3>;
}

int swap_capacity(const State& s) {
  constexpr std::size_t kStaticShared = 16 * 1024;  // at most: static, and reserved by CUDA
  const int capacity = (expected_in_tile(s) + 7) / 8 * 8;
  // Larger tiles stay in the device's memory.
  return swap_bytes(s, capacity) + kStaticShared > most_shared_memory() ? 0 : capacity;
}

std::size_t swap_bytes(const State& s, int capacity) {
  return SwapTile::bytes(capacity, s.geometry.plane);
}

void exchange_diameters(bool take, const StoredCells& cells, std::size_t number, double unit,
                        const LawTables& of, cudaStream_t stream) {
  if (number == 0) return;
  const auto kernel = take ? &diameters_kernel<true> : &diameters_kernel<false>;
  kernel<<<blocks_for(number, std::size_t{kCellThreads}), kCellThreads, 0, stream>>>(cells, number,
                                                                                     unit, of);
  check_launch();
}

}  // namespace manymove::hard_particles
