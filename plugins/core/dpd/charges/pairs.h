// SPDX-License-Identifier: BSD-3-Clause
// Charges and their pairs in real space, the same on CPU and GPU. Forces of pairs are summed as
// integers, so that their order does not matter.
#pragma once

#include <cstdint>

#include "../../runtime/macros.h"
#include "../cells.h"
#include "../fixed_point.h"
#include "../pair_potentials.h"

namespace manymove::dpd {

// A charge in 2^-32 of the frame, for both precisions. number: its index among all charges.
// Aligned, so that one access of a GPU reads the first four.
struct alignas(16) ChargedPlace {
  std::uint32_t x, y, z, number;
  double charge;
};

// The next 32 bits of a place.
struct PlaceTail {
  std::uint32_t x, y, z;
};

constexpr int kTableIntervals = 2048;
template <class Real>
struct alignas(4 * sizeof(Real)) Cubic {
  Real c[4];
};
template <class Real>
MM_HD Real value_of(const Cubic<Real>& p, Real t) {
  return polynomial(t, p.c[0], p.c[1], p.c[2], p.c[3]);
}

struct ChargeLaw {
  Matrix<double> edges;      // from units of the frame to lengths
  Matrix<float> near_edges;  // the same, for the choice of near places and in single precision
  bool tilted;
  float near_squared;  // with a margin for rounding and for places without tails
  double cutoff_squared;
  double intervals;  // of the tables, per length
  double coupling;
  double force_unit, energy_unit;    // of sums of integers
  double force_scale, energy_scale;  // coupling over these units
  // By interval of the distance r: -u'(r) / r and u(r) of two unit charges, of the short-range part
  // and of the whole law.
  const Cubic<double>*force, *energy, *whole_force, *whole_energy;
  // The first one for pairs in single precision; null: pairs are in double precision.
  const Cubic<float>* single_force;
  // Of points, whose law has no table: kappa, and the square of the distance below which the force
  // is linear, because integers have a largest force. The latter is 0 for smeared charges.
  double screening, least_squared;
  const PlaceTail* tail;  // by number; null: places have no more than 32 bits
  int cells[3];           // along each edge of the frame, at least half the cutoff wide
  // Of the dipole moment, a sum of integers, and the force on a unit charge along z per unit of it,
  // which is 0 if there is no slab.
  double dipole_unit, slab_force;
};

// Force, energy and virial of one charge, in units of the law.
struct ChargeSums {
  std::int64_t force[3] = {}, energy = 0, virial[6] = {};

  MM_HD void add(const ChargeSums& part) {
    for (int a = 0; a < 3; ++a) force[a] += part.force[a];
    energy += part.energy;
    for (int a = 0; a < 6; ++a) virial[a] += part.virial[a];
  }
};

// Sums over charges, the energy first: multiples of 2^20 units, and the rest. Any number of charges
// leaves room for the sum, which is exact and does not depend on the order.
struct ChargeTotals {
  std::int64_t high[7] = {}, low[7] = {};

