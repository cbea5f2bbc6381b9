// SPDX-License-Identifier: BSD-3-Clause
// The tables of the mesh on which the waves are summed around a molecule.
#include <algorithm>
#include <cmath>
#include <complex>
#include <map>

#include "../state.h"
#include "cell.h"

namespace manymove::adsorption {
namespace {

// What an amplitude is multiplied by so that splines through the nodes are a wave of phase `step`
// between two nodes with the least mean square error; over (kSpline - 1)!, see spline_weights().
double spline_factor(double step) {
  const auto transform = [](double phase) {
    return phase == 0 ? 1.0 : std::pow(std::sin(phase / 2) / (phase / 2), kSpline);
  };
  // w(theta) / sum_n w(theta + 2 pi n)^2 with w(theta) = (sin(theta / 2) / (theta / 2))^6:
  // docs/theory/molecules.md, section 5.
  double squares = 0;
  for (int n = -20; n <= 20; ++n) squares += std::pow(transform(step + 2 * kPi * n), 2);
  return transform(step) / squares / std::tgamma(kSpline);
}

// The potential of a unit charge around itself at the nodes, by the waves alone.
std::vector<float> potential_around(const MeshTables& m) {
  using Complex = std::complex<double>;
  const int *half = m.model.alone_half, *n = m.model.highest, width = 2 * n[0] + 1;
  const auto circle = [&](int axis, int wave, int node) {
    return std::polar(1.0, 2 * kPi * wave * node / m.model.points[axis]);
  };
  std::vector<float> values;
  std::vector<Complex> line(width);
  for (int z = -half[2]; z <= half[2]; ++z)
    for (int y = -half[1]; y <= half[1]; ++y) {
      std::fill(line.begin(), line.end(), Complex{});
      for (const MeshQuad& q : m.quads) {
        const auto index = static_cast<std::size_t>(&q - m.quads.data());
        // The four waves (+-x, +-y, z) of a quad, along x in a second sum.
        const Complex up = circle(1, q.y, y) * circle(2, q.z, z),
                      down = circle(1, -q.y, y) * circle(2, q.z, z);
        for (int j = 0; j < 4; ++j)
          if (q.wave[j] >= 0)
            line[n[0] + (j & 1 ? -q.x : q.x)] +=
                static_cast<double>(m.weights[index].v[j]) * (j & 2 ? down : up);
      }
      for (int x = -half[0]; x <= half[0]; ++x) {
        Complex sum = 0;
        for (int k = 0; k < width; ++k) sum += line[k] * circle(0, k - n[0], x);
        values.push_back(static_cast<float>(sum.real()));
      }
    }
  return values;
}

}  // namespace

void make_mesh(State& s) {
  MeshTables tables;
  MeshModel<float>& m = tables.model;
  std::map<std::array<int, 3>, std::array<std::int32_t, 4>> quads;  // by z, y, x
  for (const WaveRow& row : s.rows)
    for (int i = 0; i < row.count; ++i) {
      const int x = row.x + i, at[3] = {std::abs(x), std::abs(row.y), row.z};
      for (int a = 0; a < 3; ++a) m.highest[a] = std::max(m.highest[a], at[a]);
      auto quad = quads.try_emplace({at[2], at[1], at[0]}, std::array{-1, -1, -1, -1});
      // The sign of x changes fastest, then that of y; z is never negative in this half of the
      // lattice.
      quad.first->second[(x < 0) + 2 * (row.y < 0)] = row.first + i;
    }
  double reach = 0;
  for (const auto& sites : s.parameters.force_field->bodies)
    for (const BodySite& b : sites)
      reach = std::max(reach, std::hypot(b.offset[0], b.offset[1], b.offset[2]));
  for (int a = 0; a < 3; ++a) {
    m.points[a] =
        // 2 pi n / points <= kMeshPhase for the highest wave number n: at least pi nodes for each
        // wavelength.
        std::max(kSpline, static_cast<int>(std::ceil(2 * kPi * m.highest[a] / kMeshPhase)));
    // |r_i - r_j| <= 2 reach, in nodes of this axis.
    m.alone_half[a] =
        static_cast<int>(std::ceil(2 * reach / width(s.inverse, a) * m.points[a])) + kSpline / 2;
    // Two sites of a molecule are at most 2 reach apart; interpolation reaches kSpline / 2 nodes
    // farther.
    if (2 * m.alone_half[a] > m.points[a]) return;  // the box is small, and so is the sum
  }
  for (int z = 0; z <= m.highest[2]; ++z) {
    tables.layer.push_back(static_cast<std::int32_t>(tables.rows.size()));
    for (int y = 0; y <= m.highest[1]; ++y) {
      // Rows without gaps in x: a wave number that the sum does not have becomes an empty quad.
      const auto first = quads.lower_bound({z, y, 0}), end = quads.lower_bound({z, y + 1, 0});
      MeshRow row{static_cast<std::int32_t>(tables.quads.size()), 0};
      for (auto q = first; q != end; ++q)
        for (; row.count <= q->first[2]; ++row.count)
          tables.quads.push_back({row.count, y, z, {-1, -1, -1, -1}});
      for (auto q = first; q != end; ++q)
        std::copy_n(q->second.data(), 4, tables.quads[row.first + q->first[2]].wave);
      tables.rows.push_back(row);
    }
    while (tables.rows.back().count == 0 &&
           static_cast<int>(tables.rows.size()) > tables.layer.back() + 1)
      tables.rows.pop_back();
    m.most_rows = std::max(m.most_rows, static_cast<int>(tables.rows.size()) - tables.layer.back());
    m.most_quads = std::max(m.most_quads, static_cast<int>(tables.quads.size()) -
                                              tables.rows[tables.layer.back()].first);
  }
  tables.layer.push_back(static_cast<std::int32_t>(tables.rows.size()));
  // The weight of wave (x, y, z) is 2 w(k) f_x f_y f_z, because the spline of each axis has a
  // factor of its own.
  std::vector<double> factor[3];
  for (int a = 0; a < 3; ++a)
    for (int n = 0; n <= m.highest[a]; ++n)
      factor[a].push_back(spline_factor(2 * kPi * n / m.points[a]));
  for (const MeshQuad& q : tables.quads) {
    MeshWeights<float>& weights = tables.weights.emplace_back();
    for (int j = 0; j < 4; ++j)
      weights.v[j] = q.wave[j] < 0
                         ? 0
                         : static_cast<float>(2 * s.of_double.wave_weights[q.wave[j]] *
                                              factor[0][q.x] * factor[1][q.y] * factor[2][q.z]);
  }
  m.quads = static_cast<int>(tables.quads.size());
  m.layers = static_cast<int>(tables.layer.size()) - 1;
  tables.alone = potential_around(tables);
  s.mesh = std::move(tables);
}

void fill_mesh_model(const MeshTables& t, MeshModel<float>& m) {
  m = t.model;
  m.quad = t.quads.data();
  m.weight = t.weights.data();
  m.row = t.rows.data();
  m.layer = t.layer.data();
  m.alone = t.alone.data();
}

}  // namespace manymove::adsorption
