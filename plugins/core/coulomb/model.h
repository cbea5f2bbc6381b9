// SPDX-License-Identifier: BSD-3-Clause
// Charged hard spheres in a cell, for CPU and GPU: Y. Liang, X. Xing, Y. Li, "A GPU-based
// large-scale Monte Carlo simulation method for systems with long-range interactions" (2017).
//
// Coordinates are integers below 2^24 held in float32, so differences are exact in float32 and
// squared distances in float64: the wall and the hard cores are decided without rounding.
// A potential is an integer too: each term q / r of equation 2 is rounded to a multiple of 2^-k,
// its quantum: with M = 1.5 2^(52-k), fl(q / r + M) has the rounded term in its low bits. Integers
// add up in any order to the same sum. So every schedule makes the same decisions.
#pragma once

#include <concepts>
#include <type_traits>

#include "../runtime/fingerprint.h"
#include "../runtime/logarithm.h"
#include "../runtime/macros.h"
#include "../runtime/philox.h"
#include "engine.h"
#include "ewald.h"

namespace manymove::coulomb {

// Where the ions live: within a sphere, or in a periodic box with the potential 1 / r of nearest
// images or with Ewald's.
enum class Space { cell, nearest, ewald };

inline constexpr float kHalf =
    8388608.0f;  // radius of the cell, or half its longest edge, in units

struct Rules {
  Space space;
  bool periodic;     // space is not `cell`
  float extent[3];   // edges of the periodic box in units, even
  float inverse[3];  // 1 / extent
  double two_over_extent[3];
  double wall2;               // squared radius of the spherical cell, in units
  double magic;               // 1.5 * 2^(52-k): adding it rounds to a multiple of 2^-k
  double strength;            // kT of two unit charges at potential 2^-k
  std::uint32_t step;         // largest displacement along an axis, in units
  std::uint32_t short_step;   // of the short moves
  std::uint32_t short_below;  // a move is short if a random word is below this
  float surely_free;          // no pair overlaps at this squared distance in float32, or beyond
  int cells[3];               // of the search for overlaps
  float cells_per_unit[3];
  float contact;  // pairs farther apart along an axis do not overlap, with room for some units
  PhiloxKey key;
  double vacuum;  // energy of a dipole moment of 1 in quanta; 0 with a conductor around the images
  SmoothRest<double> rest;  // of Ewald's potential
  SmoothRest<float> rest_single;
};

// The lists are in memory of the engine.
template <class S>
SmoothRest<S> rest_of(const EwaldBox& box, const RestTerms<S>& terms, const S* coefficients,
                      const std::uint8_t* lines) {
  return {coefficients,
          lines,
          static_cast<int>(terms.coefficients.size()) - 2,
          static_cast<int>(terms.lines.size()) - 1,
          box.longest,
          box.cubic};
}

// What is compiled once per space: task(std::integral_constant<Space, ...>).
auto for_space(const Rules& r, const auto& task) {
  return for_constant<Space::nearest, Space::ewald, Space::cell>(r.space, task);
}

struct alignas(16) Site {
  float x, y, z, charge;
};

// 1 / sqrt(a) to 9.1e-7, from IEEE operations alone: a guess from the exponent, and a polynomial of
// its error e = 1 - a y^2 (minimax over the guesses' errors, own fit).
template <class F>
MM_HD F guessed_inverse_root(F a) {
  const F y = as_float(0x5f374800u - (bits_of(a) >> 1));
  const F e = fused(-a, y * y, constant<F>(1.0f));
  F p = fused(e, constant<F>(0x1.4167dep-2f), constant<F>(0x1.814e04p-2f));
  // 1 / sqrt(1 - e) = 1 + e / 2 + 3 e^2 / 8 + ...; the coefficients differ a little from these.
  p = fused(e, p, constant<F>(0x1.ffff9cp-2f));
  p = fused(e, p, constant<F>(0x1.ffffe8p-1f));
  return y * p;
}

// 1 / sqrt(a) in float64, to about an ulp and the same bits everywhere: one step of third order.
template <class D>
MM_HD D inverse_root(D a) {
  const D y = widened(guessed_inverse_root(narrowed(a)));
  // 1 / sqrt(1 - e) = 1 + e / 2 + 3 e^2 / 8 + 5 e^3 / 16 + ...; |e| < 2e-6 leaves less than 3e-18.
  const D e = fused(-a, y * y, constant<D>(1.0));
  return fused(y * e, fused(e, constant<D>(0.375), constant<D>(0.5)), y);
}

// The same in float32: a GPU's special-function unit, elsewhere one Newton step.
template <class F>
MM_HD F inverse_root_single(F a) {
#if defined(__CUDA_ARCH__)
  F y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  return y;
#else
  const F y = guessed_inverse_root(a);
  const F e = fused(-a, y * y, constant<F>(1.0f));
  // y (1 + e / 2); the remainder 3 e^2 / 8 is far below an ulp.
  return fused(y * constant<F>(0.5f), e, y);
#endif
}

MM_HD float magic_for(float) { return 12582912.0f; }           // 1.5 * 2^23
MM_HD double magic_for(double) { return 6755399441055744.0; }  // 1.5 * 2^52

// The component of the nearest image; S is the scalar type of V.
template <class S, class V>
MM_HD V nearest(V d, S extent, S inverse) {
  const V magic = constant<V>(magic_for(S{}));
  // Adding the magic number rounds d / L to the nearest integer.
  const V whole = fused(d, constant<V>(inverse), magic) - magic;
  return fused(constant<V>(-extent), whole, d);
}

// How many boxes a move along an axis goes ahead: 1 or -1 if it crosses a face of the box.
MM_HD int crossed(const Rules& r, int axis, float from, float to) {
  const float step = to - from;
  return 2 * abs_of(step) > r.extent[axis] ? (step < 0 ? 1 : -1) : 0;
}

// From one ion to another, by the nearest image in a periodic box.
template <class V>
struct Separation {
  V x, y, z, squared;
};
template <Space B, class S, class V>
MM_HD Separation<V> separation(const Rules& r, V dx, V dy, V dz) {
  if constexpr (B != Space::cell) {
    dx = nearest<S>(dx, r.extent[0], r.inverse[0]);
    dy = nearest<S>(dy, r.extent[1], r.inverse[1]);
    dz = nearest<S>(dz, r.extent[2], r.inverse[2]);
  }
  return {dx, dy, dz, fused(dz, dz, fused(dy, dy, dx * dx))};
}
template <Space B>
MM_HD Separation<double> separation(const Rules& r, const Site& a, const Site& b) {
  return separation<B, double>(r, double{a.x} - b.x, double{a.y} - b.y, double{a.z} - b.z);
}

// Exact: the squares of integers below 2^25 and their sums fit 53 bits.
MM_HD double squared_distance(const Rules& r, const Site& a, const Site& b) {
  return r.periodic ? separation<Space::nearest>(r, a, b).squared
                    : separation<Space::cell>(r, a, b).squared;
}

template <class S, class V>
MM_HD V inverse_root_in(V a) {
  if constexpr (std::is_same_v<S, double>)
    return inverse_root(a);
  else
    return inverse_root_single(a);
}
// A component of the nearest image's difference, from -1 at the nearest image to 0 at the center.
template <class S, class V>
MM_HD V from_center(const Rules& r, int axis, V a) {
  if constexpr (std::is_same_v<S, double>)
    return fused(a, constant<V>(r.two_over_extent[axis]), constant<V>(-1.0));
  else
    return fused(a, constant<V>(2 * r.inverse[axis]), constant<V>(-1.0f));
}

// Potentials of a unit charge at N places. Ewald's: eight images, the nearest first, and the rest.
template <Space B, int N, class S, class V>
MM_HD void unit_potentials(const Rules& r, [[maybe_unused]] const SmoothRest<S>& rest,
                           const Separation<V> (&d)[N], V (&potential)[N]) {
  if constexpr (B != Space::ewald) {
    for (int n = 0; n < N; ++n) potential[n] = inverse_root_in<S>(d[n].squared);
  } else {
    V a[N], b[N], c[N];
    MM_UNROLL
    for (int n = 0; n < N; ++n) {
      const V x = abs_of(d[n].x), y = abs_of(d[n].y), z = abs_of(d[n].z);
      const V far_x = constant<V>(S{r.extent[0]}) - x, far_y = constant<V>(S{r.extent[1]}) - y,
              far_z = constant<V>(S{r.extent[2]}) - z;
      const V x2 = x * x, far_x2 = far_x * far_x, y2 = y * y, far_y2 = far_y * far_y;
      // The eight nearest images: each coordinate with its own sign or one edge away.
      const V xy[4] = {x2 + y2, far_x2 + y2, x2 + far_y2, far_x2 + far_y2};
      V sum = inverse_root_in<S>(d[n].squared);
      MM_UNROLL
      for (int k = 1; k < 4; ++k) sum = sum + inverse_root_in<S>(fused(z, z, xy[k]));
      MM_UNROLL
      for (int k = 0; k < 4; ++k) sum = sum + inverse_root_in<S>(fused(far_z, far_z, xy[k]));
      potential[n] = sum;
      a[n] = from_center<S>(r, 0, x);
      b[n] = from_center<S>(r, 1, y);
      c[n] = from_center<S>(r, 2, z);
    }
    add_rest(rest, a, b, c, potential);
  }
}
template <Space B, class S, class V>
MM_HD V unit_potential(const Rules& r, const SmoothRest<S>& rest, const Separation<V>& d) {
  const Separation<V> one[1] = {d};
  V potential[1];
  unit_potentials<B>(r, rest, one, potential);
  return potential[0];
}

MM_HD bool too_close(double distance2, double radius_i, double radius_j) {
  const double contact = radius_i + radius_j;
  return distance2 < contact * contact;
}

// A charge's potential as a float64 whose low bits are the rounded integer (plus those of the magic
// number).
template <class D>
MM_HD D fixed_term(D charge, D potential, D magic) {
  return fused(charge, potential, magic);
}

// Sums wrap around without harm: those of positions that overlap may, and are not used.
MM_HD std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
MM_HD std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// A float32 sum as such an integer.
MM_HD std::int64_t to_fixed(float sum, double magic) {
  return static_cast<std::int64_t>(bits_of(static_cast<double>(sum) + magic) - bits_of(magic));
}

// Potential of an ion of this charge, as an integer.
template <Space B>
MM_HD std::int64_t potential_term(const Rules& r, double charge, const Separation<double>& d) {
  return static_cast<std::int64_t>(
      bits_of(fixed_term(charge, unit_potential<B>(r, r.rest, d), r.magic)) - bits_of(r.magic));
}
template <Space B>
MM_HD std::int64_t potential_term_single(const Rules& r, float charge, const Separation<float>& d) {
  return to_fixed(charge * unit_potential<B>(r, r.rest_single, d), r.magic);
}

// ---- a trial move ----------------------------------------------------------------------------

struct Trial {
  float x, y, z;
  bool inside;
  // The largest change of the potential, times the sign of the charge, at which the trial is
  // accepted: u < exp(-dE) of equation 1 is dE < -ln u, and dE is |z| times this change.
  std::int64_t most;
};

// As probable as its opposite: a sign and a magnitude from different bits.
MM_HD float displacement(std::uint32_t word, std::uint32_t step) {
  const std::uint64_t product = static_cast<std::uint64_t>(word & 0x7fffffffu) * (step + 1);
  // floor(w (step + 1) / 2^31) for 31 random bits w: 0 to step, each as likely to 2^-31.
  const float magnitude = static_cast<float>(static_cast<std::int32_t>(product >> 31));
  return word >> 31 ? -magnitude : magnitude;
}

MM_HD float wrapped(float x, float extent) {
  if (2 * x >= extent) return x - extent;
  return 2 * x < -extent ? x + extent : x;
}
// Into the periodic box, over at most one face along each axis.
MM_HD Site wrapped(const Rules& r, const Site& s) {
  return {wrapped(s.x, r.extent[0]), wrapped(s.y, r.extent[1]), wrapped(s.z, r.extent[2]),
          s.charge};
}
// From the center. Exact, as squared_distance() is.
MM_HD double squared_norm(const Site& s) {
  const double x = s.x, y = s.y, z = s.z;
  return fused(z, z, fused(y, y, x * x));
}

// The trial of an ion in a sweep: a displacement that is uniform in a cube, and u of equation 1,
// from the random numbers of this ion and this sweep alone.
MM_HD Trial propose(const Rules& r, std::uint32_t particle, std::uint64_t sweep, const Site& s) {
  const auto low = static_cast<std::uint32_t>(sweep),
             high = static_cast<std::uint32_t>(sweep >> 32);
  // The counter of the generator: ion, sweep (64 bits), and which block of four words of these.
  std::uint32_t word[4] = {particle, low, high, 0};
  philox(word, r.key);
  std::uint32_t step = r.step;
  if (r.short_below) {
    std::uint32_t choice[4] = {particle, low, high, 1};
    philox(choice, r.key);
    if (choice[0] < r.short_below) step = r.short_step;
  }
  Site to{s.x + displacement(word[0], step), s.y + displacement(word[1], step),
          s.z + displacement(word[2], step), s.charge};
  if (r.periodic) to = wrapped(r, to);
  Trial t{to.x, to.y, to.z, r.periodic || squared_norm(to) <= r.wall2, 0};
  // Never 0 or 1, so that the logarithm is finite.
  const double u = (static_cast<double>(word[3]) + 0.5) * 0x1p-32;
  // Equation 1: u < exp(-dE) with dE = sign(z) dphi |z| strength, in integers.
  const double most = -logarithm(u) / (abs_of(s.charge) * r.strength);
  // No integer holds it where ions hardly interact; every change is accepted then.
  t.most = most < 0x1p63 ? static_cast<std::int64_t>(most) : INT64_MAX;
  return t;
}

// Equation 1. A charge's energy is |z| times its potential times the charge's sign.
MM_HD bool accepts(std::int64_t change, std::int64_t most, float charge) {
  return (charge > 0 ? change : wrapping_difference(0, change)) <= most;
}

// ---- trials that are rejected before any pair term is computed ---------------------------------
// A trial that leaves the cell, or that overlaps with an ion that is certainly still where it was,
// is rejected early; its ion stays where it is for the whole sweep. The others are candidates.

enum EarlyDecision : std::uint8_t { candidate, outside, blocked, blocked_by_blocked };

MM_HD int cell_along(const Rules& r, int axis, float x) {
  const int cell = static_cast<int>((x + r.extent[axis] * 0.5f) * r.cells_per_unit[axis]);
  return cell < 0 ? 0 : cell >= r.cells[axis] ? r.cells[axis] - 1 : cell;
}

MM_HD std::size_t cell_count(const Rules& r) {
  return static_cast<std::size_t>(r.cells[0]) * r.cells[1] * r.cells[2];
}
MM_HD std::size_t cell_index(const Rules& r, int cx, int cy, int cz) {
  return (static_cast<std::size_t>(cz) * r.cells[1] + cy) * r.cells[0] + cx;
}
MM_HD std::size_t cell_of(const Rules& r, const Site& at) {
  return cell_index(r, cell_along(r, 0, at.x), cell_along(r, 1, at.y), cell_along(r, 2, at.z));
}

// False for a neighbor beyond the wall.
MM_HD bool neighbor_cell(const Rules& r, int axis, int& cell) {
  if (cell >= 0 && cell < r.cells[axis]) return true;
  if (!r.periodic) return false;
  cell = cell < 0 ? r.cells[axis] - 1 : 0;
  return true;
}

// Ions by cell, as linked lists that end with -1.
struct CellListView {
  const std::int32_t* head;  // [cells]
  const std::int32_t* next;  // [N]
};

// Cells along an axis that ions within contact of x may be in, from the one before that of x to the
// one after it.
MM_HD void cells_nearby(const Rules& r, int axis, float x, int& low, int& high) {
  const int cell = cell_along(r, axis, x);
  const float below = x - r.contact, above = x + r.contact, half = r.extent[axis] * 0.5f;
  low = cell - (cell_along(r, axis, below) < cell || below < -half);
  high = cell + (cell_along(r, axis, above) > cell || above >= half);
}
// Whether `found` says so of a cell, by its index, that may have ions within contact of a place.
template <std::predicate<std::size_t> Found>
MM_HD bool any_cell_nearby(const Rules& r, const Site& at, Found found) {
  // At most three cells along each axis.
  int low[3], high[3];
  cells_nearby(r, 0, at.x, low[0], high[0]);
  cells_nearby(r, 1, at.y, low[1], high[1]);
  cells_nearby(r, 2, at.z, low[2], high[2]);
  for (int c = low[2]; c <= high[2]; ++c)
    for (int b = low[1]; b <= high[1]; ++b)
      for (int a = low[0]; a <= high[0]; ++a) {
        int cx = a, cy = b, cz = c;
        if (neighbor_cell(r, 0, cx) && neighbor_cell(r, 1, cy) && neighbor_cell(r, 2, cz) &&
            found(cell_index(r, cx, cy, cz)))
          return true;
      }
  return false;
}
// The same of an ion in these cells, by its index.
template <std::predicate<int> Found>
MM_HD bool any_nearby(const Rules& r, const CellListView& lists, const Site& at, Found found) {
  return any_cell_nearby(r, at, [&](std::size_t cell) {
    for (int j = lists.head[cell]; j >= 0; j = lists.next[j])
      if (found(j)) return true;
    return false;
  });
}
// Whether ion i at a place overlaps with one of those that `counts`, which are at site(j).
template <std::invocable<int> SiteOf, std::predicate<int> Counts>
MM_HD bool overlaps(const Rules& r, const CellListView& lists, SiteOf site, const double* radius,
                    int i, const Site& at, Counts counts) {
  return any_nearby(r, lists, at, [&](int j) {
    return j != i && counts(j) && too_close(squared_distance(r, at, site(j)), radius[i], radius[j]);
  });
}

// ---- the particles of host programs ----------------------------------------------------------

// One ion's share of a sum by which a host program's particles are known again.
template <class Real>
MM_HD std::uint64_t trace_of(const HostParticles& host, std::uint32_t i) {
  const std::uint32_t at = host.index[i];
  const Real* xyz = static_cast<const Real*>(host.position) + 4 * static_cast<std::size_t>(at);
  std::uint64_t trace = split_mix(std::uint64_t{i} + 1);
  for (int a = 0; a < 3; ++a) trace = split_mix(trace ^ bits_of(static_cast<double>(xyz[a])));
  trace =
      split_mix(trace ^ bits_of(static_cast<double>(static_cast<const Real*>(host.charge)[at])));
  return split_mix(trace ^
                   bits_of(static_cast<double>(static_cast<const Real*>(host.diameter)[at])));
}

// Writes ion i if it is no longer where it was left. image: [N][3] of the engine's ions, which
// become those of the host; null: images follow the nearest image.
template <class Real>
MM_HD void write_ion(const Rules& r, const double* axis_unit, const HostParticles& host,
                     std::uint32_t i, const std::int32_t* image, const Site& now, Site& left) {
  const std::size_t at = host.index[i];
  for (int a = 0; a < 3 && image; ++a)
    host.image[3 * at + a] = image[3 * static_cast<std::size_t>(i) + a];
  if (now.x == left.x && now.y == left.y && now.z == left.z) return;
  Real* xyz = static_cast<Real*>(host.position) + 4 * at;
  const float to[3] = {now.x, now.y, now.z}, from[3] = {left.x, left.y, left.z};
  for (int a = 0; a < 3; ++a) {
    const double x = to[a] * axis_unit[a];
    xyz[a] = static_cast<Real>(x < host.highest[a] ? x : host.highest[a]);
    // Who left on one side and came in on the other has changed its image.
    if (!image && r.periodic)
      if (const int ahead = crossed(r, a, from[a], to[a])) host.image[3 * at + a] += ahead;
  }
  left = now;
}

// ---- pair correlations -----------------------------------------------------------------------

struct Bins {
  double per_unit;  // bins per unit of length
  double farthest2;
  double interior2;  // ions farther from the center (squared, units) are left out
  int bins, species;
};

// Index of the unordered pair of species in a row of species (species + 1) / 2.
MM_HD int species_pair(int a, int b, int species) {
  const int low = a < b ? a : b, high = a < b ? b : a;
  return low * species - low * (low - 1) / 2 + high - low;
}

// -1 beyond the last bin; the same on every machine.
MM_HD int bin_of(const Bins& b, double distance2) {
  if (!(distance2 < b.farthest2)) return -1;
  const int bin = static_cast<int>(square_root(distance2) * b.per_unit);
  return bin < b.bins ? bin : -1;
}

MM_HD bool interior(const Rules& r, const Bins& b, const Site& s) {
  return r.periodic || squared_norm(s) <= b.interior2;
}

}  // namespace manymove::coulomb