  template <class Add>
  static MM_HD void split(const ChargeSums& sums, const Add& add) {
    for (int k = 0; k < 7; ++k) {
      const std::int64_t value = k == 0 ? sums.energy : sums.virial[k - 1];
      add(k, value >> 20, value & 0xfffff);
    }
  }
  double operator[](int k) const {
    return 0x1p20 * static_cast<double>(high[k]) + static_cast<double>(low[k]);
  }
};

template <class Real>
MM_HD Vector<Real> separation_of(const Matrix<Real>& edges, bool tilted, const ChargedPlace& i,
                                 const ChargedPlace& j) {
  const auto along = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<Real>(static_cast<std::int32_t>(a - b));
  };
  return edges.times(along(i.x, j.x), along(i.y, j.y), along(i.z, j.z), tilted);
}
MM_HD Vector<double> separation(const ChargeLaw& law, const ChargedPlace& i,
                                const ChargedPlace& j) {
  return separation_of(law.edges, law.tilted, i, j);
}
// Whether the pair may be within the cutoff; add_pair() decides.
MM_HD bool are_near(const ChargeLaw& law, const ChargedPlace& i, const ChargedPlace& j) {
  const Vector<float> r = separation_of(law.near_edges, law.tilted, i, j);
  return (dot(r, r) < law.near_squared) & (i.number != j.number);
}
// With the tails of both places.
MM_HD Vector<double> whole_separation(const ChargeLaw& law, const ChargedPlace& i,
                                      const ChargedPlace& j) {
  if (!law.tail) return separation(law, i, j);
  const PlaceTail &k = law.tail[i.number], &l = law.tail[j.number];
  const auto along = [](std::uint32_t a, std::uint32_t a_low, std::uint32_t b,
                        std::uint32_t b_low) {
    const auto word = [](std::uint32_t high, std::uint32_t low) {
      return static_cast<std::uint64_t>(high) << 32 | low;
    };
    return 0x1p-32 *
           static_cast<double>(static_cast<std::int64_t>(word(a, a_low) - word(b, b_low)));
  };
  return law.edges.times(along(i.x, k.x, j.x, l.x), along(i.y, k.y, j.y, l.y),
                         along(i.z, k.z, j.z, l.z), law.tilted);
}

// -u'(r) / r and u(r) of two unit charges.
template <class Real>
struct UnitPair {
  Real over_distance;
  double energy;
};
// By tables of smeared charges; u = exp(-kappa r) / r of points.
template <class Real>
MM_HD UnitPair<Real> unit_pair(const ChargeLaw& law, const Cubic<Real>* force,
                               const Cubic<double>* energy, Real squared, bool with_energy) {
  if (std::is_same_v<Real, double> && law.least_squared > 0) {
    const double counts = max_of(squared, law.least_squared), r = square_root(counts),
                 decay = law.screening > 0 ? exponential_function(-law.screening * r) : 1.0,
                 u = decay / r;
    const double over_distance = fused(law.screening, r, 1.0) * u / counts;
    return {static_cast<Real>(over_distance), fused(0.5 * over_distance, counts - squared, u)};
  }
  const Real at = square_root(squared) * static_cast<Real>(law.intervals);
  const int k = static_cast<int>(at);
  const Real t = at - static_cast<Real>(k);
  return {value_of(force[k], t), with_energy ? value_of(energy[k], static_cast<double>(t)) : 0};
}

// Adds a pair by the law of these tables, times a factor.
template <bool reading, class Real>
MM_HD void add_pair(const ChargeLaw& law, const Cubic<Real>* force, const Cubic<double>* energy,
                    double factor, const ChargedPlace& i, const ChargedPlace& j, ChargeSums& sums) {
  Vector<Real> r;
  if constexpr (std::is_same_v<Real, float>)
    r = separation_of(law.near_edges, law.tilted, i, j);
  else
    r = whole_separation(law, i, j);
  const auto [x, y, z] = r;
  const Real squared = fused(x, x, fused(y, y, z * z));
  if (!(squared < static_cast<Real>(law.cutoff_squared)) || i.number == j.number) return;
  const UnitPair<Real> unit = unit_pair(law, force, energy, squared, reading);
  const double charges = factor * (i.charge * j.charge);
  const auto units = [](Real f) { return nearest_integer(static_cast<double>(f)); };
  const Real f = static_cast<Real>(charges * law.force_scale) * unit.over_distance;
  sums.force[0] += units(f * x);
  sums.force[1] += units(f * y);
  sums.force[2] += units(f * z);
  if constexpr (!reading) return;
  const double over_distance = charges * unit.over_distance;
  sums.energy += nearest_integer(charges * unit.energy * law.energy_scale);
  const double w = over_distance * law.energy_scale;
  const double products[6][2] = {{x, x}, {y, y}, {z, z}, {x, y}, {x, z}, {y, z}};
  for (int a = 0; a < 6; ++a)
    sums.virial[a] += nearest_integer(w * (products[a][0] * products[a][1]));
}

