// SPDX-License-Identifier: BSD-3-Clause
#include "type_swaps.h"

#include "../../runtime/launch.cuh"

namespace manymove::hard_particles {
namespace {

constexpr int kThreads = 128;
constexpr int kMostCells = 512;  // of a set in a tile of kMaxTile cells along each of three axes
static_assert(kMaxTile == 16);

// What changes.
struct SwappedTypes {
  Label* labels;
  unsigned long long* sums;  // trials, accepted, changed types
  TypeChange* changes;
};

// A block for each tile, and a thread for each cell of a set or for each pair.
template <int D>
__global__ void __launch_bounds__(kThreads)
    type_swaps_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Law law,
                      const __grid_constant__ SwapRules rules,
                      const __grid_constant__ FieldView fields, bool energies, Sphere* spheres,
                      std::uint32_t* counts, const SwappedTypes swapped) {
  __shared__ TypeCandidate candidates[kMostCells];
  const int tile = tile_of<D>(g, static_cast<int>(blockIdx.x)),
            mine = static_cast<int>(threadIdx.x);
  const TileBounds bounds = tile_bounds<D>(g, tile);
  const TileOfCells t{g, law, energies ? &fields : nullptr, bounds, tile, spheres, counts};
  unsigned long long trials = 0, accepted = 0;
  for (int turn = 0; turn < 1 << D; ++turn) {
    TypeSwaps<D> swaps{t, rules, static_cast<int>(rules.order >> (3 * turn) & 7u), {}};
    const int cells = swap_cells<D>(bounds, swaps.set, swaps.n);
    for (int k = mine; k < cells; k += kThreads) candidates[k] = swaps.candidate(k);
    __syncthreads();
    for (int round = 0; round < rules.rounds && cells > 1; ++round) {
      const int offset = swap_offset<D>(g, tile, rules.cycle, swaps.set, round, cells);
      for (int k = mine; k < cells; k += kThreads) {
        const int other = swap_partner(offset, k, cells);
        if (other <= k) continue;
        TypeCandidate &a = candidates[k], &b = candidates[other];
        if (a.id == kNoParticle || b.id == kNoParticle || a.type == b.type) continue;
        ++trials;
        if (!swaps.accepts(round, k, other, a, b)) continue;
        exchange(a.type, b.type);
        ++accepted;
      }
      // Pairs of the next round are others.
      __syncthreads();
    }
    for (int k = mine; k < cells; k += kThreads) {
      const TypeCandidate c = candidates[k];
      if (c.id == kNoParticle || c.type == c.former) continue;
      swapped.labels[c.id].type = c.type;
      swapped.changes[atomicAdd(swapped.sums + 2, 1ull)] = {c.id, c.type};
    }
    // The next set reads these types.
    __syncthreads();
  }
  atomicAdd(swapped.sums, trials);
  atomicAdd(swapped.sums + 1, accepted);
}

}  // namespace

void CudaTypeSwaps::make(State& state, const Law& law, const FieldView& fields, Sphere* spheres,
                         std::uint32_t* counts, DeviceBuffer<Label>& labels, cudaStream_t stream) {
  // A cell has one candidate.
  const std::size_t cells = state.row_cells() * static_cast<std::size_t>(state.rows());
  if (changes_.size() < cells) changes_ = DeviceBuffer<TypeChange>(cells);
  counts_.clear(stream);
  const SwapRules rules = swap_rules(state, state.data.counters.cycles);
  const auto kernel = state.dimensions() == 2 ? &type_swaps_kernel<2> : &type_swaps_kernel<3>;
  kernel<<<static_cast<unsigned>(state.tiles()), kThreads, 0, stream>>>(
      state.local(), law, rules, fields, state.has_energies(), spheres, counts,
      {labels.data(), counts_.data(), changes_.data()});
  check_launch();
  const auto found = counts_.values(stream);
  std::vector<TypeChange> changes(found[2]);
  if (found[2]) changes_.download(changes.data(), stream, found[2]);
  state.data.swap_moves.trials += found[0];
  state.data.swap_moves.accepted += found[1];
  settle_types(state, std::move(changes));
  if (state.ranks) labels = on_device(state.labels, stream);
}

}  // namespace manymove::hard_particles
