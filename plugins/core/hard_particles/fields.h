// SPDX-License-Identifier: BSD-3-Clause
// External fields of the policy `Particles`: the energy of a particle as a function of its place,
// and the decision about a trial move, the same bits on every backend
// (docs/theory/external_fields.md).
//
// A place is an integer and an energy a chain of IEEE operations with one rounding each, which no
// compiler may contract, so that an energy is a function of the place alone. Energies are in kT.
#pragma once

#include "../runtime/logarithm.h"
#include "engine.h"
#include "particles.h"
#include "steps.h"

namespace manymove::hard_particles {

// A field on the memory of the engine's device; what is not of its kind is 0.
struct FieldTerm {
  FieldKind kind;
  WallShape shape;
  double origin[3];
  double direction[3];  // unit vector
  double radius;
  double sign;    // +1 for particles inside a sphere or cylinder, -1 outside
  double length;  // `length` of ExternalField
  double cutoff;
  double range;          // of a wall: the distance beyond which it has no effect
  double shift;          // lj93: the bracket at the cutoff
  double value;          // of all particles
  const double* values;  // null, or by particle
  const double* points;  // springs: by particle, [D]
};

// All fields, and where the grid lies in the box in the present cycle. Lengths of the grid are in
// integer units.
struct FieldView {
  int number;
  bool soft;      // whether there is anything besides hard walls
  bool jumps[3];  // whether a field differs between the two sides of a face of the box
  double largest_unit;
  double origin[3];
  double extent[3];
  double unit[3];
  float squares[3];  // of the units
  FieldTerm terms[kMostFields];
  StepView steps;
};

// ---- energies (docs/theory/external_fields.md, section 1) ----

MM_HD double product_of(const double a[3], const double b[3]) {
  return multiply_add_unfused(a[0], b[0], multiply_add_unfused(a[1], b[1], mul_rn(a[2], b[2])));
}

// The distance of a particle's center from a wall, positive on the side of the particles.
MM_HD double wall_distance(const FieldTerm& t, const double r[3]) {
  double d[3] = {r[0] - t.origin[0], r[1] - t.origin[1], r[2] - t.origin[2]};
  if (t.shape == WallShape::plane) return product_of(d, t.direction);
  if (t.shape == WallShape::cylinder) {
    const double along = product_of(d, t.direction);
    for (int a = 0; a < 3; ++a) d[a] = multiply_add_unfused(-along, t.direction[a], d[a]);
  }
  return mul_rn(t.sign, t.radius - square_root(product_of(d, d)));
}

// The energy of a particle in a field; `forbidden` becomes true where it is infinite.
template <int D>
MM_HD double energy_in(const FieldView& f, const FieldTerm& t, std::uint32_t id, const double r[3],
                       bool& forbidden) {
  const double value = t.values ? t.values[id] : t.value;
  switch (t.kind) {
    case FieldKind::linear: {
      const double d[3] = {r[0] - t.origin[0], r[1] - t.origin[1], r[2] - t.origin[2]};
      return mul_rn(value, product_of(d, t.direction));
    }
    case FieldKind::springs: {
      double d[3] = {0, 0, 0};
      for (int a = 0; a < D; ++a) {
        const double edge = mul_rn(f.extent[a], f.unit[a]);
        d[a] = r[a] - t.points[static_cast<std::size_t>(id) * D + a];
        // The nearest image.
        if (d[a] > 0.5 * edge) d[a] = d[a] - edge;
        if (d[a] < -0.5 * edge) d[a] = d[a] + edge;
      }
      return mul_rn(mul_rn(0.5, value), product_of(d, d));
    }
    case FieldKind::wall:
      forbidden |= wall_distance(t, r) < value;
      return 0;
    case FieldKind::harmonic_wall: {
      const double depth = t.length - wall_distance(t, r);
      return depth > 0 ? mul_rn(mul_rn(0.5, value), mul_rn(depth, depth)) : 0;
    }
    default: {  // lj93_wall
      const double s = wall_distance(t, r);
      forbidden |= !(s > 0);
      if (!(s > 0 && s < t.cutoff)) return 0;
      const double q = t.length / s, q3 = mul_rn(q, mul_rn(q, q));
      const double q9 = mul_rn(q3, mul_rn(q3, q3));
      return mul_rn(value, multiply_add_unfused(2.0 / 15, q9, -q3) - t.shift);
    }
  }
}

// The coordinates of a place in integer units from the box's lower corner, below twice the extent.
template <int D>
MM_HD void coordinates_at(const FieldView& f, const double place[3], double r[3]) {
  for (int a = 0; a < 3; ++a) r[a] = 0;
  for (int a = 0; a < D; ++a) {
    // Integers below 2^53: exact. The center of the box is at an integer, too.
    const double x = place[a] >= f.extent[a] ? place[a] - f.extent[a] : place[a];
    r[a] = mul_rn(x - 0.5 * f.extent[a], f.unit[a]);
  }
}

// Of such a place.
template <int D>
MM_CALL double energy_at(const FieldView& f, std::uint32_t id, const double place[3],
                         bool& forbidden) {
  double r[3], sum = 0;
  coordinates_at<D>(f, place, r);
  MM_NO_UNROLL
  for (int k = 0; k < f.number; ++k) sum = sum + energy_in<D>(f, f.terms[k], id, r, forbidden);
  // A sum that overflows is as good as infinite.
  forbidden |= !(sum < 1e300);
  return sum;
}

// ---- decisions (section 2) ----

// The number of a trial move's random word: four in a call.
MM_HD int field_call(int move) { return move / 4; }
inline constexpr int kSecondWord = 0x8000;  // is added to the calls of the second words

// Whether exp(-rise) exceeds a number in [0, 1) of 64 bits, whose upper half is `word`; the lower
// half is second(), which is asked for in one of about 2^32 moves.
template <class Second>
MM_COLD bool exactly_exceeds(double rise, std::uint32_t word, const Second& second) {
  // The product with a power of two is exact, and so is the difference from its whole part.
  const double t = mul_rn(exponential(-rise), 4294967296.0);
  if (!(t < 4294967296.0)) return true;  // a rise that rounds away
  const auto whole = static_cast<std::uint32_t>(t);
  if (word != whole) return word < whole;
  return static_cast<double>(second()) < mul_rn(t - static_cast<double>(whole), 4294967296.0);
}

enum class Decision { rejected, accepted, unknown };

// Decides by an estimate of the exponential of a rise of at least 0. Its relative error is below
// 1e-5 and the error of the rise; error: more than both.
MM_HD Decision estimated(float rise, std::uint32_t word, float error = 1e-4f) {
  const float estimate = __builtin_exp2f(rise * -1.44269504f) * 4294967296.0f;
  const auto given = static_cast<float>(word);
  const float band = estimate * error + 512.0f;
  return given > estimate + band   ? Decision::rejected
         : given < estimate - band ? Decision::accepted
                                   : Decision::unknown;
}

template <class Second>
MM_HD bool accepts_rise(double rise, std::uint32_t word, const Second& second) {
  if (!(rise > 0)) return true;
  if (rise > 45) return false;  // exp(-45) < 2^-64
  // An estimate decides most moves.
  const Decision decision = estimated(static_cast<float>(rise), word);
  if (decision != Decision::unknown) return decision == Decision::accepted;
  return exactly_exceeds(rise, word, second);
}

// ---- the fields around a place (section 2) ----

// The fields that may act in a tile.
struct FieldsOfTile {
  double center[3];  // of the tile, from that of the box, in integer units
  float slope[3];    // of the linear fields with one strength, per integer unit
  float steep;       // the sum of its absolute values
  bool soft;         // whether there is anything besides hard walls
  bool faces[3];     // whether a field jumps at a face of the box in the tile
  int number;        // of the other fields
  std::uint8_t terms[kMostFields];
};

// Estimates around a place. Displacements t are in integer units.
struct alignas(16) FieldsNear {
  // Estimates hold where |t|^2 is below clear2. Without walls, the energy is sum_a t_a (slope_a +
  // bend unit_a^2 t_a).
  float slope[3], clear2;
  // A plane wall, if it can be met: its distance or length less the distance from it is depth +
  // inward . t, in a unit of length in which kWallError is more than the error. It has no effect
  // above `top`, which is beyond a face of the box. stiffness: half of the constant of a harmonic
  // wall, negative for a hard wall.
  float inward[3], depth;
  float bend, stiffness, top;
  float error;  // more than that of a difference of two energies, and 1e-5

