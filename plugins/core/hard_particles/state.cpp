// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>

#include "../runtime/errors.h"
#include "../runtime/fingerprint.h"
#include "cells_of_disks.h"
#include "constant_pressure/edges.h"
#include "constant_pressure/volume.h"
#include "external_fields.h"
#include "grid.h"
#include "host_particles.h"
#include "packing.h"
#include "steps.h"

namespace manymove::hard_particles {
namespace {

constexpr std::size_t kMostParticles = 2000000000;

// Coordinates on the odd integers of the box: 2 floor((x/L + 1/2) E/2) + 1, with the box of length
// L and E units.
std::vector<std::int64_t> to_units(const State& s, const double* coordinates) {
  const int D = s.dimensions();
  std::vector<std::int64_t> places(s.particles * D);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::size_t a = k % D;
    const double share = coordinates[k] / s.parameters.box[a] + 0.5;
    std::int64_t x =
        2 * static_cast<std::int64_t>(std::floor(share * static_cast<double>(s.extent[a] / 2))) + 1;
    // A place on the upper face, or beyond a face by rounding, is on the opposite side.
    if (x >= s.extent[a]) x -= s.extent[a];
    if (x < 0) x += s.extent[a];
    places[k] = x;
  }
  return places;
}

template <Policy P>
Overlaps overlaps_in(const State& s, const Cells& cells, int rows) {
  constexpr int D = P::kDimensions;
  constexpr Contact C = P::kContact;
  const Geometry& g = s.geometry;
  const Law law = law_of(s);
  const StepView steps = step_view(s);
  Overlaps found;
  std::size_t at = 0;
  int cell[3], end[3] = {g.cells[0], g.cells[1], g.cells[2]};
  if (rows >= 0) end[D - 1] = rows;
  for (cell[2] = 0; cell[2] < end[2]; ++cell[2])
    for (cell[1] = 0; cell[1] < end[1]; ++cell[1])
      for (cell[0] = 0; cell[0] < end[0]; ++cell[0], ++at)
        for (int slot = 0; slot < static_cast<int>(cells.counts[at]); ++slot)
          for_pairs<D>(g, cells.spheres.data(), cells.counts.data(), 1, cell, slot,
                       [&](std::uint32_t i, std::uint32_t j, float dx, float dy, float dz) {
                         if constexpr (C == Contact::table)
                           found.energy += static_cast<std::uint64_t>(pair_energy(
                               steps, law.labels[i].type, law.labels[j].type, dx, dy, dz));
                         if (apart<C>(law, i, j, dx, dy, dz)) return;
                         ++found.count;
                         // r / sigma of a pair that overlaps.
                         const double ratio =
                             std::sqrt(exact_square(dx, dy, dz) / contact_of<C>(law, i, j));
                         if (ratio >= found.ratio) return;
                         found.ratio = ratio;
                         found.first = std::min(i, j);
                         found.second = std::max(i, j);
                       });
  return found;
}

// The cells, or none if one of them overflows, which only overlapping particles can cause.
Cells try_cells(const State& s, const Snapshot& data) {
  const Geometry& g = s.geometry;
  const int D = s.dimensions();
  // The cells of this rank's rows and of the margins on both sides.
  const std::size_t stored = s.row_cells() * static_cast<std::size_t>(s.stored_rows());
  Cells cells;
  cells.spheres.resize(stored * g.slots);
  cells.counts.resize(stored);
  const std::size_t particles = data.places.size() / static_cast<std::size_t>(D);
  for (std::size_t i = 0; i < particles; ++i) {
    std::size_t at = 0;
    float local[3] = {0, 0, 0};
    for (int a = D - 1; a >= 0; --a) {
      // The inverse of place = origin + (2 c + 1) H + local.
      const auto half = static_cast<std::int64_t>(g.half[a]);
      // x = place - origin modulo E lies in cell c = floor(x / 2 H).
      std::int64_t x = data.places[i * D + a] - data.origin[a];
      if (x < 0) x += s.extent[a];
      std::int64_t cell = x / (2 * half);
      local[a] = static_cast<float>(x - 2 * half * cell - half);
      if (s.strip && a == D - 1)
        cell = (cell - s.strip->first_row() + g.cells[a]) % g.cells[a] + s.first_row();
      at = at * g.cells[a] + static_cast<std::size_t>(cell);
    }
    if (cells.counts[at] == static_cast<std::uint32_t>(g.slots)) return {};
    cells.spheres[at * g.slots + cells.counts[at]++] = {local[0], local[1], local[2],
                                                        data.index(i)};
  }
  return cells;
}

void check_positions(const State& s, const double* coordinates) {
  const int D = s.dimensions();
  const char* const noun = s.noun();
  const double* box = s.parameters.box;
  for (std::size_t i = 0; i < s.particles; ++i)
    for (int a = 0; a < D; ++a) {
      const double r = coordinates[D * i + a];
      if (!std::isfinite(r)) refuse(manymove::Particles(noun, i, "position"), "is not finite");
      if (std::abs(r) > 0.5 * box[a] * (1 + 1e-6))
        refuse(manymove::Particles(noun, i), "is outside the box: ", "xyz"[a], " = ", r,
               ", the edge is at ", 0.5 * box[a], remedy_for(coordinates, s.particles, box, D));
    }
}

// Equal spheres beyond the densest packing overlap somewhere; that is said at once.
void check_density(const State& s) {
  if (s.distances.contact != Contact::one_size) return;
  const int D = s.dimensions();
  const double densest = std::acos(-1.0) / (D == 3 ? std::sqrt(18.0) : std::sqrt(12.0));
  // phi = N pi sigma^D / (2 D V), and pi / sqrt(12) or pi / sqrt(18) at the densest packing.
  double fraction = std::acos(-1.0) / (2 * D) * static_cast<double>(s.particles);
  for (int a = 0; a < D; ++a) fraction *= s.distances.largest / s.parameters.box[a];
  if (fraction > densest * (1 + 1e-9))
    refuse("packing fraction ", fraction, " is above that of the densest packing, ",
           D == 2 ? "0.9069" : "0.7405");
}

}  // namespace

