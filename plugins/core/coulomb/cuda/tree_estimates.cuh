// SPDX-License-Identifier: BSD-3-Clause
// Estimates of the method "tree" on a GPU: what a move of each trial would change, from the far
// field on the mesh and the ions nearby.
#pragma once

#include "tree_mesh.cuh"
#include "tree.h"

namespace manymove::coulomb {
namespace {

// ---- cells, of the sources of the short-ranged sums and of places ----

struct SourceCells {
  int cells[3];
  double edge[3], per_edge[3];  // of a cell, and cells in one unit of length
  double half[3];               // half the edge of the system
  bool periodic;
  std::uint32_t* count;  // [cells + 1]: how many, then where the next goes
  std::uint32_t* first;  // [cells + 1]
};

__device__ int cell_at(const SourceCells& s, int axis, double x) {
  const int cell = static_cast<int>((x + s.half[axis]) * s.per_edge[axis]);
  return min(max(cell, 0), s.cells[axis] - 1);
}
__device__ std::size_t cell_at(const SourceCells& s, const Site& at) {
  return (static_cast<std::size_t>(cell_at(s, 2, at.z)) * s.cells[1] + cell_at(s, 1, at.y)) *
             s.cells[0] +
         cell_at(s, 0, at.x);
}
__global__ void count_cells_kernel(SourceCells s, const Site* site, int ions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < ions) atomicAdd(s.count + cell_at(s, site[i]), 1u);
}
__global__ void sort_cells_kernel(SourceCells s, const Site* site, int ions, Site* sorted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= ions) return;
  const std::size_t cell = cell_at(s, site[i]);
  sorted[s.first[cell] + atomicSub(s.count + cell, 1u) - 1] = site[i];
}

__global__ void count_places_kernel(SourceCells s, Places places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 * places.count) atomicAdd(s.count + cell_at(s, places.at(i)), 1u);
}
// Those that moves have left and reached, as sources: what left has the opposite charge.
__global__ void count_moves_kernel(SourceCells s, Places places, const std::uint8_t* accepted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 * places.count && accepted[i / 2]) atomicAdd(s.count + cell_at(s, places.at(i)), 1u);
}
__global__ void sort_moves_kernel(SourceCells s, Places places, const std::uint8_t* accepted,
                                  Site* sorted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 2 * places.count || !accepted[i / 2]) return;
  Site at = places.at(i);
  if (i % 2 == 0) at.charge = -at.charge;
  const std::size_t cell = cell_at(s, at);
  sorted[s.first[cell] + atomicSub(s.count + cell, 1u) - 1] = at;
}
__global__ void sort_places_kernel(SourceCells s, Places places, std::int32_t* sorted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 2 * places.count) return;
  const std::size_t cell = cell_at(s, places.at(i));
  sorted[s.first[cell] + atomicSub(s.count + cell, 1u) - 1] = i;
}

// ---- estimates ----

__device__ void copy_table(const NearTable& from, NearTable& to) {
  for (int n = threadIdx.x; n < kPieceTerms * kPieces; n += blockDim.x)
    to.coefficient[n / kPieces][n % kPieces] = from.coefficient[n / kPieces][n % kPieces];
  if (threadIdx.x == 0) to.error = from.error;
}

struct Span {
  int first, count;
};
// Places and distances in numbers of cells.
__device__ Span span_of(const SourceCells& s, int axis, double place, double reach) {
  int low = static_cast<int>(floor(place - reach)), high = static_cast<int>(floor(place + reach));
  if (!s.periodic) {
    low = max(low, 0);
    high = min(high, s.cells[axis] - 1);
  } else if (high - low + 1 >= s.cells[axis]) {
    low = 0;
    high = s.cells[axis] - 1;
  }
  return {low, high - low + 1};
}
__device__ double apart_of(const SourceCells& s, int axis, double place, int cell,
                           const Span& span) {
  if (s.periodic && span.count == s.cells[axis]) return 0;
  return fmax(0.0, fmax(cell - place, place - cell - 1)) * s.edge[axis];
}
__device__ int wrapped_cell(const SourceCells& s, int axis, int cell) {
  return cell < 0 ? cell + s.cells[axis] : cell >= s.cells[axis] ? cell - s.cells[axis] : cell;
}

// A lane's share of a potential in float32, and a bound of its error.
struct Share {
  double sum = 0, error = 0;
};