  template <int D>
  MM_HD float depth_at(const float t[D]) const {
    float sum = depth;
    for (int a = 0; a < D; ++a) sum += inward[a] * t[a];
    return sum;
  }
  template <int D>
  MM_HD float energy(const FieldView& f, const float t[D], float depth) const {
    const float in = depth > top ? 0.0f : max_of(depth, 0.0f);
    float sum = max_of(stiffness, 0.0f) * in * in;
    for (int a = 0; a < D; ++a) sum += t[a] * (slope[a] + bend * f.squares[a] * t[a]);
    return sum;
  }
};
inline constexpr float kNoWall = -1e30f, kWallError = 2e-6f;

// A face of the box that displacements may cross, at most one: the axis, or -1, the distance, and
// the way from one side to the other, in lengths. lone: whether estimates beyond it are possible.
struct FaceNear {
  int axis = -1;
  double away = 0, across = 0;
  bool lone = true;
  bool has_wall = false;  // whether FieldsNear has a wall beyond it
};

// Adds a wall. depth: as in FieldsNear. Returns the largest change of its energy; `clear` becomes
// at most the displacement that does not lead to a wall that is left out.
template <int D>
MM_HD float add_wall(const FieldView& f, const FieldTerm& t, double value, const double x[3],
                     double farthest, FaceNear& face, FieldsNear& near, float& clear) {
  const bool hard = t.kind == FieldKind::wall;
  const double from = hard ? value : t.range;
  double depth = from - wall_distance(t, x), top = 1e30;
  bool own = depth + farthest >= 0;
  if (own && face.has_wall) {  // a wall on this side comes first
    near.depth = kNoWall;
    face.has_wall = face.lone = false;
  }
  if (face.axis >= 0 && face.lone) {
    double y[3] = {x[0], x[1], x[2]};
    for (int a = 0; a < D; ++a)
      if (a == face.axis) y[a] += face.across;
    const double beyond = from - wall_distance(t, y);
    const bool there = beyond + farthest >= 0;
    // The depth has to grow on the way to the wall's side of the face, and then to fall.
    double up = 0;
    for (int a = 0; a < D; ++a)
      if (a == face.axis) up = face.across > 0 ? t.direction[a] : -t.direction[a];
    if (t.shape != WallShape::plane || near.depth != kNoWall || up != (own ? 1 : -1))
      face.lone &= !own && !there;
    else if (own && there)
      face.lone = false;
    else if (own || there) {
      if (there) depth = beyond;
      face.has_wall = there;
      top = depth + up * face.away;
      own = true;
    }
  }
  if (!own) return 0;
  if (t.shape != WallShape::plane || t.kind == FieldKind::lj93_wall || near.depth != kNoWall) {
    // Less than all roundings is taken off.
    const float away = static_cast<float>(-depth) / static_cast<float>(f.largest_unit);
    clear = min_of(clear, away * (1 - 1e-5f) - 2);
    face.lone = false;
    return 0;
  }
  const auto way = static_cast<float>(farthest), deepest = static_cast<float>(depth) + way;
  const float length = abs_of(static_cast<float>(depth)) + way, per = 1.0f / length;
  near.depth = static_cast<float>(depth) * per;
  near.top = static_cast<float>(top) * per;
  for (int a = 0; a < D; ++a)
    near.inward[a] = static_cast<float>(-t.direction[a] * f.unit[a]) * per;
  near.stiffness = hard ? -1 : static_cast<float>(0.5 * value) * (length * length);
  return hard ? 0 : static_cast<float>(value) * deepest * max_of(deepest, way);
}

// For displacements of at most `reach` from r, which is relative to the tile's center.
template <int D>
MM_HD FieldsNear fields_near(const FieldView& f, const FieldsOfTile& tile, std::uint32_t id,
                             const float r[D], float reach) {
  FieldsNear near{{}, 0, {}, kNoWall, 0, 0, -kNoWall, 0};
  double x[3] = {0, 0, 0};  // from the center of the box
  // The least distance in units, that from faces, and the sum of the largest changes of all
  // energies.
  float clear = 1e18f, inside = 1e18f, change = tile.steep * reach;
  FaceNear face;
  face.lone = tile.steep == 0;
  for (int a = 0; a < D; ++a) {
    near.slope[a] = tile.slope[a];
    if (tile.number == 0 && !tile.faces[a]) continue;
    x[a] = tile.center[a] + static_cast<double>(r[a]);
    if (x[a] >= 0.5 * f.extent[a]) x[a] -= f.extent[a];
    const double away = 0.5 * f.extent[a] - abs_of(x[a]);
    if (tile.faces[a] && away < static_cast<double>(reach) + 2) {
      inside = min_of(inside, static_cast<float>(away) - 2);
      face.lone &= face.axis < 0;
      face.axis = a;
      face.away = away * f.unit[a];
      face.across = (x[a] > 0 ? -1 : 1) * f.extent[a] * f.unit[a];
    }
    x[a] *= f.unit[a];
  }
  const double farthest = (static_cast<double>(reach) + 2) * f.largest_unit;
  MM_NO_UNROLL
  for (int k = 0; k < tile.number; ++k) {
    const FieldTerm& t = f.terms[tile.terms[k]];
    const double value = t.values ? t.values[id] : t.value;
    if (t.kind == FieldKind::springs) {
      for (int a = 0; a < D; ++a) {
        const double edge = f.extent[a] * f.unit[a];
        double d = x[a] - t.points[static_cast<std::size_t>(id) * D + a];
        d -= d > 0.5 * edge ? edge : d < -0.5 * edge ? -edge : 0;
        // The nearest image has to be the same everywhere.
        if (!(abs_of(d) + farthest < 0.4999 * edge)) clear = 0;
        const auto slope = static_cast<float>(value * f.unit[a] * d);
        near.slope[a] += slope;
        change += abs_of(slope) * reach;
      }
      near.bend += static_cast<float>(0.5 * value);
      change += static_cast<float>(value * farthest * farthest) * D;
    } else if (t.kind == FieldKind::linear) {
      for (int a = 0; a < D; ++a) {
        const auto slope = static_cast<float>(value * t.direction[a] * f.unit[a]);
        near.slope[a] += slope;
        change += abs_of(slope) * reach;
      }
      face.lone = false;
    } else {
      change += add_wall<D>(f, t, value, x, farthest, face, near, clear);
    }
  }
  if (!face.lone) clear = min_of(clear, inside);
  // At most 30 roundings to float32 of the changes.
  near.error = 1.5e-5f + 2 * 30 * 0x1p-24f * change;
  if (clear > 0 && (near.error < 1e-3f || !tile.soft)) near.clear2 = clear * clear;
  return near;
}

// ---- a tile's particles in the fields ----

// Nothing: the policy of a system without fields, whose kernels have no trace of them.
struct NoField {
  static constexpr bool kIs = false, kSteps = false;
};

template <int D>
struct TileField {
  static constexpr bool kIs = true, kSteps = false, kSoft = true;  // there may be any field
  const FieldView& f;
  const Geometry& g;
  const TileBounds& b;
  const FieldsOfTile* here = nullptr;  // where estimates are made