Overlaps overlaps_of(const State& s, const Cells& cells, int rows) {
  return with_particles(s.dimensions(), s.distances.contact,
                        [&](auto policy) { return overlaps_in<decltype(policy)>(s, cells, rows); });
}

State make_state(const double* coordinates, std::size_t particles, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  s.data.counters.cycles = parameters.first_cycle;
  if (particles == 0 && !s.number_changes())
    refuse(Parameter{"positions"}, "must hold at least one ", s.noun(),
           ", unless particles are inserted at a fugacity above 0");
  if (particles > kMostParticles) refuse("at most 2e9 ", s.noun(), "s, got ", particles);
  choose_grid(s);
  // At constant pressure the edges are realized with a small error; fractions of them are kept.
  std::vector<double> scaled;
  if (s.box_changes()) {
    scaled.assign(coordinates, coordinates + particles * s.dimensions());
    for (std::size_t k = 0; k < scaled.size(); ++k) {
      const std::size_t a = k % s.dimensions();
      // x' = x L' / L with the realized edge L'.
      scaled[k] *= s.parameters.box[a] / parameters.box[a];
    }
    coordinates = scaled.data();
  }
  check_positions(s, coordinates);
  check_density(s);

  const double most = s.parameters.repair_depth;
  const auto complain = [&](const ClosePair& pair, const char* why) {
    const double depth = 1 - pair.ratio;
    throw OverlapError(
        manymove::Particles(s.noun(), static_cast<std::int64_t>(pair.first),
                            static_cast<std::int64_t>(pair.second)),
        text_of("overlap by ", depth, s.equal_disks() ? " diameters" : " contact distances",
                depth > most ? text_of(", more than repair_depth = ", most) : why),
        depth);
  };
  Snapshot start;
  const auto fill = [&](const double* r) {
    start.places = to_units(s, r);
    s.start = try_cells(s, start);
    return !s.start.counts.empty();
  };
  if (!fill(coordinates)) complain(closest_pair(s, coordinates), "");
  const Overlaps found = overlaps_of(s, s.start);
  const InWalls walled = in_walls(s, start);
  if (found.count + walled.count == 0) {
    check_allowed(s, start);
    return s;
  }
  const double depth = found.count ? 1 - found.ratio : 0;
  s.repair = {found.count + walled.count, std::max(depth, walled.depth)};
  if (depth > most) complain(found, "");
  const auto complain_of_wall = [&](const char* why) {
    refuse(manymove::Particles(s.noun(), static_cast<std::int64_t>(walled.deepest)),
           "is in a wall by ", walled.depth, " contact distances",
           walled.depth > most ? text_of(", more than repair_depth = ", most) : why);
  };
  if (walled.depth > most) complain_of_wall("");
  // Pairs are pushed a little farther apart than contact, so that rounding to the grid, whose unit
  // is in proportion to the reach, makes no new overlap.
  const double wide = s.distances.reach / s.distances.largest;
  const double* const box = s.parameters.box;
  for (const double margin :
       s.equal_disks() ? std::vector{4e-6, 2e-6, 1e-6} : std::vector{8e-6 * wide, 4e-6 * wide}) {
    std::vector<double> r(coordinates, coordinates + particles * s.dimensions());
    if (s.equal_disks())
      relax_overlaps(r, box[0], box[1], parameters.diameter * (1 + margin), 2000);
    else if (!push_apart(s, r, margin))
      continue;
    if (!fill(r.data()) || overlaps_of(s, s.start).count + in_walls(s, start).count != 0) continue;
    check_allowed(s, start);
    return s;
  }
  // The depth of the start, since what the repair has left is of no use to the caller.
  if (!found.count) complain_of_wall(" and could not be moved out of it");
  complain(found, " and could not be pushed apart");
  return s;
}

