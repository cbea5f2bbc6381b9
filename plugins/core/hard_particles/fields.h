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
  double sign;           // +1 for particles inside a sphere or cylinder, -1 outside
  double length;         // `length` of ExternalField
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
  float squares[3];  // of the units, in those of the largest one
  float edges[3];    // of the box
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
      if (!(s > 0 && s < t.range)) return 0;
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
// 1e-5.
MM_HD Decision estimated(float rise, std::uint32_t word) {
  const float estimate = __builtin_exp2f(rise * -1.44269504f) * 4294967296.0f;
  const auto given = static_cast<float>(word);
  const float band = estimate * 1e-4f + 512.0f;
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
  bool linear;       // whether there is a linear field
  bool soft;         // whether there is anything besides hard walls
  bool faces[3];     // whether a field jumps at a face of the box in the tile
  bool uniform;      // whether estimates are the same for all places
  int number;        // of the other fields
  std::uint8_t terms[kMostFields];
  std::uint8_t axes[kMostFields];  // to which a wall of WallNear is perpendicular; 3: it is none
};

inline constexpr float kNoWall = -1e30f, kHard = 1e30f;

// A wall perpendicular to an axis, in integer units. Its distance or length less the distance from
// it is depth + inward . t after a displacement t. It has no effect above `top`, which is beyond a
// face of the box. stiffness: half of the constant of a harmonic wall, kHard for a hard wall.
struct alignas(16) WallNear {
  float inward[3] = {0, 0, 0}, depth = kNoWall;
  float top = -kNoWall, stiffness = 0;
  float unsure = 0;  // more than the error of a depth
  float clear2 = 0;  // nothing is known where |t|^2 is not below

  // The energy after a displacement, NaN where it is not known.
  template <int D>
  MM_HD float energy(const float t[D]) const {
    float at = depth;
    MM_UNROLL
    for (int a = 0; a < D; ++a) at = fast_fma(inward[a], t[a], at);
    const float in = at > top ? 0.0f : max_of(at, 0.0f);
    const bool known =
        (min_of(abs_of(at), abs_of(at - top)) > unsure) & (squared_length<D>(t) < clear2);
    return known ? stiffness * in * in : __builtin_nanf("");
  }
};

// Estimates around a place. Without the wall, the energy after a displacement t in integer units is
// sum_a t_a (slope_a + bend squares_a t_a). A move by `by` from u is accepted if the energy rises
// by less than the negative logarithm of the random number, that is, if its excess is negative.
struct FieldsNear {
  float slope[3] = {0, 0, 0}, bend = 0;
  float error = 1.5e-5f;  // more than that of an excess
  bool has_wall = false;  // whether displacements may lead where `wall` says more than 0
  WallNear wall;

  // The bound on the rest of the rise, of which u is a part; NaN where more bits of the random
  // number are needed. word: the upper half of it.
  template <int D>
  MM_HD float bound(const FieldView& f, const float by[D], std::uint32_t word) const {
    float rise = 0;
    MM_UNROLL
    for (int a = 0; a < D; ++a)
      rise = fast_fma(by[a], fast_fma(bend * f.squares[a], by[a], slope[a]), rise);
    const float given = static_cast<float>(word) * 0x1p-32f;
    const float log = fast_log2(given) * -0.693147181f;
    return given < 0x1p-15f ? __builtin_nanf("") : log - rise;
  }
  // Without the energy of the wall.
  template <int D>
  MM_HD float excess(const FieldView& f, const float by[D], const float u[D], float bound) const {
    float product = 0;
    MM_UNROLL
    for (int a = 0; a < D; ++a) product = fast_fma(by[a] * f.squares[a], u[a], product);
    return fast_fma(2 * bend, product, -bound);
  }
};
// The bound of all moves where there are hard walls only.
inline constexpr float kFree = 1;

