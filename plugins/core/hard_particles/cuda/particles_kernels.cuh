// SPDX-License-Identifier: BSD-3-Clause
// Monte Carlo of spheres on a GPU, device code: one block per tile, which stays in shared memory
// for a whole cycle; one kernel launch per cycle, in which the particles land in the shifted grid,
// all moves are made and the tile is written back.
#pragma once

#include "../../runtime/launch.cuh"
#include "../../runtime/warp.cuh"
#include "launch_config.h"
#include "visit_particles.cuh"

namespace manymove::hard_particles {
namespace {

// What a block has in shared memory (shared_bytes() of launch_config.h). The slots of the particles
// that land in the tile are in `landed` until it is known where their cells begin; then what a
// visit writes down has its place. Particles of a mixture have their label in the place of their
// index, and this elsewhere.
template <int D, Contact C>
struct SharedTile {
  float4* spheres;        // [capacity]
  std::uint32_t* landed;  // [capacity], the old cells and their slots
  Workspace work;
  std::uint32_t* ids;       // [capacity], of mixtures
  std::uint32_t* first;     // [plane + 1], the first particle of each cell
  std::uint16_t* sets;      // [2^D][set_cells], the active cells of each set that are not empty
  const FieldView* fields;  // in the memory of arguments; null: none

  __device__ SharedTile(const Geometry& g, const LaunchConfig& s, float4* memory,
                        const FieldView* fields)
      : fields(fields) {
    constexpr bool kMixed = C != Contact::one_size;
    spheres = memory;
    landed = reinterpret_cast<std::uint32_t*>(spheres + s.capacity);
    auto* const moves = spheres + s.capacity;
    auto* const lists = reinterpret_cast<std::uint16_t*>(moves + s.moves * s.threads);
    work = {moves, lists, s.list};
    ids = reinterpret_cast<std::uint32_t*>(lists + s.list * s.threads);
    first = landed + work_bytes(s, kMixed) / 4;
    sets = reinterpret_cast<std::uint16_t*>(first + g.plane + 1);
  }
};

// What the threads of a block share besides the tile.
struct TileControl {
  TileBounds bounds;
  FieldsOfTile fields;
  Law law;
  float step;
  int members[8];
  unsigned int landed, accepted, part;
  std::uint32_t sums[32];  // of the scan
};

// The coordinates of the i-th of n0 by n1 by ... cells, exactly, without an integer division
// (i < 2^15).
template <int D>
struct CellOf {
  int n0, n1;
  float inverse0 = 1.0f / static_cast<float>(n0), inverse1 = 1.0f / static_cast<float>(n1);
  __device__ void operator()(int i, int at[3]) const {
    // (i + 1/2) / n0 is at least 1 / (2 n0) from an integer, more than float32 errs for i < 2^15.
    const int row = static_cast<int>((static_cast<float>(i) + 0.5f) * inverse0);
    at[0] = i - row * n0;
    at[2] = D == 3 ? static_cast<int>((static_cast<float>(row) + 0.5f) * inverse1) : 0;
    at[1] = row - at[2] * n1;
  }
};

// The tile of this block: its turn among those at work, unless a schedule says otherwise (order.h).
template <int D>
__device__ int tile_of_block(const Geometry& g, const LaunchConfig& config) {
  const auto block = static_cast<int>(blockIdx.x);
  return config.order ? static_cast<int>(config.order[block]) : tile_of<D>(g, block);
}

// The cells of a block of n0 by n1, or by n2 in three dimensions.
template <int D>
__device__ int product(int n0, int n1, int n2) {
  return D == 3 ? n0 * n1 * n2 : n0 * n1;
}

// Past the first-level cache, because other multiprocessors have written it.
__device__ Sphere load_sphere(const Sphere* from) {
  const float4 q = __ldcg(reinterpret_cast<const float4*>(from));
  return {q.x, q.y, q.z, __float_as_uint(q.w)};
}

// The old cells under a tile, numbered from the old place of its first cell.
template <int D>
struct OldCells {
  const Geometry& g;
  const Draw& d;
  const LaunchArrays& b;
  const TileBounds& bounds;
  CellOf<D> cell_of{bounds.size[0] + 2, bounds.size[1] + 2};

