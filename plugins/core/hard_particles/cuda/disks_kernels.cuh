// SPDX-License-Identifier: BSD-3-Clause
// MPMC of hard disks on a GPU, device code: one block per tile, which stays in shared memory for a
// whole cycle; one kernel launch per cycle, in which the disks land in the shifted grid, all moves
// are made and the tile is written back. It is long because all kernels share the functions that
// load and search the cells of a tile.
#pragma once

#include "../planes.h"
#include "host_particles.cuh"
#include "visit_disks.cuh"
#include "visit_together.cuh"

namespace manymove::hard_particles::equal_disks {
namespace {

// Positions and identities are stored in planes (planes.h).
struct LaunchArrays {
  const Position* old_cells;
  const std::int32_t* old_ids;
  Position* new_cells;
  std::int32_t* new_ids;
  MoveCounts* counts;
};

constexpr int kThreads = 256;  // of a block at most

// Cells by the work of a visit: one disk with no extras, one, at most kExtras; two disks; any
// other.
constexpr int kClasses = 5;

MM_HD int set_cells(const Geometry& g) { return (g.tile / 2) * (g.tile / 2); }

// A tile in shared memory.
struct TileMemory {
  Position* tile;        // [kSlots][plane]
  std::uint32_t* list;   // [4][set_cells], the active cells of each set by class; before that, in
                         // two bytes each, the columns and rows of all cells with several disks
  std::uint32_t* found;  // [4 * set_cells], all active cells: their extras, then their list entries
  std::uint32_t* count;  // [plane], disks per cell
  std::uint16_t* rank;   // [4 * set_cells], of the active cells in the class of their set
  std::uint8_t* order;   // [kSlots][plane], Landing::order

