// SPDX-License-Identifier: BSD-3-Clause
// Adsorbates in a rigid framework: the physics, the random numbers and the decisions, the same for
// every backend. J. Kim, J. M. Rodgers, M. Athenes, B. Smit, J. Chem. Theory Comput. 7, 3208
// (2011), "the paper" below. Why it is right, and what differs: docs/theory/adsorption.md.
//
// Everything here is made of IEEE operations, with nothing left to contract, so that a CPU and a
// GPU give the same bits. Lengths are in angstrom, energies in kelvin (U / k_B).
#pragma once

#include <cstdint>

#include "../runtime/macros.h"
#include "../runtime/philox.h"

namespace manymove::adsorption {

inline constexpr int kMostSpecies = 4;
inline constexpr int kMostSystems = 1 << 30;  // of one process: they are numbered in int
inline constexpr int kMostTrials = 1024;      // of a reinsertion
inline constexpr int kWidth = 32;      // lanes that share the work of one system, in a fixed order
inline constexpr int kRefresh = 4096;  // steps between two sums of the energy from scratch
inline constexpr std::uint32_t kPlaceRounds = 512;  // of kWidth places tried for a molecule
inline constexpr double kCovered = 40;      // energy of a pair over T: no trial has a weight there
inline constexpr double kForbidden = 1e15;  // energy of a blocked place: weight zero
inline constexpr double kInside = 1e6;      // energy of a site inside an atom
inline constexpr double kHighest = 1e8;     // energies of the grid end here
inline constexpr double kSoft = 8000;       // the cubic spline is one of asinh(E / kSoft)

// A place in the box: fractions of the edges in units of 2^-32, so that sums wrap around by
// themselves, random walks are exact and each of their steps as likely as its reverse.
struct Site {
  std::uint32_t x, y, z;
};

template <class F>
struct Point {
  F x, y, z;
};

// ---- elementary functions ----

// 1 / x, rounded to nearest, for x from 2^-126 to below 2^126. The GPU's guess is within one unit
// in the last place; one step of Newton's rounds that as division does.
MM_HD float reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float guess;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(x));
  return __fmaf_rn(guess, __fmaf_rn(-x, guess, 1.0f), guess);
#else
  return 1.0f / x;
#endif
}
MM_HD double reciprocal(double x) { return 1.0 / x; }

// e^x by 2^n 2^f, relative error 2e-7 (float) or 5e-16; zero up to e^-87 (float) or e^-700, near
// the smallest normal number, and not beyond e^80: sums of weights stay finite.
MM_HD float exponential(float x) {
  x = min_of(x, 80.0f);
  const float rounded = fused(x, 1.44269504f, 12582912.0f);  // 1.5 * 2^23: n is in the low bits
  // x log2(e) = n + f with |f| <= 1/2.
  const float n = rounded - 12582912.0f;
  const float f = fused(x, 1.44269502f, -n);
  const float p =
      polynomial(fused(x, 1.925963e-8f, f), 1.0000000006f, 0.69314720560f, 0.24022646609f,
                 0.05550328998f, 0.00961851953f, 0.00133998604f, 0.00015337577f);
  return x > -87.0f ? p * as_float((bits_of(rounded) + 127u) << 23) : 0.0f;
}
MM_HD double exponential(double x) {
  x = min_of(x, 80.0);
  const double rounded = fused(x, 1.4426950408889634, 6755399441055744.0);  // 1.5 * 2^52
  const double n = rounded - 6755399441055744.0;
  const double f = fused(x, 2.0355273740931033e-17, fused(x, 1.4426950408889634, -n));
  const double p =
      polynomial(f, 1.0, 0.69314718055994530942, 0.24022650695910071233, 0.055504108664821579953,
                 0.0096181291076284771619, 0.0013333558146428443423, 0.00015403530393381609954,
                 1.5252733804059840281e-5, 1.3215486790144309488e-6, 1.0178086009239699728e-7,
                 7.0549116208011233299e-9, 4.4455382718708114976e-10, 2.5678435993488205142e-11);
  return x > -700.0 ? p * as_double((bits_of(rounded) + 1023u) << 52) : 0.0;
}

// ---- random numbers ----

enum class Purpose : std::uint32_t {
  common = 1,
  choose,
  propose,
  exchange,
  place,
  widom,
  trial_place,
  trial_turn,
  chain
};

