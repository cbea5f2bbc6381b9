// SPDX-License-Identifier: BSD-3-Clause
// Estimates of the method "tree" on a GPU: what a move of each trial would change, from the far
// field on the mesh and the ions nearby.
#pragma once

#include "tree.h"
#include "tree_mesh.cuh"

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
// What is sorted into cells: ions, what accepted moves have left (with the opposite charge) and
// reached, or the numbers of the sites of trials.
struct IonItems {
  const Site* site;
  int count;

  __device__ bool has(int) const { return true; }
  __device__ Site site_of(int i) const { return site[i]; }
  __device__ Site operator[](int i) const { return site[i]; }
};
struct MoveItems {
  TrialSites trials;
  const std::uint8_t* accepted;
  int count = 2 * trials.count;

  __device__ bool has(int i) const { return accepted[i / 2]; }
  __device__ Site site_of(int i) const { return trials.at(i); }
  __device__ Site operator[](int i) const {
    Site at = trials.at(i);
    if (i % 2 == 0) at.charge = -at.charge;
    return at;
  }
};
struct SiteItems {
  TrialSites trials;
  int count = 2 * trials.count;

  __device__ bool has(int) const { return true; }
  __device__ Site site_of(int i) const { return trials.at(i); }
  __device__ int operator[](int i) const { return i; }
};
template <class T>
concept CellItems = requires(const T items, int i) {
  { items.count } -> std::convertible_to<int>;
  items.has(i);      // whether the ith is to be sorted
  items.site_of(i);  // into the cell of which site
  items[i];          // and what
};
template <CellItems Items>
__global__ void count_kernel(SourceCells s, Items items) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < items.count && items.has(i)) atomicAdd(s.count + cell_at(s, items.site_of(i)), 1u);
}
template <CellItems Items, class Sorted>
__global__ void sort_kernel(SourceCells s, Items items, Sorted* sorted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count || !items.has(i)) return;
  const std::size_t cell = cell_at(s, items.site_of(i));
  sorted[s.first[cell] + atomicSub(s.count + cell, 1u) - 1] = items[i];
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

// What stands for the charges on the mesh at short range, sorted into cells.
struct Sources {
  SourceCells cells;
  const Site* site;
  const NearTable* table;
};

// A potential in float32, a bound of its error without that of the mesh, sources within some
// distance, and those that stand exactly there.
struct SiteEstimate {
  double potential, error;
  int sources, coincident;
};

// By a warp, each lane its part: potential at short range. First each lane finds the sources of a
// row of cells, then each half of the warp takes one row after the other.
template <Space B>
__device__ void add_near(const Rules& r, const MeshArrays& m, const NearTable& table,
                         const Sources& from, const Site& at, SiteEstimate& e) {
  constexpr Space kNear = B == Space::ewald ? Space::nearest : B;
  const SourceCells& s = from.cells;
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
      // What the row's distance along y and z leaves of the reach along x.
      const double left = reach * reach - dy * dy - dz * dz;
      if (left > 0) {
        const Span row = span_of(s, 0, place[0], sqrt(left) * s.per_edge[0]);
        const std::size_t start =
            (static_cast<std::size_t>(wrapped_cell(s, 2, z)) * s.cells[1] + wrapped_cell(s, 1, y)) *
            s.cells[0];
        int next = row.first, rest = row.count;
        for (int piece = 0; piece < 2 && rest > 0; ++piece) {
          const int low = wrapped_cell(s, 0, next), cells = min(rest, s.cells[0] - low);
          begin[piece] = s.first[start + low];
          end[piece] = s.first[start + low + cells];
          next += cells;
          rest -= cells;
        }
      }
    }
    float part = 0, size = 0, part_size = 0;
    int terms = 0;  // of the relative error of the sum in float32
    for (int piece = 0; piece < (s.periodic ? 2 : 1); ++piece) {
      unsigned pairs = __ballot_sync(kWholeWarp, begin[piece] < end[piece]);
      // A bit for each pair of neighboring lanes of which one has a row; the lower half of the warp
      // takes the row of the even lane, the upper half that of the odd lane.
      for (pairs = (pairs | pairs >> 1) & 0x55555555u; pairs; pairs &= pairs - 1) {
        const int source_lane = __ffs(static_cast<int>(pairs)) - 1 + lane / 16;
        const std::uint32_t low = value_of_lane(begin[piece], source_lane),
                            high = value_of_lane(end[piece], source_lane);
        for (std::uint32_t j = low + lane % 16; j < high; j += 16) {
          const Site g = site_at(from.site, j);
          const auto d = separation<kNear, float>(r, at.x - g.x, at.y - g.y, at.z - g.z);
          ++terms;
          e.coincident += d.squared == 0;
          const float v = d.squared * per_reach2;
          if (v < 1 && d.squared > 0) {
            // 1 / r without its smooth part, which is on the mesh
            const float inverse = inverse_root_single(d.squared);
            const float term = inverse - value_of(table, v);
            // sum_j z_j (1 - F(r_j)) / r_j, and the magnitudes by which the error is bounded.
            part = fused(g.charge, term, part);
            part_size = fused(abs_of(g.charge), abs_of(term), part_size);
            size = fused(abs_of(g.charge), inverse, size);
          }
        }
      }
    }
    e.potential += part;
    // The table errs by that share of each 1 / r, and each of the lane's sums by 2^-24 per term.
    e.error += table.error * size + 0x1p-24 * terms * part_size;
    e.sources += terms;
  }
}
// Adds the potential on the mesh, sum of w_x w_y w_z phi over the W^3 points under the window, some
// rows of the window at a time: lane c + W row takes the points with z = c of every kRows-th row y.
// A term has at most 26 roundings, each 2^-24 of its magnitude.
template <int W>
__device__ void add_far(const MeshArrays& m, const Site& at, float (*weight)[W], SiteEstimate& e) {
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
    e.potential += weight[2][c] * sum;
    e.error += 32 * 0x1p-24 * abs_of(weight[2][c] * size);
  }
  __syncwarp();
}