  __device__ TileMemory(const Geometry& g, float4* memory) {
    tile = reinterpret_cast<Position*>(memory);
    list = reinterpret_cast<std::uint32_t*>(tile + kSlots * g.plane);
    found = list + list_words(g);
    count = found + 4 * set_cells(g);
    rank = reinterpret_cast<std::uint16_t*>(count + g.plane);
    order = reinterpret_cast<std::uint8_t*>(rank + 4 * set_cells(g));
  }
  MM_HD static int list_words(const Geometry& g) {
    const int crowded = (g.plane + 1) / 2;
    return 4 * set_cells(g) > crowded ? 4 * set_cells(g) : crowded;
  }
  __device__ std::uint16_t* crowded() const { return reinterpret_cast<std::uint16_t*>(list); }
  static std::size_t bytes(const Geometry& g) {
    return static_cast<std::size_t>(g.plane) *
               (kSlots * sizeof(Position) + sizeof(std::uint32_t) + kSlots) +
           list_words(g) * sizeof(std::uint32_t) +
           4 * set_cells(g) * (sizeof(std::uint32_t) + sizeof(std::uint16_t));
  }
};

// The work of a set: places below `alone` are single disks without extras, those below `one_extra`
// with one at most; below `by_estimates` are all that visit_by_estimates() can do, from `others` to
// `end` the other cells. The gap lets a warp be of one kind; a list has none.
struct alignas(16) ListBounds {
  int alone, one_extra, by_estimates, others, end, unused[3];
};

// What the threads of a block share besides the tile.
struct TileControl {
  Neighbor near[2][8];
  ListBounds lists[4];
  TileBounds bounds;
  int members[4][kClasses], next[4][kClasses];
  int visits, crowded;
  unsigned int accepted;
};

// Two bits for each neighbor: the extras are the sum of the low bits and twice that of the high
// ones.
__device__ int class_of(const Geometry& g, std::uint32_t entry) {
  const int n = entry_count(entry);
  const std::uint32_t e = entry_extras(entry);
  const int extras = __popc(e & 0x5555u) + 2 * __popc(e & 0xaaaau);
  if (n > 2 || extras > kExtras || g.moves_per_cell % 4) return 4;
  return n == 2 ? 3 : min(extras, 2);
}

// n / d for small integers: the approximate division errs by far less than 1 / (2 d).
__device__ int quotient(unsigned n, int d) {
  return static_cast<int>(__fdividef(static_cast<float>(n) + 0.5f, static_cast<float>(d)));
}

// The cells of a rectangle, one after the other for each thread of a block.
struct CellsOfThread {
  int width, row, column, rows, columns;
  __device__ explicit CellsOfThread(int width_)
      : width(width_),
        row(quotient(threadIdx.x, width_)),
        column(static_cast<int>(threadIdx.x) - row * width_),
        rows(quotient(blockDim.x, width_)),
        columns(static_cast<int>(blockDim.x) - rows * width_) {}
  __device__ void next() {
    row += rows;
    column += columns;
    if (column >= width) {
      column -= width;
      ++row;
    }
  }
};

// The first slot of a tile's cell in the new planes.
__device__ std::uint32_t new_slot(const Geometry& g, const TileBounds& b, int column, int row) {
  return first_slot(g.cells[0], b.first[0] + column, b.first[1] + row);
}

// Each disk of the old cells under this tile lands in its cell of the shifted grid (Algorithm 4):
// r' = r - shift, and the cell before where r' is below -H. The first disk of the next cell is
// loaded before that of this one is looked at; the other disks of a cell, which few have, land a
// turn later, when they have been loaded.
__device__ void land_disks(const Geometry& g, const Draw& d, const LaunchArrays& b,
                           const TileMemory& m, TileControl& control) {
  const TileBounds& bounds = control.bounds;
  const int columns = bounds.size[0], rows = bounds.size[1], apart = g.cells[0];
  struct Disk {
    Position p;
    std::int32_t id;
  };
  const auto load = [&](std::uint32_t at) {
    return Disk{load_position(b.old_cells + at), __ldcg(b.old_ids + at)};
  };
  const auto place = [&](const Disk& disk, int slot, int column, int row) {
    const Landing l = land(g, d, disk.p, slot);
    const int c = column - l.before[0], r = row - l.before[1];
    if (c < 0 || c > columns || r < 0 || r > rows) return;
    const int index = local_index(g, c, r);
    const std::uint32_t at = atomicAdd(&m.count[index], 1u);
    if (at < kSlots) {
      m.tile[at * g.plane + index] = l.p;
      m.order[at * g.plane + index] = static_cast<std::uint8_t>(l.order);
      // The second disk of a cell notes it, once; a tile has at most 41 columns and rows: six bits
      // each.
      if (at == 1)
        m.crowded()[atomicAdd(&control.crowded, 1)] = static_cast<std::uint16_t>(c | r << 6);
      if (c < columns && r < rows) b.new_ids[new_slot(g, bounds, c, r) + at * apart] = disk.id;
    } else {
      b.counts->corrupt = 1;
    }
  };
  Disk next{}, other{};
  std::uint32_t next_at = 0, other_at = 0;
  int other_disks = 0, other_column = 0, other_row = 0;  // of the cell whose others have to land
  const auto fetch = [&](const CellsOfThread& w) {
    next.p.x = kEmpty;
    if (w.row >= rows + 2) return;
    const OldCell old = old_cell(g, d, bounds, w.column, w.row);
    next_at = first_slot(apart, old.column, old.row);
    next = load(next_at);
  };
  CellsOfThread ahead(columns + 2);
  fetch(ahead);
  while (ahead.row < rows + 2 || other_disks > 1) {
    const int row = ahead.row, column = ahead.column;
    // The first disk of the next cell and the second one of this cell are on their way meanwhile.
    const Disk first = next;
    const std::uint32_t at = next_at;
    ahead.next();
    fetch(ahead);
    const int disks = disks_of(first.p);
    Disk second{};
    if (disks > 1) second = load(at + apart);
    if (disks) place({without_others(first.p), first.id}, 0, column, row);
#pragma unroll 1
    for (int slot = 1; slot < other_disks; ++slot) {
      const Disk disk = other;
      if (slot + 1 < other_disks) other = load(other_at + (slot + 1) * apart);
      place(disk, slot, other_column, other_row);
    }
    other = second;
    other_at = at;
    other_disks = disks;
    other_column = column;
    other_row = row;
  }
}

// Threads raced for the slots of crowded cells: put those in order, and tell the neighbors of the
// extras (list_entry() of model.h).
__device__ void order_disks(const Geometry& g, const LaunchArrays& b, const TileMemory& m,
                            const TileControl& control) {
  const TileBounds& bounds = control.bounds;
  const int columns = bounds.size[0], rows = bounds.size[1], apart = g.cells[0];
  for (int i = threadIdx.x; i < control.crowded; i += blockDim.x) {
    const int column = m.crowded()[i] & 63, row = m.crowded()[i] >> 6;
    const int index = local_index(g, column, row);
    const int n = min(static_cast<int>(m.count[index]), kSlots);
    for (int k = 0; k < 8; ++k) {
      const int c = column + neighbor_dx(k), r = row + neighbor_dy(k);
      if (c > 0 && c < columns && r > 0 && r < rows)
        // For its neighbor k this cell is neighbor 7 - k, whose two bits of extras are at 2 (7 -
        // k).
        atomicAdd(m.found + (r - 1) * (columns - 1) + c - 1, static_cast<std::uint32_t>(n - 1)
                                                                 << (16 + 2 * (7 - k)));
    }
    std::int32_t* ids =
        column < columns && row < rows ? b.new_ids + new_slot(g, bounds, column, row) : nullptr;
    // A cell has at most four disks.
    // By Landing::order, which does not depend on which thread came first: a bubble sort of at most
    // four.
    for (int last = n - 1; last > 0; --last)
      for (int at = 0; at < last; ++at) {
        std::uint8_t* const o = m.order + at * g.plane + index;
        if (o[0] < o[g.plane]) continue;
        Position* const p = m.tile + at * g.plane + index;
        exchange(o[0], o[g.plane]);
        exchange(p[0], p[g.plane]);
        if (ids) exchange(ids[at * apart], ids[(at + 1) * apart]);
      }
  }
}

// Lists the active cells by class, so that the threads of a warp have alike work. The order of a
// list has no other effect: random numbers belong to the cell.
__device__ void list_cells(const Geometry& g, const TileMemory& m, TileControl& control) {
  const int columns = control.bounds.size[0], rows = control.bounds.size[1];
  const int active = (columns - 1) * (rows - 1);
  if (threadIdx.x == 0) control.crowded = 0;
  int i = threadIdx.x;
  for (CellsOfThread w(columns - 1); i < active; w.next(), i += blockDim.x) {
    const int column = 1 + w.column, row = 1 + w.row, index = local_index(g, column, row);
    const std::uint32_t entry = list_entry(index, m.count[index], m.found[i] >> 16);
    m.found[i] = entry;
    const int set = (column & 1) | (row & 1) << 1, of = set * kClasses + class_of(g, entry);
    if (entry_count(entry))
      // Set and class, below 20, in the upper five bits; the rank, below 400, in the lower eleven.
      m.rank[i] = static_cast<std::uint16_t>(of << 11 | atomicAdd(&control.members[0][0] + of, 1));
  }
  // All cells are counted: the classes of a set follow one another in its list.
  __syncthreads();
  if (threadIdx.x < 4) {
    const int* const members = control.members[threadIdx.x];
    int* const next = control.next[threadIdx.x];
    const int first = threadIdx.x * set_cells(g);
    for (int c = 0, sum = 0; c < kClasses; sum += members[c++]) next[c] = first + sum;
    // The last class begins at a multiple of 32, with a warp of its own.
    const int by_estimates = next[4] - first, others = (by_estimates + 31) & -32;
    // A warp with cells of two classes goes the way of the busier.
    const auto whole = [&](int c) {
      return next[c] - first == by_estimates ? by_estimates : (next[c] - first) & -32;
    };
    control.lists[threadIdx.x] = {whole(1), whole(2), by_estimates, others, others + members[4],
                                  {}};
    atomicAdd(&control.visits, by_estimates + members[4]);
  }
  // Each entry goes to the beginning of its class plus its rank.
  __syncthreads();
  for (int j = threadIdx.x; j < active; j += blockDim.x) {
    const std::uint32_t entry = m.found[j];
    if (!entry_count(entry)) continue;
    const int of = m.rank[j] >> 11;
    m.list[(&control.next[0][0])[of] + (m.rank[j] & 0x7ff)] = entry;
  }
}

// All visits of a cycle, a thread for each cell. Random numbers are made before the threads wait
// for each other; or, if the block has two teams of threads, by one team while the other one
// visits, and it looks up the extras too. Returns the accepted moves.
template <int K, int Teams>
__device__ unsigned visit_cells(const Geometry& g, const Doubled& s, const Draw& d, int tile_id,
                                const TileMemory& m, const TileControl& control) {
  enum { kAlone, kOneExtra, kSomeExtras, kOther, kNothing };
  // Random numbers belong to a cell: `where` is its number among those of all tiles.
  const std::uint32_t tile = static_cast<std::uint32_t>(tile_id * g.plane);
  const auto set_of = [&](int step) { return d.order[step >> 2] >> (2 * (step & 3)) & 3; };
  int kind = kNothing, end = 0;
  CellVisit v{};
  Extras ahead{};
  const auto prepare = [&](int step, int i) {
    // The threads of a warp have visits of one kind, that of the first one of them.
    const int set = set_of(step), warp = i & -32;
    const ListBounds list = control.lists[set];
    kind = warp < list.alone          ? kAlone
           : warp < list.one_extra    ? kOneExtra
           : warp < list.by_estimates ? kSomeExtras
                                      : kOther;
    end = list.end;
    if (i >= (kind == kOther ? end : list.by_estimates)) kind = kNothing;
    if (warp >= end) return;
    const int at = kind == kNothing ? 0 : kind == kOther ? i - list.others + list.by_estimates : i;
    v.entry = m.list[set * set_cells(g) + at];
    v.where = tile + entry_index(v.entry);
    v.odd = set & 1;
    if (Teams == 2 && kind == kOneExtra)
      find_extras<1>(s, control.near[v.odd], g.plane, v.entry, ahead);
    if (Teams == 2 && kind == kSomeExtras)
      find_extras<kExtras>(s, control.near[v.odd], g.plane, v.entry, ahead);
    displacement_words(v.word, s, v.where, d.cycle, step >> 2, 0);
  };
  float accepted = 0;
  const int steps = 4 * g.rounds, team_size = static_cast<int>(blockDim.x) / Teams;
  const int team = Teams == 1 ? 0 : static_cast<int>(threadIdx.x) >= team_size;
  const int mine = static_cast<int>(threadIdx.x) - team * team_size;
  if (team == 0) prepare(0, mine);
  for (int step = 0; step < steps; ++step) {
    // Teams take turns: step s is that of team s % 2.
    const bool turn = Teams == 1 || (step & 1) == team;
    if (turn) {
      const int round = step >> 2;
      for (int i = mine;;) {
        const LocalCell at{m.tile + entry_index(v.entry), control.near[v.odd], g.plane};
        const auto visit = [&]<int Extra, bool Mixed>() {
          Extras here;
          if (Teams == 1) find_extras<Extra>(s, at.near, g.plane, v.entry, here);
          return visit_by_estimates<8 + Extra, Mixed>(g, s, d.cycle, round, at, v,
                                                      Teams == 1 ? here : ahead, accepted);
        };
        bool done = true;
        if (kind == kAlone)
          done = visit.template operator()<0, false>();
        else if (kind == kOneExtra)
          done = visit.template operator()<1, false>();
        else if (kind == kSomeExtras)
          done = visit.template operator()<kExtras, true>();
        if (kind == kOther)
          accepted +=
              static_cast<float>(visit_any<K>(g, d.cycle, round, at, v.entry, v.odd, v.where));
        // A visit whose estimates came within their error of d^2 has changed nothing and is made
        // again with the exact predicate. Few visits have to be made again, so that a thread alone
        // would keep the others waiting.
        for (unsigned again = __ballot_sync(~0u, !done); again; again &= again - 1) {
          const int lane = __ffs(static_cast<int>(again)) - 1;
          const std::uint32_t entry = value_of_lane(v.entry, lane);
          const LocalCell there{m.tile + entry_index(entry), control.near[v.odd], g.plane};
          const int moved =
              visit_together(g, d.cycle, round, there, entry, tile + entry_index(entry));
          if (static_cast<int>(threadIdx.x & 31) == lane) accepted += static_cast<float>(moved);
        }
        i += team_size;
        if ((i & -32) >= end) break;
        prepare(step, i);
      }
    }
    // The barrier below ends the set, because cells of the next one are neighbors of this one's.
    // Random numbers need no position: they are made while other warps still visit.
    if (step + 1 < steps && (Teams == 1 || !turn)) prepare(step + 1, mine);
    __syncthreads();
  }
  return static_cast<unsigned>(accepted);
}

// A disk goes to place `at` of the host program's arrays; returns its part of the trace.
template <class Real>
__device__ Sum write_disk(const Geometry& g, const HostWork& to, int column, int row, Position p,
                          std::int32_t id, std::uint32_t at, bool whole) {
  auto* const position = static_cast<HostPair<Real>*>(to.particles.position);
  const HostPair<Real> r = host_position<Real>(g, to.frame, column, row, p);
  move_host_particle(to.frame, to.reach, position, to.particles.image, at, r);
  if (whole) position[2 * at + 1] = {0, 0};
  return trace_of(static_cast<std::uint32_t>(id), r.x, r.y);
}

// All disks of a tile go to the host program's arrays; `b.new_ids` has their numbers. The first
// disks of the cells come first, those of several cells at once, because a thread has to wait for
// what it reads.
__device__ Sum write_tile(const Geometry& g, const HostWork& to, const LaunchArrays& b,
                          const TileMemory& m, TileControl& control) {
  constexpr int kAtOnce = 3;
  const TileBounds& bounds = control.bounds;
  const int columns = bounds.size[0], rows = bounds.size[1];
  // No particle has anything else in the components behind the coordinates: zeros may be written.
  const bool whole = to.others && !__ldcg(to.others);
  const auto write = [&](int column, int row, int slot, std::int32_t id, std::uint32_t at) {
    const Position p = m.tile[slot * g.plane + local_index(g, column, row)];
    return write_disk<double>(g, to, bounds.first[0] + column, bounds.first[1] + row, p, id, at,
                              whole);
  };
  Sum sum = 0;
  for (CellsOfThread w(columns); w.row < rows;) {
    int column[kAtOnce], row[kAtOnce];
    std::int32_t id[kAtOnce];
    std::uint32_t at[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      column[k] = w.column;
      row[k] = w.row;
      const unsigned disks = w.row < rows ? m.count[local_index(g, w.column, w.row)] : 0;
      id[k] = disks ? __ldcg(b.new_ids + new_slot(g, bounds, w.column, w.row)) : -1;
      if (disks > 1)
        m.crowded()[atomicAdd(&control.crowded, 1)] =
            static_cast<std::uint16_t>(w.column | w.row << 6);
      w.next();
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) at[k] = id[k] < 0 ? 0 : to.particles.index[id[k]];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (id[k] >= 0) sum += write(column[k], row[k], 0, id[k], at[k]);
  }
  // Cells with more than one disk are listed by all threads.
  __syncthreads();
  for (int i = threadIdx.x; i < control.crowded; i += blockDim.x) {
    const int column = m.crowded()[i] & 63, row = m.crowded()[i] >> 6;
    const int disks = min(static_cast<int>(m.count[local_index(g, column, row)]), kSlots);
    const std::int32_t* const ids = b.new_ids + new_slot(g, bounds, column, row);
#pragma unroll 1
    for (int slot = 1; slot < disks; ++slot) {
      const std::int32_t id = __ldcg(ids + slot * g.cells[0]);
      sum += write(column, row, slot, id, to.particles.index[id]);
    }
  }
  return sum;
}

// A thread of each team per active cell of a block's tile.
template <int K, int Teams, bool Host>
__device__ __forceinline__ void make_cycle(const Geometry& g, const Doubled& s, const Draw& d,
                                           const LaunchArrays& b, const HostWork& host,
                                           const Comparison& former) {
  extern __shared__ float4 memory[];
  const TileMemory m(g, memory);
  __shared__ TileControl control;
  const int tile_id = tile_of<2>(g, static_cast<int>(blockIdx.x));
  if (threadIdx.x < 16) (&control.near[0][0])[threadIdx.x] = (&g.near[0][0])[threadIdx.x];
  if (threadIdx.x < 4 * kClasses) (&control.members[0][0])[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    control.bounds = tile_bounds<2>(g, tile_id);
    control.visits = 0;
    control.crowded = 0;
    control.accepted = 0;
  }
  for (int i = threadIdx.x; i < 4 * set_cells(g) + g.plane; i += blockDim.x) m.found[i] = 0;
  // Two empty slots in a float4.
  for (int i = threadIdx.x; i < g.plane * kSlots / 2; i += blockDim.x)
    memory[i] = {kEmpty, kEmpty, kEmpty, kEmpty};
  __syncthreads();
  wait_for_former_kernel();
  // The host program has moved particles since: nothing of this cycle may be written.
  if (Host && !same_traces(former)) {
    if (tile_id == 0 && threadIdx.x == 0) answer_host(former, false, b.counts);
    return;
  }
  land_disks(g, d, b, m, control);
  // Disks of a cell may have come by different threads, in any order.
  __syncthreads();
  order_disks(g, b, m, control);
  // The entry of a cell has the extras of all its neighbors.
  __syncthreads();
  list_cells(g, m, control);
  __syncthreads();
  // The next kernel may occupy multiprocessors as they become free; it waits for this one to end
  // before it reads the cells.
  let_next_kernel_start();

  const unsigned accepted = visit_cells<K, Teams>(g, s, d, tile_id, m, control);

  const int columns = control.bounds.size[0], rows = control.bounds.size[1];
  for (CellsOfThread w(columns); w.row < rows; w.next()) {
    const int index = local_index(g, w.column, w.row);
    const Position* const p = m.tile + index;
    const int disks = min(static_cast<int>(m.count[index]), kSlots);
    const std::uint32_t at = new_slot(g, control.bounds, w.column, w.row);
    b.new_cells[at] = disks > 1 ? with_others(p[0], disks - 1) : p[0];
#pragma unroll 1
    for (int slot = 1; slot < disks; ++slot)
      b.new_cells[at + slot * g.cells[0]] = p[slot * g.plane];
  }
  atomicAdd(&control.accepted, accepted);
  __syncthreads();
  if (threadIdx.x == 0) {
    MoveCounts& counts = b.counts[Host && host.compared > 0];
    atomicAdd(&counts.trial_moves,
              static_cast<unsigned long long>(control.visits) * g.rounds * g.moves_per_cell);
    atomicAdd(&counts.accepted_moves, static_cast<unsigned long long>(control.accepted));
    if (Host && tile_id == 0) answer_host(former, true, b.counts);
  }
  if (Host && host.compared)
    compare_particles<double>(host);
  else if (Host && host.written)
    end_writing(host, write_tile(g, host, b, m, control));
}

// One block per tile. K - 8: extras that visit_any() keeps in registers. Host: a cycle that
// compares or writes a host program's positions, in float64.
template <int K, int Teams, int Threads, int BlocksPerMultiprocessor, bool Host>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    cycle_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Doubled s,
                 const __grid_constant__ Draw d, const LaunchArrays b,
                 const __grid_constant__ HostWork host, const Comparison former) {
  make_cycle<K, Teams, Host>(g, s, d, b, host, former);
}

// One thread per cell: a host program's particles get their positions.
template <class Real>
__global__ void write_kernel(const Geometry g, const HostWork host, const Planes cells,
                             const std::int32_t* ids) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  Sum sum = 0;
  if (at < g.cells[0] * g.cells[1]) {
    const int row = at / g.cells[0], column = at - row * g.cells[0];
    Position p[kSlots];
    load_cell(g, cells, column, row, p);
    const std::int32_t* const ids_here = ids + first_slot(g.cells[0], column, row);
    for (int slot = 0; slot < kSlots && p[slot].x != kEmpty; ++slot) {
      const std::int32_t id = ids_here[slot * g.cells[0]];
      sum += write_disk<Real>(g, host, column, row, p[slot], id, host.particles.index[id], false);
    }
  }
  end_writing(host, sum);
}

