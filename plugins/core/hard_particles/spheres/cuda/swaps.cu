// SPDX-License-Identifier: BSD-3-Clause
#include "swaps.h"

namespace manymove::hard_particles::spheres {
namespace {

constexpr int kThreads = 64;
constexpr int kMostCells = 512;  // of a set in a tile of kMaxTile cells along each of three axes
static_assert(kMaxTile == 16);

// A block for each tile. Diameters of particles outside the set are not changed meanwhile, neither
// by this block nor by others, whose active cells have a frozen layer around them.
template <int D>
__global__ void __launch_bounds__(kThreads)
    swap_kernel(const __grid_constant__ Geometry g, const __grid_constant__ SwapRules rules,
                const Sphere* spheres, const std::uint32_t* counts, const SwappedDiameters of,
                unsigned long long* tally) {
  __shared__ Swapper swappers[kMostCells];
  __shared__ int offset;
  const int tile = tile_of(g, static_cast<int>(blockIdx.x));
  const TileBounds bounds = tile_bounds<D>(g, tile);
  unsigned int trials = 0, accepted = 0;
  for (int turn = 0; turn < 1 << D; ++turn) {
    const int set = static_cast<int>(rules.order >> (3 * turn) & 7u);
    int n[3];
    const int cells = swap_cells<D>(bounds, set, n);
    if (cells == 0) continue;
    for (int k = threadIdx.x; k < cells; k += kThreads) {
      int at[3];
      swap_cell<D>(n, set, k, at);
      swappers[k] = swapper_of<D>(g, bounds, tile, at, rules.cycle, spheres, counts, of.diameters);
    }
    for (int round = 0; round < rules.rounds; ++round) {
      if (threadIdx.x == 0) offset = swap_offset<D>(g, tile, rules.cycle, set, round, cells);
      __syncthreads();
      for (int k = threadIdx.x; k < cells; k += kThreads) {
        const int other = swap_partner(offset, k, cells);
        const Swapper a = swappers[k], b = swappers[other];
        if (other <= k || a.id == kNobody || b.id == kNobody) continue;
        ++trials;
        if (!swaps(rules, a, b, of.diameters[a.id], of.diameters[b.id])) continue;
        exchange(of.diameters[a.id], of.diameters[b.id]);
        exchange(of.labels[a.id], of.labels[b.id]);
        exchange(of.reference[a.id], of.reference[b.id]);
        ++accepted;
      }
      __syncthreads();
    }
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    trials += __shfl_down_sync(~0u, trials, lane);
    accepted += __shfl_down_sync(~0u, accepted, lane);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(tally, static_cast<unsigned long long>(trials));
    atomicAdd(tally + 1, static_cast<unsigned long long>(accepted));
  }
}

}  // namespace

void swap_diameters(const State& s, const SwapRules& rules, const Sphere* spheres,
                    const std::uint32_t* counts, const SwappedDiameters& of,
                    unsigned long long* tally, cudaStream_t stream) {
  const Geometry g = s.local();
  const auto kernel = s.dimensions() == 2 ? &swap_kernel<2> : &swap_kernel<3>;
  kernel<<<static_cast<unsigned>(s.tiles()), kThreads, 0, stream>>>(g, rules, spheres, counts, of,
                                                                    tally);
  check_launch();
}

}  // namespace manymove::hard_particles::spheres
