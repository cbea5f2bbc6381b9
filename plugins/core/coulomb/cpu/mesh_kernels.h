// SPDX-License-Identifier: BSD-3-Clause
// The far field on a core, in SIMD registers: part of kernels.cpp, compiled once per SIMD level.
#pragma once

#include "../../runtime/fft_lines.h"
#include "kernels.h"

namespace manymove::coulomb::MANYMOVE_SIMD {
namespace {

MM_HD void keep(double* to, DoubleLanes v) { __builtin_memcpy(to, &v, sizeof v); }

std::size_t row_of(const MeshArrays& m, int x, int y) {
  return static_cast<std::size_t>(x) * m.rules->length[1] + y;
}
std::size_t points_row(const MeshArrays& m, int x, int y) {
  return (static_cast<std::size_t>(x) * m.rules->points[1] + y) * m.rules->points[2];
}

// The memory of a thread has room for lines twice: a transform goes from one to the other, and
// returns where its result is.
Lines* lines_in(double* memory) { return reinterpret_cast<Lines*>(memory); }
const Lines* transform(const MeshArrays& m, int axis, Lines* lines) {
  return transform_lines(m.plan[axis], m.twiddle[axis], lines, lines + m.longest);
}
// An inverse transform is a forward one with real and imaginary parts exchanged before and after.
Lines exchanged_if(bool inverse, const Lines& c) { return inverse ? Lines{c.im, c.re} : c; }

// Wave numbers along z from k on.
Lines spectrum_at(const MeshArrays& m, int x, int y, int k) {
  const std::size_t at = row_of(m, x, y) * m.stride + k;
  return {load<DoubleLanes>(m.re + at), load<DoubleLanes>(m.im + at)};
}
void keep_spectrum(const MeshArrays& m, int x, int y, int k, const Lines& c) {
  const std::size_t at = row_of(m, x, y) * m.stride + k;
  keep(m.re + at, c.re);
  keep(m.im + at, c.im);
}

// The charges' lines along z of one x: two of real numbers make one of complex numbers, p + i q,
// whose transform F gives (F(k) + F*(-k)) / 2 for p and (F(k) - F*(-k)) / 2i for q. Returns the sum
// of the charges' squares.
double forward_z(const MeshArrays& m, int x, double* memory) {
  Lines* const a = lines_in(memory);
  const int points = m.rules->points[2], length = m.rules->length[2], lines = m.rules->points[1];
  double squares = 0;
  for (int y = 0; y < lines; y += 2 * kDoubles) {
    for (int z = 0; z < length; ++z) a[z] = Lines{};
    for (int lane = 0; lane < kDoubles; ++lane)
      for (int part = 0; part < 2; ++part) {
        const int line = y + 2 * lane + part;
        if (line >= lines) continue;
        const std::int64_t* const charge = m.charge + points_row(m, x, line);
        for (int z = 0; z < points; ++z) {
          const double q = static_cast<double>(charge[z]) * m.rules->charge_unit;
          squares += q * q;
          // A reference: GCC 16 stores into a copy of a vector that a conditional expression names.
          DoubleLanes& to = part ? a[z].im : a[z].re;
          to[lane] = q;
        }
      }
    const Lines* const c = transform(m, 2, a);
    for (int lane = 0; lane < kDoubles; ++lane) {
      const int first = y + 2 * lane;
      if (first >= lines) break;
      // Lane l holds the two real lines y + 2 l and y + 2 l + 1.
      const std::size_t one = row_of(m, x, first) * m.stride, two = one + m.stride;
      for (int k = 0; k < length / 2; ++k) {
        const int other = k ? length - k : 0;
        const double re = c[k].re[lane], im = c[k].im[lane], re2 = c[other].re[lane],
                     im2 = c[other].im[lane];
        // (F(k) + F*(-k)) / 2 for the first line, and (F(k) - F*(-k)) / 2i for the second.
        m.re[one + k] = (re + re2) * 0.5;
        m.im[one + k] = (im - im2) * 0.5;
        if (first + 1 >= lines) continue;
        m.re[two + k] = (im + im2) * 0.5;
        m.im[two + k] = (re2 - re) * 0.5;
      }
    }
  }
  return squares;
}

// Back to the potential on the mesh. The wave number length / 2 is left out.
void inverse_z(const MeshArrays& m, int x, double* memory) {
  Lines* const a = lines_in(memory);
  const int points = m.rules->points[2], length = m.rules->length[2], lines = m.rules->points[1];
  for (int y = 0; y < lines; y += 2 * kDoubles) {
    for (int z = 0; z < length; ++z) a[z] = Lines{};
    for (int lane = 0; lane < kDoubles; ++lane) {
      const int first = y + 2 * lane;
      if (first >= lines) break;
      const bool both = first + 1 < lines;
      const std::size_t one = row_of(m, x, first) * m.stride, two = one + m.stride;
      for (int k = 0; k < length / 2; ++k) {
        const double re = m.re[one + k], im = m.im[one + k], re2 = both ? m.re[two + k] : 0,
                     im2 = both ? m.im[two + k] : 0;
        // One + i two; real and imaginary parts change places for the inverse.
        a[k].re[lane] = im + re2;
        a[k].im[lane] = re - im2;
        if (k == 0) continue;
        a[length - k].re[lane] = re2 - im;
        a[length - k].im[lane] = re + im2;
      }
    }
    const Lines* const c = transform(m, 2, a);
    for (int lane = 0; lane < kDoubles; ++lane)
      for (int part = 0; part < 2; ++part) {
        const int line = y + 2 * lane + part;
        if (line >= lines) continue;
        double* const potential = m.potential + points_row(m, x, line);
        for (int z = 0; z < points; ++z) potential[z] = (part ? c[z].re : c[z].im)[lane];
      }
  }
}

// The lines along y of one x, forward or back.
void along_y(const MeshArrays& m, int x, bool inverse, double* memory) {
  const int length = m.rules->length[1], points = m.rules->points[1];
  const int given = inverse ? length : points, wanted = inverse ? points : length;
  for (int k = 0; k < m.rules->length[2] / 2; k += kDoubles) {
    Lines* const lines = lines_in(memory);
    for (int y = 0; y < length; ++y)
      lines[y] = y < given ? exchanged_if(inverse, spectrum_at(m, x, y, k)) : Lines{};
    const Lines* const c = transform(m, 1, lines);
    for (int y = 0; y < wanted; ++y) keep_spectrum(m, x, y, k, exchanged_if(inverse, c[y]));
  }
}

// The factors are even in each wave number: they are stored for |k| alone.
int folded(int k, int length) { return k < length - k ? k : length - k; }

// The lines along x of one wave number along y: forward, times the factors, and back.
void along_x(const MeshArrays& m, int ky, double* memory) {
  const int length = m.rules->length[0], points = m.rules->points[0],
            fold_y = folded(ky, m.rules->length[1]);
  for (int k = 0; k < m.rules->length[2] / 2; k += kDoubles) {
    Lines* const lines = lines_in(memory);
    for (int x = 0; x < length; ++x) lines[x] = x < points ? spectrum_at(m, x, ky, k) : Lines{};
    const Lines* const c = transform(m, 0, lines);
    for (int kx = 0; kx < length; ++kx) {
      const std::size_t row = static_cast<std::size_t>(folded(kx, length)) * m.half_y + fold_y;
      const auto factor = load<DoubleLanes>(m.factor + row * m.stride + k);
      lines[kx] = {c[kx].im * factor, c[kx].re * factor};
    }
    const Lines* const back = transform(m, 0, lines);
    for (int x = 0; x < points; ++x) keep_spectrum(m, x, ky, k, exchanged_if(true, back[x]));
  }
}

// ---- ions and the mesh ----

// The mesh points under an ion's window: their rows, and places along z.
template <int W>
struct Footprint {
  int x[W], y[W], z[W];
  double wx[W], wy[W], wz[W];

