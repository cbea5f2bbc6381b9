// SPDX-License-Identifier: BSD-3-Clause
#include "swaps.h"

namespace manymove::hard_particles::spheres {
namespace {

constexpr int kLanes = 16;       // threads that look for the room of a swapper
constexpr int kMostCells = 512;  // of a set in a tile of kMaxTile cells along each of three axes
static_assert(kMaxTile == 16);

// The rounds of pairs of a set, by one warp, in shared memory. from[k]: the cell whose particle had
// the present diameter of cell k's when the set was begun.
template <int D>
__device__ void make_rounds(const Geometry& g, const SwapRules& rules, int tile, int set, int cells,
                            const Swapper* swappers, double* diameters, std::uint16_t* from,
                            unsigned int& trials, unsigned int& accepted) {
  constexpr int kAtOnce = 2;
  const auto lane = static_cast<int>(threadIdx.x);
  int mine = 0;
  for (int round = 0; round < rules.rounds; ++round) {
    if (round % 32 == 0) mine = swap_offset<D>(g, tile, rules.cycle, set, round + lane, cells);
    const int offset = __shfl_sync(~0u, mine, round % 32);
    const int low = (offset + 1) / 2, pairs = low + (cells - offset - 1) / 2;
    for (int first = lane; first < pairs; first += 32 * kAtOnce) {
      int one[kAtOnce], two[kAtOnce];
      Swapper a[kAtOnce], b[kAtOnce];
      double of_a[kAtOnce], of_b[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int pair = first + 32 * k;
        a[k].id = kNobody;
        if (pair >= pairs) continue;
        one[k] = pair < low ? pair : offset + 1 + pair - low;
        two[k] = swap_partner(offset, one[k], cells);
        a[k] = swappers[one[k]];
        b[k] = swappers[two[k]];
        of_a[k] = diameters[one[k]];
        of_b[k] = diameters[two[k]];
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (a[k].id == kNobody || b[k].id == kNobody) continue;
        ++trials;
        if (!swaps(rules, a[k], b[k], of_a[k], of_b[k])) continue;
        diameters[one[k]] = of_b[k];
        diameters[two[k]] = of_a[k];
        exchange(from[one[k]], from[two[k]]);
        ++accepted;
      }
    }
    __syncwarp();
  }
}

// A block for each tile. Diameters of particles outside the set are not changed meanwhile, neither
// by this block nor by others, whose active cells have a frozen layer around them.
template <int D, int Threads>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    swap_kernel(const __grid_constant__ Geometry g, const __grid_constant__ SwapRules rules,
                const Sphere* spheres, const std::uint32_t* counts, const SwappedDiameters of,
                unsigned long long* tally) {
  static_assert(kMostCells <= Threads);
  __shared__ Swapper swappers[kMostCells];
  __shared__ double diameters[kMostCells];
  __shared__ std::uint16_t from[kMostCells];
  const int tile = tile_of(g, static_cast<int>(blockIdx.x)), mine = static_cast<int>(threadIdx.x);
  const TileBounds bounds = tile_bounds<D>(g, tile);
  unsigned int trials = 0, accepted = 0;
  for (int turn = 0; turn < 1 << D; ++turn) {
    const int set = static_cast<int>(rules.order >> (3 * turn) & 7u);
    int n[3];
    const int cells = swap_cells<D>(bounds, set, n);
    if (cells < 2) continue;
    for (int first = 0; first < cells; first += Threads / kLanes) {
      const int k = first + mine / kLanes;
      Swapper swapper{1e30, kNobody};
      double diameter = 0;
      if (k < cells) {
        int at[3];
        swap_cell<D>(n, set, k, at);
        const std::int64_t here = grid_cell<D>(g, bounds, at);
        const std::uint32_t particles = counts[here];
        if (particles > 0) {
          const int cell[3] = {bounds.first[0] + at[0], bounds.first[1] + at[1],
                               bounds.first[2] + at[2]};
          const Sphere p = spheres[here * g.slots +
                                   swapper_slot<D>(g, bounds, tile, at, rules.cycle, particles)];
          swapper.id = p.id;
          diameter = of.diameters[p.id];
          swapper.room =
              room_of<D, kLanes>(g, rules, cell, p, spheres, counts, of.diameters, mine % kLanes);
        }
      }
      for (int other = 1; other < kLanes; other *= 2)
        swapper.room = fmin(swapper.room, __shfl_xor_sync(~0u, swapper.room, other));
      if (k < cells && mine % kLanes == 0) {
        swappers[k] = swapper;
        diameters[k] = diameter;
        from[k] = static_cast<std::uint16_t>(k);
      }
    }
    __syncthreads();
    if (mine < 32)
      make_rounds<D>(g, rules, tile, set, cells, swappers, diameters, from, trials, accepted);
    __syncthreads();
    const bool moved = mine < cells && from[mine] != mine;
    double reference = 0;
    Label label{};
    if (moved) {
      const std::uint32_t former = swappers[from[mine]].id;
      reference = of.reference[former];
      label = of.labels[former];
    }
    __syncthreads();
    if (moved) {
      const std::uint32_t id = swappers[mine].id;
      of.diameters[id] = diameters[mine];
      of.reference[id] = reference;
      of.labels[id] = label;
    }
    __syncthreads();
  }
  if (mine >= 32) return;
  for (int lane = 16; lane > 0; lane /= 2) {
    trials += __shfl_down_sync(~0u, trials, lane);
    accepted += __shfl_down_sync(~0u, accepted, lane);
  }
  if (mine == 0) {
    atomicAdd(tally, static_cast<unsigned long long>(trials));
    atomicAdd(tally + 1, static_cast<unsigned long long>(accepted));
  }
}

}  // namespace

void swap_diameters(const State& s, const SwapRules& rules, const Sphere* spheres,
                    const std::uint32_t* counts, const SwappedDiameters& of,
                    unsigned long long* tally, cudaStream_t stream) {
  const Geometry g = s.local();
  const int tiles = s.tiles();
  const auto launch = [&](auto kernel, int threads) {
    kernel<<<static_cast<unsigned>(tiles), static_cast<unsigned>(threads), 0, stream>>>(
        g, rules, spheres, counts, of, tally);
    check_launch();
  };
  if (s.dimensions() == 2)
    launch(&swap_kernel<2, 512>, 512);
  else if (tiles > 128)  // two blocks for a multiprocessor
    launch(&swap_kernel<3, 512>, 512);
  else
    launch(&swap_kernel<3, 1024>, 1024);
}

}  // namespace manymove::hard_particles::spheres
