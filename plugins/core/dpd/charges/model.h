// SPDX-License-Identifier: BSD-3-Clause
// The electrostatic forces on a charge, the same on CPU and GPU: pairs in real space, and
// particle-particle particle-mesh Ewald with differentiation in reciprocal space (R. W. Hockney and
// J. W. Eastwood, Computer Simulation Using Particles, chapter 8; M. Deserno and C. Holm, J. Chem.
// Phys. 109, 7678 (1998), "the paper" below).
//
// Forces of pairs and the charges on the mesh are summed as integers, so that the order of the sums
// does not matter. All else has a fixed order, and is compiled without contraction of products and
// sums.
#pragma once

#include "../../runtime/circle.h"
#include "../../runtime/fft.h"
#include "pairs.h"

namespace manymove::dpd {

using Wave = Complex<double>;

// ---- the mesh ----

constexpr int kMostOrder = 7;
constexpr int kAliases = 2;  // on both sides; the Gaussian and the splines leave nothing beyond

// The wave number of a point along an edge: periods, the sum of squared transforms of the spline
// over all aliases, and the aliases with their squared transforms.
struct InfluenceLine {
  double n, squares, alias[2 * kAliases + 1], weight[2 * kAliases + 1];
};

struct ChargeMesh {
  int points[3], order;
  double scale[3], shift[3];  // from units of the frame to units of the mesh, plus order / 2
  ReciprocalLattice lattice;
  double charge_unit;            // of the sums of integers
  double per_volume;             // coupling over the volume of the mesh
  double quarter;                // 1 / (4 alpha^2)
  const InfluenceLine* line[3];  // by point along each edge
  double* influence;             // [influences(2)][influences(1)][half()]
  FftPlan plan[3];
  const Wave* twiddle[3];
  std::int64_t* charge;  // [z][y][x], in units; on a GPU Reals, charge_of() them
  bool single;           // whether waves and fields are in single precision
  // Waves, [z][y][pitch()]: of the first the charges; then of first and last potential and field
  // along z; then of all the fields along x, y and z, and on CPUs at last these fields at points of
  // the mesh, in rows of 2 pitch() reals.
  Wave* waves[3];

  MM_HD int rows() const { return points[1] * points[2]; }
  // Two rows along x of the same plane share a transform; the last one of an odd number has no
  // partner. A partner in another plane would change the bits of fields where a rank leaves out
  // that plane, whose waves along x are not those of reals.
  MM_HD int pairs_of_plane() const { return (points[1] + 1) / 2; }
  MM_HD int pairs_of_rows() const { return pairs_of_plane() * points[2]; }
  MM_HD int first_row(int pair) const {
    return pair / pairs_of_plane() * points[1] + 2 * (pair % pairs_of_plane());
  }
  MM_HD bool has_partner(int pair) const { return 2 * (pair % pairs_of_plane()) + 1 < points[1]; }
  MM_HD int size() const { return points[0] * rows(); }
  // Waves along x: the others are the conjugates of these, because charges and fields are real.
  MM_HD int half() const { return points[0] / 2 + 1; }
  // The length of a row of stored waves. A row has unused waves at its end, so that the lines of
  // waves that are the share of a block of a GPU fill segments of 64 bytes.
  MM_HD int pitch() const {
    const int lines = single ? 8 : 4;
    return (half() + lines - 1) / lines * lines;
  }
  MM_HD Wave* row_of(int axis, int row) const {
    return waves[axis] + static_cast<std::int64_t>(row) * pitch();
  }
  // Number of values of the influence function along an axis: by |n|, but in a tilted box by n.
  MM_HD int influences(int axis) const {
    return axis == 0 || !lattice.tilted ? points[axis] / 2 + 1 : points[axis];
  }
  // By how much a place lies behind the last point along an edge that its charge is spread over;
  // the other points are before this one.
  MM_HD double behind_point(std::uint32_t u, int axis, int& point) const {
    const double v = fused(static_cast<double>(u), scale[axis], shift[axis]),
                 whole = __builtin_floor(v);
    point = static_cast<int>(whole);
    return v - whole;
  }
  MM_HD int wrapped(int point, int axis) const {
    const int n = points[axis];
    return point < 0 ? point + n : point >= n ? point - n : point;
  }
  // The row of points along x behind which a place lies.
  MM_HD int row_before(const ChargedPlace& p) const {
    int y, z;
    behind_point(p.y, 1, y);
    behind_point(p.z, 2, z);
    return wrapped(z, 2) * points[1] + wrapped(y, 1);
  }
  MM_HD double& field(int axis, int row, int x) const {
    return reinterpret_cast<double*>(row_of(axis, row))[x];
  }
};

// Weights of the B-spline of an order at the points around a place: point[j] has weight[j].
template <int order, class Real>
struct MeshLine {
  int point[order];
  Real weight[order];