constexpr int kEstimateThreads = 512;

// A warp per site: the potential of a field there, or with `More` that in addition. For the trials
// that are dealt to this device.
template <Space B, int W, bool More>
__global__ void __launch_bounds__(kEstimateThreads, 2)
    potential_kernel(const __grid_constant__ Rules r, const __grid_constant__ MeshArrays m,
                     const __grid_constant__ Sources from, TrialSites trials, Deal deal,
                     const std::int32_t* sorted, SiteEstimate* estimate) {
  __shared__ float weights[kEstimateThreads / 32][3][W];
  __shared__ NearTable table;
  copy_table(*from.table, table);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int number = blockIdx.x * (kEstimateThreads / 32) + warp;
  if (number >= 2 * trials.count) return;
  const int site = sorted[number];
  if (!deal.owns(trials.first + site / 2)) return;
  const Site at = trials.at(site);
  SiteEstimate own{};
  add_near<B>(r, m, table, from, at, own);
  add_far<W>(m, at, weights[warp], own);
  own = {warp_sum(own.potential), warp_sum(own.error), warp_sum(own.sources),
         warp_sum(own.coincident)};
  if (lane != 0) return;
  SiteEstimate& e = estimate[site];
  if constexpr (More)
    e = {e.potential + own.potential, e.error + own.error, e.sources + own.sources,
         e.coincident + own.coincident};
  else
    e = own;
}

// Bounds of the errors of estimates: of the field of ions, and of that of moves if there is one.
struct EstimateBounds {
  ErrorBound ions;
  double moves = 0, moves_per_norm = 0;
  const double* moves_squares = nullptr;
  // Pair terms that may be added, and float64 roundings that they go through; those in float32 are
  // measured.
  double later = 0, roundings = 0;
};
// A thread per trial of this device: what its move would change,
//   phi(to) - phi(from) - z [psi(to - from) - psi_far(0)],
// where phi has the ion itself: its own potential at `to`, and at `from` only the far part of that.
// And a bound of the error of this. NaN where another ion stands at either place, which the sums at
// short range leave out.
template <Space B>
__global__ void estimate_kernel(const __grid_constant__ Rules r,
                                const __grid_constant__ MeshArrays m, EstimateBounds bounds,
                                TrialSites trials, Deal deal, const SiteEstimate* estimate,
                                double* change, double* error) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= trials.count || !deal.owns(trials.first + k)) return;
  const Site here = trials.at(2 * k), there = trials.at(2 * k + 1);
  const SiteEstimate now = estimate[2 * k], then = estimate[2 * k + 1];
  const bool rests = here.x == there.x && here.y == there.y && here.z == there.z;
  const bool defined = now.coincident == 1 && (rests || then.coincident == 0);
  double sum = 0;
  if (!rests) {
    // Without the ion's own potential: where it is, only the far part of that counts.
    const double own = unit_potential<B>(r, r.rest, separation<B>(r, there, here));
    sum = then.potential - now.potential - here.charge * (own - m.rules.at_zero);
  }
  change[k] = defined ? sum : as_double(0x7ff8000000000000ull);
  // 1.5 * 2^52 / M = 2^k: the integers of one unit of the potential.
  const double quanta = 6755399441055744.0 / r.magic;
  const double terms = bounds.later + now.sources + then.sources;
  const double of_moves = bounds.moves_squares == nullptr
                              ? 0
                              : bounds.moves + bounds.moves_per_norm * sqrt(*bounds.moves_squares);
  error[k] = error_of(bounds.ions, sqrt(*m.squares), terms, bounds.roundings) + of_moves +
             1.01 * quanta * (now.error + then.error);
}

}  // namespace
}  // namespace manymove::coulomb
