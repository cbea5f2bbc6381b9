// SPDX-License-Identifier: BSD-3-Clause
#include "external_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "../runtime/errors.h"

namespace manymove::hard_particles {
namespace {

bool is_wall(FieldKind kind) { return kind != FieldKind::linear && kind != FieldKind::springs; }

bool has_direction(const ExternalField& field) {
  return field.kind == FieldKind::linear ||
         (is_wall(field.kind) && field.shape != WallShape::sphere);
}

double length_of(const std::array<double, 3>& v) {
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

void check_finite(const char* name, const auto& numbers) {
  for (const double number : numbers)
    if (!std::isfinite(number))
      refuse(Parameter{"fields"}, "must have finite ", name, ", got ", number);
}

void check_number(const char* name, double number) {
  if (!(number > 0) || !std::isfinite(number))
    refuse(Parameter{"fields"}, "must have a positive and finite ", name, ", got ", number);
}

// What the shape and the law of a field need.
void check_geometry(const State& state, const ExternalField& field) {
  const bool wall = is_wall(field.kind);
  check_finite("origins", field.origin);
  check_finite("directions", field.direction);
  // Squares of others overflow or vanish.
  if (const double length = length_of(field.direction);
      has_direction(field) && !(length > 1e-100 && length < 1e100))
    refuse(Parameter{"fields"}, "must have directions of lengths from 1e-100 to 1e100, got ",
           length);
  if (state.dimensions() == 2 && wall && field.shape == WallShape::cylinder)
    refuse(Parameter{"fields"},
           "must not have cylinders in two dimensions, where a sphere is a circle");
  if (state.dimensions() == 2 && has_direction(field) && field.direction[2] != 0)
    refuse(Parameter{"fields"}, "must have directions in the plane in two dimensions");
  if (wall && field.shape != WallShape::plane) check_number("radius", field.radius);
  if (wall && field.kind != FieldKind::wall) check_number("length", field.length);
  if (field.kind == FieldKind::lj93_wall) check_number("cutoff", field.cutoff);
}

void check_values(const State& state, const ExternalField& field) {
  const std::size_t N = state.particles, D = static_cast<std::size_t>(state.dimensions());
  if (!field.values.empty() && field.values.size() != N)
    refuse(Parameter{"fields"}, "must have a number for each of ", N, " particles, got ",
           field.values.size());
  const std::size_t points = field.kind == FieldKind::springs ? N * D : 0;
  if (field.points.size() != points)
    refuse(Parameter{"fields"}, "must have ", points, " coordinates of points, got ",
           field.points.size());
  check_finite("points", field.points);
  check_finite("strengths", field.values);
  check_finite("strengths", std::array{field.value});
  const bool negative =
      field.value < 0 ||
      std::any_of(field.values.begin(), field.values.end(), [](double value) { return value < 0; });
  if (field.kind != FieldKind::linear && negative)
    refuse(Parameter{"fields"}, "must not have a negative strength or distance");
}

FieldTerm term_of(const ExternalField& field) {
  FieldTerm t{};
  t.kind = field.kind;
  t.shape = field.shape;
  const double norm = has_direction(field) ? length_of(field.direction) : 1;
  for (std::size_t a = 0; a < 3; ++a) {
    t.origin[a] = field.origin[a];
    t.direction[a] = field.direction[a] / norm;
  }
  t.radius = field.radius;
  t.sign = field.inside ? 1 : -1;
  t.length = field.length;
  if (field.kind == FieldKind::lj93_wall) {
    const double q = field.length / field.cutoff, q3 = q * q * q;
    t.shift = 2.0 / 15 * (q3 * q3 * q3) - q3;
  }
  t.range = field.kind == FieldKind::harmonic_wall ? field.length : field.cutoff;
  if (field.kind == FieldKind::wall) {
    t.range = field.value;
    for (const double value : field.values) t.range = std::max(t.range, value);
  }
  t.value = field.value;
  t.values = field.values.empty() ? nullptr : field.values.data();
  t.points = field.points.data();
  return t;
}

double energy_of(const State& state, const FieldView& view, std::size_t i, const double* place) {
  const auto energy = state.dimensions() == 2 ? &energy_at<2> : &energy_at<3>;
  bool forbidden = false;
  const double found = energy(view, static_cast<std::uint32_t>(i), place, forbidden);
  return forbidden ? std::numeric_limits<double>::infinity() : found;
}

// Calls visit(view, i, place) for all particles if there are fields.
void for_places(const State& state, const Snapshot& data, auto&& visit) {
  if (state.parameters.fields.empty()) return;
  const FieldView view = field_view(state);
  const auto D = static_cast<std::size_t>(state.dimensions());
  for (std::size_t i = 0; i < data.places.size() / D; ++i) {
    double place[3] = {0, 0, 0};
    for (std::size_t a = 0; a < D; ++a) place[a] = static_cast<double>(data.places[i * D + a]);
    visit(view, i, place);
  }
}

}  // namespace

void settle_fields(State& state) {
  std::vector<ExternalField>& fields = state.parameters.fields;
  const Parameter name{"fields"};
  if (fields.empty()) return;
  if (fields.size() > kMostFields)
    refuse(name, "must be at most ", kMostFields, ", got ", fields.size());
  if (state.box_changes())
    refuse(name, "cannot be combined with constant pressure, where a change of the box moves all ",
           "particles in the fields");
  if (state.swaps())
    refuse(name, "cannot be combined with swap moves, whose particles have energies in the fields");
  const auto D = static_cast<std::size_t>(state.dimensions());
  for (ExternalField& field : fields) {
    check_geometry(state, field);
    check_values(state, field);
    // Points may be those of unwrapped coordinates. Those in the box keep their bits.
    for (std::size_t k = 0; k < field.points.size(); ++k)
      field.points[k] = std::remainder(field.points[k], state.parameters.box[k % D]);
  }
}

void check_allowed(const State& state, const Snapshot& data) {
  for_places(state, data, [&](const FieldView& view, std::size_t i, const double* place) {
    if (std::isinf(energy_of(state, view, i, place)))
      refuse(manymove::Particles(state.noun(), static_cast<std::int64_t>(data.index(i))),
             "is in a wall");
  });
}

WallContact wall_contact(const State& state, const FieldView& view, std::size_t i,
                         const double* coordinates) {
  double r[3] = {0, 0, 0};
  for (int a = 0; a < state.dimensions(); ++a) r[a] = coordinates[a];
  WallContact deepest;
  for (int k = 0; k < view.number; ++k) {
    const FieldTerm& t = view.terms[k];
    if (t.kind != FieldKind::wall) continue;
    const double depth = (t.values ? t.values[i] : t.value) - wall_distance(t, r);
    if (depth <= deepest.depth) continue;
    deepest.depth = depth;
    const bool plane = t.shape == WallShape::plane;
    std::array<double, 3> out;
    double along = 0;
    for (std::size_t a = 0; a < 3; ++a) out[a] = plane ? t.direction[a] : r[a] - t.origin[a];
    if (t.shape == WallShape::cylinder) along = product_of(out.data(), t.direction);
    for (std::size_t a = 0; a < 3; ++a) out[a] -= along * t.direction[a];
    const double length = length_of(out);
    // At the center of a sphere or cylinder each direction leads out.
    for (std::size_t a = 0; a < 3; ++a)
      deepest.out[a] =
          length > 0 ? (plane ? 1 : -t.sign) * out[a] / length : static_cast<double>(a == 0);
  }
  return deepest;
}

InWalls in_walls(const State& state, const Snapshot& data) {
  InWalls found;
  for_places(state, data, [&](const FieldView& view, std::size_t i, const double* place) {
    double r[3];
    coordinates_at<3>(view, place, r);
    const double depth = wall_contact(state, view, i, r).depth / state.distances.largest;
    if (!(depth > 0)) return;
    ++found.count;
    if (depth <= found.depth) return;
    found.depth = depth;
    found.deepest = i;
  });
  return found;
}

FieldView field_view(const State& state) {
  FieldView view{};
  view.steps = step_view(state);
  view.soft = view.steps.number > 0;
  for (const ExternalField& field : state.parameters.fields) {
    const FieldTerm& term = view.terms[view.number++] = term_of(field);
    view.soft |= field.kind != FieldKind::wall;
    const bool plane = is_wall(field.kind) && field.shape == WallShape::plane;
    for (std::size_t a = 0; a < 3; ++a)
      view.jumps[a] |=
          plane || field.kind == FieldKind::linear ? term.direction[a] != 0 : is_wall(field.kind);
  }
  for (std::size_t a = 0; a < static_cast<std::size_t>(state.dimensions()); ++a) {
    view.origin[a] = static_cast<double>(state.data.origin[a]);
    view.extent[a] = static_cast<double>(state.extent[a]);
    view.unit[a] = state.parameters.box[a] / view.extent[a];
    view.edges[a] = static_cast<float>(state.parameters.box[a]);
    view.largest_unit = std::max(view.largest_unit, view.unit[a]);
  }
  for (std::size_t a = 0; a < 3; ++a)
    view.squares[a] = static_cast<float>(std::pow(view.unit[a] / view.largest_unit, 2));
  return view;
}

std::vector<double> energies_at(const State& state, const double* coordinates) {
  std::vector<double> energies(state.particles, 0.0);
  if (state.parameters.fields.empty()) return energies;
  const FieldView view = field_view(state);
  const auto D = static_cast<std::size_t>(state.dimensions());
  for (std::size_t i = 0; i < state.particles; ++i) {
    double place[3] = {0, 0, 0};
    for (std::size_t a = 0; a < D; ++a)
      // Places are integers.
      place[a] =
          std::nearbyint((coordinates[i * D + a] / state.parameters.box[a] + 0.5) * view.extent[a]);
    energies[i] = energy_of(state, view, i, place);
  }
  return energies;
}

}  // namespace manymove::hard_particles