// A range of cells.
struct CellRange {
  int first, end;
  __device__ int mine() const { return first + blockIdx.x * blockDim.x + threadIdx.x; }
};

// The disks of a range of cells, for hand_over_cells().
struct DisksOfCells {
  const Geometry& g;
  CellRange range;
  OwnRows rows;
  Planes cells;
  const std::int32_t* ids;

  __device__ void place(std::int64_t i, int cell[3]) const {
    const int at = range.first + static_cast<int>(i), row = at / g.cells[0];
    cell[0] = at - row * g.cells[0];
    cell[1] = rows.in_grid(row);
    cell[2] = 0;
  }
  __device__ Sphere disk(std::int64_t i, int slot, int* disks) const {
    const int at = range.first + static_cast<int>(i), row = at / g.cells[0];
    const std::uint32_t from =
        first_slot(g.cells[0], at - row * g.cells[0], row) + slot * g.cells[0];
    Position p = load_position(cells.first + from);
    const auto id = static_cast<std::uint32_t>(ids[from]);
    if (disks) {
      *disks = disks_of(p);
      p = without_others(p);
    }
    return {p.x, p.y, 0, id};
  }
  __device__ Sphere first(std::int64_t i, int& disks) const { return disk(i, 0, &disks); }
  __device__ Sphere other(std::int64_t i, int slot) const { return disk(i, slot, nullptr); }
};

