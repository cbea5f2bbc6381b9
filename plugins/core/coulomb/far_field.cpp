// SPDX-License-Identifier: BSD-3-Clause
#include "far_field.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "../runtime/text.h"

namespace manymove::coulomb {
namespace {

using std::numbers::pi;
constexpr double kUlp = 0x1p-53;

// The bump I0(b sqrt(u)) - 1, u = 1 - t^2, of which cloud and window are made (splitting.h): the
// series of I0(x) = sum of (x^2 / 4)^m / m!^2, whose terms are positive.
double bump(double b, double u) {
  const double quarter = b * b * u / 4;
  double term = quarter, sum = 0;
  for (int m = 1; term > sum * 1e-18 && m < 300; ++m) {
    sum += term;
    term *= quarter / ((m + 1.0) * (m + 1.0));
  }
  return sum;
}
double sine_ratio(double a) { return a < 1e-4 ? 1 - a * a / 6 : std::sin(a) / a; }
// Its Fourier transform over -1 < t < 1, 2 [sinh(a) / a - sin(k) / k] with a^2 = b^2 - k^2, where
// sinh(a) / a becomes sin(|a|) / |a| for k > b.
double bump_transform(double b, double k) {
  const double a2 = b * b - k * k, a = std::sqrt(std::abs(a2));
  const double wide = a < 1e-4 ? 1 + a2 / 6 : a2 > 0 ? std::sinh(a) / a : std::sin(a) / a;
  return 2 * wide - 2 * sine_ratio(k);
}
// A bound of its magnitude that falls with k: sinh(a) / a falls, and for k > b the difference of
// two sine ratios is at most the difference of their arguments, k - a, times their slope.
double transform_envelope(double b, double k) {
  if (k < b) {
    const double a = std::sqrt(b * b - k * k);
    return (a < 1e-4 ? 2.0 : 2 * std::sinh(a) / a) + 2 / k;
  }
  const double a = std::sqrt(k * k - b * b);
  const double apart = b * b / (k + a);  // k - a
  return std::min(2 * std::min(1.0, 1 / std::max(a, 1e-9)) + 2 / k,
                  2 * apart * (1 / std::max(a * k, 1e-9) + 1 / k));
}

// Chebyshev's expansion of f(v), 0 <= v <= 1, as powers of 2 v - 1. error: a bound of what is left
// out, the sum of the other coefficients' magnitudes as |T_k| <= 1, and of the rounding of its
// value. The recurrence is T_(k+1)(w) = 2 w T_k(w) - T_(k-1)(w).
Polynomial fitted(const std::function<double(double)>& f, double& error) {
  constexpr int kNodes = 96;
  std::array<double, kNodes> value;
  for (int n = 0; n < kNodes; ++n) value[n] = f((1 + std::cos(pi * (n + 0.5) / kNodes)) / 2);
  std::array<long double, kTerms> power{};  // of the sum, lowest first
  std::array<long double, kTerms> before{}, now{};
  before[0] = 1;  // T_0
  now[1] = 1;     // T_1
  error = 0;
  for (int k = 0; k < kNodes; ++k) {
    // c_k = (2 - delta_k0) / K sum_n f(x_n) cos(pi k (n + 1/2) / K), the coefficient of T_k.
    long double c = 0;
    for (int n = 0; n < kNodes; ++n)
      c += value[n] * std::cos(static_cast<long double>(pi) * k * (n + 0.5L) / kNodes);
    c *= (k == 0 ? 1.0L : 2.0L) / kNodes;
    if (k >= kTerms) {
      error += static_cast<double>(std::abs(c));
      continue;
    }
    const auto& chebyshev = k == 0 ? before : now;
    for (int m = 0; m < kTerms; ++m) power[m] += c * chebyshev[m];
    if (k == 0) continue;
    std::array<long double, kTerms> next{};
    for (int m = 0; m + 1 < kTerms; ++m) next[m + 1] = 2 * now[m];
    for (int m = 0; m < kTerms; ++m) next[m] -= before[m];
    before = now;
    now = next;
  }
  Polynomial p;
  double size = 0;
  for (int m = 0; m < kTerms; ++m) {
    p.coefficient[kTerms - 1 - m] = static_cast<double>(power[m]);
    size += std::abs(p.coefficient[kTerms - 1 - m]);
  }
  // Each of the kTerms products and sums rounds a number of at most `size`.
  error += 2 * kTerms * kUlp * size;
  return p;
}

// A polynomial in pieces for float32. A piece of the argument's range is an interval on which five
// terms serve: Chebyshev's coefficients a_k of the piece give powers of s from -1/2 to 1/2, and
// those beyond the fifth bound what is left out.
NearTable in_pieces(const Polynomial& p, double reach) {
  constexpr double kUnit = 0x1p-24;
  constexpr int kNodes = kTerms + 2;
  NearTable table{};
  double slopes[kPieces] = {}, errors[kPieces] = {};
  for (int n = 0; n < kPieces; ++n) {
    double a[kTerms] = {};  // Chebyshev's coefficients: exact, as there are more nodes than terms
    for (int m = 0; m < kNodes; ++m) {
      const double angle = pi * (m + 0.5) / kNodes;
      const double value = value_of(p, (2 * n + 1 + std::cos(angle)) / (2 * kPieces));
      for (int k = 0; k < kTerms; ++k)
        a[k] += (k == 0 ? 1.0 : 2.0) / kNodes * value * std::cos(k * angle);
    }
    const double c[kPieceTerms] = {a[0] - a[2] + a[4], a[1] - 3 * a[3], 2 * a[2] - 8 * a[4],
                                   4 * a[3], 8 * a[4]};
    double left_out = 0;
    for (int k = 0; k < kPieceTerms; ++k) {
      table.coefficient[k][n] = static_cast<float>(std::ldexp(c[k], k));
      // Its own rounding, those of the products and sums that it goes through.
      errors[n] += (k + 2.1) * kUnit * std::abs(c[k]);
      slopes[n] += k * std::abs(c[k]);
    }
    for (int k = kPieceTerms; k < kTerms; ++k) left_out += std::abs(a[k]);
    errors[n] += left_out;
  }
  // The squared distance has three roundings, its product with 1 / reach^2 and that itself two, and
  // the argument of the polynomial one.
  double most = 0;
  for (int n = 0; n < kPieces; ++n) {
    const double slope =
        std::max({slopes[n], slopes[std::max(n - 1, 0)], slopes[std::min(n + 1, kPieces - 1)]});
    most = std::max(
        most, std::sqrt((n + 1.0) / kPieces) * (errors[n] + slope * (12 * (n + 1) + 2) * kUnit));
  }
  // Where rounding decides whether a pair is within the reach.
  double end = 0;
  for (const double v : {1 - 5 * kUnit, 1.0, 1 + 5 * kUnit})
    end = std::max(end, 2 * std::abs(1 / (reach * std::sqrt(v)) - value_of(p, v)));
  // The root is good to 2^-22.9, and has half the error of the square; the difference is rounded.
  table.error = 1.01 * reach * std::max(most, end) + 2.15 * kUnit + 2.6 * kUnit;
  return table;
}

// The splitting of 1 / r (docs/theory/coulomb.md, section 8): how smooth the far part is, by how
// small the pair potential's error times the reach has to be: the reach over the mesh spacing, and
// the shapes of cloud and window. The bound itself is computed for the mesh in use; this only
// chooses.
struct Shape {
  double error, reach, cloud, window;
  int points;  // under the window
};
constexpr Shape kShapes[] = {
    {4.3e-7, 7.25, 22.5, 0.687 * pi * 10, 10}, {8.2e-8, 8.5, 24.6, 0.737 * pi * 10, 10},
    {5.5e-9, 9, 27.4, 0.687 * pi * 12, 12},    {8e-10, 10.5, 29.4, 0.737 * pi * 12, 12},
    {2.2e-10, 10, 30.5, 0.662 * pi * 14, 14},  {2e-11, 12, 33.6, 0.725 * pi * 14, 14}};
// The desired bounds of the errors of an energy, in kT.
constexpr double kWanted = 2e-3, kWantedOfMoves = 5e-4;

double volume_of(const Rules& r) {
  if (r.periodic) return double{r.extent[0]} * r.extent[1] * r.extent[2];
  return 4 * pi / 3 * std::pow(double{kHalf}, 3);
}

int good_length(double least) {
  int n = std::max(2, static_cast<int>(std::ceil(least / 2)) * 2);
  while (!fft_length(n)) n += 2;
  return n;
}

// Makes a FarField step by step: sizes of charges and ions, the mesh for a shape, the polynomials
// of cloud and window, the factors of the transform with the bound of the error that they leave.
struct Builder {
  const State& state;
  std::size_t moves = 0;  // 0: the field of the ions
  FarField field{};
  Shape shape{};
  double spacing[3] = {}, period[3] = {};
  double cloud_error = 0, window_error = 0;

