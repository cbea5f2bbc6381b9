// SPDX-License-Identifier: BSD-3-Clause
#include "insertions.h"

#include "../../runtime/launch.cuh"

namespace manymove::hard_particles {
namespace {

constexpr int kThreads = 128;

// Where the visits leave what they have changed.
struct ChangeLists {
  InsertionCounts* sums;
  unsigned long long* ends;
  Inserted* inserted;
  std::uint32_t* removed;
};

// A block for each tile and a thread for each cell of a set.
template <int D, Contact C>
__global__ void __launch_bounds__(kThreads)
    visit_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Law law,
                 const __grid_constant__ InsertionRules rules,
                 const __grid_constant__ FieldView fields, bool energies, Sphere* spheres,
                 std::uint32_t* counts, const ChangeLists lists) {
  const int tile = tile_of<D>(g, static_cast<int>(blockIdx.x));
  const TileBounds bounds = tile_bounds<D>(g, tile);
  const TileOfCells t{g, law, energies ? &fields : nullptr, bounds, tile, spheres, counts};
  InsertionCounts made{};
  // The host sorts both lists.
  visit_tile<D, C>(
      t, rules, static_cast<int>(threadIdx.x), kThreads, made,
      [&](std::uint32_t id) { lists.removed[atomicAdd(lists.ends + 1, 1ull)] = id; },
      [&](std::int64_t cell, int slot, std::int32_t type) {
        lists.inserted[atomicAdd(lists.ends, 1ull)] = {static_cast<std::uint64_t>(cell), slot,
                                                       type};
      },
      [] { __syncthreads(); });
  atomicAdd(&lists.sums->insertions, made.insertions);
  atomicAdd(&lists.sums->inserted, made.inserted);
  atomicAdd(&lists.sums->deletions, made.deletions);
  atomicAdd(&lists.sums->deleted, made.deleted);
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
  const std::size_t most = own_cells(state) * static_cast<std::size_t>(state.geometry.slots);
  if (inserted_.size() < most) inserted_ = DeviceBuffer<Inserted>(most);
  if (removed_.size() < state.particles)
    removed_ = DeviceBuffer<std::uint32_t>(2 * state.particles);
  sums_.clear(stream);
  ends_.clear(stream);
  InsertionRules rules = insertion_rules(state, state.data.counters.cycles);
  rules.types = types_.data();
  rules.logarithms = logarithms_.data();
  with_particles(state.dimensions(), state.distances.contact, [&](auto policy) {
    using P = decltype(policy);
    if constexpr (P::kContact != Contact::additive) {
      visit_kernel<P::kDimensions, P::kContact>
          <<<static_cast<unsigned>(state.tiles()), kThreads, 0, stream>>>(
              state.local(), law, rules, fields, state.has_energies(), spheres, counts,
              {sums_.data(), ends_.data(), inserted_.data(), removed_.data()});
      check_launch();
    }
  });
}

Changes CudaInsertions::changes(const State& state, cudaStream_t stream) const {
  Changes found;
  const auto ends = ends_.values(stream);
  found.counts = sums_.first_value(stream);
  found.inserted.resize(ends[0]);
  found.removed.resize(ends[1]);
  if (ends[0]) inserted_.download(found.inserted.data(), stream, ends[0]);
  if (ends[1]) removed_.download(found.removed.data(), stream, ends[1]);
  for (Inserted& each : found.inserted)
    each.cell = cell_of_whole(state, static_cast<std::int64_t>(each.cell));
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
