// SPDX-License-Identifier: BSD-3-Clause
// Electrostatic forces on a core. Compiled once per SIMD level; nothing here may instantiate what
// other sources also instantiate.
#include "../../../runtime/vec.h"  // first: templates must see its operators
//
#include "kernels.h"

namespace manymove::dpd::MANYMOVE_SIMD {
namespace {

using Lines = Complex<DoubleLanes>;
constexpr int kMostNear = 256;

template <int order, bool reading>
void add_forces(const ChargeArguments& a, int first, int last, ChargeTotals* sums) {
  for (int k = first; k < last; ++k) {
    const ChargedPlace p = a.place[k];
    if (!a.own[p.number]) continue;
    int near[kMostNear];
    ChargeSums of_pairs = sums_of<reading, kMostNear>(a.law, a.start, a.place, p, {near, 1});
    leave_out_specials<reading>(a.law, a.special, p, of_pairs);
    add_waves(a.waves, p, of_pairs);
    const Vector<double> force{static_cast<double>(of_pairs.force[0]) * a.law.force_unit,
                               static_cast<double>(of_pairs.force[1]) * a.law.force_unit,
                               static_cast<double>(of_pairs.force[2]) * a.law.force_unit};
    Vector<double> field{0, 0, 0};
    if constexpr (order > 0) {
      const MeshStencil<order> stencil(a.mesh, p);
      Vector<double> column[order]{};
      stencil.for_rows(a.mesh, [&](int row, double across_x) {
        for (int k = 0; k < order; ++k)
          add_field(a.mesh, row * a.mesh.points[0] + stencil.x.point[k],
                    across_x * stencil.x.weight[k], column[k]);
      });
      for (const Vector<double>& each : column) field = field + each;
    }
    a.force[p.number] = force + force_in(a.law, field, a.dipole, p);
    if constexpr (!reading) continue;
    ChargeTotals::split(of_pairs, [&](int k, std::int64_t high, std::int64_t low) {
      sums->high[k] += high;
      sums->low[k] += low;
    });
  }
}

void forces(const ChargeArguments& a, int first, int last, ChargeTotals* sums) {
  for_constant<5, 0, 2, 3, 4, 6, 7>(a.mesh.order, [&](auto order) {
    if (sums)
      add_forces<order(), true>(a, first, last, sums);
    else
      add_forces<order(), false>(a, first, last, sums);
  });
}

void spread(const ChargeArguments& a, int first, int last) {
  std::int64_t* const charge = a.mesh.charge;
  for_constant<5, 2, 3, 4, 6, 7>(a.mesh.order, [&](auto order) {
    for (int k = first; k < last; ++k) {
      const MeshStencil<order()> stencil(a.mesh, a.place[k]);
      const double units = a.place[k].charge / a.mesh.charge_unit;
      stencil.for_rows(a.mesh, [&](int row, double across_x) {
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

void convert(const ChargeArguments& a, int plane) {
  const ChargeMesh& m = a.mesh;
  const std::int64_t size = static_cast<std::int64_t>(m.points[0]) * m.points[1],
                     first = size * plane;
  for (std::int64_t k = first; k < first + size; ++k)
    m.first[k] = {static_cast<double>(m.charge[k]) * m.charge_unit, 0.0};
}

void solve(const ChargeArguments& a, int plane, WaveSums* sums) {
  const ChargeMesh& m = a.mesh;
  std::int64_t k = static_cast<std::int64_t>(m.points[0]) * m.points[1] * plane;
  for (int y = 0; y < m.points[1]; ++y) {
    WaveSums row;
    for (int x = 0; x < m.points[0]; ++x, ++k) {
      const WaveFields fields = sums ? solve_wave<true>(m, x, y, plane, m.first[k], row)
                                     : solve_wave<false>(m, x, y, plane, m.first[k], row);
      m.first[k] = fields.along;
      m.second[k] = fields.across;
    }
    if (sums) sums->add(row);
  }
}

template <int R>
void stage(int length, int done, const Wave* twiddle, const Lines* from, Lines* to) {
  const int apart = length / R;
  for (int t = 0; t < apart; ++t) {
    Lines a[R];
    for (int k = 0; k < R; ++k) a[k] = from[t + k * apart];
    butterfly(a, done, t, twiddle);
    const int place = fft_place(R, done, t);
    for (int k = 0; k < R; ++k) to[place + k * done] = a[k];
  }
}

// kDoubles lines, one in each lane.
void transform(const ChargeArguments& arguments, Wave* values, int axis, int group,
               double* memory) {
  const ChargeMesh& m = arguments.mesh;
  const int length = m.points[axis], lines = m.size() / length;
  const MeshLines along(m.points, axis);
  auto *a = reinterpret_cast<Lines*>(memory), *b = a + length;
  const int some = lines - group * kDoubles < kDoubles ? lines - group * kDoubles : kDoubles;
  Wave* line[kDoubles];
  for (int lane = 0; lane < kDoubles; ++lane)
    line[lane] = values + along.begin(group * kDoubles + (lane < some ? lane : 0));
  for (int k = 0; k < length; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * along.stride;
    for (int lane = 0; lane < kDoubles; ++lane) {
      a[k].re[lane] = line[lane][at].re;
      a[k].im[lane] = line[lane][at].im;
    }
  }
  const FftPlan& plan = m.plan[axis];
  int done = 1;
  for (int s = 0; s < plan.stages; ++s) {
    for_constant<2, 3, 4, 5>(
        plan.radix[s], [&](auto radix) { stage<radix()>(length, done, m.twiddle[axis], a, b); });
    done *= plan.radix[s];
    Lines* const other = a;
    a = b;
    b = other;
  }
  for (int k = 0; k < length; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * along.stride;
    for (int lane = 0; lane < some; ++lane) line[lane][at] = {a[k].re[lane], a[k].im[lane]};
  }
}

}  // namespace

void use(ChargeKernels& kernels) {
  kernels = {&forces, &spread, &waves, &convert, &solve, &transform, kDoubles};
}

}  // namespace manymove::dpd::MANYMOVE_SIMD