  bool periodic() const { return state.rules.periodic; }

  // Charges, and the bound nearest + crowd n^(2/3) of a sum of n magnitudes |z| / r: ions do not
  // overlap, so that the mth nearest is at least d / 2 (m^(1/3) - 1) away, and the sum is at most
  // z (1 + (26 + 6 n^(2/3)) / d) in units, as distances are integers.
  void measure() {
    const Rules& r = state.rules;
    double least = 1e300, most = 0;
    for (std::size_t i = 0; i < state.sites.size(); ++i) {
      const double z = std::abs(state.sites[i].charge);
      field.magnitude += z;
      most = std::max(most, z);
      least = std::min(least, 2 * state.radius[i]);
    }
    // A move takes a charge away and puts it elsewhere.
    if (moves > 0)
      field.magnitude = 2 * std::min(field.magnitude, most * static_cast<double>(moves));
    field.quanta = 6755399441055744.0 / r.magic;
    field.bound.nearest = field.quanta * most * (1 + 26 / least);
    field.bound.crowd = field.quanta * 6 * most / least;
    charge_most_ = most;
    diameter_least_ = least;
  }

  // The shape that bounds the largest charge's energy by what is wanted, if one does.
  // spacing_for(shape): of the mesh.
  void choose(double error, const auto& spacing_for) {
    const double energy = 2 * charge_most_ * field.magnitude * state.rules.strength * field.quanta;
    for (const Shape& s : kShapes) {
      shape = s;
      place(spacing_for(s));
      if (energy * s.error / field.mesh.reach < error) break;
    }
  }

