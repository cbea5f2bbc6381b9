// SPDX-License-Identifier: BSD-3-Clause
#include "swaps.h"

namespace manymove::hard_particles::spheres {
namespace {

constexpr int kThreads = 512, kLanes = 8;  // of a block, and for the room of a swapper
constexpr int kMostCells = 512;  // of a set in a tile of kMaxTile cells along each of three axes
static_assert(kMaxTile == 16 && kMostCells <= kThreads);

// The rounds of pairs of a set, by one warp, in shared memory. from[k]: the cell whose particle had
// the present diameter of cell k's when the set was begun.
template <int D>
__device__ void make_rounds(const Geometry& g, const SwapRules& rules, int tile, int set, int cells,
                            const Swapper* swappers, double* diameters, std::uint16_t* from,
                            unsigned int& trials, unsigned int& accepted) {
  const auto lane = static_cast<int>(threadIdx.x);
  int mine = 0;
  for (int round = 0; round < rules.rounds; ++round) {
    if (round % 32 == 0) mine = swap_offset<D>(g, tile, rules.cycle, set, round + lane, cells);
    const int offset = __shfl_sync(~0u, mine, round % 32);
    const int low = (offset + 1) / 2, pairs = low + (cells - offset - 1) / 2;
    for (int i = lane; i < pairs; i += 32) {
      const int k = i < low ? i : offset + 1 + i - low, other = swap_partner(offset, k, cells);
      const Swapper a = swappers[k], b = swappers[other];
      if (a.id == kNobody || b.id == kNobody) continue;
      ++trials;
      if (!swaps(rules, a, b, diameters[k], diameters[other])) continue;
      exchange(diameters[k], diameters[other]);
      exchange(from[k], from[other]);
      ++accepted;
    }
    __syncwarp();
  }
}

// A block for each tile. Diameters of particles outside the set are not changed meanwhile, neither
// by this block nor by others, whose active cells have a frozen layer around them.
template <int D>
__global__ void __launch_bounds__(kThreads, 2)
    swap_kernel(const __grid_constant__ Geometry g, const __grid_constant__ SwapRules rules,
                const Sphere* spheres, const std::uint32_t* counts, const SwappedDiameters of,
                unsigned long long* tally) {
  __shared__ Swapper swappers[kMostCells];
  __shared__ double diameters[kMostCells];
  __shared__ std::uint16_t from[kMostCells];
  const auto tile = static_cast<int>(blockIdx.x), mine = static_cast<int>(threadIdx.x);
  const TileBounds bounds = tile_bounds<D>(g, tile);
  unsigned int trials = 0, accepted = 0;
  for (int turn = 0; turn < 1 << D; ++turn) {
    const int set = static_cast<int>(rules.order >> (3 * turn) & 7u);
    int n[3];
    const int cells = swap_cells<D>(bounds, set, n);
    if (cells < 2) continue;
    for (int first = 0; first < cells; first += kThreads / kLanes) {
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
          const Sphere p =
              spheres[here * g.slots +
                      swapper_slot<D>(g, bounds, tile, at, rules.cycle, particles)];
          swapper.id = p.id;
          diameter = of.diameters[p.id];
          swapper.room = room_of<D, kLanes>(g, rules, cell, p, spheres, counts, of.diameters,
                                            mine % kLanes);
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
  const Geometry& g = s.geometry;
  const auto kernel = s.dimensions() == 2 ? &swap_kernel<2> : &swap_kernel<3>;
  kernel<<<static_cast<unsigned>(g.tiles[0] * g.tiles[1] * g.tiles[2]), kThreads, 0, stream>>>(
      g, rules, spheres, counts, of, tally);
  check_launch();
}

}  // namespace manymove::hard_particles::spheres