template <class Real, Part kPart>
__global__ void __launch_bounds__(kHostThreads, 3)
    hand_over_kernel(const __grid_constant__ Geometry g, const CellRange range, const OwnRows rows,
                     const __grid_constant__ Frame frame, const __grid_constant__ HandOverWork work,
                     const Planes cells, const std::int32_t* ids) {
  hand_over_cells<Real, kPart>(g, frame, work, range.end - range.first,
                               DisksOfCells{g, range, rows, cells, ids});
}

// One thread per cell; the block's histogram is in shared memory.
__device__ __forceinline__ void add_histogram(const Geometry& g, const CellRange& range,
                                              const Law& law, const ContactBins& contact,
                                              const Planes& cells, std::uint64_t* row_of_bins) {
  extern __shared__ std::uint32_t bins[];
  for (int i = threadIdx.x; i < contact.bins; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  const int cell = range.mine();
  if (cell < range.end) {
    const int row = cell / g.cells[0], column = cell - row * g.cells[0];
    const int disks = disks_of(load_position(cells.first + first_slot(g.cells[0], column, row)));
    for (int slot = 0; slot < disks; ++slot)
      for_pairs<true>(g, cells, column, row, slot, [&](float dx, float dy) {
        const int bin = contact_bin<Contact::one_size>(law, contact, 0, 0, dx, dy, 0);
        if (bin >= 0) atomicAdd(&bins[bin], 1u);
      });
  }
  __syncthreads();
  for (int i = threadIdx.x; i < contact.bins; i += blockDim.x)
    // A block's counts go to the row in 64 bits.
    if (bins[i])
      atomicAdd(reinterpret_cast<unsigned long long*>(&row_of_bins[i]),
                static_cast<unsigned long long>(bins[i]));
}

__global__ void histogram_kernel(const Geometry g, const CellRange range, const Law law,
                                 const ContactBins contact, const Planes cells,
                                 std::uint64_t* row_of_bins) {
  add_histogram(g, range, law, contact, cells, row_of_bins);
}

// One thread per cell; sums[block] in a fixed order.
__global__ void bond_order_kernel(const Geometry g, const CellRange range, const Planes cells,
                                  float reach2, double2* sums) {
  __shared__ double2 part[kThreads];
  const int cell = range.mine();
  double2 sum = {0, 0};
  if (cell < range.end) {
    const int row = cell / g.cells[0], column = cell - row * g.cells[0];
    const int disks = disks_of(load_position(cells.first + first_slot(g.cells[0], column, row)));
    for (int slot = 0; slot < disks; ++slot) {
      BondOrder psi;
      for_pairs<false>(g, cells, column, row, slot,
                       [&](float dx, float dy) { psi.add(dx, dy, reach2); });
      psi.add_to(sum.x, sum.y);
    }
  }
  // psi_6 = 1 / N sum_k 1 / n_k sum_j exp(6 i theta_kj), of which a block has a part of the disks
  // k. A tree over the threads of the block, the same order of additions in every run.
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) {
      part[threadIdx.x].x += part[threadIdx.x + width].x;
      part[threadIdx.x].y += part[threadIdx.x + width].y;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

}  // namespace
}  // namespace manymove::hard_particles::equal_disks