  // The mesh with about the spacing that is wanted. The reach of the short-ranged part is a number
  // of spacings that the shape gives.
  void place(double wanted) {
    MeshRules& m = field.mesh;
    const Rules& r = state.rules;
    m.window_points = shape.points;
    m.per_half = 2.0 / shape.points;
    double shortest = r.extent[0], widest = 0;
    for (const float edge : r.extent) shortest = std::min<double>(shortest, edge);
    for (int a = 0; a < 3; ++a) {
      if (periodic()) {
        // The reach is at most half the shortest edge.
        const double least = 2 * shape.reach * double{r.extent[a]} / shortest;
        m.length[a] = good_length(std::max(r.extent[a] / wanted, least));
        m.points[a] = m.length[a];
        period[a] = r.extent[a];
        spacing[a] = period[a] / m.length[a];
        m.origin[a] = -period[a] / 2;
      } else {
        // Diameter and reach, twice: no image of the truncated potential comes into the cell.
        const double diameter = 2 * kHalf;
        m.length[a] = good_length(std::max(2 * (diameter / wanted + shape.reach), 32.0));
        spacing[a] = 2 * diameter / (m.length[a] - 2 * shape.reach);
        period[a] = spacing[a] * m.length[a];
        m.points[a] = static_cast<int>(std::ceil(diameter / spacing[a])) + shape.points + 2;
        m.origin[a] = -double{kHalf} - (shape.points / 2 + 0.5) * spacing[a];
      }
      m.per_spacing[a] = 1 / spacing[a];
      widest = std::max(widest, spacing[a]);
    }
    m.reach = shape.reach * widest;
    if (periodic()) m.reach = std::min(m.reach, shortest / 2);
    m.inverse_reach2 = 1 / (m.reach * m.reach);
    field.points = 1;
    for (const int length : m.length) field.points *= length;
  }