// By a warp, each lane its share: potential at short range, sources, and those that stand there.
// First each lane finds the sources of a row of cells, then each half of the warp takes one row
// after the other.
template <Space B>
__device__ void add_near(const Rules& r, const Mesh& m, const NearTable& table,
                         const SourceCells& s, const Site* source, const Site& at, Share& share,
                         int& sources, int& coincident) {
  constexpr Space kNear = B == Space::ewald ? Space::nearest : B;
  const int lane = threadIdx.x % 32;
  const double place[3] = {(at.x + s.half[0]) * s.per_edge[0], (at.y + s.half[1]) * s.per_edge[1],
                           (at.z + s.half[2]) * s.per_edge[2]};
  const double reach = m.rules.reach * (1 + 1e-6);  // beyond the rounding of all this
  const auto per_reach2 = static_cast<float>(m.rules.inverse_reach2);
  const Span rows = span_of(s, 1, place[1], reach * s.per_edge[1]),
             planes = span_of(s, 2, place[2], reach * s.per_edge[2]);
  for (int first = 0; first < rows.count * planes.count; first += 32) {
    // In one piece, or in two where a row leaves the box.
    std::uint32_t begin[2] = {0, 0}, end[2] = {0, 0};
    const int number = first + lane;
    if (number < rows.count * planes.count) {
      const int y = rows.first + number % rows.count, z = planes.first + number / rows.count;
      const double dy = apart_of(s, 1, place[1], y, rows), dz = apart_of(s, 2, place[2], z, planes);
      const double left = reach * reach - dy * dy - dz * dz;
      if (left > 0) {
        const Span row = span_of(s, 0, place[0], sqrt(left) * s.per_edge[0]);
        const std::size_t start =
            (static_cast<std::size_t>(wrapped_cell(s, 2, z)) * s.cells[1] + wrapped_cell(s, 1, y)) *
            s.cells[0];
        int from = row.first, rest = row.count;
        for (int piece = 0; piece < 2 && rest > 0; ++piece) {
          const int low = wrapped_cell(s, 0, from), cells = min(rest, s.cells[0] - low);
          begin[piece] = s.first[start + low];
          end[piece] = s.first[start + low + cells];
          from += cells;
          rest -= cells;
        }
      }
    }
    float part = 0, size = 0, part_size = 0;
    int terms = 0;
    for (int piece = 0; piece < (s.periodic ? 2 : 1); ++piece) {
      unsigned pairs = __ballot_sync(0xffffffffu, begin[piece] < end[piece]);
      for (pairs = (pairs | pairs >> 1) & 0x55555555u; pairs; pairs &= pairs - 1) {
        const int source_lane = __ffs(static_cast<int>(pairs)) - 1 + lane / 16;
        const std::uint32_t low = __shfl_sync(0xffffffffu, begin[piece], source_lane),
                            high = __shfl_sync(0xffffffffu, end[piece], source_lane);
        for (std::uint32_t j = low + lane % 16; j < high; j += 16) {
          const Site g = site_at(source, j);
          const auto d = separation<kNear, float>(r, at.x - g.x, at.y - g.y, at.z - g.z);
          ++terms;
          coincident += d.squared == 0;
          const float v = d.squared * per_reach2;
          if (v < 1 && d.squared > 0) {
            const float inverse = inverse_root_single(d.squared);
            const float term = inverse - value_of(table, v);
            part = fused(g.charge, term, part);
            part_size = fused(abs_of(g.charge), abs_of(term), part_size);
            size = fused(abs_of(g.charge), inverse, size);
          }
        }
      }
    }
    share.sum += part;
    share.error += table.error * size + 0x1p-24 * terms * part_size;
    sources += terms;
  }
}
// Adds the potential on the mesh, some rows of the window at a time. A term has at most 26
// roundings.
template <int W>
__device__ void add_far(const Mesh& m, const Site& at, float (*weight)[W], Share& share) {
  constexpr int kRows = 32 / W;
  const int lane = threadIdx.x % 32;
  int first[3];
  for (int axis = 0; axis < 3; ++axis) {
    const double x = axis == 0 ? at.x : axis == 1 ? at.y : at.z;
    double lag;
    first[axis] = window_at(m.rules, axis, x, lag);
    if (lane < W) weight[axis][lane] = static_cast<float>(window_weight(m.rules, lag, lane));
  }
  __syncwarp();
  const int c = lane % W, row = lane / W;
  if (row < kRows) {
    const int z = wrapped_point(m.rules, 2, first[2] + c);
    float sum = 0, size = 0;
    for (int a = 0; a < W; ++a) {
      const int x = wrapped_point(m.rules, 0, first[0] + a);
      float plane = 0, plane_size = 0;
#pragma unroll
      for (int b = row; b < W; b += kRows) {
        const float value =
            m.potential[mesh_row(m, x, wrapped_point(m.rules, 1, first[1] + b)) + z];
        plane = fused(weight[1][b], value, plane);
        plane_size = fused(abs_of(weight[1][b]), abs_of(value), plane_size);
      }
      sum = fused(weight[0][a], plane, sum);
      size = fused(abs_of(weight[0][a]), plane_size, size);
    }
    share.sum += weight[2][c] * sum;
    share.error += 32 * 0x1p-24 * abs_of(weight[2][c] * size);
  }
  __syncwarp();
}

