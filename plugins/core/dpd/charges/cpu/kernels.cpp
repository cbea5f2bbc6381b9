// SPDX-License-Identifier: BSD-3-Clause
// Electrostatic forces on a core. Compiled once per SIMD level; nothing here may instantiate what
// other sources also instantiate.
#include "../../../runtime/vec.h"  // first: templates must see its operators
//
#include "../../../runtime/fft_lines.h"
#include "kernels.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

// The pairs of one charge. Near places are collected first, because a core cannot predict which are
// near.
template <bool reading, class Real>
ChargeSums sums_of(const ChargeArguments& a, const Cubic<Real>* table, const ChargedPlace& p) {
  constexpr int kMost = 256;
  int near[kMost], count = 0;
  ChargeSums sums;
  const auto add = [&] {
    for (int n = 0; n < count; ++n)
      add_pair<reading>(a.law, table, a.law.energy, 1, p, a.place[near[n]], sums);
    count = 0;
  };
  const CellRows rows(a.law, p);
  for (int r = 0; r < rows.count(); ++r)
    rows.places_of(a.law, a.start, r, [&](int first, int last) {
      for (int k = first; k < last; ++k) {
        near[count] = k;
        count += are_near(a.law, p, a.place[k]);
        if (count == kMost) add();
      }
    });
  add();
  return sums;
}

template <int order, class Real, bool reading>
void add_forces(const ChargeArguments& a, int first, int last, ChargeTotals* sums) {
  for (int k = first; k < last; ++k) {
    const ChargedPlace p = a.place[k];
    if (!a.own[p.number]) continue;
    ChargeSums of_pairs = a.law.single_force ? sums_of<reading>(a, a.law.single_force, p)
                                             : sums_of<reading>(a, a.law.force, p);
    leave_out_specials<reading>(a.law, a.special, p, of_pairs);
    add_waves(a.waves, p, of_pairs);
    const Vector<double> force{static_cast<double>(of_pairs.force[0]) * a.law.force_unit,
                               static_cast<double>(of_pairs.force[1]) * a.law.force_unit,
                               static_cast<double>(of_pairs.force[2]) * a.law.force_unit};
    Vector<Real> field{0, 0, 0};
    if constexpr (order > 0) {
      const MeshStencil<order, Real> stencil(a.mesh, p);
      Vector<Real> column[order]{};
      stencil.for_rows(a.mesh, [&](int row, Real across_x) {
        for (int k = 0; k < order; ++k) {
          const auto along = [&](int axis) {
            return static_cast<Real>(a.mesh.field(axis, row, stencil.x.point[k]));
          };
          add_field(across_x * stencil.x.weight[k], along(0), along(1), along(2), column[k]);
        }
      });
      for (const Vector<Real>& each : column) field = field + each;
    }
    a.force[p.number] = force + force_in(a.law, vector_of<double>(field), a.dipole, p);
    if constexpr (!reading) continue;
    ChargeTotals::split(of_pairs, [&](int k, std::int64_t high, std::int64_t low) {
      sums->high[k] += high;
      sums->low[k] += low;
    });
  }
}

template <class Real>
void forces(const ChargeArguments& a, int first, int last, ChargeTotals* sums) {
  for_constant<5, 0, 2, 3, 4, 6, 7>(a.mesh.order, [&](auto order) {
    if (sums)
      add_forces<order(), Real, true>(a, first, last, sums);
    else
      add_forces<order(), Real, false>(a, first, last, sums);
  });
}

template <class Real>
void spread(const ChargeArguments& a, int first, int last) {
  std::int64_t* const charge = a.mesh.charge;
  for_constant<5, 2, 3, 4, 6, 7>(a.mesh.order, [&](auto order) {
    for (int k = first; k < last; ++k) {
      const MeshStencil<order(), Real> stencil(a.mesh, a.place[k]);
      const double units = a.place[k].charge / a.mesh.charge_unit;
      stencil.for_rows(a.mesh, [&](int row, Real across_x) {
        for (int c = 0; c < order(); ++c) {
          std::int64_t* const to = charge + row * a.mesh.points[0] + stencil.x.point[c];
          const std::int64_t share = share_of(units, across_x * stencil.x.weight[c]);
          if (a.shared)
            __atomic_fetch_add(to, share, __ATOMIC_RELAXED);
          else
            *to += share;
        }
      });
    }
  });
}

