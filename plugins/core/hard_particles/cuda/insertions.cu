// SPDX-License-Identifier: BSD-3-Clause
#include "insertions.h"

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "../../runtime/launch.cuh"
#include "../../runtime/warp.cuh"

namespace manymove::hard_particles {
namespace {

constexpr int kThreads = 128;

constexpr int kVisitThreads = 64;  // cells of a set in the usual tiles

// The list of the changes, in any order: place_of_new() of new particles, and free indices plus
// `removed`.
struct ChangeList {
  InsertionCounts* sums;
  std::uint64_t* numbers;
  std::uint64_t removed;
};

// A block for each tile and a thread for each cell of a set.
template <int D, Contact C>
__global__ void __launch_bounds__(kVisitThreads)
    visit_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Law law,
                 const __grid_constant__ InsertionRules rules,
                 const __grid_constant__ FieldView fields, bool energies, Sphere* spheres,
                 std::uint32_t* counts, const ChangeList list) {
  const int tile = tile_of<D>(g, static_cast<int>(blockIdx.x));
  const TileBounds bounds = tile_bounds<D>(g, tile);
  const TileOfCells t{g, law, energies ? &fields : nullptr, bounds, tile, spheres, counts};
  InsertionCounts made{};
  const auto keep = [&](std::uint64_t number) {
    list.numbers[atomicAdd(&list.sums->changes, 1ull)] = number;
  };
  visit_tile<D, C>(
      t, rules, static_cast<int>(threadIdx.x), kVisitThreads, made,
      [&](std::uint32_t id) { keep(list.removed + id); },
      [&](std::int64_t cell, int slot, std::int32_t type) {
        keep(place_of_new(static_cast<std::uint64_t>(cell * g.slots + slot), type));
      },
      [] { __syncthreads(); });
  for (int k = 0; k < 2; ++k) {
    const auto trials = warp_sum(made.trials[k]), accepted = warp_sum(made.accepted[k]);
    if (threadIdx.x % kWarpSize != 0) continue;
    atomicAdd(&list.sums->trials[k], trials);
    atomicAdd(&list.sums->accepted[k], accepted);
  }
}

// New particles, in places that count from this rank's first slot.
__global__ void name_kernel(Sphere* spheres, const std::uint64_t* places, const std::uint32_t* ids,
                            int number) {
  const int k = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (k < number) spheres[places[k] / kNewTypes].id = ids[k];
}

// A thread for each cell.
__global__ void rename_kernel(Sphere* spheres, const std::uint32_t* counts, std::int64_t cells,
                              int slots, std::uint32_t particles, const std::uint32_t* of_former) {
  const std::int64_t cell = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (cell >= cells) return;
  for (std::uint32_t s = 0; s < counts[cell]; ++s) {
    std::uint32_t& id = spheres[cell * slots + s].id;
    if (id >= particles) id = of_former[id - particles];
  }
}

// A copy of host memory in a buffer that grows; returns when it is complete.
template <class T>
void keep(DeviceBuffer<T>& buffer, const std::vector<T>& host, cudaStream_t stream) {
  if (host.empty()) return;
  if (buffer.size() < host.size()) {
    buffer = DeviceBuffer<T>(2 * host.size());
    buffer.clear(stream);
  }
  copy_in(buffer.data(), host.data(), host.size() * sizeof(T), stream);
  check(cudaStreamSynchronize(stream), "copy to the GPU");
}

std::size_t own_cells(const State& state) {
  return state.row_cells() * static_cast<std::size_t>(state.rows());
}

// A power of two above the numbers of all places.
unsigned long long first_removed(const State& state) {
  return std::bit_ceil(own_cells(state) * static_cast<unsigned long long>(state.geometry.slots) *
                       kNewTypes);
}

}  // namespace

void CudaInsertions::upload(const State& state, cudaStream_t stream) {
  types_ = on_device(state.inserted_types, stream);
  logarithms_ = on_device(state.insertion_logarithms, stream);
}