constexpr int kEstimateThreads = 512;

struct PlaceEstimate {
  double potential, error;  // without the bound of the mesh
  int sources, coincident;
};
// A warp per place: the potential of a field there, or with `More` that in addition. `origin`: the
// first of the trials in the order of a sweep. For this device's trials.
template <Space B, int W, bool More>
__global__ void __launch_bounds__(kEstimateThreads, 2)
    potential_kernel(const __grid_constant__ Rules r, const __grid_constant__ Mesh m,
                     const __grid_constant__ SourceCells s, const Site* source,
                     const NearTable* near_table, Places places, int origin, Deal deal,
                     const std::int32_t* sorted, PlaceEstimate* estimate) {
  __shared__ float weights[kEstimateThreads / 32][3][W];
  __shared__ NearTable table;
  copy_table(*near_table, table);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int number = blockIdx.x * (kEstimateThreads / 32) + warp;
  if (number >= 2 * places.count) return;
  const int place = sorted[number];
  if (!deal.owns(origin + place / 2)) return;
  const Site at = places.at(place);
  int sources = 0, coincident = 0;
  Share share;
  add_near<B>(r, m, table, s, source, at, share, sources, coincident);
  add_far<W>(m, at, weights[warp], share);
  for (int step = 16; step > 0; step /= 2) {
    share.sum += __shfl_xor_sync(0xffffffffu, share.sum, step);
    share.error += __shfl_xor_sync(0xffffffffu, share.error, step);
    sources += __shfl_xor_sync(0xffffffffu, sources, step);
    coincident += __shfl_xor_sync(0xffffffffu, coincident, step);
  }
  if (lane != 0) return;
  PlaceEstimate& e = estimate[place];
  if constexpr (More)
    e = {e.potential + share.sum, e.error + share.error, e.sources + sources,
         e.coincident + coincident};
  else
    e = {share.sum, share.error, sources, coincident};
}

// Bound of the error of the field of moves, if there is one.
struct MovesBound {
  double field, per_norm;
  const double* squares;
};
// A thread per trial of this device: what its move would change, and a bound of the error. `later`:
// pair terms that may be added, and `roundings`: float64 roundings that they go through; those in
// float32 are measured.
template <Space B>
__global__ void estimate_kernel(const __grid_constant__ Rules r, const __grid_constant__ Mesh m,
                                ErrorBound bound, MovesBound moves, double least, Places places,
                                int origin, Deal deal, const PlaceEstimate* estimate, double later,
                                double roundings, double* change, double* error) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= places.count || !deal.owns(origin + k)) return;
  const Site here = places.at(2 * k), there = places.at(2 * k + 1);
  const PlaceEstimate now = estimate[2 * k], then = estimate[2 * k + 1];
  const bool rests = here.x == there.x && here.y == there.y && here.z == there.z;
  const bool defined = now.coincident == 1 && (rests || then.coincident == 0);
  double sum = 0;
  if (!rests) {
    const double own =
        unit_potential<B>(r, r.rest, separation<B>(r, there.x, there.y, there.z, here));
    sum = then.potential - now.potential - here.charge * (own - m.rules.at_zero);
  }
  change[k] = defined ? sum : as_double(0x7ff8000000000000ull);
  const double quanta = 6755399441055744.0 / r.magic;
  const double terms = later + now.sources + then.sources;
  const double of_moves =
      moves.squares == nullptr ? 0 : moves.field + moves.per_norm * sqrt(*moves.squares);
  const double proven = error_of(bound, sqrt(*m.squares), terms, roundings) + of_moves +
                        1.01 * quanta * (now.error + then.error);
  error[k] = fmax(proven, least / abs_of(here.charge));
}

}  // namespace
}  // namespace manymove::coulomb