// A checkpoint is not trusted: everything that the trajectory relies on is checked again.
State make_state(const Snapshot& data, std::size_t particles, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  choose_grid(s);
  if ((particles == 0 && !s.number_changes()) || particles > kMostParticles)
    refuse("checkpoint: at most 2e9 ", s.noun(), "s and at least one, got ", particles);
  adopt_box(s, data);
  const auto D = static_cast<std::size_t>(s.dimensions());
  // Lines of the grid are at even integers, places at odd ones: no particle is between two cells.
  for (std::size_t a = 0; a < 3; ++a)
    if (a < D ? data.origin[a] < 0 || data.origin[a] >= s.extent[a] || data.origin[a] % 2
              : data.origin[a] != 0)
      refuse("checkpoint: the grid's origin is not in the box");
  if (s.equal_disks()) {
    s.start = cells_of_disks(s, data);
  } else {
    if (data.places.size() != particles * D)
      refuse("checkpoint has ", data.places.size(), " coordinates, expected ", D, " for each of ",
             particles, " particles");
    for (std::size_t k = 0; k < data.places.size(); ++k)
      if (data.places[k] < 0 || data.places[k] >= s.extent[k % D] || data.places[k] % 2 != 1)
        refuse("checkpoint: particle ", k / D, " is not on the integer grid");
    s.start = try_cells(s, data);
    if (s.start.counts.empty()) refuse("checkpoint: a cell holds more particles than fit");
  }
  const Overlaps found = overlaps_of(s, s.start);
  if (found.count)
    refuse("checkpoint: ", s.noun(), "s ", found.first, " and ", found.second, " overlap");
  check_allowed(s, data);
  s.data = data;
  s.data.cells = {};  // the cells have the particles, and the parameters the diameters
  s.data.ids = {};
  s.data.places = {};
  s.data.diameters = {};
  return s;
}

void adopt_box(State& s, const Snapshot& data) {
  if (!s.box_changes()) return;
  if (s.parameters.edges_apart)
    adopt_edges(s, data);
  else
    adopt_volume(s, data.volume);
}

std::optional<std::uint64_t> legal_energy(const State& s, const Snapshot& data, int rows) {
  const Cells cells = try_cells(s, data);
  if (cells.counts.empty()) return {};
  const Overlaps found = overlaps_of(s, cells, rows);
  return found.count == 0 ? std::optional(found.energy) : std::nullopt;
}

Cells cells_of(const State& s, const Snapshot& data) {
  Cells cells = try_cells(s, data);
  if (cells.counts.empty())
    throw std::runtime_error("a cell holds more particles than fit: the state is corrupt");
  return cells;
}