  struct Place {
    double at[3];
  };
  // In integer units from the box's lower corner; r: from the tile's center. Nothing is kept,
  // because a GPU has no registers for it.
  MM_HD Place place_of(const float r[D]) const {
    Place place{};
    for (int a = 0; a < D; ++a) {
      int first = b.first[a];
      if (a == D - 1 && g.part.whole > 0) {  // rows of a strip count from its first
        first += g.part.first_row;
        if (first >= g.part.whole) first -= g.part.whole;
      }
      // 2 H for each cell before; local cell 0 is at -size H from the tile's center, and its lower
      // face at -(size + 1) H. All sums are exact.
      const double halves = 2.0 * first + b.size[a] + 1.0;
      const double center = f.origin[a] + halves * static_cast<double>(g.half[a]);
      place.at[a] = center + static_cast<double>(r[a]);
    }
    return place;
  }
  MM_HD double energy(std::uint32_t id, const float r[D], bool& forbidden) const {
    return energy_at<D>(f, id, place_of(r).at, forbidden);
  }
  // A wall is left out if no place of the tile is within its range.
  MM_HD FieldsOfTile of_tile() const {
    FieldsOfTile all{};
    const float middle[3] = {0, 0, 0};
    const Place place = place_of(middle);
    double at[3] = {0, 0, 0}, side[3] = {0, 0, 0};  // of a block that has all places
    for (int a = 0; a < D; ++a) {
      all.center[a] = place.at[a] - 0.5 * f.extent[a];
      at[a] = all.center[a] >= 0.5 * f.extent[a] ? all.center[a] - f.extent[a] : all.center[a];
      side[a] = static_cast<double>(b.size[a] + 1) * static_cast<double>(g.half[a]) + 1;
      const bool face = abs_of(at[a]) + side[a] > 0.5 * f.extent[a];
      all.faces[a] = face && f.jumps[a];
      at[a] = face ? 0 : at[a] * f.unit[a];
      side[a] = (face ? 0.5 * f.extent[a] + 1 : side[a]) * f.unit[a];
    }
    MM_NO_UNROLL
    for (int k = 0; k < f.number; ++k) {
      const FieldTerm& t = f.terms[k];
      all.soft |= t.kind == FieldKind::linear || t.kind == FieldKind::springs;
      if (t.kind == FieldKind::linear && !t.values) {
        for (int a = 0; a < D; ++a) {
          const auto slope = static_cast<float>(t.value * t.direction[a] * f.unit[a]);
          all.slope[a] += slope;
          all.steep += abs_of(slope);
        }
        continue;
      }
      if (t.kind != FieldKind::linear && t.kind != FieldKind::springs) {
        const double to_corner = t.shape == WallShape::plane
                                     ? abs_of(t.direction[0]) * side[0] +
                                           abs_of(t.direction[1]) * side[1] +
                                           abs_of(t.direction[2]) * side[2]
                                     : square_root(product_of(side, side));
        if (wall_distance(t, at) - to_corner > t.range) continue;
        all.soft |= t.kind != FieldKind::wall;
      }
      all.terms[all.number++] = static_cast<std::uint8_t>(k);
    }
    return all;
  }