  __device__ int number() const {
    return product<D>(bounds.size[0] + 2, bounds.size[1] + 2, bounds.size[2] + 2);
  }
  __device__ std::int64_t at(int i) const {
    int at[3];
    cell_of(i, at);
    return old_cell<D>(g, d, bounds, at);
  }
  __device__ Landing<D> land(const Sphere& p, int i) const {
    int at[3];
    cell_of(i, at);
    return hard_particles::land<D>(g, d, bounds, p, at);
  }
  // Calls particle(sphere, i, slot) for every particle. A thread asks for several cells at once,
  // and for two particles of each, for the latency.
  __device__ void for_all(auto&& particle) const {
    constexpr int kAtOnce = 4;
    const int cells = number(), second = g.slots > 1 ? 1 : 0;
#pragma unroll 1
    for (int base = threadIdx.x; base < cells; base += kAtOnce * blockDim.x) {
      const Sphere* from[kAtOnce];
      std::uint32_t n[kAtOnce];
      Sphere one[kAtOnce], two[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = base + k * blockDim.x;
        n[k] = 0;
        if (i >= cells) continue;
        const std::int64_t cell = at(i);
        from[k] = b.old_spheres + cell * g.slots;
        n[k] = __ldcg(b.old_counts + cell);
        one[k] = load_sphere(from[k]);
        two[k] = load_sphere(from[k] + second);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
#pragma unroll 1
        for (std::uint32_t slot = 0; slot < n[k]; ++slot)
          particle(slot == 0   ? one[k]
                   : slot == 1 ? two[k]
                               : load_sphere(from[k] + slot),
                   base + k * static_cast<int>(blockDim.x), slot);
    }
  }
};

// value[i] becomes the sum of value[1..i-1]. Each thread adds up a run of values, a warp the sums
// of its threads by shuffles, and the warps read each other's sums in shared memory.
__device__ void scan(std::uint32_t* value, int n, TileControl& control) {
  // Thread t has value[1 + t each] ... value[(t + 1) each].
  const int each = (n + blockDim.x - 1) / blockDim.x;
  const int begin = 1 + min(n, static_cast<int>(threadIdx.x) * each),
            end = min(n + 1, begin + each);
  std::uint32_t mine = 0;
  for (int i = begin; i < end; ++i) mine += value[i];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t upto = warp_prefix_sum(mine, lane);
  if (lane == 31) control.sums[warp] = upto;
  // A thread adds the sums of all warps before its own.
  __syncthreads();
  std::uint32_t before = upto - mine;
  for (int w = 0; w < warp; ++w) before += control.sums[w];
  for (int i = begin; i < end; ++i) {
    const std::uint32_t here = value[i];
    value[i] = before;  // of the particles before the cell
    before += here;
  }
}

// Threads raced for the places in a cell: put its particles in the order of their indices.
template <int D>
__device__ void order_particles(const TileBounds& bounds, float4* spheres,
                                const std::uint32_t* first) {
  const int cells = product<D>(bounds.size[0] + 1, bounds.size[1] + 1, bounds.size[2] + 1);
  for (int i = threadIdx.x; i < cells; i += blockDim.x) {
    const std::uint32_t begin = first[i], end = first[i + 1];
    // Insertion sort of few particles; w holds the index.
    for (std::uint32_t k = begin + 1; k < end; ++k) {
      const float4 p = spheres[k];
      std::uint32_t to = k;
      for (; to > begin && __float_as_uint(spheres[to - 1].w) > __float_as_uint(p.w); --to)
        spheres[to] = spheres[to - 1];
      if (to < k) spheres[to] = p;
    }
  }
}

// Lists the active cells of each set that hold particles. Active are all cells but the first ones
// along each axis, which are frozen in this cycle. A coordinate is at most kMaxTile and takes five
// bits.
template <int D>
__device__ void list_cells(const Geometry& g, TileControl& control, const std::uint32_t* first,
                           std::uint16_t* sets) {
  const TileBounds& bounds = control.bounds;
  const CellOf<D> cell_of{bounds.size[0] - 1, bounds.size[1] - 1};
  const int active = product<D>(bounds.size[0] - 1, bounds.size[1] - 1, bounds.size[2] - 1);
  for (int i = threadIdx.x; i < active; i += blockDim.x) {
    int at[3];
    cell_of(i, at);
    ++at[0];
    ++at[1];
    if (D == 3) ++at[2];
    const int index = local_index<D>(bounds, at), set = set_of<D>(at);
    if (first[index + 1] > first[index])
      sets[set * set_cells(g, D) + atomicAdd(&control.members[set], 1)] =
          static_cast<std::uint16_t>(at[0] | at[1] << 5 | at[2] << 10);
  }
}

// The law and the length of moves: the kernel's arguments, unless the volume follows a choice of
// the device, by a former kernel (`before`) or by this one (`now`).
__device__ void set_scale(const Geometry& g, const Law& law, const Scale* before, const Scale* now,
                          TileControl& control) {
  Scale s{law.contact, law.largest, law.margin, g.step, 0};
  if (before)
    s = {__ldcg(&before->contact), __ldcg(&before->largest), __ldcg(&before->margin),
         __ldcg(&before->step), 0};
  if (now) s = *now;
  control.law = law;
  control.law.contact = s.contact;
  control.law.largest = s.largest;
  control.law.margin = s.margin;
  control.step = s.step;
}

// Leaves the least ratio of the pairs of a tile. Two particles in neighboring cells are in the same
// places in every tile that has both, because borders are frozen, and some tile has both: the one
// that owns, along each axis, the lower one of their cells. So each particle looks at those after
// it in half of the cells around; where a row of the tile ends, it looks at others besides.
template <int D, Contact C, bool Sums>
__device__ __noinline__ void search_pairs(const Geometry& g, const Law& law,
                                          const PairSearch& search, const TileBounds& bounds,
                                          const float4* spheres, const std::uint32_t* ids,
                                          const std::uint32_t* first) {
  constexpr int kRuns = D == 3 ? 5 : 2, kAtOnce = 4;
  const int row = bounds.size[0] + 1, layer = row * (bounds.size[1] + 1);
  const int cells = D == 3 ? layer * (bounds.size[2] + 1) : layer;
  const std::uint32_t particles = first[cells];
  Law reference = law;
  reference.contact = search.contact;
  reference.diameters = search.diameters;
  reference.contacts = search.contacts;
  float inverse[D];
#pragma unroll
  for (int a = 0; a < D; ++a) inverse[a] = 0.5f / g.half[a];
  const auto id = [&](std::uint32_t k) {
    return C == Contact::one_size ? __float_as_uint(spheres[k].w) : ids[k];
  };
  // Beyond every ratio, so that a thread without pairs leaves the minimum alone.
  constexpr double kNone = 1e300;
  double least = kNone;
#pragma unroll 1
  for (std::uint32_t k = threadIdx.x; k < particles; k += blockDim.x) {
    // q = min r_ij^2 / sigma_ij^2 over the pairs that start with this particle
    // (docs/theory/constant_pressure.md, section 3).
    const float4 p = spheres[k];
    const float r[3] = {p.x, p.y, p.z};
    int cell = 0;
#pragma unroll
    for (int a = D - 1; a >= 0; --a) {
      // Centers of cells are at (2 c - n) H, so that c = (r / H + n) / 2 to the nearest; the
      // division may round to the cell beside.
      int at = static_cast<int>(r[a] * inverse[a] + 0.5f * static_cast<float>(bounds.size[a] + 1));
      const float rest = r[a] - cell_center(g, bounds, a, at);  // exact
      if (rest < -g.half[a]) --at;
      if (rest >= g.half[a]) ++at;
      cell = cell * (bounds.size[a] + 1) + at;
    }
    std::uint32_t begin[kRuns], end[kRuns];
    // The rest of its own cell and the next one along x; then whole runs of three cells, of the row
    // above and in three dimensions of the next layer: half of the cells around.
    begin[0] = k + 1;
    end[0] = first[min(cell + 2, cells)];
#pragma unroll
    for (int run = 1; run < kRuns; ++run) {
      const int middle = cell + (run == 1 ? row : layer + (run - 3) * row);
      begin[run] = first[min(middle - 1, cells)];
      end[run] = first[min(middle + 2, cells)];
    }
#pragma unroll
    for (int run = 0; run < kRuns; ++run)
#pragma unroll 1
      for (std::uint32_t first_of = begin[run]; first_of < end[run]; first_of += kAtOnce) {
        // r^2 - sigma^2 reach in float32 leaves out most pairs; the others are looked at exactly.
        float closest = 1;  // below 0 within reach
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) {
          const float4 q = spheres[min(first_of + n, end[run] - 1)];
          const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
          const float sigma = local_sigma<C, Sums>(law, p, q);
          closest = fminf(closest, fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f)) -
                                       sigma * sigma * search.reach);
        }
        if (closest > 0) continue;
#pragma unroll 1
        for (int n = 0; n < kAtOnce; ++n) {
          const std::uint32_t j = min(first_of + n, end[run] - 1);
          const float4 q = spheres[j];
          const float sigma = local_sigma<C, Sums>(law, p, q);
          const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
          if (fmaf(dx, dx, fmaf(dy, dy, D == 3 ? dz * dz : 0.0f)) > sigma * sigma * search.reach)
            continue;
          const double ratio =
              exact_square(dx, dy, D == 3 ? dz : 0.0f) / contact_of<C>(reference, id(k), id(j));
          if (ratio < least) least = ratio;
        }
      }
  }
  if (least < kNone)
    atomicMin(search.least, static_cast<unsigned long long>(__double_as_longlong(least)));
}

