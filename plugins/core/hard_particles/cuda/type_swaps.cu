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
  const int tile = tile_of<D>(g, static_cast<int>(blockIdx.x));
  const TileBounds bounds = tile_bounds<D>(g, tile);
  const TileOfCells t{g, law, energies ? &fields : nullptr, bounds, tile, spheres, counts};
  TrialCounters counted;
  swap_types_of_tile<D>(
      t, rules, static_cast<int>(threadIdx.x), kThreads, candidates, counted,
      [&](std::uint32_t id, std::int32_t type) {
        swapped.labels[id].type = type;
        swapped.changes[atomicAdd(swapped.sums + 2, 1ull)] = {id, type};
      },
      [] { __syncthreads(); });
  atomicAdd(swapped.sums, static_cast<unsigned long long>(counted.trials));
  atomicAdd(swapped.sums + 1, static_cast<unsigned long long>(counted.accepted));
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
  state.data.swap_moves += {found[0], found[1]};
  settle_types(state, std::move(changes));
  if (state.ranks) labels = on_device(state.labels, stream);
}

}  // namespace manymove::hard_particles