  // The polynomials, the far part of an ion's own potential, and the unit of charges on the mesh.
  void fit() {
    MeshRules& m = field.mesh;
    const double b = shape.cloud, norm = bump_transform(b, 0);
    // 1 / r times the charge within r of a cloud whose charge within r is the integral of the bump:
    // by Fejer's rule, for r = t reach.
    const auto smooth = [&](double v) {
      constexpr int kNodes = 128;
      double sum = 0;
      for (int n = 0; n < kNodes; ++n) {
        const double angle = pi * (n + 0.5) / kNodes, s = std::cos(angle);
        // Fejer's weights 1 - 2 sum_j cos(2 j theta) / (4 j^2 - 1), and the nodes cos(theta).
        double weight = 1;
        for (int j = 1; j <= kNodes / 2; ++j)
          weight -= 2 * std::cos(2 * j * angle) / (4.0 * j * j - 1);
        sum += weight * 2 / kNodes * bump(b, 1 - v * s * s);
      }
      return sum / norm / m.reach;
    };
    m.smooth = fitted(smooth, cloud_error);
    field.near_table = in_pieces(m.smooth, m.reach);
    const double top = bump(shape.window, 1);
    m.window = fitted([&](double v) { return bump(shape.window, 1 - v) / top; }, window_error);
    // Rounding of the place on the mesh, times the steepest slope.
    const int longest = *std::max_element(m.length, m.length + 3);
    window_error += 8 * kUlp * longest / shape.points * std::sqrt(shape.window);
    m.at_zero = smooth(0);
    if (state.ewald) m.at_zero += state.ewald->at_origin;
    // A mesh point's charge fits 61 bits, whatever the ions do: each cell of the mesh holds as many
    // as the densest packing of the smallest ones; of what moves change, twice that.
    double weights = 1, per_cell = moves > 0 ? 2.84 : 1.42;
    for (int a = 0; a < 3; ++a) {
      weights *= weight_at(a, 0) + 2;
      per_cell *= spacing[a] / diameter_least_ + 1;
    }
    const double most = std::min(field.magnitude, charge_most_ * weights * per_cell);
    const int bits = static_cast<int>(
        std::min(61 - std::ceil(std::log2(most)), 49 - std::ceil(std::log2(charge_most_))));
    m.charge_magic = std::ldexp(1.5, 52 - bits);
    m.charge_unit = std::ldexp(1.0, -bits);
  }

  // Sum of the window's weights times exp(i k x), over the mesh points.
  double weight_at(int axis, double k) const {
    const double half = spacing[axis] * shape.points / 2;
    return shape.points / 2.0 * bump_transform(shape.window, k * half) / bump(shape.window, 1);
  }
  // Relative error of exp(i k x) on the mesh: the other wave numbers that look the same there, and
  // the polynomial in the window's place.
  double alias_at(int axis, double k) const {
    constexpr int kMost = 40;
    const double half = spacing[axis] * shape.points / 2, turn = 2 * pi / spacing[axis];
    double sum = 0;
    for (int n = 1; n <= kMost; ++n)
      sum += std::abs(bump_transform(shape.window, (turn * n + k) * half)) +
             std::abs(bump_transform(shape.window, (turn * n - k) * half));
    const double last = (turn * (kMost - 0.5)) * half;  // the rest falls as 1 / k^2
    sum += 2 * 2 * shape.window * shape.window / last / (turn * half);
    // alpha(k) = sum_m |w(k + 2 pi m / h)| / |w(k)|, m != 0.
    const double own = std::abs(bump_transform(shape.window, k * half));
    return sum / own + window_error * shape.points / std::abs(weight_at(axis, k));
  }

  // The far part's transform: 4 pi / k^2 times that of the cloud. In a sphere 1 / r is cut off at
  // the distance T, which changes 4 pi / k^2 to 4 pi / k^2 (1 - cos kT) = 8 pi / k^2 sin^2(kT / 2).
  double transform(double k2) const {
    const double k = std::sqrt(k2), norm = bump_transform(shape.cloud, 0);
    const double cloud = bump_transform(shape.cloud, k * field.mesh.reach) / norm;
    if (periodic()) return k2 == 0 ? 0 : 4 * pi / k2 * cloud;
    // T: the diameter plus the reach, so that no pair of the cell is cut off.
    const double end = 2 * double{kHalf} + field.mesh.reach;
    if (k2 == 0) return 2 * pi * end * end;
    const double s = std::sin(k * end / 2);
    return 4 * pi / k2 * 2 * s * s * cloud;
  }