// The place of a particle: origin + (2 c + 1) H + local, along each axis.
Snapshot particles_in(const State& s, const Cells& cells) {
  const Geometry& g = s.geometry;
  const int D = s.dimensions();
  Snapshot data = s.data;
  data.extent = s.extent;
  const std::size_t first = s.first_row() * s.row_cells(), end = first + s.rows() * s.row_cells();
  for (std::size_t at = first; at < end; ++at) {
    std::int64_t corner[3];
    auto rest = static_cast<std::int64_t>(at);
    for (int a = 0; a < D; ++a) {
      std::int64_t cell = a < D - 1 ? rest % g.cells[a] : rest;
      rest /= g.cells[a];
      if (s.strip && a == D - 1) cell = (cell - s.first_row() + s.strip->first_row()) % g.cells[a];
      corner[a] = s.data.origin[a] + (2 * cell + 1) * static_cast<std::int64_t>(g.half[a]);
    }
    for (std::uint32_t slot = 0; slot < cells.counts[at]; ++slot) {
      const Sphere& p = cells.spheres[at * static_cast<std::size_t>(g.slots) + slot];
      const float local[3] = {p.x, p.y, p.z};
      data.indices.push_back(p.id);
      for (int a = 0; a < D; ++a) {
        const std::int64_t x = corner[a] + static_cast<std::int64_t>(local[a]);
        // The origin moves with the grid: places may be beyond the upper face.
        data.places.push_back(x >= s.extent[a] ? x - s.extent[a] : x);
      }
    }
  }
  return data;
}

Snapshot snapshot_of(const State& s, const Cells& cells) {
  Snapshot data = particles_in(s, cells);
  return s.strip ? data : by_index(s, data);
}

Snapshot by_index(const State& s, const Snapshot& data) {
  const auto D = static_cast<std::size_t>(s.dimensions());
  const auto lost = [] { throw std::runtime_error("a particle is lost: the state is corrupt"); };
  Snapshot all = s.data;
  all.extent = s.extent;
  // -1 until the particle is found; one that is found twice, or never, is lost.
  all.places.assign(s.particles * D, -1);
  if (!data.diameters.empty()) all.diameters.resize(s.particles);
  if (data.indices.size() != s.particles) lost();
  for (std::size_t i = 0; i < data.indices.size(); ++i) {
    const std::size_t index = data.indices[i];
    if (index >= s.particles || all.places[index * D] >= 0) lost();
    std::copy_n(&data.places[i * D], D, &all.places[index * D]);
    if (!data.diameters.empty()) all.diameters[index] = data.diameters[i];
  }
  return all;
}

void set_diameter(State& s, std::uint32_t id, double diameter) {
  s.parameters.diameters[id] = diameter;
  s.diameters[id] = diameter_in_units(diameter, s.unit);
  s.labels[id] = radius_in_units(diameter, s.unit);
}

State frame_of(const State& s) {
  State frame;
  frame.parameters.dimensions = s.dimensions();
  frame.geometry = s.geometry;
  frame.extent = s.extent;
  frame.particles = s.particles;
  frame.strip = s.strip;
  frame.data = s.data;
  return frame;
}

std::vector<ParticlePosition> particle_positions(const State& s, const Snapshot& data) {
  const auto D = static_cast<std::size_t>(s.dimensions());
  const Frame frame = host_frame(s);
  std::vector<ParticlePosition> all(data.places.size() / D);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].particle = data.index(i);
    for (std::size_t a = 0; a < D; ++a)
      all[i].r[a] =
          coordinate(frame, static_cast<int>(a), static_cast<double>(data.places[i * D + a]));
    if (s.type_diameters.empty() || data.diameters.empty()) continue;
    const auto& types = s.type_diameters;
    const auto type = std::find(types.begin(), types.end(), data.diameters[i]);
    all[i].type = static_cast<std::int32_t>(type - types.begin());
  }
  return all;
}

double contact_distance(const State& s, std::size_t i, std::size_t j) {
  const Parameters& p = s.parameters;
  switch (s.distances.contact) {
    case Contact::one_size:
      return p.diameter;
    case Contact::additive:
      return 0.5 * (p.diameters[i] + p.diameters[j]);
    default:
      return p.contacts[static_cast<std::size_t>(p.types[i]) * s.distances.of_types.size() +
                        static_cast<std::size_t>(p.types[j])];
  }
}

// A sum, so that neither the order of the particles nor their division among ranks matters.
std::uint64_t sum_over_particles(const State& s, const Snapshot& data) {
  const auto D = static_cast<std::size_t>(s.dimensions());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < data.places.size() / D; ++i) {
    std::uint64_t h = murmur_mix(data.index(i) + std::uint64_t{1});
    for (std::size_t a = 0; a < D; ++a)
      // A chain over the coordinates of one particle, which begins with its index.
      h = murmur_mix(h ^ static_cast<std::uint64_t>(data.places[i * D + a]));
    sum += h;
  }
  return sum;
}

