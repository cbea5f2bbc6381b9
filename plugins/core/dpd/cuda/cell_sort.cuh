// SPDX-License-Identifier: BSD-3-Clause
// Sorts the particles of one GPU by cell, then by Morton key, and leaves equal keys in the order
// that they had. Particles are counted into cells, whose ranks are known from the start, and
// compared with those of their own cell. In double precision the ranks are those of the Morton
// order, as on a CPU. In mixed precision sums do not depend on the order of particles, and cells
// are in the order of a Hilbert curve, in which more neighbors are in the block of a particle.
#pragma once

#include <algorithm>

#include "sort.h"
#include "step_constants.cuh"

namespace manymove::dpd {

// Where a cell comes on a Hilbert curve through a cube of 2^bits cells along each edge (J.
// Skilling, AIP Conf. Proc. 707, 381 (2004)).
MM_HD unsigned hilbert_key(unsigned x, unsigned y, unsigned z, int bits) {
  unsigned at[3] = {x, y, z};
  // The inverse of each level's rotations and reflections, from the coarsest level down.
  for (unsigned q = 1u << (bits - 1); q > 1; q /= 2) {
    const unsigned lower = q - 1;
    for (unsigned& a : at) {
      const unsigned swapped = a & q ? 0 : (at[0] ^ a) & lower;
      at[0] ^= a & q ? lower : swapped;
      a ^= swapped;
    }
  }
  // Gray code: bit planes of the axes become the digits of the index.
  at[1] ^= at[0];
  at[2] ^= at[1];
  unsigned all = 0;
  for (unsigned q = 1u << (bits - 1); q > 1; q /= 2)
    if (at[2] & q) all ^= q - 1;
  return spread(at[0] ^ all) << 2 | spread(at[1] ^ all) << 1 | spread(at[2] ^ all);
}

// One thread per cell: its key in the order of a Hilbert curve, or else in the Morton order.
static __global__ void cell_key_kernel(int cells_in_all, Cells cells, bool hilbert, unsigned* key,
                                       unsigned* order) {
  const int c = index_of_thread();
  if (c >= cells_in_all) return;
  const unsigned x = static_cast<unsigned>(c % cells.here[0]),
                 y = static_cast<unsigned>(c / cells.here[0] % cells.here[1]),
                 z = static_cast<unsigned>(c / (cells.here[0] * cells.here[1]));
  const int most = max(cells.here[0], max(cells.here[1], cells.here[2]));
  key[c] = hilbert ? hilbert_key(x, y, z, max(1, 32 - __clz(most - 1)))
                   : spread(x) | spread(y) << 1 | spread(z) << 2;
  order[c] = static_cast<unsigned>(c);
}
// One thread per cell: `order` inverted.
static __global__ void cell_rank_kernel(int cells_in_all, const unsigned* order, unsigned* rank) {
  const int k = index_of_thread();
  if (k < cells_in_all) rank[order[k]] = static_cast<unsigned>(k);
}

struct CellSort {
  Cells cells;
  int in_all;            // cells
  const unsigned* rank;  // of each cell
  unsigned* number;      // of particles, by rank; zero before and after a sort
  unsigned* start;       // by rank: the first particle; [in_all + 1]
  unsigned* key;         // of each particle
  uint2* place;          // of each particle: the rank of its cell, and a number within the cell
  unsigned* member;      // particles by cell, in any order
};

// One thread per particle: its key, and a place in its cell.
template <Precision P>
__global__ void cell_count_kernel(int count, long long step, const __grid_constant__ CellSort sort,
                                  const __grid_constant__ Motion<P> motion, StepStatus status,
                                  const typename P::Position* position,
                                  const typename P::Velocity* velocity) {
  const int i = index_of_thread();
  if (i >= count) return;
  const typename P::Position p = position[i];
  const typename P::Velocity v = velocity[i];
  if (outside(motion.frame.open, p)) lose(status, v.tag, step);
  const BoundingSphere sphere = bounding_sphere_of<P>(sort.cells, motion, p, v);
  const unsigned key = morton_key(sort.cells, sphere.x, sphere.y, sphere.z),
                 rank = sort.rank[cell_of_key(sort.cells, key)];
  sort.key[i] = key;
  // The order within a cell is arbitrary here; reorder_kernel() makes it that of the keys.
  sort.place[i] = {rank, atomicAdd(&sort.number[rank], 1u)};
}

// One thread per particle or cell, whichever are more.
static __global__ void member_kernel(int count, const __grid_constant__ CellSort sort,
                                     int2* range) {
  const int k = index_of_thread();
  if (k < count) {
    const uint2 place = sort.place[k];
    sort.member[sort.start[place.x] + place.y] = static_cast<unsigned>(k);
  }
  if (k < sort.in_all) {
    const unsigned rank = sort.rank[k];
    range[k] = {static_cast<int>(sort.start[rank]), static_cast<int>(sort.start[rank + 1])};
    sort.number[k] = 0;
  }
}

// The same where there are few cells, by blocks of kThreads: each of them sums up the numbers of
// particles for itself, so that this needs no kernel of its own. Sets `start`; `number` is left for
// reorder_kernel to clear, because other blocks may still read it.
constexpr int kFewCells = 8192;
static __global__ void __launch_bounds__(kThreads)
    few_cells_kernel(int count, const __grid_constant__ CellSort sort, int2* range) {
  constexpr int kWarps = kThreads / 32;
  __shared__ unsigned start[kFewCells + 1], of_warp[kWarps];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  for (int k = thread; k < sort.in_all; k += kThreads) start[k] = sort.number[k];
  __syncthreads();
  // Each thread has an odd number of cells, for which shared memory has no conflicts of banks.
  const int each = ((sort.in_all + kThreads - 1) / kThreads) | 1,
            first = min(thread * each, sort.in_all), last = min(first + each, sort.in_all);
  unsigned own = 0;
  for (int k = first; k < last; ++k) own += start[k];
  // An exclusive sum over the block: within warps, then over the warps before.
  unsigned before = warp_prefix_sum(own, lane);
  if (lane == 31) of_warp[thread / 32] = before;
  before -= own;
  __syncthreads();
  for (int k = 0; k < thread / 32; ++k) before += of_warp[k];
  for (int k = first; k < last; ++k) {
    const unsigned number = start[k];
    start[k] = before;
    before += number;
  }
  if (thread == 0) start[sort.in_all] = static_cast<unsigned>(count);
  // A particle's cell may belong to any thread.
  __syncthreads();
  const int k = static_cast<int>(blockIdx.x) * kThreads + thread;
  if (k < count) {
    const uint2 place = sort.place[k];
    sort.member[start[place.x] + place.y] = static_cast<unsigned>(k);
  }
  if (k < sort.in_all) {
    const unsigned rank = sort.rank[k];
    range[k] = {static_cast<int>(start[rank]), static_cast<int>(start[rank + 1])};
  }
  if (k <= sort.in_all) sort.start[k] = start[k];
}

// Particles where they were and where they will be, in the order of cells; slot: the index of the
// host.
template <Precision P>
struct Reordering {
  ParticleArrays<P> from;
  SortedArrays<P> to;
  unsigned* where;  // of each particle by index of the host; may be null
};

// One thread per particle: takes it to its new place.
template <Precision P>
__global__ void reorder_kernel(int count, const __grid_constant__ CellSort sort,
                               const __grid_constant__ Motion<P> motion, ShortFormat shorts,
                               const __grid_constant__ Reordering<P> move) {
  const auto& [from, to, where] = move;
  const int k = index_of_thread();
  if (sort.in_all <= kFewCells)
    for (int c = k; c < sort.in_all; c += static_cast<int>(gridDim.x * blockDim.x))
      sort.number[c] = 0;
  if (k >= count) return;
  const unsigned old = sort.member[k], key = sort.key[old], rank = sort.place[old].x,
                 first = sort.start[rank], last = sort.start[rank + 1];
  // Rank in the cell: the number of its members with a smaller key, or an equal one and an earlier
  // place.
  unsigned i = first;
  for (unsigned m = first; m < last; ++m) {
    const unsigned other = sort.member[m], its = sort.key[other];
    i += its < key || (its == key && other < old);
  }
  to.put(i, from.position[old], from.velocity[old], shorts, sort.cells, motion);
  const unsigned slot = from.slot[old];
  to.particles.slot[i] = slot;
  if (where) where[slot] = i;
}

// Sorts the particles of an engine.
template <Precision P>
class CellSorter {
 public:
  // For so many particles in these cells.
  void reserve(std::size_t particles, const Cells& cells, cudaStream_t stream) {
    if (particles != key_.size()) allocate_each(particles, key_, place_, member_);
    const std::size_t count =
        static_cast<std::size_t>(cells.here[0]) * cells.here[1] * cells.here[2];
    const int number = static_cast<int>(count);
    allocate_each(count, range_, rank_);
    allocate_each(count + 1, number_, start_);
    number_.clear(stream);
    DeviceBuffer<unsigned> key[2], order[2];
    allocate_each(count, key[0], key[1], order[0], order[1]);
    launch_each(number, stream, &cell_key_kernel, number, cells, kIntegers<P>, key[0].data(),
                order[0].data());
    std::size_t bytes = 0;
    sort_pairs(nullptr, bytes, key, order, number, 0, 30, stream);
    const DeviceBuffer<char> memory(bytes);
    const int sorted = sort_pairs(memory.data(), bytes, key, order, number, 0, 30, stream);
    launch_each(number, stream, &cell_rank_kernel, number, order[sorted].data(), rank_.data());
    check(cudaStreamSynchronize(stream), "sort");
    exclusive_sum(nullptr, sum_bytes_, number_.data(), start_.data(), number + 1, stream);
    allocate_each(sum_bytes_, sum_memory_);
  }