inline constexpr std::uint32_t kEverySystem = 0xffffffffu;

// U is uint32_t or a vector of them; a step is below 2^56.
template <class U>
MM_HD void random_words(U word[4], PhiloxKey key, std::uint64_t step, U system, U proposal,
                        Purpose purpose) {
  word[0] = system;
  word[1] = proposal;
  word[2] = U{} + static_cast<std::uint32_t>(step);
  word[3] =
      U{} + (static_cast<std::uint32_t>(step >> 32) | static_cast<std::uint32_t>(purpose) << 24);
  philox(word, key);
}
// Of a single system. A loop that the compiler makes SIMD code of names the template.
MM_CALL void random_words(std::uint32_t word[4], PhiloxKey key, std::uint64_t step,
                          std::uint32_t system, std::uint32_t proposal, Purpose purpose) {
  random_words<std::uint32_t>(word, key, step, system, proposal, purpose);
}

// Uniform in [0, 1].
MM_HD double uniform(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

// A step along an axis, uniform between -reach / 2 and reach / 2; as likely as its reverse.
MM_HD std::uint32_t displacement(std::uint32_t word, std::uint32_t reach) {
  // Odd words are never 0: each magnitude has as many words of either sign.
  const auto odd = static_cast<std::int32_t>(word | 1u);
  const std::uint32_t size = uniform_below(static_cast<std::uint32_t>(odd < 0 ? -odd : odd), reach);
  return odd < 0 ? 0u - size : size;
}

// ---- the model ----

// Lennard-Jones, Eq. 1, shifted to zero at the cutoff; constant within a tenth of sigma.
template <class F>
struct PairLaw {
  F repulsion, attraction;  // 4 epsilon sigma^12 and 4 epsilon sigma^6
  F at_cutoff;
  F cutoff2, core2;
  F closest2;  // squared distance below which a trial has no weight, see kCovered
};

template <class F>
struct Model {
  F edge[3], unit[3];  // of the box, and the same over 2^32
  F beta;              // 1 / K
  PairLaw<F> law[kMostSpecies][kMostSpecies];
  int species;
  int first_slot[kMostSpecies + 1];  // of each species' molecules in a system's arrays
  std::uint32_t reach[3];            // twice the largest displacement, in units of a Site
  const F* grid;                     // [species][points[2] + 3][points[1] + 3][points[0] + 3]
  const F* corners;  // the same as [species][points[2]][points[1]][points[0]][8], or null
  int points[3];     // of one unit cell; the grid repeats its first and last planes
  bool cubic;
  std::uint32_t cells[3];
  PhiloxKey key;
  std::uint32_t exchange;         // share of exchange steps, times 2^32; 0 without
  double activity[kMostSpecies];  // beta f V, the mean number of an ideal gas
  std::uint32_t direction[3];     // of the profile, in reciprocal unit cells
  int bins;                       // of the profile; 0 without
};

template <class F>
MM_HD F coordinate(std::uint32_t fraction, F unit) {
  return mul_rn(static_cast<F>(static_cast<std::int32_t>(fraction)), unit);
}

template <class F>
MM_HD Point<F> to_point(const Model<F>& m, const Site& s) {
  return {coordinate(s.x, m.unit[0]), coordinate(s.y, m.unit[1]), coordinate(s.z, m.unit[2])};
}

MM_HD Site moved(const Site& s, const Site& by) { return {s.x + by.x, s.y + by.y, s.z + by.z}; }

template <class F>
MM_HD Site step_of(const Model<F>& m, const std::uint32_t* word) {
  return {displacement(word[0], m.reach[0]), displacement(word[1], m.reach[1]),
          displacement(word[2], m.reach[2])};
}

// Distance along an axis to the nearest image.
template <class F>
MM_HD F apart(F a, F b, F edge) {
  // Both are within one edge L: the nearest image is |d| or L - |d| away.
  const F d = abs_of(a - b);
  return min_of(d, edge - d);
}

template <class F>
MM_HD F squared_distance(const Model<F>& m, const Point<F>& a, F x, F y, F z) {
  const F dx = apart(a.x, x, m.edge[0]), dy = apart(a.y, y, m.edge[1]),
          dz = apart(a.z, z, m.edge[2]);
  return fused(dz, dz, fused(dy, dy, dx * dx));
}

// Eq. 1 for a squared distance within the cutoff. One division, as in section 4.2.
template <class F>
MM_HD F lennard_jones(const PairLaw<F>& law, F r2) {
  // 4 epsilon [(sigma / r)^12 - (sigma / r)^6] - u(R_c) with q = 1 / r^2.
  const F q = reciprocal(max_of(r2, law.core2));
  // (r^-2)^3; then q6 (4 epsilon sigma^12 q6 - 4 epsilon sigma^6).
  const F q6 = q * q * q;
  return fused(q6, fused(law.repulsion, q6, -law.attraction), -law.at_cutoff);
}

template <class F>
MM_HD F pair_energy(const Model<F>& m, const PairLaw<F>& law, const Point<F>& a, F x, F y, F z) {
  const F r2 = squared_distance(m, a, x, y, z);
  const F u = lennard_jones(law, r2);
  return r2 < law.cutoff2 ? u : F(0);
}

// How far places are from an origin along each axis, the shorter way around the box.
struct Extent {
  std::int32_t low[3], high[3];

  MM_HD void include(const Site& origin, const Site& s) {
    const std::int32_t d[3] = {static_cast<std::int32_t>(s.x - origin.x),
                               static_cast<std::int32_t>(s.y - origin.y),
                               static_cast<std::int32_t>(s.z - origin.z)};
    MM_UNROLL
    for (int a = 0; a < 3; ++a) {
      low[a] = d[a] < low[a] ? d[a] : low[a];
      high[a] = d[a] > high[a] ? d[a] : high[a];
    }
  }
};

// A box around places: its center, and how far it reaches along each axis.
template <class F>
struct Surroundings {
  Point<F> center, half;
};

template <class F>
MM_HD void surround(std::uint32_t origin, std::int32_t low, std::int32_t high, F unit, F edge,
                    F& center, F& half) {
  const std::uint32_t extent =
      (static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(low)) / 2 + 1;
  center = coordinate(origin + static_cast<std::uint32_t>(low) + extent, unit);
  half = static_cast<F>(extent) * unit + (F(1e-3) + F(2e-6) * edge);  // rounding is less
}
template <class F>
MM_HD Surroundings<F> surroundings_of(const Model<F>& m, const Site& origin, const Extent& e) {
  Surroundings<F> s;
  surround(origin.x, e.low[0], e.high[0], m.unit[0], m.edge[0], s.center.x, s.half.x);
  surround(origin.y, e.low[1], e.high[1], m.unit[1], m.edge[1], s.center.y, s.half.y);
  surround(origin.z, e.low[2], e.high[2], m.unit[2], m.edge[2], s.center.z, s.half.z);
  return s;
}

// Whether some place in there may be within the cutoff of x, y, z; if not, its pair energy is zero.
template <class F>
MM_HD bool may_feel(const Model<F>& m, const Surroundings<F>& s, F cutoff2, F x, F y, F z) {
  // The distance from a box along an axis is zero within it.
  const F dx = max_of(apart(s.center.x, x, m.edge[0]) - s.half.x, F(0)),
          dy = max_of(apart(s.center.y, y, m.edge[1]) - s.half.y, F(0)),
          dz = max_of(apart(s.center.z, z, m.edge[2]) - s.half.z, F(0));
  return fused(dz, dz, fused(dy, dy, dx * dx)) < cutoff2;
}

// The interaction with an atom of the framework, by which the grid is filled.
MM_HD double image_energy(const PairLaw<double>& law, double ax, double ay, double az, double x,
                          double y, double z) {
  const double dx = x - ax, dy = y - ay, dz = z - az;
  const double r2 = fused(dz, dz, fused(dy, dy, dx * dx));
  const double u = lennard_jones(law, r2);
  return r2 < law.cutoff2 ? u : 0.0;
}

// ---- the grid (section 3.2) ----

// From a multiple of their size: one sector of a GPU's memory, two for double.
template <class F>
MM_HD void copy_eight(F* to, const F* from) {
#if defined(__CUDA_ARCH__)
  MM_UNROLL
  for (unsigned i = 0; i < sizeof(F) / 2; ++i)
    reinterpret_cast<uint4*>(to)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
#else
  std::memcpy(to, from, 8 * sizeof(F));
#endif
}

// Where a place is in its unit cell's grid: the point below it and the fraction beyond that point.
template <class F>
struct GridPlace {
  int point;
  F fraction;
};
template <class F>
MM_HD GridPlace<F> grid_place(std::uint32_t in_cell, int points) {
  std::uint32_t high, low;
  // u n as a fixed-point number: the upper word is the grid point, the lower one the fraction.
  multiply_wide(in_cell, static_cast<std::uint32_t>(points), high, low);
  return {static_cast<int>(high), static_cast<F>(static_cast<std::int32_t>(low >> 8)) * F(0x1p-24)};
}

MM_HD bool blocked(float value) { return bits_of(value) & 1u; }
MM_HD bool blocked(double value) { return bits_of(value) & 1u; }

template <class F>
MM_HD F between(F a, F b, F t) {
  return fused(t, b - a, a);
}

// Weights of the cubic B-spline at points -1, 0, 1, 2; the grid holds its coefficients.
template <class F>
MM_HD void cubic_weights(F t, F w[4]) {
  const F rest = F(1) - t;
  w[0] = F(1.0 / 6) * (rest * rest) * rest;
  w[1] = fused(fused(F(0.5), t, F(-1)) * t, t, F(2.0 / 3));
  w[2] = fused(fused(F(0.5), rest, F(-1)) * rest, rest, F(2.0 / 3));
  w[3] = F(1.0 / 6) * (t * t) * t;
}

// The eight corners around a place and where it is between them.
template <class F>
struct GridCell {
  alignas(16) F corner[8];  // x fastest
  F x, y, z;
};

// The place along all three axes. A Site is a fraction of the box in 2^-32; times the number of
// unit cells, modulo 2^32, it is the fraction of the unit cell.
template <class F>
struct GridPlaces {
  GridPlace<F> x, y, z;
};
template <class F>
MM_HD GridPlaces<F> grid_places(const Model<F>& m, const Site& s) {
  return {grid_place<F>(s.x * m.cells[0], m.points[0]),
          grid_place<F>(s.y * m.cells[1], m.points[1]),
          grid_place<F>(s.z * m.cells[2], m.points[2])};
}

// The values of a species from a point on, in grid[species][z][y][x] with a point before and two
// behind along each axis, which repeat those of the other side for the spline of four points.
template <class F>
struct GridValues {
  const F* value;
  int pitch, plane;  // from a row to the next one, and from a plane to the next one

  MM_HD GridValues(const Model<F>& m, std::int64_t species, int x, int y, int z)
      : pitch(m.points[0] + 3), plane(pitch * (m.points[1] + 3)) {
    value = m.grid + species * plane * (m.points[2] + 3) +
            (static_cast<std::int64_t>(z + 1) * plane + (y + 1) * pitch + x + 1);
  }
  // Corner c is (c & 1, c >> 1 & 1, c >> 2) beyond the point.
  MM_HD F corner(int c) const { return value[(c & 1) + (c >> 1 & 1) * pitch + (c >> 2) * plane]; }
};

template <class F>
MM_HD GridCell<F> grid_cell(const Model<F>& m, int species, const Site& s) {
  const auto [x, y, z] = grid_places(m, s);
  GridCell<F> cell;
  cell.x = x.fraction;
  cell.y = y.fraction;
  cell.z = z.fraction;
  // corners[species][z][y][x][8]: all that a place needs, in one sector of memory.
  if (m.corners) {
    const F* from =
        m.corners +
        8 * (((static_cast<std::int64_t>(species) * m.points[2] + z.point) * m.points[1] +
              y.point) *
                 m.points[0] +
             x.point);
    copy_eight(cell.corner, from);
  } else {
    const GridValues<F> values(m, species, x.point, y.point, z.point);
    for (int c = 0; c < 8; ++c) cell.corner[c] = values.corner(c);
  }
  return cell;
}

// The last bit of a value says that the voxel above its point is blocked.
template <class F>
MM_HD F interpolated(const GridCell<F>& g) {
  const F* v = g.corner;
  // Along x, then along y, then along z.
  const F c00 = between(v[0], v[1], g.x), c10 = between(v[2], v[3], g.x);
  const F c01 = between(v[4], v[5], g.x), c11 = between(v[6], v[7], g.x);
  const F energy = between(between(c00, c10, g.y), between(c01, c11, g.y), g.z);
  return blocked(v[0]) ? F(kForbidden) : energy;
}

template <class F>
MM_HD F cubic_energy(const Model<F>& m, int species, const Site& s) {
  const auto [x, y, z] = grid_places(m, s);
  const GridValues<F> v(m, species, x.point, y.point, z.point);
  // A tensor product of 4 x 4 x 4 coefficients from the point before the place on.
  F wx[4], wy[4], wz[4];
  cubic_weights(x.fraction, wx);
  cubic_weights(y.fraction, wy);
  cubic_weights(z.fraction, wz);
  F sum = 0;
  for (int k = 0; k < 4; ++k) {
    F layer = 0;
    for (int j = 0; j < 4; ++j) {
      const F* row = v.value + (k - 1) * v.plane + (j - 1) * v.pitch - 1;
      F line = wx[0] * row[0];
      line = fused(wx[1], row[1], line);
      line = fused(wx[2], row[2], line);
      line = fused(wx[3], row[3], line);
      layer = fused(wy[j], line, layer);
    }
    sum = fused(wz[k], layer, sum);
  }
  const F e = exponential(abs_of(sum));
  // The spline is one of asinh(E / kSoft): E = kSoft sinh |sum|, with the sign of the sum.
  const F half_sinh = F(0.5 * kSoft) * (e - reciprocal(e));
  const F energy = sum < F(0) ? -half_sinh : half_sinh;
  return blocked(v.value[0]) ? F(kForbidden) : energy;
}

// E_grid of Eq. 5.
template <class F>
MM_HD F framework_energy(const Model<F>& m, int species, const Site& s) {
  return m.cubic ? cubic_energy(m, species, s) : interpolated(grid_cell(m, species, s));
}

// ---- decisions ----

// Which molecule all systems try to move at this step. They are independent all the same: given
// the sequence of molecules, each is a Markov chain of its own (docs/theory/adsorption.md).
struct CommonDraw {
  std::uint32_t molecule, kind;
};
MM_HD CommonDraw common_draw(PhiloxKey key, std::uint64_t step) {
  std::uint32_t word[4];
  random_words(word, key, step, kEverySystem, 0u, Purpose::common);
  return {word[0], word[1]};
}

// Eq. 2.
template <class F>
MM_HD bool metropolis(F beta, F difference, std::uint32_t word) {
  return uniform(word) < static_cast<double>(exponential(-mul_rn(beta, difference)));
}

// w_i of section 4.3, relative to that of the old state: a weight from the total energy overflows.
template <class F>
MM_HD F weight(F beta, F difference) {
  return exponential(-mul_rn(beta, difference));
}

// What all differences are reduced by before their weights are taken: nothing, unless a state is
// proposed that is so much better than the old one that its weight would overflow.
template <class F>
MM_HD F weight_shift(F beta, F lowest) {
  return mul_rn(beta, lowest) < F(-60) ? lowest : F(0);
}

// E_i - E_o, where sums and squares of it stay finite.
template <class F>
MM_HD F energy_difference(F fresh, F old) {
  return min_of(fresh - old, F(kForbidden));
}

// Section 4.3, step 5: follows the partial sums of the reduction downwards (Listing 1). The sums
// of level n are those after n steps of a butterfly over kWidth lanes with distances 16, 8, ... 1.
// Never ends at a lane of weight zero. `rest`: a uniform part of the total on entry, of the lane's
// own sum on return.
template <class F, class Partial>
MM_HD int choose_lane(F& rest, Partial&& partial) {
  int lane = 0;
  MM_UNROLL
  for (int level = 4; level >= 0; --level) {
    // Level n has the sums over lanes that agree in their lowest 5 - n bits.
    const int bit = 16 >> level;
    const F left = partial(level, lane), right = partial(level, lane | bit);
    // The uniform part lies in the right half of the sums: the left half is taken off.
    if (!(rest < left) && right > F(0)) {
      rest -= left;
      lane |= bit;
    }
  }
  return lane;
}

// Which of a lane's own weights; the last that is not zero if rounding leaves something over.
template <class F>
MM_HD int choose_own(F rest, const F* weights, int count) {
  int chosen = 0;
  bool found = false;
  for (int c = 0; c < count; ++c)
    if (!found && weights[c] > F(0)) {
      chosen = c;
      found = rest < weights[c];
      rest -= weights[c];
    }
  return chosen;
}

// Bin of the profile, over one period of the framework along the direction.
template <class F>
MM_HD int profile_bin(const Model<F>& m, const Site& s) {
  const std::uint32_t q = m.direction[0] * (s.x * m.cells[0]) +
                          m.direction[1] * (s.y * m.cells[1]) + m.direction[2] * (s.z * m.cells[2]);
  return static_cast<int>(uniform_below(q, static_cast<std::uint32_t>(m.bins)));
}

// Probabilities add up exactly, in whatever order, as multiples of 2^-32.
MM_HD std::uint64_t quantum(double probability) {
  // 2^32 measured steps of probability 1 fit 64 bits.
  return static_cast<std::uint64_t>(probability * 0x1p32);
}

// Grand canonical: acceptance of one molecule more, or less, with the others' energy change.
// D. Frenkel, B. Smit, Understanding Molecular Simulation, Eqs. 5.6.8 and 5.6.9.
template <class F>
MM_HD bool accept_insertion(F beta, F difference, double activity, int present,
                            std::uint32_t word) {
  const double limit = activity * static_cast<double>(weight(beta, difference));
  return mul_rn(uniform(word), static_cast<double>(present + 1)) < limit;
}
template <class F>
MM_HD bool accept_deletion(F beta, F difference, double activity, int present, std::uint32_t word) {
  const double limit =
      mul_rn(static_cast<double>(present), static_cast<double>(weight(beta, difference)));
  return mul_rn(uniform(word), activity) < limit;
}

// ---- averages ----

// What each system adds up.
enum Sum {
  kPlain,         // energy of the state after each step
  kWaste,         // sum_i p_i E_i, section 4.3, step 4
  kWasteSquared,  // sum_i p_i E_i^2, Eq. 8
  kJump,          // sum_i p_i (E_i - E_o)^2, Eq. 8
  kEnergySquared,
  kNumber,
  kNumberSquared,
  kEnergyNumber,
  kOfSpecies,                          // numbers of each species
  kDrift = kOfSpecies + kMostSpecies,  // largest error of an energy that was carried along
  // Of rigid molecules with one proposal per step, see docs/theory/open_systems.md: the expected
  // minus the actual change of each species' number and of the energy, given the trials,
  kExpected,
  kExpectedEnergy = kExpected + kMostSpecies,
  // tried insertions minus tried deletions of each species,
  kChoice,
  // beta f V W of tried insertions, their number, and the molecules present then,
  kTest = kChoice + kMostSpecies,
  kTested = kTest + kMostSpecies,
  kPresent = kTested + kMostSpecies,
  // and tried and accepted reinsertions and identity changes.
  kReinsertions = kPresent + kMostSpecies,
  kReinserted,
  kIdentities,
  kChangedIdentities,
  // Of open mixtures: the energy times the number of each species, and the products of the numbers
  // of two species, see product_of.
  kEnergyOfSpecies,
  kProducts = kEnergyOfSpecies + kMostSpecies,
  // Tried and accepted partial regrowths of chains.
  kRegrowths = kProducts + kMostSpecies * (kMostSpecies + 1) / 2,
  kRegrown,
  kSums
};
// The row of the product of the numbers of species a and b, a <= b.
MM_HD constexpr int product_of(int a, int b) { return kProducts + b * (b + 1) / 2 + a; }
// Adds what the heats of a mixture need (docs/theory/open_systems.md, section 6) to the sums of a
// system, which are `stride` apart. Not inlined on a GPU, where single gases need the registers.
MM_COLD void add_mixture(double* sums, std::size_t stride, int species, double energy,
                         const std::int32_t* counts) {
  for (int b = 0; b < species; ++b) {
    const double n = counts[b];
    sums[stride * static_cast<std::size_t>(kEnergyOfSpecies + b)] += mul_rn(energy, n);
    for (int a = 0; a <= b; ++a)
      sums[stride * static_cast<std::size_t>(product_of(a, b))] +=
          mul_rn(static_cast<double>(counts[a]), n);
  }
}

}  // namespace manymove::adsorption