// The distance, in integer units, of a place from where another wall acts, or where a field jumps.
template <int D>
MM_COLD double clearance(const FieldView& f, const FieldTerm& t, double from, double x, double y,
                         double z) {
  double r[3] = {x, y, z}, clear = 1e15;
  for (int a = 0; a < D; ++a) {
    if (f.jumps[a]) clear = min_of(clear, 0.5 * f.extent[a] - abs_of(r[a]));
    r[a] *= f.unit[a];
  }
  return min_of(clear, (wall_distance(t, r) - from) / f.largest_unit);
}

// Adds a wall perpendicular to an axis. x: the coordinate in integer units from the center of the
// box. Returns the largest change of its energy; `clear` becomes at most the displacement that does
// not lead to a wall that is left out.
template <int D>
MM_HD float add_wall(const FieldView& f, const FieldTerm& t, int axis, double value, double x,
                     double reach, WallNear& wall, double& clear) {
  const bool hard = t.kind == FieldKind::wall;
  const double side = t.direction[axis], extent = f.extent[axis], unit = f.unit[axis];
  // From the face of the box towards which the depth grows, and from the other one, behind which
  // the wall has no effect.
  double height = 0.5 * extent + side * x;
  const double across = extent - height,
               top = ((hard ? value : t.range) + side * t.origin[axis]) / unit + 0.5 * extent;
  const bool other_side = across <= reach;
  if ((other_side || height <= reach) && top + 2 * reach > extent) clear = 0;
  if (other_side) height = -across;
  const double depth = top - height;
  // Roundings of the exact distance are below a unit.
  if (top < -1 || depth + reach < 0) return 0;
  if (wall.stiffness != 0) {
    // A wall on this side of a face comes before one beyond it.
    const bool first = wall.depth > wall.top && !other_side;
    clear = min_of(clear, first        ? static_cast<double>(wall.depth - wall.top)
                          : other_side ? across
                                       : -depth);
    if (!first) return 0;
  }
  const auto way = static_cast<float>(reach), inward = static_cast<float>(-side);
  MM_UNROLL
  for (int a = 0; a < D; ++a) wall.inward[a] = a == axis ? inward : 0.0f;
  wall.depth = static_cast<float>(depth);
  wall.top = static_cast<float>(top);
  wall.unsure = 1e-6f * (abs_of(wall.depth) + way);
  const auto strength = static_cast<float>(value * unit * unit);
  wall.stiffness = hard ? kHard : 0.5f * strength;
  const float deepest = min_of(wall.depth, wall.top) + way;
  return hard ? 0 : strength * deepest * max_of(deepest, way);
}

