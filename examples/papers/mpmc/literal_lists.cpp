// SPDX-License-Identifier: BSD-3-Clause
// Hard disks with the lists of the paper (Algorithm 1 and sections 2.4 and 3.1) in many small
// systems. On a GPU each system is in the shared memory of one block; on a CPU the systems run one
// after the other.
//
// Every cell of a fixed grid has a list of up to four disks in coordinates relative to its center.
// A sweep visits the four sets of cells; a visit takes the disks of the list in turn, from the
// start again after the last, for a fixed number of trial moves. Then the grid is shifted along one
// axis by up to half a cell: the disks that stay keep their order, and those that enter are
// appended. Nothing else changes the order, except the shuffle at the start of a visit, which is
// optional.
//
// table_1_lists.py compiles this file with nvcc (as CUDA) or with the C++ compiler.
#include <cmath>
#include <cstdint>
#include <vector>

#if defined(__CUDACC__)
#define FN __device__ inline
#endif
#include "lists.h"

struct Setup {
  std::int32_t systems, cells, moves_per_cell, shuffle_particles, shuffle_sets, sample_every;
  std::int32_t sweeps, records;  // of this run; the sweeps are a multiple of the records
  float width, step;             // of a cell; the largest displacement along an axis
  std::uint64_t seed, first_sweep;
};

namespace {

// Trial moves of the disks of a cell; returns the number of accepted ones in the upper, of trial
// moves in the lower half.
FN std::uint32_t visit(const Setup& s, const Lists& l, int system, std::uint64_t sweep, int column,
                       int row) {
  const int cell = l.index(column, row), n = l.count(cell);
  const int number = row * l.edge + column;
  if (n == 0) return 0;
  std::uint32_t word[4] = {};
  if (s.shuffle_particles && n > 1) {
    draw(word, s, system, sweep, number, kShuffle, 0);
    for (int i = kSlots - 1; i > 0; --i) {  // a fixed number, which keeps the words in registers
      if (i >= n) continue;
      const int j =
          static_cast<int>(manymove::uniform_below(word[i], static_cast<std::uint32_t>(i + 1)));
      const Disk other = l.at(cell, j);
      l.at(cell, j) = l.at(cell, i);
      l.at(cell, i) = other;
    }
  }
  const float half = 0.5f * s.width;
  std::uint32_t accepted = 0;
  int slot = 0;
  const int columns[3] = {wrapped(column - 1, l.edge), column, wrapped(column + 1, l.edge)};
  const int rows[3] = {wrapped(row - 1, l.edge), row, wrapped(row + 1, l.edge)};
  for (int move = 0; move < s.moves_per_cell; ++move) {
    if (move % 2 == 0) draw(word, s, system, sweep, number, kMove, move / 2);
    const Disk old = l.at(cell, slot);
    // Chosen, not indexed, so that the words stay in registers.
    const std::uint32_t across = move % 2 ? word[2] : word[0];
    const std::uint32_t up = move % 2 ? word[3] : word[1];
    const Disk to = {old.x + s.step * symmetric(across), old.y + s.step * symmetric(up)};
    bool free = fabsf(to.x) < half && fabsf(to.y) < half;
    // All places of a row of cells are compared without looking how many are in use: among the
    // threads of a warp some list is nearly always full, and the loads do not wait for each other.
    UNROLL
    for (int dr = -1; dr <= 1; ++dr) {
      if (!free) break;
      const float oy = to.y - static_cast<float>(dr) * s.width;
      UNROLL
      for (int dc = -1; dc <= 1; ++dc) {
        const int there = l.index(columns[dc + 1], rows[dr + 1]);
        const float ox = to.x - static_cast<float>(dc) * s.width;
        UNROLL
        for (int other = 0; other < kSlots; ++other) {
          const Disk p = l.at(there, other);
          const float x = p.x - ox, y = p.y - oy;
          const bool self = dc == 0 && dr == 0 && other == slot;
          free = free & (self | !(x * x + y * y < 1.0f));
        }
      }
    }
    if (free) {
      l.at(cell, slot) = to;
      ++accepted;
    }
    slot = slot + 1 == n ? 0 : slot + 1;
  }
  return accepted << 16 | static_cast<std::uint32_t>(s.moves_per_cell);
}

// All sweeps of a system. Team shares loops among threads and adds numbers up.
template <class Team>
FN void simulate(const Setup& s, const Team& team, int system, Lists now, Lists spare,
                 std::uint32_t* bins, std::uint64_t* histograms, std::uint64_t* moves, int* lost) {
  const int edge = s.cells, half = edge / 2;
  team.for_each(kBins, [&](int bin) { bins[bin] = 0; });
  team.for_each(edge * edge, [&](int k) {
    for (int slot = now.count(k); slot < kSlots; ++slot) now.at(k, slot) = {kNowhere, kNowhere};
  });
  const int per_record = s.sweeps / s.records;
  for (int done = 1; done <= s.sweeps; ++done) {
    const std::uint64_t sweep = s.first_sweep + static_cast<std::uint64_t>(done);
    std::uint32_t word[4];
    const std::uint32_t order = order_of_sets(s, system, sweep, s.shuffle_sets);
    for (int turn = 0; turn < 4; ++turn) {
      const int set = static_cast<int>(order >> 2 * turn & 3u);
      team.for_each(half * half, [&](int k) {
        team.add(moves, visit(s, now, system, sweep, 2 * (k % half) + (set & 1),
                              2 * (k / half) + (set >> 1)));
      });
    }
    draw(word, s, system, sweep, 0, kShift, 0);
    const float distance = 0.5f * s.width * symmetric(word[1]);
    team.for_each(edge * edge, [&](int k) {
      gather_shifted(s, now, spare, k % edge, k / edge, static_cast<int>(word[0] & 1u), distance,
                     lost);
    });
    const Lists other = now;
    now = spare;
    spare = other;
    if (done % s.sample_every == 0)
      team.for_each(edge * edge, [&](int k) {
        count_pairs(s, now, k % edge, k / edge, [&](int bin) { team.increment(bins[bin]); });
      });
    if (done % per_record == 0) {
      const int record = done / per_record - 1;
      team.for_each(kBins, [&](int bin) {
        histograms[record * kBins + bin] = bins[bin];
        bins[bin] = 0;
      });
    }
  }
  if (s.sweeps % 2)  // the lists are where they began
    team.for_each(edge * edge, [&](int k) {
      for (int slot = 0; slot < now.count(k); ++slot) spare.at(k, slot) = now.at(k, slot);
      spare.state[k] = now.count(k);
    });
}

#if defined(__CUDACC__)
struct Block {
  mutable std::uint32_t trial = 0, accepted = 0;
  template <class Task>
  FN void for_each(int n, Task task) const {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) task(i);
    __syncthreads();
  }
  FN void add(std::uint64_t* moves, std::uint32_t both) const {
    trial += both & 0xFFFFu;
    accepted += both >> 16;
    if (trial >> 30) flush(moves);
  }
  FN void flush(std::uint64_t* moves) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(moves), static_cast<unsigned long long>(trial));
    atomicAdd(reinterpret_cast<unsigned long long*>(moves + 1),
              static_cast<unsigned long long>(accepted));
    trial = accepted = 0;
  }
  FN void increment(std::uint32_t& bin) const { atomicAdd(&bin, 1u); }
};