  MM_HD MeshLine(const ChargeMesh& mesh, std::uint32_t u, int axis) {
    int p = 0;
    const auto t = static_cast<Real>(mesh.behind_point(u, axis, p));
    MM_UNROLL for (int j = 0; j < order; ++j, --p) {
      point[j] = p = mesh.wrapped(p, axis);
      weight[j] = 0;
    }
    // weight[j] = M_n(t + j), with M_n(u) = (u M_(n-1)(u) + (n - u) M_(n-1)(u - 1)) / (n - 1).
    weight[0] = 1;
    MM_UNROLL for (int m = 2; m <= order; ++m) {
      const Real over = static_cast<Real>(1.0 / (m - 1));
      MM_UNROLL for (int j = order - 1; j > 0; --j) {
        if (j >= m) continue;
        weight[j] = ((t + j) * weight[j] + ((m - j) - t) * weight[j - 1]) * over;
      }
      weight[0] = t * weight[0] * over;
    }
  }
  // One of the points. A GPU has no registers for an index that is known at run time only.
  MM_HD void choose(int which, int& chosen, Real& of_chosen) const {
    chosen = point[0];
    of_chosen = weight[0];
    MM_UNROLL for (int j = 1; j < order; ++j) {
      chosen = j == which ? point[j] : chosen;
      of_chosen = j == which ? weight[j] : of_chosen;
    }
  }
};

template <int order, class Real>
struct MeshStencil {
  MeshLine<order, Real> x, y, z;
  MM_HD MeshStencil(const ChargeMesh& mesh, const ChargedPlace& p)
      : x(mesh, p.x, 0), y(mesh, p.y, 1), z(mesh, p.z, 2) {}

  // Calls visit(row, weight across x) for the rows of points along x, always in the same order.
  template <class Visit>
  MM_HD void for_rows(const ChargeMesh& mesh, const Visit& visit) const {
    MM_UNROLL for (int c = 0; c < order; ++c) MM_UNROLL for (int b = 0; b < order; ++b)
        visit(z.point[c] * mesh.points[1] + y.point[b], z.weight[c] * y.weight[b]);
  }
};

// What a charge, in units, adds to a point of this weight.
MM_HD std::int64_t share_of(double charge, double weight) {
  return nearest_integer(weight * charge);
}
// From units, a sum of shares.
template <class Real>
MM_HD Real charge_of(const ChargeMesh& mesh, std::int64_t units) {
  return static_cast<Real>(static_cast<double>(units) * mesh.charge_unit);
}

// The field at a place, times the coupling, is a sum over columns of its points, which have the
// same x; each is summed over rows. Adds a point of a column, where the field is x, y, z.
template <class Real>
MM_HD void add_field(Real weight, Real x, Real y, Real z, Vector<Real>& field) {
  field.x = fused(weight, x, field.x);
  field.y = fused(weight, y, field.y);
  field.z = fused(weight, z, field.z);
}

// The influence function of Hockney and Eastwood, Eq. 8-22: 4 pi sum over aliases of (k . k_m) /
// (k^2 k_m^2) exp(-k_m^2 / 4 alpha^2) W^2(k_m) over the square of the sum of W^2.
MM_HD double influence_of(const ChargeMesh& mesh, const InfluenceLine& x, const InfluenceLine& y,
                          const InfluenceLine& z) {
  constexpr double kMostExponent = 60;
  double k[3], sum = 0;
  mesh.lattice.wave({x.n, y.n, z.n}, k);
  const double squared = k[0] * k[0] + k[1] * k[1] + k[2] * k[2],
               squares = x.squares * y.squares * z.squares;
  if (squared == 0) return 0;
  for (int c = 0; c <= 2 * kAliases; ++c)
    for (int b = 0; b <= 2 * kAliases; ++b)
      for (int a = 0; a <= 2 * kAliases; ++a) {
        double m[3];
        mesh.lattice.wave({x.alias[a], y.alias[b], z.alias[c]}, m);
        const double length = m[0] * m[0] + m[1] * m[1] + m[2] * m[2],
                     exponent = length * mesh.quarter;
        if (exponent > kMostExponent) continue;
        sum += (k[0] * m[0] + k[1] * m[1] + k[2] * m[2]) / length *
               (x.weight[a] * y.weight[b] * z.weight[c] * exponential_function(-exponent));
      }
  return 4 * 3.14159265358979323846 * sum / (squared * squares * squares);
}
// In a tilted box the highest wave of an even number of points has the mean of n and -n, which are
// the same point of the mesh, so that fields are real.
MM_HD void fill_influence(const ChargeMesh& mesh, int index) {
  const int at[3] = {index % mesh.half(), index / mesh.half() % mesh.influences(1),
                     index / mesh.half() / mesh.influences(1)};
  bool highest = false;
  int negative[3];
  for (int a = 0; a < 3; ++a) {
    highest = highest || 2 * at[a] == mesh.points[a];
    negative[a] = at[a] == 0 ? 0 : mesh.points[a] - at[a];
  }
  const auto value = [&](const int (&p)[3]) {
    return influence_of(mesh, mesh.line[0][p[0]], mesh.line[1][p[1]], mesh.line[2][p[2]]);
  };
  const double here = value(at);
  mesh.influence[index] = mesh.lattice.tilted && highest ? 0.5 * (here + value(negative)) : here;
}

// Lines of waves along y or z: line l begins at begin(l).
struct WaveLines {
  int half, pitch, count, stride, plane;