// For displacements of at most `reach` from r, which is relative to the tile's center.
template <int D>
MM_HD FieldsNear fields_near(const FieldView& f, const FieldsOfTile& tile, std::uint32_t id,
                             const float r[D], float reach) {
  FieldsNear near;
  MM_UNROLL
  for (int a = 0; a < D; ++a) near.slope[a] = tile.slope[a];
  // The sum of the largest changes of all energies, and the least distance.
  float change = tile.steep * reach, shorter = 1e15f;
  if (!tile.uniform) {
    double clear = 1e15, x[3] = {0, 0, 0};               // from the center of the box
    const double most = static_cast<double>(reach) + 2;  // more than roundings of float32
    MM_UNROLL
    for (int a = 0; a < D; ++a) {
      x[a] = tile.center[a] + static_cast<double>(r[a]);
      if (!tile.faces[a]) continue;
      if (x[a] >= 0.5 * f.extent[a]) x[a] -= f.extent[a];
      if (x[a] < -0.5 * f.extent[a]) x[a] += f.extent[a];
      if (tile.linear) clear = min_of(clear, 0.5 * f.extent[a] - abs_of(x[a]));
    }
    MM_NO_UNROLL
    for (int k = 0; k < tile.number; ++k) {
      const FieldTerm& t = f.terms[tile.terms[k]];
      const double value = t.values ? t.values[id] : t.value;
      if (t.kind == FieldKind::springs) {
        const float way = reach * static_cast<float>(f.largest_unit),
                    strength = static_cast<float>(value * f.largest_unit * f.largest_unit);
        MM_UNROLL
        for (int a = 0; a < D; ++a) {
          const double point = t.points[static_cast<std::size_t>(id) * D + a];
          auto d = static_cast<float>(x[a] * f.unit[a] - point);
          if (abs_of(d) > 0.5f * f.edges[a]) {
            const double edge = f.extent[a] * f.unit[a];
            d = static_cast<float>(x[a] * f.unit[a] - (d > 0 ? point + edge : point - edge));
          }
          // The nearest image has to be the same everywhere.
          if (!(abs_of(d) + way < 0.4999f * f.edges[a])) clear = 0;
          const float slope = static_cast<float>(value * f.unit[a]) * d;
          near.slope[a] += slope;
          change += abs_of(slope) * reach;
        }
        near.bend += 0.5f * strength;
        change += strength * (reach * reach * D);
      } else if (t.kind == FieldKind::linear) {
        MM_UNROLL
        for (int a = 0; a < D; ++a) {
          const auto slope = static_cast<float>(value * t.direction[a] * f.unit[a]);
          near.slope[a] += slope;
          change += abs_of(slope) * reach;
        }
      } else if (const int axis = tile.axes[k]; axis == 3) {
        const double from = t.kind == FieldKind::wall ? value : t.range;
        clear = min_of(clear, clearance<D>(f, t, from, x[0], x[1], x[2]));
      } else {
        const double at = axis == 0 ? x[0] : axis == 1 ? x[1] : x[2];
        change += add_wall<D>(f, t, axis, value, at, most, near.wall, clear);
      }
    }
    // More than all roundings to float32 is taken off.
    shorter = static_cast<float>(clear) * (1 - 1e-5f) - 2;
  }
  // At most 128 roundings to float32 of the changes.
  near.error += 0x1p-17f * change;
  if (!(near.error < 1e-3f) && tile.soft) shorter = 0;
  near.wall.clear2 = shorter > 0 ? shorter * shorter : 0.0f;
  near.has_wall = near.wall.stiffness != 0 || shorter <= reach;
  return near;
}

// ---- a tile's particles in the fields ----

// Nothing: the policy of a system without fields, whose kernels have no trace of them.
struct NoField {
  static constexpr bool kIs = false, kSteps = false;
};

template <int D>
struct TileField {
  static constexpr bool kIs = true, kSteps = false;
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
      at[a] = place.at[a] - 0.5 * f.extent[a];
      if (at[a] >= 0.5 * f.extent[a]) at[a] -= f.extent[a];
      all.center[a] = at[a];
      side[a] = static_cast<double>(b.size[a] + 1) * static_cast<double>(g.half[a]) + 1;
      const bool face = abs_of(at[a]) + side[a] > 0.5 * f.extent[a];
      all.faces[a] = face && f.jumps[a];
      at[a] = face ? 0 : at[a] * f.unit[a];
      side[a] = (face ? 0.5 * f.extent[a] + 1 : side[a]) * f.unit[a];
    }
    MM_NO_UNROLL
    for (int k = 0; k < f.number; ++k) {
      const FieldTerm& t = f.terms[k];
      all.linear |= t.kind == FieldKind::linear;
      all.soft |= all.linear || t.kind == FieldKind::springs;
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
      all.axes[all.number] = 3;
      // Beside a component of 1 another one may be 1e-8, which is much in a long box.
      const double all_along =
          abs_of(t.direction[0]) + abs_of(t.direction[1]) + abs_of(t.direction[2]);
      if (t.shape == WallShape::plane && t.kind != FieldKind::lj93_wall && all_along == 1)
        for (int a = 0; a < D; ++a)
          if (abs_of(t.direction[a]) == 1) all.axes[all.number] = static_cast<std::uint8_t>(a);
      all.terms[all.number++] = static_cast<std::uint8_t>(k);
    }
    all.uniform =
        all.number == 0 && !(all.linear && (all.faces[0] || all.faces[1] || all.faces[2]));
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

// The same in systems with steps, with or without fields.
template <int D>
struct TileSteps : TileField<D> {
  static constexpr bool kSteps = true;
};

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