__global__ void run_block(Setup s, Disk* disks, int* counts, std::uint64_t* histograms,
                          std::uint64_t* moves, int* lost) {
  extern __shared__ Disk shared[];
  const int system = static_cast<int>(blockIdx.x), cells = s.cells * s.cells;
  Disk* const here = disks + static_cast<std::size_t>(system) * kSlots * cells;
  int* const count = reinterpret_cast<int*>(shared + 2 * kSlots * cells);
  const Lists now{shared, count, s.cells}, spare{shared + kSlots * cells, count + cells, s.cells};
  auto* const bins = reinterpret_cast<std::uint32_t*>(count + 2 * cells);
  Block team;
  team.for_each(cells, [&](int k) {
    now.state[k] = counts[system * cells + k];
    for (int slot = 0; slot < kSlots; ++slot) now.at(k, slot) = here[slot * cells + k];
  });
  simulate(s, team, system, now, spare, bins,
           histograms + static_cast<std::size_t>(system) * s.records * kBins, moves, lost);
  team.for_each(cells, [&](int k) {
    counts[system * cells + k] = now.count(k);
    for (int slot = 0; slot < now.count(k); ++slot) here[slot * cells + k] = now.at(k, slot);
  });
  team.flush(moves);
}
#else
struct One {
  template <class Task>
  void for_each(int n, Task task) const {
    for (int i = 0; i < n; ++i) task(i);
  }
  void add(std::uint64_t* moves, std::uint32_t both) const {
    moves[0] += both & 0xFFFFu;
    moves[1] += both >> 16;
  }
  void increment(std::uint32_t& bin) const { ++bin; }
};
#endif

}  // namespace

// Runs all systems. disks (systems, kSlots, cells, 2) and counts (systems, cells) hold the lists
// before and after, histograms (systems, records, kBins) the counted pairs, moves the trial and
// accepted moves. Returns nullptr or the text of an error.
extern "C" const char* literal_lists(const Setup* setup, float* disks, int* counts,
                                     std::uint64_t* histograms, std::uint64_t* moves) {
  const Setup& s = *setup;
  const std::size_t cells = static_cast<std::size_t>(s.cells) * s.cells, systems = s.systems;
  auto* const first = reinterpret_cast<Disk*>(disks);
  int lost = 0;
#if defined(__CUDACC__)
  const std::size_t shared = cells * 2 * (kSlots * sizeof(Disk) + sizeof(int)) + kBins * 4;
  int threads = s.cells * s.cells / 4;
  threads = threads > 576 ? 576 : (threads + 31) / 32 * 32;
  cudaFuncSetAttribute(run_block, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(shared));
  OnDevice<Disk> d(first, systems * kSlots * cells);
  OnDevice<int> c(counts, systems * cells), l(&lost, 1);
  OnDevice<std::uint64_t> h(histograms, systems * s.records * kBins), m(moves, 2);
  run_block<<<static_cast<unsigned>(systems), threads, shared>>>(s, d.at, c.at, h.at, m.at, l.at);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return cudaGetErrorString(error);
  d.back(), c.back(), h.back(), m.back(), l.back();
#else
  std::vector<Disk> spare(kSlots * cells);
  std::vector<int> spare_counts(cells);
  std::vector<std::uint32_t> bins(kBins);
  for (std::size_t k = 0; k < systems; ++k) {
    const Lists now{first + k * kSlots * cells, counts + k * cells, s.cells};
    simulate(s, One{}, static_cast<int>(k), now, {spare.data(), spare_counts.data(), s.cells},
             bins.data(), histograms + k * s.records * kBins, moves, &lost);
  }
#endif
  return lost ? "a cell has more than four disks" : nullptr;
}