  // The factors G(k) / (V w(k)^2) of the transform: w takes the window back that spreads charges
  // and interpolates potentials. The bound of a pair's error is the sum over wave numbers
  //   1/V sum |G(k)| [product of (1 + alpha(k_a))^2 - 1]  +  1/V sum of |G(k)| that are left out,
  // with alpha from alias_at(); rounding of charges and of the transforms comes in addition.
  void tabulate() {
    MeshRules& m = field.mesh;
    std::array<std::vector<double>, 3> wave, weight, alias;
    double volume = 1;
    for (int a = 0; a < 3; ++a) {
      volume *= period[a];
      field.half[a] = m.length[a] / 2 + 1;
      for (int n = 0; n < m.length[a] / 2; ++n) {
        wave[a].push_back(2 * pi * n / period[a]);
        weight[a].push_back(weight_at(a, wave[a][n]));
        alias[a].push_back(alias_at(a, wave[a][n]));
      }
    }
    field.half[2] = (field.half[2] + 7) / 8 * 8;  // whole SIMD registers
    const bool cubic = period[0] == period[1] && period[0] == period[2] &&
                       m.length[0] == m.length[1] && m.length[0] == m.length[2];
    std::vector<double> by_square;  // in a cube G by the square of the wave number, from few values
    if (cubic) {
      const int h = m.length[0] / 2;
      by_square.resize(3 * static_cast<std::size_t>(h) * h);
      for (std::size_t n = 0; n < by_square.size(); ++n)
        by_square[n] = transform(wave[0][1] * wave[0][1] * static_cast<double>(n));
    }
    field.factor.assign(static_cast<std::size_t>(field.half[0]) * field.half[1] * field.half[2], 0);
    double mesh_error = 0, round_error = 0, largest = 0;
    // In the corners the window's transform is so small that it would blow up rounding errors.
    const double highest = highest_wave();
    for (int x = 0; x < m.length[0] / 2; ++x)
      for (int y = 0; y < m.length[1] / 2; ++y) {
        double* const row =
            field.factor.data() + (static_cast<std::size_t>(x) * field.half[1] + y) *
                                      static_cast<std::size_t>(field.half[2]);
        const double both = (1 + alias[0][x]) * (1 + alias[1][y]);
        const int twice_xy = (x ? 2 : 1) * (y ? 2 : 1);
        for (int z = 0; z < m.length[2] / 2; ++z) {
          const double k2 =
              wave[0][x] * wave[0][x] + wave[1][y] * wave[1][y] + wave[2][z] * wave[2][z];
          if (k2 >= highest * highest) break;
          const double g =
              cubic ? by_square[static_cast<std::size_t>(x) * x + static_cast<std::size_t>(y) * y +
                                static_cast<std::size_t>(z) * z]
                    : transform(k2);
          const double w = weight[0][x] * weight[1][y] * weight[2][z];
          // (1 + alpha_x)(1 + alpha_y)(1 + alpha_z), whose square less 1 bounds the relative error.
          const double relative = both * (1 + alias[2][z]);
          row[z] = g / (volume * w * w);
          largest = std::max(largest, std::abs(row[z]));
          const double size = (z ? 2 : 1) * twice_xy * std::abs(g) / volume;
          mesh_error += size * (relative * relative - 1);
          round_error += size * relative / w;
        }
      }
    // Each of an ion's shares of a mesh point is rounded to a multiple of charge_unit.
    const double points_of_ion = std::pow(shape.points, 3);
    field.pair_error = mesh_error + truncation(volume) + cloud_error;
    if (state.ewald) field.pair_error += state.ewald->terms.error;
    field.ion_error = round_error * points_of_ion * m.charge_unit;
    double window_norm = 1;
    for (int a = 0; a < 3; ++a) window_norm *= std::sqrt(weight[a][0] + 1);
    // A fast transform errs by 16 u log2(M) of the Euclidean norm each way.
    field.norm_error =
        kUlp * (32 * std::log2(field.points) + 200) * field.points * largest * window_norm;
    // At two places; the brush rounds each of its terms.
    const double ions = static_cast<double>(state.sites.size());
    const double charges = moves > 0 ? 2 * std::min(ions, static_cast<double>(moves)) : ions;
    field.bound.field =
        2 * (field.pair_error * field.magnitude + field.ion_error * charges) * field.quanta +
        (moves > 0 ? 0 : 4 * ions);
    field.bound.per_norm = 2 * field.norm_error * field.quanta;
  }

  // Wave numbers from here on are left out.
  double highest_wave() const { return pi / *std::max_element(spacing, spacing + 3); }

