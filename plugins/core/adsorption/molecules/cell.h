// SPDX-License-Identifier: BSD-3-Clause
// The geometry of cells of any shape: matrices {xx, xy, xz, yy, yz, zz} whose columns are the
// edges.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "../engine.h"

namespace manymove::adsorption {

inline constexpr double kPi = std::numbers::pi;
// e^2 / (4 pi epsilon_0 k_B angstrom) in kelvin, CODATA 2018.
inline constexpr double kCoulomb =
    1.602176634e-19 * 1.602176634e-19 / (4 * kPi * 8.8541878128e-12 * 1.380649e-23 * 1e-10);

// The matrix of `edges`, inverted.
inline void invert(const double* h, double* inverse) {
  inverse[0] = 1 / h[0];
  inverse[3] = 1 / h[3];
  inverse[5] = 1 / h[5];
  inverse[1] = -h[1] / (h[0] * h[3]);
  inverse[4] = -h[4] / (h[3] * h[5]);
  // (H^-1)_xz = (h_xy h_yz - h_xz h_yy) / (h_xx h_yy h_zz).
  inverse[2] = (h[1] * h[4] - h[2] * h[3]) / (h[0] * h[3] * h[5]);
}
inline double volume(const double* h) { return h[0] * h[3] * h[5]; }
// 1 / |row a of the inverse|: between the two planes of the other edges.
inline double width(const double* inverse, int a) {
  const double r[3][3] = {
      {inverse[0], inverse[1], inverse[2]}, {0, inverse[3], inverse[4]}, {0, 0, inverse[5]}};
  return 1 / std::hypot(r[a][0], r[a][1], r[a][2]);
}
inline double length(const double* h, int a) {
  return a == 0 ? h[0] : a == 1 ? std::hypot(h[1], h[3]) : std::hypot(h[2], h[4], h[5]);
}

inline void cell_matrix(const Parameters& p, const std::array<int, 3>& n, double* h) {
  const double* diagonal = p.framework.cell;
  const auto tilt = p.force_field ? p.force_field->tilt : std::array<double, 3>{0, 0, 0};
  h[0] = diagonal[0] * n[0];
  h[1] = tilt[0] * n[1];
  h[2] = tilt[1] * n[2];
  h[3] = diagonal[1] * n[1];
  h[4] = tilt[2] * n[2];
  h[5] = diagonal[2] * n[2];
}

// Calls visit(n, k) for the waves of half of a reciprocal lattice up to a length.
void each_row(const double* h, const double* inverse, double longest, const auto& visit) {
  int most[3];
  for (int a = 0; a < 3; ++a) most[a] = static_cast<int>(longest * length(h, a) / (2 * kPi));
  for (int nz = 0; nz <= most[2]; ++nz)
    for (int ny = nz ? -most[1] : 0; ny <= most[1]; ++ny)
      for (int nx = nz || ny ? -most[0] : 1; nx <= most[0]; ++nx) {
        // k = 2 pi H^-T n.
        const double k[3] = {2 * kPi * inverse[0] * nx,
                             2 * kPi * (inverse[1] * nx + inverse[3] * ny),
                             2 * kPi * (inverse[2] * nx + inverse[4] * ny + inverse[5] * nz)};
        const double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        if (k2 <= longest * longest) visit(nx, ny, nz, k, k2);
      }
}

}  // namespace manymove::adsorption
