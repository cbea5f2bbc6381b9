// SPDX-License-Identifier: BSD-3-Clause
// Estimates of the method "tree" on a GPU: what a move of each trial would change, from the far
// field on the mesh and the ions nearby.
#pragma once

#include "../source_cells.h"
#include "tree.h"
#include "tree_mesh.cuh"

namespace manymove::coulomb {
namespace {

// ---- what is sorted into cells: the sources of the short-ranged sums, and places ----

struct CellArrays {
  SourceCells cells;
  std::uint32_t* count;  // [cells + 1]: how many, then where the next goes
  std::uint32_t* first;  // [cells + 1]
};

// What is sorted into cells, as sites or as their numbers: ions, or what the trials leave (with the
// opposite charge) and reach that are accepted; null: all.
struct IonItems {
  const Site* site;
  int count;

  __device__ bool has(int) const { return true; }
  __device__ Site operator[](int i) const { return site[i]; }
};
struct TrialItems {
  TrialSites trials;
  const std::uint8_t* accepted = nullptr;
  int count = 2 * trials.count;

  __device__ bool has(int i) const { return !accepted || accepted[i / 2]; }
  __device__ Site operator[](int i) const {
    Site at = trials.at(i);
    if (i % 2 == 0) at.charge = -at.charge;
    return at;
  }
};
template <class T>
concept CellItems = requires(const T items, int i) {
  { items.count } -> std::convertible_to<int>;
  { items.has(i) } -> std::same_as<bool>;  // whether the ith is to be sorted
  { items[i] } -> std::same_as<Site>;
};
template <CellItems Items>
__global__ void count_kernel(CellArrays s, Items items) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < items.count && items.has(i)) atomicAdd(s.count + s.cells.at(items[i]), 1u);
}
template <class Sorted, CellItems Items>
__global__ void sort_kernel(CellArrays s, Items items, Sorted* sorted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items.count || !items.has(i)) return;
  const Site at = items[i];
  const std::size_t cell = s.cells.at(at);
  // The counts fall back to 0 here. Places within a cell are in no order, which changes roundings
  // of an estimate within its bound, and no decision.
  Sorted& mine = sorted[s.first[cell] + atomicSub(s.count + cell, 1u) - 1];
  if constexpr (std::is_same_v<Sorted, Site>)
    mine = at;
  else
    mine = i;
}

// ---- estimates ----

__device__ void copy_table(const NearTable& from, NearTable& to) {
  for (int n = threadIdx.x; n < kPieceTerms * kPieces; n += blockDim.x)
    to.coefficient[n / kPieces][n % kPieces] = from.coefficient[n / kPieces][n % kPieces];
  if (threadIdx.x == 0) to.error = from.error;
}

// What stands for the charges on the mesh at short range, sorted into cells.
struct Sources {
  CellArrays cells;
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
  const CellArrays& s = from.cells;
  const int lane = threadIdx.x % 32;
  // The reach beyond the rounding of all this.
  const RowsNearby rows(s.cells, at, m.rules.reach * (1 + 1e-6));
  // v = (r / reach)^2, the argument of the smooth part's table.
  const auto per_reach2 = static_cast<float>(m.rules.inverse_reach2);
  for (int first = 0; first < rows.count(); first += 32) {
    std::uint32_t begin[2] = {0, 0}, end[2] = {0, 0};
    if (first + lane < rows.count())
      rows.for_pieces(first + lane, [&](int piece, std::size_t low, std::size_t high) {
        begin[piece] = s.first[low];
        end[piece] = s.first[high];
      });
    float part = 0, size = 0, part_size = 0;
    int terms = 0;  // of the relative error of the sum in float32
    for (int piece = 0; piece < (s.cells.periodic ? 2 : 1); ++piece) {
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
          // The ion itself among them: estimate_kernel() expects one at the present place, none at
          // the new one.
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
    // weight[axis][k]: of point first + k along the axis, for all lanes of the warp.
    if (lane < W) weight[axis][lane] = static_cast<float>(window_weight(m.rules, lag, lane));
  }
  // A lane needs weights that others have computed;
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
  // the next site's may replace them.
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
  // Sites come sorted by cell, so that the warps of a block read the same sources.
  const int number = blockIdx.x * (kEstimateThreads / 32) + warp;
  if (number >= 2 * trials.count) return;
  const int site = sorted[number];
  if (!deal.owns(trials.first + site / 2)) return;
  const Site at = trials.at(site);
  SiteEstimate own{};
  add_near<B>(r, m, table, from, at, own);
  add_far<W>(m, at, weights[warp], own);
  // The lanes' parts; the bounds of their errors add up, too.
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
  ErrorBound ions, moves;
  const double* moves_squares = nullptr;  // null: there is none
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
  const double of_moves =
      bounds.moves_squares == nullptr
          ? 0
          : bounds.moves.field + bounds.moves.per_norm * sqrt(*bounds.moves_squares);
  error[k] = error_of(bounds.ions, sqrt(*m.squares), terms, bounds.roundings) + of_moves +
             // In quanta; a hundredth for the float32 roundings of these bounds themselves.
             1.01 * quanta * (now.error + then.error);
}

}  // namespace
}  // namespace manymove::coulomb