void waves(const ChargeArguments& a, int first, int last) {
  for (int k = first; k < last; ++k) {
    std::int64_t* const sum = a.waves.sum + 2 * k;
    sum[0] = sum[1] = 0;
    for (int i = 0; i < a.charges; ++i)
      add_to_wave(a.waves, k, a.place[i],
                  [&](int part, std::int64_t units) { sum[part] += units; });
  }
}

// Waves in single precision stand in float64, too.
template <class To, class From>
Complex<To> of_wave(const Complex<From>& wave) {
  return {static_cast<To>(wave.re), static_cast<To>(wave.im)};
}

template <class Real>
void solve(const ChargeArguments& a, int plane, WaveSums* sums) {
  const ChargeMesh& m = a.mesh;
  for (int y = 0; y < m.points[1]; ++y) {
    WaveSums row;
    std::int64_t k = m.row_of(0, plane * m.points[1] + y) - m.waves[0];
    for (int x = 0; x < m.half(); ++x, ++k) {
      const Complex<Real> rho = of_wave<Real>(m.waves[0][k]);
      const auto potential = sums ? potential_of<true>(m, x, y, plane, rho, row)
                                  : potential_of<false>(m, x, y, plane, rho, row);
      m.waves[0][k] = of_wave<double>(potential);
      m.waves[2][k] = of_wave<double>(potential * slope_along_z<Real>(m, x, y, plane));
    }
    if (sums) sums->add(row);
  }
}

template <class Real>
void slopes(const ChargeArguments& a, int plane) {
  const ChargeMesh& m = a.mesh;
  for (int y = 0; y < m.points[1]; ++y) {
    std::int64_t k = m.row_of(0, plane * m.points[1] + y) - m.waves[0];
    for (int x = 0; x < m.half(); ++x, ++k) {
      const Complex<Real> potential = of_wave<Real>(m.waves[0][k]);
      for (const int axis : {0, 1})
        m.waves[axis][k] = of_wave<double>(potential * slope<Real>(m, axis, x, y));
    }
  }
}

// Lines of the precision of Real.
template <class Real>
using LinesOf = std::conditional_t<std::is_same_v<Real, float>, SingleLines, Lines>;

// From the first half of the memory. Returns where the result is.
template <class Lines>
Lines* transformed(const ChargeMesh& m, int axis, Lines* lines) {
  return transform_lines(m.plan[axis], m.twiddle[axis], lines, lines + m.points[axis]);
}

// Two rows along x for each lane, which are reals on one side of the transform. Lanes without a
// pair of rows repeat the first pair of the group, and a row without a partner has 0 for it.
struct RowPairs {
  int some;
  int row[kDoubles];
  bool second[kDoubles];

  RowPairs(const ChargeMesh& m, int group) {
    const int rest = m.pairs_of_rows() - group * kDoubles;
    some = rest < kDoubles ? rest : kDoubles;
    for (int lane = 0; lane < kDoubles; ++lane) {
      const int pair = group * kDoubles + (lane < some ? lane : 0);
      row[lane] = m.first_row(pair);
      second[lane] = m.has_partner(pair);
    }
  }
};