  // Sum of the magnitudes of what is left out: lattice points in shells, no more than the
  // volume of a shell that is wider by a cell's half diagonal on both sides.
  double truncation(double volume) const {
    double diagonal = 0;
    for (const double p : period) diagonal += std::pow(2 * pi / p, 2);
    const double half = std::sqrt(diagonal) / 2, norm = bump_transform(shape.cloud, 0);
    const double reach = field.mesh.reach, most = periodic() ? 1 : 2;  // of 1 - cos
    const double per_volume = volume / std::pow(2 * pi, 3);
    double sum = 0, k = highest_wave();
    for (; k * reach < 4000; k += half) {
      const double outer = std::pow(k + 2 * half, 3) - std::pow(k - half, 3);
      sum += 4 * pi / 3 * outer * per_volume * most * 4 * pi / (k * k) *
             transform_envelope(shape.cloud, k * reach) / norm / volume;
    }
    // Beyond, the envelope is 2 cloud^2 / k^2 and the shells' excess is a factor below 4.
    return sum + 4 * most * 2 / pi * 2 * shape.cloud * shape.cloud / (k * reach) / norm / reach;
  }

  double charge_most_ = 0, diameter_least_ = 0;
};

}  // namespace

FarField make_far_field(const State& state, double ions_per_point) {
  if (state.rules.space == Space::nearest)
    refuse(
        "method tree: the energy of nearest images has a kink at half an edge of the box, which no "
        "mesh represents; use boundary ewald or method brush");
  const double ions = static_cast<double>(state.sites.size());
  const double spacing = std::cbrt(ions_per_point * volume_of(state.rules) / ions);
  Builder builder{state};
  builder.measure();
  builder.choose(kWanted, [&](const Shape&) { return spacing; });
  builder.fit();
  builder.tabulate();
  return std::move(builder.field);
}

FarField make_far_field_of_moves(const State& state, const FarField& of_ions, std::size_t moves) {
  Builder builder{state, moves};
  builder.measure();
  builder.choose(kWantedOfMoves,
                 [&](const Shape& s) { return kCoarser * of_ions.mesh.reach / s.reach; });
  builder.fit();
  builder.tabulate();
  return std::move(builder.field);
}

// A trial costs (c0 + c1 P) / E + a c3 E / 2 with the lengths E of epochs, P points of the mesh and
// the acceptance a, which is least for E = sqrt(2 (c0 + c1 P) / (a c3)). With a mesh of moves, rho
// = kCoarser times as coarse, it costs
//   (c0 + c1 P) / E1 + 2 a s c4 E1 + (c0 + c1 P / rho^3) / E2 + a c3 E2 / 2 + c5,
// with the share s of the system within the longer reach.
Epochs epochs_for(const State& state, const FarField& field, const Costs& costs) {
  constexpr double kAccepted = 0.7;  // a, of the candidates
  const double ions = static_cast<double>(state.sites.size());
  const auto whole = [&](double balanced) {
    const double epochs = std::max(1.0, std::nearbyint(ions / balanced));
    return static_cast<std::size_t>(std::ceil(ions / epochs));
  };
  // A trial's share of a transform, and the pairs with moves before it in its epoch: both are half
  // of the sum at the length where it is least.
  const auto length = [&](double transform) {
    return std::sqrt(2 * transform / (kAccepted * costs.pair));
  };
  const double fine = costs.point * field.points + costs.launch,
               coarse = costs.point * field.points / std::pow(kCoarser, 3) + costs.launch;
  // At the best length both parts of the cost are equal.
  const double alone = 2 * fine / length(fine);
  // With a mesh of moves, a trial's two places see both places of each move before in the outer
  // epoch, within the reach of that mesh.
  const double reach = kCoarser * field.mesh.reach;
  const double share = std::min(1.0, 4 * pi / 3 * reach * reach * reach / volume_of(state.rules));
  const double outer = std::sqrt(fine / (2 * kAccepted * share * costs.near));
  const double both = 2 * fine / outer + 2 * coarse / length(coarse) + costs.of_moves;
  // Where the gain is not certain, the simpler one.
  if (outer >= ions || length(coarse) > outer / 2 || both >= 0.8 * alone) {
    const std::size_t one = whole(length(fine));
    return {one, one};
  }
  return {whole(outer), whole(length(coarse))};
}

}  // namespace manymove::coulomb