  // Whether a trial move of a particle to r, relative to the tile's center, is accepted; then
  // `energy` becomes that of the new place. word: the move's, if a field is soft. rise: with
  // steps, the change of the energies of pairs.
  template <class Second, class... Rise>
  MM_HD bool accepts(std::uint32_t id, const float r[D], double& energy, std::uint32_t word,
                     const Second& second, Rise... rise) const {
    bool forbidden = false;
    const double there = this->energy(id, r, forbidden);
    if (forbidden || (f.soft && !accepts_rise(((there - energy) + ... + rise), word, second)))
      return false;
    energy = there;
    return true;
  }
};

// The same if all fields are hard walls.
template <int D>
struct TileWalls : TileField<D> {
  static constexpr bool kSoft = false;
};

// The same in systems with steps, with or without fields.
template <int D>
struct TileSteps : TileField<D> {
  static constexpr bool kSteps = true;
};

// The decision about a trial move to `to`, from where `near` belongs to, without energies where
// this is possible. here: the estimated energy, NaN if it is not known; that at `to` becomes
// `there`.
template <int D, bool Soft>
MM_HD Decision decide(const FieldView& f, const FieldsNear& near, const float to[D],
                      std::uint32_t word, float here, float& there) {
  const float depth = near.template depth_at<D>(to);
  const bool near_enough = squared_length<D>(to) < near.clear2;
  const bool hard = near.stiffness < 0, in_wall = hard & (depth > 0) & (depth < near.top);
  bool known = near_enough & (abs_of(depth - near.top) > kWallError) &
               !(hard & (abs_of(depth) <= kWallError));
  bool accepted = !in_wall;
  if constexpr (Soft) {  // without branches, for a GPU
    there = near.template energy<D>(f, to, depth) + (near_enough ? 0.0f : __builtin_nanf(""));
    const float rise = there - here;
    const Decision decision = estimated(max_of(rise, 0.0f), word, near.error);
    const bool falls = rise < -near.error;
    known &= (rise == rise) & (in_wall | falls | (decision != Decision::unknown));
    accepted &= falls | (decision == Decision::accepted);
  }
  return known ? accepted ? Decision::accepted : Decision::rejected : Decision::unknown;
}

// Either of both, in a tile.
template <class F>
MM_HD F field_of(const FieldView* view, const Geometry& g, const TileBounds& b,
                 const FieldsOfTile* here = nullptr) {
  if constexpr (F::kIs)
    return F{*view, g, b, here};
  else
    return {};
}

}  // namespace manymove::hard_particles