template <class Real>
void charges_to_waves(const ChargeArguments& arguments, int group, double* memory) {
  const ChargeMesh& m = arguments.mesh;
  const RowPairs pairs(m, group);
  const int length = m.points[0];
  auto* lines = reinterpret_cast<LinesOf<Real>*>(memory);
  for (int k = 0; k < length; ++k)
    for (int lane = 0; lane < kDoubles; ++lane) {
      const std::int64_t* const charge =
          m.charge + static_cast<std::int64_t>(pairs.row[lane]) * length + k;
      lines[k].re[lane] = charge_of<Real>(m, charge[0]);
      lines[k].im[lane] = pairs.second[lane] ? charge_of<Real>(m, charge[length]) : 0;
    }
  lines = transformed(m, 0, lines);
  for (int k = 0; k < m.half(); ++k) {
    LinesOf<Real> first, second;
    apart(lines[k], lines[k == 0 ? 0 : length - k], first, second);
    for (int lane = 0; lane < pairs.some; ++lane) {
      Wave* const to = m.row_of(0, pairs.row[lane]) + k;
      to[0] = {first.re[lane], first.im[lane]};
      if (pairs.second[lane]) to[m.pitch()] = {second.re[lane], second.im[lane]};
    }
  }
}

template <class Real>
void waves_to_fields(const ChargeArguments& arguments, int axis, int group, double* memory) {
  const ChargeMesh& m = arguments.mesh;
  const RowPairs pairs(m, group);
  const int length = m.points[0];
  auto* lines = reinterpret_cast<LinesOf<Real>*>(memory);
  for (int k = 0; k < m.half(); ++k) {
    LinesOf<Real> first, second;
    for (int lane = 0; lane < kDoubles; ++lane) {
      const Wave* const from = m.row_of(axis, pairs.row[lane]) + k;
      const Wave other = pairs.second[lane] ? from[m.pitch()] : Wave{0, 0};
      first.re[lane] = static_cast<Real>(from->re);
      first.im[lane] = static_cast<Real>(from->im);
      second.re[lane] = static_cast<Real>(other.re);
      second.im[lane] = static_cast<Real>(other.im);
    }
    if (k > 0) lines[length - k] = together(conjugate(first), conjugate(second));
    lines[k] = together(first, second);
  }
  lines = transformed(m, 0, lines);
  for (int k = 0; k < length; ++k)
    for (int lane = 0; lane < pairs.some; ++lane) {
      m.field(axis, pairs.row[lane], k) = lines[k].re[lane];
      if (pairs.second[lane]) m.field(axis, pairs.row[lane] + 1, k) = lines[k].im[lane];
    }
}

template <class Real>
void transform(const ChargeArguments& arguments, Wave* values, int axis, int group,
               double* memory) {
  const ChargeMesh& m = arguments.mesh;
  const WaveLines along(m, axis);
  const int length = m.points[axis], rest = along.count - group * kDoubles,
            some = rest < kDoubles ? rest : kDoubles;
  auto* lines = reinterpret_cast<LinesOf<Real>*>(memory);
  Wave* line[kDoubles];
  for (int lane = 0; lane < kDoubles; ++lane)
    line[lane] = values + along.begin(group * kDoubles + (lane < some ? lane : 0));
  for (int k = 0; k < length; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * along.stride;
    for (int lane = 0; lane < kDoubles; ++lane) {
      lines[k].re[lane] = static_cast<Real>(line[lane][at].re);
      lines[k].im[lane] = static_cast<Real>(line[lane][at].im);
    }
  }
  lines = transformed(m, axis, lines);
  for (int k = 0; k < length; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * along.stride;
    for (int lane = 0; lane < some; ++lane) line[lane][at] = {lines[k].re[lane], lines[k].im[lane]};
  }
}

}  // namespace

template <class Real>
constexpr MeshKernels kMeshKernels = {
    &forces<Real>,    &spread<Real>,           &solve<Real>,          &slopes<Real>,
    &transform<Real>, &charges_to_waves<Real>, &waves_to_fields<Real>};

void use(ChargeKernels& kernels) {
  kernels = {&waves, {kMeshKernels<double>, kMeshKernels<float>}, kDoubles};
}

}  // namespace manymove::dpd::MANYMOVE_SIMD