MM_HD int cell_of(const ChargeLaw& law, const ChargedPlace& p) {
  const auto bin = [&](std::uint32_t u, int a) {
    return static_cast<int>(bin_of(u, static_cast<std::uint32_t>(law.cells[a])));
  };
  return (bin(p.z, 2) * law.cells[1] + bin(p.y, 1)) * law.cells[0] + bin(p.x, 0);
}

// Cells within the cutoff along one edge: `count` from `first` on, which wraps at `cells`.
struct CellSpan {
  int first, count;
};
constexpr int kReach = 2;

// A block of cells, as rows along x.
struct CellRows {
  CellSpan x, y, z;

  // The cells within the cutoff of a place, of which all places have the same number.
  MM_HD CellRows(const ChargeLaw& law, const ChargedPlace& p)
      : x(span(law, p.x, 0)), y(span(law, p.y, 1)), z(span(law, p.z, 2)) {}
  MM_HD int count() const { return y.count * z.count; }
  // Calls run(first, last) for the places of a row of cells. Cells of a row follow each other in
  // memory; behind the last one comes the first one. start: [cells + 1], of the places of each
  // cell.
  template <class Run>
  MM_HD void places_of(const ChargeLaw& law, const int* start, int r, const Run& run) const {
    const auto wrapped = [](int c, int cells) { return c < cells ? c : c - cells; };
    // A division by a constant is fast.
    const int plane = y.count == 2 * kReach + 1 ? r / (2 * kReach + 1) : r / y.count;
    const int row = (wrapped(z.first + plane, law.cells[2]) * law.cells[1] +
                     wrapped(y.first + r - plane * y.count, law.cells[1])) *
                    law.cells[0];
    const int end = x.first + x.count, inner = end < law.cells[0] ? end : law.cells[0];
    run(start[row + x.first], start[row + inner]);
    run(start[row], start[row + end - inner]);
  }

 private:
  static MM_HD CellSpan span(const ChargeLaw& law, std::uint32_t u, int a) {
    const int cells = law.cells[a],
              cell = static_cast<int>(bin_of(u, static_cast<std::uint32_t>(cells)));
    if (cells <= 2 * kReach + 1) return {0, cells};
    return {cell < kReach ? cell - kReach + cells : cell - kReach, 2 * kReach + 1};
  }
};

// A charged special neighbor, and the share 1 - f of its force that its factor f leaves out.
struct SpecialCharge {
  std::uint32_t number;
  double left_out;
};
struct SpecialCharges {
  const int* first;  // [charges + 1], by number, of `neighbor`; null: there are none
  const SpecialCharge* neighbor;
  const ChargedPlace* place;  // by number
};

// Subtracts from the force on a charge the shares that special neighbors leave out, including their
// part in the sum over waves.
template <bool reading>
MM_HD void leave_out_specials(const ChargeLaw& law, const SpecialCharges& special,
                              const ChargedPlace& i, ChargeSums& sums, int lane = 0,
                              int lanes = 1) {
  if (!special.first) return;
  for (int k = special.first[i.number] + lane; k < special.first[i.number + 1]; k += lanes) {
    const SpecialCharge& j = special.neighbor[k];
    add_pair<reading>(law, law.whole_force, law.whole_energy, -j.left_out, i,
                      special.place[j.number], sums);
  }
}

// Wave vectors of a periodic box with the edges L, an upper triangular matrix: k = 2 pi L^-T n.
struct ReciprocalLattice {
  Matrix<double> to;  // 2 pi L^-1
  bool tilted;

  MM_HD void wave(const double (&n)[3], double (&k)[3]) const {
    k[0] = n[0] * to.xx;
    k[1] = n[1] * to.yy;
    k[2] = n[2] * to.zz;
    if (!tilted) return;
    k[1] = fused(n[0], to.xy, k[1]);
    k[2] = fused(n[0], to.xz, fused(n[1], to.yz, k[2]));
  }
};

}  // namespace manymove::dpd