  Footprint(const MeshRules& r, const Site& at) {
    const int first[3] = {window_at(r, 0, at.x, wx), window_at(r, 1, at.y, wy),
                          window_at(r, 2, at.z, wz)};
    for (int l = 0; l < W; ++l) {
      x[l] = wrapped_point(r, 0, first[0] + l);
      y[l] = wrapped_point(r, 1, first[1] + l);
      z[l] = wrapped_point(r, 2, first[2] + l);
    }
  }
};

// To the mesh points of the planes first..end alone.
void add_charge(const MeshArrays& m, const Site& at, int sign, int first, int end) {
  for_window(*m.rules, [&](auto window) {
    constexpr int W = window();
    double lag;
    const int begin = window_at(*m.rules, 0, at.x, lag);
    bool inside = false;
    for (int a = 0; a < W; ++a) {
      const int x = wrapped_point(*m.rules, 0, begin + a);
      inside = inside || (x >= first && x < end);
    }
    if (!inside) return;
    const Footprint<W> f(*m.rules, at);
    for (int a = 0; a < W; ++a) {
      if (f.x[a] < first || f.x[a] >= end) continue;
      for (int b = 0; b < W; ++b) {
        std::int64_t* const row = m.charge + points_row(m, f.x[a], f.y[b]);
        // q w(x) w(y) w(z) as an integer: a charge can be taken off again without a rest.
        const double weight = f.wx[a] * f.wy[b];
        for (int c = 0; c < W; ++c)
          row[f.z[c]] += sign * charge_share(*m.rules, at.charge, weight * f.wz[c]);
      }
    }
  });
}

// The potential on the mesh at a place, by the window that spreads charges: sum of w_x w_y w_z phi.
double far_potential(const MeshArrays& m, const Site& at) {
  return for_window(*m.rules, [&](auto window) {
    constexpr int W = window();
    const Footprint<W> f(*m.rules, at);
    double sum = 0;
    for (int a = 0; a < W; ++a) {
      double plane = 0;
      for (int b = 0; b < W; ++b) {
        const double* const row = m.potential + points_row(m, f.x[a], f.y[b]);
        double line = 0;
        for (int c = 0; c < W; ++c) line += f.wz[c] * row[f.z[c]];
        plane += f.wy[b] * line;
      }
      sum += f.wx[a] * plane;
    }
    return sum;
  });
}

// Short-ranged potential at a place from the sources of some ranges; `coincident` counts those that
// stand exactly there, which are left out.
template <Space B>
double near_sum(const Rules& r, const MeshRules& mesh, const Partners& g, const IndexRange* ranges,
                int count, const Site& at, int& coincident) {
  DoubleLanes sum{};
  WideLanes same{};
  WideLanes number;
  for (int lane = 0; lane < kDoubles; ++lane) number[lane] = lane;
  for (int s = 0; s < count; ++s)
    for (std::size_t j = ranges[s].begin; j < ranges[s].end; j += kDoubles) {
      const auto d = separations<B, double>(r, at, g, j);
      const DoubleLanes v = d.squared * mesh.inverse_reach2;
      // Within the reach, and not beyond the range, whose end may lie within a register.
      const auto inside = reinterpret_cast<WideLanes>(v < 1.0) &
                          reinterpret_cast<WideLanes>(number < ranges[s].end - j);
      // A source at the place itself, such as the ion that would move: it is counted and left out.
      const auto here = reinterpret_cast<WideLanes>(d.squared == 0.0) & inside;
      same -= here;
      const DoubleLanes term =
          load_wide(g.charge + j) * (inverse_root(d.squared) - value_of(mesh.smooth, v));
      sum += reinterpret_cast<DoubleLanes>(bits_of(term) & inside & ~here);
    }
  double total = 0;
  std::uint64_t found = 0;
  for (int lane = 0; lane < kDoubles; ++lane) {
    total += sum[lane];
    found += same[lane];
  }
  coincident = static_cast<int>(found);
  return total;
}
double near_potential(const Rules& r, const MeshRules& mesh, const Partners& g,
                      const IndexRange* ranges, int count, const Site& at, int& coincident) {
  const auto sum = r.periodic ? &near_sum<Space::nearest> : &near_sum<Space::cell>;
  return sum(r, mesh, g, ranges, count, at, coincident);
}

// What accepted moves of ions j change for later trials k, in units of a potential:
// z_j [psi(to_k - to_j) - psi(from_k - to_j) - psi(to_k - from_j) + psi(from_k - from_j)].
template <Space B>
void follow_in(const Rules& r, const Partners& from, const Partners& to, const Move* moves,
               int count, IndexRange trials, double* estimate) {
  const auto change = [&](auto fx, auto fy, auto fz, auto tx, auto ty, auto tz) {
    using V = decltype(fx);
    V sum{};
    for (int m = 0; m < count; ++m) {
      const Site &a = moves[m].from, &b = moves[m].to;
      const Separation<V> d[4] = {
          separation<B, double>(r, tx - double{b.x}, ty - double{b.y}, tz - double{b.z}),
          separation<B, double>(r, fx - double{b.x}, fy - double{b.y}, fz - double{b.z}),
          separation<B, double>(r, tx - double{a.x}, ty - double{a.y}, tz - double{a.z}),
          separation<B, double>(r, fx - double{a.x}, fy - double{a.y}, fz - double{a.z})};
      V p[4];
      unit_potentials<B>(r, r.rest, d, p);
      sum = sum + ((p[0] - p[1]) - (p[2] - p[3])) * double{a.charge};
    }
    return sum;
  };
  std::size_t k = trials.begin;
  for (; k + kDoubles <= trials.end; k += kDoubles)
    keep(estimate + k,
         load<DoubleLanes>(estimate + k) + change(load_wide(from.x + k), load_wide(from.y + k),
                                                  load_wide(from.z + k), load_wide(to.x + k),
                                                  load_wide(to.y + k), load_wide(to.z + k)));
  // The remainder that does not fill a register, one by one with the same operations.
  for (; k < trials.end; ++k)
    estimate[k] += change(double{from.x[k]}, double{from.y[k]}, double{from.z[k]}, double{to.x[k]},
                          double{to.y[k]}, double{to.z[k]});
}
void follow_accepted(const Rules& r, const Partners& from, const Partners& to, const Move* moves,
                     int count, IndexRange trials, double* estimate) {
  for_space(r,
            [&](auto space) { follow_in<space()>(r, from, to, moves, count, trials, estimate); });
}

}  // namespace
}  // namespace manymove::coulomb::MANYMOVE_SIMD