// What makes the visits of the cells of a set, and returns the accepted moves (Visit).
template <class V, int D, Contact C>
concept VisitsOf = requires(const Tile<D, C>& tile, const std::uint16_t* cells, Workspace work,
                            const typename V::Field& field) {
  { V::kSums } -> std::convertible_to<bool>;
  { V::visit_set(tile, std::uint64_t{}, 0, cells, 0, work, field) } -> std::same_as<int>;
};

// From the order of the particles to the writing back of a tile whose particles are in the places
// of their cells in `spheres`, in shared memory or in the scratch.
template <int D, Contact C, VisitsOf<D, C> V>
__device__ int tile_cycle(const Geometry& g, const Draw& d, const LaunchArrays& b,
                          const LaunchConfig& config, TileControl& control, float4* spheres,
                          std::uint32_t* ids, const SharedTile<D, C>& m) {
  const TileBounds& bounds = control.bounds;
  const Law& law = control.law;
  order_particles<D>(bounds, spheres, m.first);
  list_cells<D>(g, control, m.first, m.sets);
  // Particles are in order, and the sets are listed, for every thread.
  __syncthreads();
  const int cells = product<D>(bounds.size[0] + 1, bounds.size[1] + 1, bounds.size[2] + 1);
  if constexpr (C != Contact::one_size) {
    for (std::uint32_t k = threadIdx.x; k < m.first[cells]; k += blockDim.x) {
      ids[k] = __float_as_uint(spheres[k].w);
      Label label = law.labels[ids[k]];
      if (V::kSums) label.radius = law.radii[label.type];
      // From here on w is the label, of which contact distances are made, and ids[k] the index.
      spheres[k].w = label.radius;  // the bits of either kind of label
    }
    __syncthreads();
  }

  int accepted = 0;
  const Tile<D, C> tile{
      g,
      law,
      control.step,
      bounds,
      spheres,
      ids,
      m.first,
      static_cast<std::uint32_t>(tile_of_block<D>(g, config)) * static_cast<std::uint32_t>(g.plane),
      bounds.size[0] + 1,
      (bounds.size[0] + 1) * (bounds.size[1] + 1)};
  const auto field = field_of<typename V::Field>(m.fields, g, bounds, &control.fields);
  const auto visit_all = [&]<class F>(const F& in) {
    for (int round = 0; round < g.rounds; ++round)
      for (int turn = 0; turn < 1 << D; ++turn) {
        // The cells of a set move at once: between two of them there is a layer of other cells, so
        // that no move of one can be met by a move of another (section 3, step 4).
        const int set = static_cast<int>(d.order[round] >> (3 * turn) & 7u);
        accepted += V::template In<F>::visit_set(
            tile, d.cycle, round, m.sets + set * set_cells(g, D), control.members[set], m.work, in);
        // Moves of this set are over before those of the next one look at its particles.
        __syncthreads();
      }
  };
  if (!V::Field::kIs || V::Field::kSteps || control.fields.soft || control.fields.number > 0)
    visit_all(field);
  else
    visit_all(NoField{});
  if (config.order) let_next_kernel_start();
  // q for the next trial changes of the volume, while the tile is at hand.
  if constexpr (!V::Field::kIs)
    if (b.search.least)
      search_pairs<D, C, V::kSums>(g, law, b.search, bounds, spheres, ids, m.first);

  const CellOf<D> cell_of{bounds.size[0], bounds.size[1]};
  const int own = product<D>(bounds.size[0], bounds.size[1], bounds.size[2]);
  for (int i = threadIdx.x; i < own; i += blockDim.x) {
    int at[3];
    cell_of(i, at);
    const int index = local_index<D>(bounds, at);
    const std::int64_t to = grid_cell<D>(g, bounds, at);
    const std::uint32_t begin = m.first[index];
    std::uint32_t n = m.first[index + 1] - begin;
    if (n > static_cast<std::uint32_t>(g.slots)) {
      b.counts->corrupt = 1;
      n = static_cast<std::uint32_t>(g.slots);
    }
    b.new_counts[to] = n;
    // From the tile's center back to the cell's, exactly (section 1.1).
    float center[3] = {0, 0, 0};
#pragma unroll
    for (int a = 0; a < D; ++a) center[a] = cell_center(g, bounds, a, at[a]);
    auto* const out = reinterpret_cast<float4*>(b.new_spheres + to * g.slots);
    for (std::uint32_t s = 0; s < n; ++s) {
      const float4 p = spheres[begin + s];
      out[s] = make_float4(p.x - center[0], p.y - center[1], p.z - center[2],
                           C == Contact::one_size ? p.w : __uint_as_float(ids[begin + s]));
    }
  }
  return accepted;
}