  MM_HD WaveLines(const ChargeMesh& mesh, int axis)
      : half(mesh.half()),
        pitch(mesh.pitch()),
        count(pitch * mesh.points[3 - axis]),
        stride(axis == 1 ? pitch : pitch * mesh.points[1]),
        plane(stride * mesh.points[axis]) {}
  MM_HD bool has(int line) const { return line < count && line % pitch < half; }
  // Lines that differ by less than the stride lie side by side.
  MM_HD std::int64_t begin(int line) const {
    return static_cast<std::int64_t>(line / stride) * plane + line % stride;
  }
};

// ---- waves ----

// What a charge adds to the dipole moment of the slab, in units.
MM_HD std::int64_t dipole_of(const ChargeLaw& law, const ChargedPlace& p) {
  const auto height = static_cast<std::int32_t>(p.z - 0x80000000u);
  return nearest_integer(p.charge * static_cast<double>(height) / law.dipole_unit);
}

// The force on a charge in a field.
MM_HD Vector<double> force_in(const ChargeLaw& law, Vector<double> field, std::int64_t dipole,
                              const ChargedPlace& p) {
  if (law.slab_force != 0) field.z += law.slab_force * static_cast<double>(dipole);
  return {p.charge * field.x, p.charge * field.y, p.charge * field.z};
}

// The sum over waves one by one, without a mesh.

struct ChargeWave {
  int n[3];         // periods along each edge; only one of n and -n is stored
  double force[3];  // coupling 8 pi k exp(-k^2 / 4 alpha^2) / k^2 over the volume
};
struct ChargeWaves {
  int count;
  ReciprocalLattice lattice;
  double per_volume, quarter;  // as of ChargeMesh
  ChargeWave* wave;
  std::int64_t* sum;         // [count][2]: of q cos(k r) and q sin(k r), in multiples of `unit`
  double unit, force_scale;  // the latter is 1 / ChargeLaw::force_unit
  double turn[3];            // edges of the frame in edges of the periodic box
};

// k, and 8 pi exp(-k^2 / 4 alpha^2) / k^2.
MM_HD double weight_of(const ChargeWaves& waves, const ChargeWave& wave, double (&k)[3]) {
  const auto periods = [&](int a) { return static_cast<double>(wave.n[a]); };
  waves.lattice.wave({periods(0), periods(1), periods(2)}, k);
  const double squared = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
  return 8 * 3.14159265358979323846 * exponential_function(-squared * waves.quarter) / squared;
}
MM_HD void fill_wave(const ChargeWaves& waves, int index) {
  ChargeWave& wave = waves.wave[index];
  double k[3];
  const double g = waves.per_volume * weight_of(waves, wave, k);
  for (int a = 0; a < 3; ++a) wave.force[a] = g * k[a];
}

MM_HD void phase_of(const ChargeWaves& waves, const ChargeWave& wave, const ChargedPlace& p,
                    double& cosine, double& sine) {
  const auto along = [&](std::uint32_t u, int a) {
    return static_cast<std::uint32_t>(
        nearest_integer(static_cast<double>(u) * waves.turn[a] * static_cast<double>(wave.n[a])));
  };
  unit_circle(along(p.x, 0) + along(p.y, 1) + along(p.z, 2), cosine, sine);
}

// Calls add(part, units) for the two parts of what a charge adds to a wave.
template <class Add>
MM_HD void add_to_wave(const ChargeWaves& waves, int k, const ChargedPlace& p, const Add& add) {
  double c, s;
  phase_of(waves, waves.wave[k], p, c, s);
  add(0, nearest_integer(p.charge * c / waves.unit));
  add(1, nearest_integer(p.charge * s / waves.unit));
}

// Adds the forces on a charge of the waves that lane `lane` of `lanes` takes.
MM_HD void add_waves(const ChargeWaves& waves, const ChargedPlace& p, ChargeSums& sums,
                     int lane = 0, int lanes = 1) {
  for (int k = lane; k < waves.count; k += lanes) {
    const ChargeWave& wave = waves.wave[k];
    double c, s;
    phase_of(waves, wave, p, c, s);
    const double re = static_cast<double>(waves.sum[2 * k]) * waves.unit,
                 im = static_cast<double>(waves.sum[2 * k + 1]) * waves.unit,
                 field = p.charge * fused(s, re, -(c * im)) * waves.force_scale;
    for (int a = 0; a < 3; ++a) sums.force[a] += nearest_integer(field * wave.force[a]);
  }
}

// Sums over waves: 4 pi |rho|^2 / k^2 with the influence function, and the same by the virial.
struct WaveSums {
  double energy = 0, virial[6] = {};