void CudaInsertions::make(State& state, const Law& law, const FieldView& fields, Sphere* spheres,
                          std::uint32_t* counts, DeviceBuffer<Label>& labels, cudaStream_t stream) {
  visit(state, law, fields, spheres, counts, stream);
  const NewIndices of = settle_changes(state, changes(state, stream));
  adopt(state, of, spheres, counts, stream);
  // The labels of a single type are all the same.
  if (law.types > 1 || state.labels.size() > labels.size()) keep(labels, state.labels, stream);
}

void CudaInsertions::visit(const State& state, const Law& law, const FieldView& fields,
                           Sphere* spheres, std::uint32_t* counts, cudaStream_t stream) {
  // A slot holds one new particle at most, and an index is removed once.
  const std::size_t slots = own_cells(state) * static_cast<std::size_t>(state.geometry.slots);
  if (numbers_.size() < slots + state.particles)
    numbers_ = DeviceBuffer<std::uint64_t>(slots + 2 * state.particles);
  sums_.clear(stream);
  InsertionRules rules = insertion_rules(state, state.data.counters.cycles);
  rules.types = types_.data();
  rules.logarithms = logarithms_.data();
  with_particles(state.dimensions(), state.distances.contact, [&](auto policy) {
    using P = decltype(policy);
    if constexpr (P::kContact != Contact::additive) {
      visit_kernel<P::kDimensions, P::kContact>
          <<<static_cast<unsigned>(state.tiles()), kVisitThreads, 0, stream>>>(
              state.local(), law, rules, fields, state.has_energies(), spheres, counts,
              {sums_.data(), numbers_.data(), first_removed(state)});
      check_launch();
    }
  });
}

Changes CudaInsertions::changes(const State& state, cudaStream_t stream) {
  Changes found{sums_.first_value(stream), {}, {}};
  const std::size_t count = found.counts.changes;
  if (count == 0) return found;
  if (host_.size() < count) host_ = PinnedBuffer<std::uint64_t>(2 * count);
  if (others_.size() < count) others_ = DeviceBuffer<std::uint64_t>(2 * count);
  const std::uint64_t removed = first_removed(state);
  cub::DoubleBuffer<std::uint64_t> keys(numbers_.data(), others_.data());
  std::size_t room = 0;
  const auto sort = [&](void* memory) {
    check(cub::DeviceRadixSort::SortKeys(memory, room, keys, count, 0,
                                         std::bit_width(removed + state.particles), stream),
          "sort");
  };
  sort(nullptr);
  if (room_.size() < room) room_ = DeviceBuffer<unsigned char>(2 * room);
  sort(room_.data());
  sorted_ = keys.Current();
  const std::uint64_t *const begin = host_.data(), *const end = begin + count;
  copy_out(host_.data(), sorted_, count * sizeof *sorted_, stream);
  check(cudaStreamSynchronize(stream), "changes of a GPU");
  const auto* const middle = std::lower_bound(begin, end, removed);
  found.inserted.assign(begin, middle);
  found.removed.resize(static_cast<std::size_t>(end - middle));
  std::transform(middle, end, found.removed.begin(), [&](std::uint64_t number) {
    return static_cast<std::uint32_t>(number - removed);
  });
  return found;
}

void CudaInsertions::adopt(const State& state, const NewIndices& of, Sphere* spheres,
                           const std::uint32_t* counts, cudaStream_t stream) {
  const std::vector<std::uint32_t>& ids = of.of_inserted;
  if (!ids.empty()) {
    // Without other ranks, the places are on the device already.
    if (state.strip) keep(numbers_, of.inserted, stream);
    keep(indices_, ids, stream);
    name_kernel<<<blocks_for(ids.size(), std::size_t{kThreads}), kThreads, 0, stream>>>(
        spheres, state.strip ? numbers_.data() : sorted_, indices_.data(),
        static_cast<int>(ids.size()));
  }
  if (!of.of_former.empty()) {
    keep(former_, of.of_former, stream);
    rename_kernel<<<blocks_for(own_cells(state), std::size_t{kThreads}), kThreads, 0, stream>>>(
        spheres, counts, static_cast<std::int64_t>(own_cells(state)), state.geometry.slots,
        static_cast<std::uint32_t>(state.particles), former_.data());
  }
  check_launch();
}

}  // namespace manymove::hard_particles