// F: the field of the visits.
template <int D, class F>
__device__ void begin_tile(const Geometry& g, const LaunchConfig& config, const FieldView* fields,
                           TileControl& control) {
  if (threadIdx.x < 8) control.members[threadIdx.x] = 0;
  if (threadIdx.x > 0) return;
  control.bounds = tile_bounds<D>(g, tile_of_block<D>(g, config));
  control.accepted = control.landed = 0;
  if constexpr (F::kIs && !F::kSteps)
    control.fields = field_of<F>(fields, g, control.bounds).of_tile();
}

// One block per tile; V makes the visits. Chooses: whether there may be a `choice`.
template <int D, Contact C, VisitsOf<D, C> V, bool Chooses>
__device__ __forceinline__ void make_cycle(const Geometry& g, const Law& law, const Draw& d,
                                           const LaunchArrays& b, const LaunchConfig& config,
                                           const VolumeChoice& choice,
                                           const FieldView* fields = nullptr) {
  extern __shared__ float4 memory[];
  __shared__ TileControl control;
  const SharedTile<D, C> m(g, config, memory, fields);
  begin_tile<D, typename V::Field>(g, config, fields, control);
  for (int i = threadIdx.x; i <= g.plane; i += blockDim.x) m.first[i] = 0;
  // Particles of other threads are counted here.
  __syncthreads();
  if (!config.order) let_next_kernel_start();
  wait_for_former_kernel();
  if (b.skip && __ldcg(b.skip)) return;
  // The trial changes of the volume before this cycle, as a function of q, which all blocks read
  // (docs/theory/constant_pressure.md, "Decisions in advance").
  int outcome = 0;
  if (Chooses && choice.least) {
    const double least =
        fmin(choice.most, __longlong_as_double(static_cast<long long>(__ldcg(choice.least))));
    outcome = outcome_of(choice.outcomes, least);
    const bool left = for_host(choice.outcomes, outcome);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      *choice.spent = kNoRatio;
      choice.answer->least_ratio = least;
      choice.answer->for_host = left;
      __threadfence_system();
      choice.answer->number = choice.number;
    }
    if (left) return;
  }
  if (threadIdx.x == 0)
    set_scale(g, law, b.scale, Chooses && choice.least ? &choice.outcomes.scale[outcome] : nullptr,
              control);

  // The particles that land in the tile are counted by cells of the shifted grid; a prefix sum of
  // the counts says where each cell begins, and a second pass puts the particles there.
  const TileBounds& bounds = control.bounds;
  const OldCells<D> old{g, d, b, bounds};
  old.for_all([&](const Sphere& p, int i, std::uint32_t slot) {
    const auto l = old.land(p, i);
    if (!l.here) return;
    atomicAdd(m.first + local_index<D>(bounds, l.cell) + 1, 1u);
    const auto k = static_cast<int>(atomicAdd(&control.landed, 1u));
    if (k < config.capacity) m.landed[k] = static_cast<std::uint32_t>(i) | slot << 16;
  });
  // All particles that land have been counted.
  __syncthreads();
  const int cells = product<D>(bounds.size[0] + 1, bounds.size[1] + 1, bounds.size[2] + 1);
  scan(m.first, cells, control);
  // m.first[c + 1] is the next place in cell c, for every thread.
  __syncthreads();

  const auto place = [&](const Sphere& p, int i, float4* to) {
    const auto l = old.land(p, i);
    if (l.here)
      to[atomicAdd(m.first + local_index<D>(bounds, l.cell) + 1, 1u)] =
          make_float4(l.r[0], l.r[1], l.r[2], __uint_as_float(p.id));
  };
  int accepted;
  const auto landed = static_cast<int>(control.landed);
  // From the list of the first pass: cell in the lower half of a word, slot in the upper one.
  if (landed <= config.capacity) {
    constexpr int kAtOnce = 4;
#pragma unroll 1
    for (int base = threadIdx.x; base < landed; base += kAtOnce * blockDim.x) {
      Sphere p[kAtOnce];
      std::uint32_t from[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        from[k] = m.landed[min(base + k * static_cast<int>(blockDim.x), landed - 1)];
        p[k] = load_sphere(b.old_spheres + old.at(from[k] & 0xffffu) * g.slots + (from[k] >> 16));
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        if (base + k * static_cast<int>(blockDim.x) < landed)
          place(p[k], static_cast<int>(from[k] & 0xffffu), m.spheres);
    }
    __syncthreads();
    accepted = tile_cycle<D, C, V>(g, d, b, config, control, m.spheres, m.ids, m);
  } else {  // a part of the scratch, which this block locks
    if (threadIdx.x == 0) {
      // There are fewer parts than blocks: take the next one that is free.
      unsigned int part = blockIdx.x % b.scratch.parts;
      while (atomicCAS(b.scratch.locks + part, 0u, 1u) != 0) part = (part + 1) % b.scratch.parts;
      __threadfence();
      // The fence comes after the lock: what its former owner wrote is complete.
      control.part = part;
    }
    // The block waits for the thread that holds the lock.
    __syncthreads();
    const std::size_t at = static_cast<std::size_t>(control.part) * b.scratch.size;
    float4* const spheres = b.scratch.spheres + at;
    old.for_all([&](const Sphere& p, int i, std::uint32_t) { place(p, i, spheres); });
    // All particles are in their cells before they are put in order.
    __syncthreads();
    accepted = tile_cycle<D, C, V>(g, d, b, config, control, spheres, b.scratch.ids + at, m);
    __threadfence();
    __syncthreads();
    // After the fence of all threads: the next owner of the part finds nothing under way.
    if (threadIdx.x == 0) atomicExch(b.scratch.locks + control.part, 0u);
  }
  atomicAdd(&control.accepted, static_cast<unsigned int>(accepted));
  // The counts of all threads, of which one makes the sum of the block.
  __syncthreads();
  if (threadIdx.x == 0) {
    // Each visit makes n_m trial moves, in every round.
    unsigned int visits = 0;
    for (int set = 0; set < 1 << D; ++set) visits += control.members[set];
    atomicAdd(&b.counts->trial_moves,
              static_cast<unsigned long long>(visits) * g.rounds * g.moves_per_cell);
    atomicAdd(&b.counts->accepted_moves, static_cast<unsigned long long>(control.accepted));
  }
}

template <int D, Contact C, VisitsOf<D, C> V, int Threads, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    cycle_kernel(const __grid_constant__ Geometry g, const __grid_constant__ Law law,
                 const __grid_constant__ Draw d, const LaunchArrays b, const LaunchConfig config,
                 const __grid_constant__ VolumeChoice choice) {
  make_cycle<D, C, V, true>(g, law, d, b, config, choice);
}

// With fields, at constant volume.
template <int D, Contact C, VisitsOf<D, C> V, int Threads, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    cycle_in_fields(const __grid_constant__ Geometry g, const __grid_constant__ Law law,
                    const __grid_constant__ Draw d, const LaunchArrays b, const LaunchConfig config,
                    const __grid_constant__ FieldView fields) {
  make_cycle<D, C, V, false>(g, law, d, b, config, VolumeChoice{}, &fields);
}

}  // namespace
}  // namespace manymove::hard_particles