  // The order is: waves of a row along x, rows of a plane, planes.
  MM_HD void add(const WaveSums& part) {
    energy += part.energy;
    for (int a = 0; a < 6; ++a) virial[a] += part.virial[a];
  }
};

// Adds the wave k with this energy; quarter is 1 / (4 alpha^2).
MM_HD void add_energy(double term, const double (&k)[3], double quarter, WaveSums& sums) {
  const double squared = k[0] * k[0] + k[1] * k[1] + k[2] * k[2],
               v = squared > 0 ? -2 * (1 / squared + quarter) : 0.0;
  sums.energy += term;
  for (int a = 0; a < 3; ++a) sums.virial[a] += term * (1 + v * (k[a] * k[a]));
  sums.virial[3] += term * (v * (k[0] * k[1]));
  sums.virial[4] += term * (v * (k[0] * k[2]));
  sums.virial[5] += term * (v * (k[1] * k[2]));
}

// The fields of one wave are E(k) = -i k G(k) rho(k) over the volume (Eq. 11 of the paper).
// The potential is the conjugate of -i G rho, so that a forward transform is the inverse one. The
// field along z is the potential times k_z (slope_along_z()). k_x and k_y do not depend on z, so
// that they are factors for the transforms along y (slope()) and need no transforms along z of
// their own.

// Periods along an edge of a point's wave.
MM_HD double periods_of(const ChargeMesh& mesh, int axis, int p) {
  return static_cast<double>(2 * p < mesh.points[axis] ? p : p - mesh.points[axis]);
}
// The wave vector of derivatives. The highest wave of an even number of points has none.
MM_HD void slopes_of(const ChargeMesh& mesh, int x, int y, int z, double (&slope)[3]) {
  const auto periods = [&](int a, int p) {
    return 2 * p == mesh.points[a] ? 0.0 : periods_of(mesh, a, p);
  };
  mesh.lattice.wave({periods(0, x), periods(1, y), periods(2, z)}, slope);
}
// The factor of the field along an axis before the transforms along y.
template <class Real>
MM_HD Real slope(const ChargeMesh& mesh, int axis, int x, int y) {
  if (axis == 2) return 1;
  double k[3];
  slopes_of(mesh, x, y, 0, k);
  return static_cast<Real>(axis == 0 ? k[0] : k[1]);
}

template <class Real>
MM_HD Real slope_along_z(const ChargeMesh& mesh, int x, int y, int z) {
  double k[3];
  slopes_of(mesh, x, y, z, k);
  return static_cast<Real>(k[2]);
}

// The potential from the wave (x, y, z) of the charges' transform rho.
template <bool reading, class Real>
MM_HD Complex<Real> potential_of(const ChargeMesh& mesh, int x, int y, int z,
                                 const Complex<Real>& rho, WaveSums& sums) {
  const int at[3] = {x, y, z};
  int folded[3];
  MM_UNROLL for (int a = 0; a < 3; ++a) {
    folded[a] = at[a] < mesh.influences(a) ? at[a] : mesh.points[a] - at[a];
  }
  const std::int64_t row = std::int64_t{folded[2]} * mesh.influences(1) + folded[1];
  const double g = mesh.influence[row * mesh.half() + folded[0]];
  if constexpr (reading) {
    // With the conjugate wave, which is not stored.
    for (int which = 0; which < (x == 0 || 2 * x == mesh.points[0] ? 1 : 2); ++which) {
      double n[3], k[3];
      for (int a = 0; a < 3; ++a)
        n[a] = periods_of(mesh, a, which == 0 || at[a] == 0 ? at[a] : mesh.points[a] - at[a]);
      mesh.lattice.wave(n, k);
      const double re = rho.re, im = rho.im;
      add_energy(g * (re * re + im * im), k, mesh.quarter, sums);
    }
  }
  const auto scale = static_cast<Real>(g * mesh.per_volume);
  return {rho.im * scale, rho.re * scale};
}

}  // namespace manymove::dpd
