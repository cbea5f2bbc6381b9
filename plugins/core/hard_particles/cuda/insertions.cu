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

// Where the visits leave what they have changed, in any order: a number for each new particle, by
// its place and type, and from `removed` on the indices that are free.
struct ChangeList {
  InsertionCounts* sums;
  unsigned long long *end, *numbers;
  unsigned long long removed;
};
constexpr unsigned long long kTypes = 64;  // see kFirstNew

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
  const auto keep = [&](unsigned long long number) {
    list.numbers[atomicAdd(list.end, 1ull)] = number;
  };
  visit_tile<D, C>(
      t, rules, static_cast<int>(threadIdx.x), kVisitThreads, made,
      [&](std::uint32_t id) { keep(list.removed + id); },
      [&](std::int64_t cell, int slot, std::int32_t type) {
        keep(static_cast<unsigned long long>(cell * g.slots + slot) * kTypes + type);
      },
      [] { __syncthreads(); });
  const auto add = [](unsigned long long* sum, unsigned long long number) {
    number = warp_sum(number);
    if (threadIdx.x % kWarpSize == 0) atomicAdd(sum, number);
  };
  add(&list.sums->insertions, made.insertions);
  add(&list.sums->inserted, made.inserted);
  add(&list.sums->deletions, made.deletions);
  add(&list.sums->deleted, made.deleted);
}

// New particles, in slots that count from this rank's first one.
__global__ void name_kernel(Sphere* spheres, const std::int64_t* slots, const std::uint32_t* ids,
                            int number) {
  const int k = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (k < number) spheres[slots[k]].id = ids[k];
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
                       kTypes);
}

}  // namespace

void CudaInsertions::upload(const State& state, cudaStream_t stream) {
  types_ = on_device(state.inserted_types, stream);
  logarithms_ = on_device(state.insertion_logarithms, stream);
}

void CudaInsertions::make(State& state, const Law& law, const FieldView& fields, Sphere* spheres,
                          std::uint32_t* counts, DeviceBuffer<Label>& labels, cudaStream_t stream) {
  // Cells count from this rank's first one.
  const std::size_t first = state.row_cells() * static_cast<std::size_t>(state.first_row());
  spheres += first * static_cast<std::size_t>(state.geometry.slots);
  counts += first;
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
    numbers_ = DeviceBuffer<unsigned long long>(slots + 2 * state.particles);
  sums_.clear(stream);
  end_.clear(stream);
  InsertionRules rules = insertion_rules(state, state.data.counters.cycles);
  rules.types = types_.data();
  rules.logarithms = logarithms_.data();
  with_particles(state.dimensions(), state.distances.contact, [&](auto policy) {
    using P = decltype(policy);
    if constexpr (P::kContact != Contact::additive) {
      visit_kernel<P::kDimensions, P::kContact>
          <<<static_cast<unsigned>(state.tiles()), kVisitThreads, 0, stream>>>(
              state.local(), law, rules, fields, state.has_energies(), spheres, counts,
              {sums_.data(), end_.data(), numbers_.data(), first_removed(state)});
      check_launch();
    }
  });
}

std::vector<unsigned long long> CudaInsertions::sorted(int bits, cudaStream_t stream) {
  const std::size_t count = end_.first_value(stream);
  std::vector<unsigned long long> numbers(count);
  if (count == 0) return numbers;
  if (others_.size() < count) others_ = DeviceBuffer<unsigned long long>(2 * count);
  cub::DoubleBuffer<unsigned long long> keys(numbers_.data(), others_.data());
  std::size_t room = 0;
  const auto sort = [&](void* memory) {
    check(cub::DeviceRadixSort::SortKeys(memory, room, keys, count, 0, bits, stream), "sort");
  };
  sort(nullptr);
  if (room_.size() < room) room_ = DeviceBuffer<unsigned char>(2 * room);
  sort(room_.data());
  (keys.Current() == numbers_.data() ? numbers_ : others_).download(numbers.data(), stream, count);
  return numbers;
}

Changes CudaInsertions::changes(const State& state, cudaStream_t stream) {
  const unsigned long long removed = first_removed(state);
  const auto slots = static_cast<unsigned long long>(state.geometry.slots);
  const auto numbers = sorted(std::bit_width(removed + state.particles), stream);
  Changes found;
  found.inserted.reserve(numbers.size());
  found.removed.reserve(numbers.size());
  for (const unsigned long long number : numbers) {
    if (number >= removed) {
      found.removed.push_back(static_cast<std::uint32_t>(number - removed));
      continue;
    }
    const unsigned long long slot = number / kTypes;
    found.inserted.push_back({cell_of_whole(state, static_cast<std::int64_t>(slot / slots)),
                              static_cast<std::int32_t>(slot % slots),
                              static_cast<std::int32_t>(number % kTypes)});
  }
  found.counts = sums_.first_value(stream);
  return found;
}

void CudaInsertions::adopt(const State& state, const NewIndices& of, Sphere* spheres,
                           const std::uint32_t* counts, cudaStream_t stream) {
  std::vector<std::int64_t> slots;
  std::vector<std::uint32_t> indices;
  for (std::size_t k = 0; k < of.inserted.size(); ++k) {
    const std::int64_t cell = own_cell(state, of.inserted[k].cell);
    if (cell < 0) continue;
    slots.push_back(cell * state.geometry.slots + of.inserted[k].slot);
    indices.push_back(of.of_inserted[k]);
  }
  if (!slots.empty()) {
    keep(slots_, slots, stream);
    keep(indices_, indices, stream);
    name_kernel<<<blocks_for(slots.size(), std::size_t{kThreads}), kThreads, 0, stream>>>(
        spheres, slots_.data(), indices_.data(), static_cast<int>(slots.size()));
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