  std::size_t cells() const { return range_.size(); }
  const int2* range() const { return range_.data(); }  // of each cell

  // From where they are at a step to their new places, with their spheres.
  void sort(int count, long long step, const Cells& cells, const Step<P>& base,
            const Reordering<P>& move, cudaStream_t stream) {
    const CellSort sort{cells,         static_cast<int>(range_.size()),
                        rank_.data(),  number_.data(),
                        start_.data(), key_.data(),
                        place_.data(), member_.data()};
    launch_each(count, stream, &cell_count_kernel<P>, count, step, sort, base.motion, base.status,
                move.from.position, move.from.velocity);
    if (sort.in_all <= kFewCells) {
      launch_each(std::max(count, sort.in_all + 1), stream, &few_cells_kernel, count, sort,
                  range_.data());
    } else {
      exclusive_sum(sum_memory_.data(), sum_bytes_, sort.number, sort.start, sort.in_all + 1,
                    stream);
      launch_each(std::max(count, sort.in_all), stream, &member_kernel, count, sort, range_.data());
    }
    launch_each(count, stream, &reorder_kernel<P>, count, sort, base.motion, base.shorts, move);
  }

 private:
  DeviceBuffer<unsigned> rank_, number_, start_;  // as in CellSort
  DeviceBuffer<unsigned> key_, member_;
  DeviceBuffer<uint2> place_;
  DeviceBuffer<int2> range_;
  DeviceBuffer<char> sum_memory_;
  std::size_t sum_bytes_ = 0;
};

}  // namespace manymove::dpd