std::uint64_t hash_of(const State& s, std::uint64_t sum, const Snapshot& data) {
  const auto add = [&sum](auto... values) {
    ((sum = murmur_mix(sum ^ static_cast<std::uint64_t>(values))), ...);
  };
  add(data.counters.cycles, data.counters.trial_moves, data.counters.accepted_moves);
  if (s.box_changes()) {
    add(bits_of(data.volume), data.volume_moves.trials, data.volume_moves.accepted);
  }
  if (s.parameters.edges_apart) add(s.extent[0], s.extent[1], s.extent[2]);
  if (s.parameters.several_box_moves()) {
    for (const std::int64_t logarithm : data.logarithms) add(logarithm);
    for (const std::uint64_t moves : data.box_moves) add(moves);
  }
  if (s.swaps()) {
    for (const double diameter : data.diameters) add(bits_of(diameter));
    add(data.swap_moves.trials, data.swap_moves.accepted);
  }
  if (s.swaps_types() || s.number_changes())
    for (const std::int32_t type : s.parameters.types) add(type);
  if (s.number_changes()) {
    for (const TrialCounters& moves : {data.insertions, data.deletions})
      add(moves.trials, moves.accepted);
  }
  return sum;
}

ContactBins contact_bins(const State& s, const Sampling& sampling) {
  ContactBins law{};
  law.bins = sampling.bins;
  law.per_unit = 1 / sampling.bin_width;
  // Bins are in contact distances, from contact or from the range of a step on.
  const double farthest =
      (s.distances.reach + s.distances.largest * sampling.bin_width * sampling.bins) / s.unit *
      (1 + 1e-6);
  // Cells are 2 H wide: pairs within that are in neighboring cells, others two cells apart at most.
  law.range = farthest < 2 * static_cast<double>(s.narrowest_half()) ? 1 : 2;
  law.farthest2 = static_cast<float>(farthest * farthest);
  return law;
}

// origin' = (origin + shift) mod E along each axis.
void move_origin(State& s, const Draw& draw) {
  for (std::size_t a = 0; a < static_cast<std::size_t>(s.dimensions()); ++a) {
    std::int64_t& origin = s.data.origin[a];
    const auto cell = 2 * static_cast<std::int64_t>(s.geometry.half[a]);
    origin += cell * draw.shift_cells[a] + static_cast<std::int64_t>(draw.shift_rest[a]);
    if (origin >= s.extent[a]) origin -= s.extent[a];
  }
}

Draw draw_cycle(const State& s, std::uint64_t cycle) {
  return s.equal_disks()       ? equal_disks::draw_cycle(s.geometry, cycle)
         : s.dimensions() == 2 ? draw_cycle<2>(s.geometry, cycle)
                               : draw_cycle<3>(s.geometry, cycle);
}

SwapRules swap_rules(const State& s, std::uint64_t cycle) {
  SwapRules rules{};
  rules.cycle = cycle;
  rules.order = swap_order(s.geometry, s.dimensions(), cycle);
  rules.rounds = s.parameters.swap_rounds;
  rules.range = s.parameters.swap_range > 0 ? s.parameters.swap_range / s.unit : 1e30;
  // Larger than the rounding of rho, 2 |r| - sigma, in float64.
  rules.clearance = 0x1p-40 * s.distances.largest / s.unit;
  const double far = s.distances.largest / s.unit;
  rules.farthest2 = static_cast<float>(far * far * (1 + 1e-5));
  return rules;
}

HaloRows advance_strip(State& s, const Draw& draw) {
  return s.strip->advance(draw.shift_cells[s.dimensions() - 1], row_of(s, s.data, 0));
}

Draw local_draw(const State& s, Draw draw) {
  if (s.strip) draw.shift_cells[s.dimensions() - 1] = s.strip->local_shift();
  return draw;
}

// ---- the choice of an engine by the name of the device ----

std::unique_ptr<Engine> make_engine(const double* coordinates, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(coordinates, particles, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(snapshot, particles, parameters); });
}

Snapshot make_snapshot(const double* coordinates, std::size_t particles,
                       const Parameters& parameters, Repair& repair) {
  const State s = make_state(coordinates, particles, parameters);
  repair = s.repair;
  return s.equal_disks() ? disks_of_cells(s, s.start) : snapshot_of(s, s.start);
}

void check_snapshot(const Snapshot& snapshot, std::size_t particles, const Parameters& parameters) {
  make_state(snapshot, particles, parameters);
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, int) {
  throw std::invalid_argument(why_no_cuda_devices());
}
#endif

}  // namespace manymove::hard_particles
