// SPDX-License-Identifier: BSD-3-Clause
// The waves' part of the energies of many poses of one molecule: the potential of all others on a
// mesh around the poses, between whose nodes B-splines interpolate. The mesh is fixed to the box,
// so that the energy is the same function of a pose whichever pose was the old one. The equations
// and the error are in docs/theory/molecules.md, section 5.
#pragma once

#include "../model.h"
#include "../team_pointer.h"

namespace manymove::adsorption {

inline constexpr int kSpline = 6;          // order of the B-splines
inline constexpr int kMeshNodes = 2048;    // of a region at most
inline constexpr int kMeshSide = 16;       // nodes of a region along an axis at most
inline constexpr double kMeshPhase = 2.0;  // largest phase of a wave between two nodes

// The waves (+-x, +-y, z) with x, y, z >= 0: their numbers, or -1; the first sign is that of x and
// changes fastest. Half of the reciprocal lattice does not have all four where z = 0.
struct alignas(32) MeshQuad {
  std::int32_t x, y, z, wave[4];
};
// Quads (0, y, z), (1, y, z), ..., and the rows (0, z), (1, z), ... of a layer.
struct MeshRow {
  std::int32_t first, count;
};

template <class F>
struct alignas(4 * sizeof(F)) MeshWeights {
  F v[4];
};

template <class F>
struct MeshModel {
  int points[3];                             // of the whole box; 0 without a mesh
  int highest[3];                            // largest wave number along each axis
  int quads, layers, most_rows, most_quads;  // the last two of a layer
  const MeshQuad* quad;
  const MeshWeights<F>* weight;  // [quads]: twice those of the waves, over the splines' factors
  const MeshRow* row;            // [rows]
  const std::int32_t* layer;     // [layers + 1]: first row
  const F* alone;                // potential of a unit charge around itself, by waves alone
  int alone_half[3];             // of its nodes, on either side
};

// A part of the mesh, the first node's number along each axis plus (kSpline / 2 - 1).
struct MeshRegion {
  int first[3], size[3];
};

// Weights of the nodes around a place that is the fraction t beyond one of them, times
// (kSpline - 1)!.
template <class F>
MM_HD void spline_weights(F t, F* w) {
  w[0] = F(1) - t;
  w[1] = t;
  MM_UNROLL
  for (int k = 3; k <= kSpline; ++k) {
    w[k - 1] = t * w[k - 2];
    MM_UNROLL
    for (int j = k - 2; j >= 1; --j)
      // C. de Boor's recurrence from order k - 1 to order k, without the division by k - 1.
      w[j] = fused(t + F(k - 1 - j), w[j - 1], (F(j + 1) - t) * w[j]);
    w[0] = (F(1) - t) * w[0];
  }
}

template <class F>
MM_HD int mesh_place(const MeshModel<F>& m, const MeshRegion& region, int axis, std::uint32_t at,
                     F* weights) {
  const auto place = grid_place<F>(at, m.points[axis]);
  spline_weights(place.fraction, weights);
  // Modulo the box; the six nodes begin kSpline / 2 - 1 before the point, as region.first counts.
  const int apart = place.point - region.first[axis];
  return apart < 0 ? apart + m.points[axis] : apart;
}

template <class F>
MM_HD F mesh_value(const MeshModel<F>& m, const MeshRegion& region, TeamPointer<const F> values,
                   const Site& at) {
  F wx[kSpline], wy[kSpline], wz[kSpline];
  const int x = mesh_place(m, region, 0, at.x, wx), y = mesh_place(m, region, 1, at.y, wy),
            z = mesh_place(m, region, 2, at.z, wz);
  const int pitch = region.size[0], plane = pitch * region.size[1];
  // sum_kji w_k(z) w_j(y) w_i(x) v_kji over 6^3 nodes; x is the fastest axis of the region.
  const TeamPointer<const F> from = values + (z * plane + y * pitch + x);
  F sum = 0;
  MM_UNROLL
  for (int k = 0; k < kSpline; ++k) {
    F layer = 0;
    MM_UNROLL
    for (int j = 0; j < kSpline; ++j) {
      const TeamPointer<const F> row = from + (k * plane + j * pitch);
      F line = wx[0] * row[0];
      MM_UNROLL
      for (int i = 1; i < kSpline; ++i) line = fused(wx[i], row[i], line);
      layer = fused(wy[j], line, layer);
    }
    sum = fused(wz[k], layer, sum);
  }
  return sum;
}

// The part around places whose distances from an origin along the axes are from low to high, in
// units of a Site. False if it has too many nodes.
template <class F>
MM_HD bool region_of(const MeshModel<F>& m, const Site& origin, const double* low,
                     const double* high, MeshRegion& region) {
  const std::uint32_t at[3] = {origin.x, origin.y, origin.z};
  bool fits = true;
  int nodes = 1;
  for (int a = 0; a < 3; ++a) {
    const double scale = m.points[a] * 0x1p-32;
    const auto below = [&](double by) {  // nothing here is rounded
      // The offset makes the truncation a floor for places below zero.
      return static_cast<int>(fused(static_cast<double>(at[a]) + by, scale, 4096.0)) - 4096;
    };
    const int first = below(low[a]), size = below(high[a]) - first + kSpline;
    const int most = m.points[a] + kSpline - 1;  // all of the box
    region.size[a] = size < most ? size : most;
    region.first[a] = (first % m.points[a] + m.points[a]) % m.points[a];
    fits &= region.size[a] <= kMeshSide;
    nodes *= region.size[a];
  }
  return fits && nodes <= kMeshNodes;
}

// Amplitudes of a quad, summed over the signs: of cos x cos y, sin x cos y, cos x sin y and
// sin x sin y; real and imaginary parts.
template <class F>
struct alignas(32) MeshAmplitude {
  F v[8];
};
template <class F>
struct alignas(16) MeshSums {  // over x: of cos y and sin y
  F v[4];
};

template <class F>
struct alignas(2 * sizeof(F)) MeshPhase {  // cosine and sine
  F c, s;
};

// Memory of a team for a region.
template <class F>
struct MeshScratch {
  TeamPointer<F> values;                     // [kMeshNodes]
  TeamPointer<MeshPhase<F>> phases;          // [points][each axis: highest + 1]
  TeamPointer<MeshAmplitude<F>> amplitudes;  // [quads of a layer]
  TeamPointer<MeshPhase<F>> circle;          // [layers][kMeshSide], along the axis z
  TeamPointer<MeshPhase<F>> turning[2];      // [highest + 1][kMeshSide], along the axes x and y
  TeamPointer<const F> alone;                // the model's, or a copy in place of the tables above
};

// Nodes of the potential of a unit charge around itself.
template <class F>
MM_HD int alone_nodes(const MeshModel<F>& m) {
  return (2 * m.alone_half[0] + 1) * (2 * m.alone_half[1] + 1) * (2 * m.alone_half[2] + 1);
}

// Phases of one point along all axes.
template <class F>
MM_HD int phases_of_point(const MeshModel<F>& m) {
  return m.highest[0] + m.highest[1] + m.highest[2] + 3;
}

}  // namespace manymove::adsorption
