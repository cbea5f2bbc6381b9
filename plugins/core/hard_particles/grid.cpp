// SPDX-License-Identifier: BSD-3-Clause
// The choice of the grid: contact distances, cells, slots, integer units, tiles.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "../runtime/errors.h"
#include "constant_pressure/edges.h"
#include "constant_pressure/volume.h"
#include "external_fields.h"
#include "grid.h"
#include "insertions.h"

namespace manymove::hard_particles {
namespace {

// Multiprocessors of an H100. Default tiles suit this card on all devices, because the trajectory
// must not depend on the device.
inline constexpr int kMultiprocessors = 132;

// Cells are about as wide as the largest contact distance, because a cell has room for all
// particles that fit into it. Their memory is therefore proportional to the volume of the box.
// Refuses a box that needs much memory for few particles; zero if their number is not known.
void check_dilution(double cells, double bytes_per_cell, std::size_t particles) {
  constexpr double kAnySystem = 1e9;   // bytes
  constexpr double kMostCells = 1000;  // for each particle, beyond these bytes
  const double bytes = cells * bytes_per_cell, most = kMostCells * static_cast<double>(particles);
  if (particles == 0 || bytes <= kAnySystem || cells <= most) return;
  refuse("the box is too dilute for ", particles,
         particles == 1 ? " particle: its " : " particles: its ", cells, " cells need ",
         std::round(bytes / 1e8) / 10, " GB of memory; more than ", kAnySystem / 1e9,
         " GB needs at least one particle for ", kMostCells,
         " cells: use a smaller box or more particles");
}

// A positive setting that is zero for the default.
void settle(const char* name, int& value, int standard, int most) {
  if (value == 0) value = standard;
  if (value < 1 || value > most)
    refuse(Parameter{name}, "must be from 1 to ", most, ", got ", value);
}

Distances distances_of(const Parameters& p, std::size_t particles) {
  Distances d;
  if (!p.diameters.empty() && (!p.types.empty() || !p.contacts.empty()))
    refuse("give diameters by particle, or types and contacts, not both");
  if (!p.diameters.empty()) {
    if (p.diameters.size() != particles)
      refuse(Parameter{"diameters"}, "must be one for each of ", particles, " particles, got ",
             p.diameters.size());
    d.contact = Contact::additive;
    for (std::size_t i = 0; i < particles; ++i)
      if (!(p.diameters[i] > 0) || !std::isfinite(p.diameters[i]))
        refuse(manymove::Particles("particle", i, "diameter"), "must be positive and finite, got ",
               p.diameters[i]);
    const auto [least, most] = std::minmax_element(p.diameters.begin(), p.diameters.end());
    d.smallest = *least;
    d.largest = *most;
    // Any two particles are at least the smallest diameter apart, as if there were one type.
    d.of_types = {d.smallest};
  } else if (!p.types.empty() || !p.contacts.empty()) {
    if (p.types.size() != particles)
      refuse(Parameter{"types"}, "must be one for each of ", particles, " particles, got ",
             p.types.size());
    const auto T = static_cast<std::size_t>(std::lround(std::sqrt(p.contacts.size())));
    if (T == 0 || T * T != p.contacts.size() || T > kMaxTypes)
      refuse(Parameter{"contacts"}, "must be a table of T by T contact distances with T from 1 to ",
             kMaxTypes, ", got ", p.contacts.size(), " values");
    d.contact = Contact::table;
    for (std::size_t a = 0; a < T; ++a)
      for (std::size_t b = 0; b < T; ++b) {
        const double sigma = p.contacts[a * T + b];
        if (!(sigma > 0) || !std::isfinite(sigma))
          refuse("contacts[", a, "][", b, "] must be positive and finite, got ", sigma);
        if (sigma != p.contacts[b * T + a])
          refuse(Parameter{"contacts"}, "must be symmetric: [", a, "][", b, "] is ", sigma, ", [",
                 b, "][", a, "] is ", p.contacts[b * T + a]);
      }
    for (std::size_t i = 0; i < particles; ++i)
      if (p.types[i] < 0 || static_cast<std::size_t>(p.types[i]) >= T)
        refuse(manymove::Particles("particle", i, "type"), "is ", p.types[i],
               ", must be from 0 to ", T - 1);
    const auto [least, most] = std::minmax_element(p.contacts.begin(), p.contacts.end());
    d.smallest = *least;
    d.largest = *most;
    // Particles of one type are apart by the diagonal element.
    for (std::size_t a = 0; a < T; ++a) d.of_types.push_back(p.contacts[a * T + a]);
  } else {
    check_positive("diameter", p.diameter);
    d.smallest = d.largest = p.diameter;
    d.of_types = {p.diameter};
  }
  return d;
}

// Section 1.1 of docs/theory/hard_spheres.md. Centers at least sigma apart in a box are centers of
// spheres of diameter sigma in a box that is larger by sigma, of which they cover at most the share
// of the densest packing.
double most_in_box(const Distances& d, const double* edges, int dimensions) {
  const auto by_density = [&](double sigma) {
    // c_D prod_a (w_a / sigma + 1), with c_2 = 2 / sqrt(3) and c_3 = sqrt(2).
    double n = dimensions == 3 ? std::sqrt(2.0) : 2 / std::sqrt(3.0);
    for (int a = 0; a < dimensions; ++a) n *= edges[a] / sigma + 1;
    return std::floor(n * (1 + 1e-5));  // a hair for the rounding of widths to integers
  };
  double of_types = 0;  // the particles of each type by themselves
  for (const double sigma : d.of_types) of_types += by_density(sigma);
  return std::min(by_density(d.smallest), of_types);
}

constexpr int kMostInTile = 65535;     // for lists of 16-bit indices
constexpr int kExpectedInTile = 4000;  // of a mixture, to fit fast memory

void set_tile(State& state, const std::array<int, 3>& tile) {
  const int D = state.dimensions();
  Geometry& g = state.geometry;
  g.plane = 1;
  for (int a = 0; a < 3; ++a) {
    g.tile[a] = a < D ? tile[a] : 1;
    g.tiles[a] = (g.cells[a] + g.tile[a] - 1) / g.tile[a];
    if (a < D) g.plane *= g.tile[a] + 1;
  }
}

std::string widths_of(const Geometry& g, int dimensions) {
  std::string text = text_of(g.tile[0]);
  const bool equal =
      std::all_of(g.tile, g.tile + dimensions, [&](int n) { return n == g.tile[0]; });
  for (int a = 1; a < dimensions && !equal; ++a) text += text_of(" by ", g.tile[a]);
  return text;
}

// The width for which the busiest multiprocessor has least to do, in proportion to the cells that
// are not frozen. Its cost is the number of cells of its tiles, and 300 more for each two tiles:
// with this number the rule finds the best width at each size that was measured.
int default_tile(const int* cells) {
  constexpr int kNarrowest = 17, kWidest = 35;
  int best = kNarrowest;
  double least = std::numeric_limits<double>::infinity();
  for (int width = kNarrowest; width <= kWidest; ++width) {
    double tiles = 1, own = 1, active = 1;
    for (int a = 0; a < 2; ++a) {
      // `along` tiles along the axis, the widest of which owns `edge` cells; 1 / edge of them is
      // frozen.
      const int along = (cells[a] + width - 1) / width, edge = (cells[a] + along - 1) / along;
      tiles *= along;
      own *= edge;
      active *= 1 - 1.0 / edge;
    }
    // Tiles of the busiest multiprocessor.
    const double each = std::ceil(tiles / kMultiprocessors);
    const double cost = (each * own + 300 * std::ceil(each / 2)) / active;
    if (cost < least) {
      least = cost;
      best = width;
    }
  }
  return best;
}

// The most particles of a tile with its far border by packing bounds, which the width of tiles is
// chosen by, for any number of particles in the box.
double packed_in_tile(const State& s) {
  double edges[3];
  for (int a = 0; a < s.dimensions(); ++a)  // at constant pressure for all volumes
    edges[a] = s.box_changes() ? kWidestCell * s.distances.reach * (s.geometry.tile[a] + 1)
                               : s.parameters.box[a] / s.geometry.cells[a] *
                                     std::min(s.geometry.cells[a] + 1, s.geometry.tile[a] + 1);
  return std::min(1e9, most_in_box(s.distances, edges, s.dimensions()));
}

// The tiles of a mixture in three dimensions if cubes would be between two and three for each
// multiprocessor of an H100, which then waits for those with three: at most two for each, in
// numbers per axis that leave most cells active.
void balance_tiles(State& state) {
  constexpr int kMost = 2 * kMultiprocessors, kFewest = kMost * 9 / 10;
  Geometry& g = state.geometry;
  const int cubes = g.tiles[0] * g.tiles[1] * g.tiles[2];
  if (cubes <= kMost || cubes >= 3 * kMultiprocessors * 19 / 20) return;
  const auto fewest = [&](int a) { return (g.cells[a] + kMaxTile - 1) / kMaxTile; };
  std::array<int, 3> best{};
  double most = 0;
  for (int x = fewest(0); x <= g.cells[0] / 4; ++x)
    for (int y = fewest(1); y <= g.cells[1] / 4 && x * y <= kMost; ++y)
      for (int z = fewest(2); z <= g.cells[2] / 4 && x * y * z <= kMost; ++z) {
        // Each tile freezes one layer of cells along each axis: prod_a (n_a - tiles_a) cells are
        // active.
        const double active = static_cast<double>(g.cells[0] - x) * (g.cells[1] - y) *
                              static_cast<double>(g.cells[2] - z);
        if (x * y * z < kFewest || active < most) continue;
        most = active;
        best = {x, y, z};
      }
  if (most == 0) return;
  const std::array<int, 3> cubic = state.parameters.tile;
  for (int a = 0; a < 3; ++a) state.parameters.tile[a] = (g.cells[a] + best[a] - 1) / best[a];
  set_tile(state, state.parameters.tile);
  if (expected_in_tile(state) > kExpectedInTile || packed_in_tile(state) > kMostInTile)
    state.parameters.tile = cubic;
}

// A function of the system, never of the device, because random numbers belong to a tile's cells.
void choose_tile(State& state) {
  Parameters& p = state.parameters;
  const int D = p.dimensions;
  if (state.equal_disks() && p.tile[0] == 0) p.tile[0] = default_tile(state.geometry.cells);
  if (state.equal_disks()) p.tile = {p.tile[0], p.tile[0], 0};
  const bool given = p.tile != std::array<int, 3>{};
  for (int a = 0; a < D; ++a)
    if (given &&
        (p.tile[a] < state.rules().narrowest_tile || p.tile[a] > state.rules().widest_tile))
      refuse(Parameter{"tile"}, "must be from ", state.rules().narrowest_tile, " to ",
             state.rules().widest_tile, " cells, got ", p.tile[a]);
  if (!given) {
    int width = D == 2 ? kMaxTile : state.cells() > 150000 ? 9 : 8;
    const auto set = [&](int to) {
      width = to;
      p.tile.fill(width);
      set_tile(state, p.tile);
    };
    // Particles of mixtures are many in a cell.
    for (set(width); width > 3 && expected_in_tile(state) > kExpectedInTile;) set(width - 1);
    while (width > 2 && packed_in_tile(state) > kMostInTile) set(width - 1);
    if (D == 3 && state.distances.contact != Contact::one_size) balance_tiles(state);
  }
  set_tile(state, p.tile);
  if (state.equal_disks()) return;
  if (most_in_tile(state) > kMostInTile)
    refuse("a tile of ", widths_of(state.geometry, D), " cells has room for ", most_in_tile(state),
           " particles; at most ", kMostInTile, " are supported: choose a narrower tile");
  // A cell of a tile has a number of 32 bits, which its random numbers belong to.
  double numbers = state.geometry.plane;
  for (const int tiles : state.geometry.tiles) numbers *= tiles;
  if (numbers > 0x1p32)
    refuse("tiles of ", widths_of(state.geometry, D),
           " cells are too many in this box: choose a wider tile");
}

}  // namespace

int most_in_tile(const State& s) {
  // Particles of a small box are there twice along an axis, as their own images. Grids of systems
  // whose number of particles changes do not depend on it.
  const double all =
      s.number_changes() ? 1e9 : std::ldexp(static_cast<double>(s.particles), s.dimensions());
  return static_cast<int>(std::min(all, packed_in_tile(s)));
}

int expected_in_tile(const State& s) {
  if (s.number_changes()) return most_in_tile(s);
  double n = static_cast<double>(s.particles) / static_cast<double>(s.cells());
  for (int a = 0; a < s.dimensions(); ++a)
    n *= std::min(s.geometry.cells[a] + 1, s.geometry.tile[a] + 1);
  // The mean with five standard deviations of a Poisson distribution and some room.
  return std::min(most_in_tile(s), static_cast<int>(1.04 * n + 5 * std::sqrt(n) + 16));
}

double most_in_cell(const Distances& d, const double* edges, int dimensions) {
  const double widest = *std::max_element(edges, edges + dimensions);
  const double most = most_in_box(d, edges, dimensions);
  // Of 2^D + 1 centers in a cell two share one of its 2^D equal parts, whose diagonal is below
  // sigma in these cells; and ten centers in a cube are at most 3/4 of its edge apart. A hair is
  // left for the rounding of widths to integers.
  const double width = widest / d.smallest * (1 + 1e-5);
  if (dimensions == 2 && width < std::sqrt(2.0)) return std::min(most, 4.0);
  if (dimensions == 3 && width < 2 / std::sqrt(3.0)) return std::min(most, 8.0);
  if (dimensions == 3 && width < 4.0 / 3) return std::min(most, 9.0);
  return most;
}

namespace {

// For messages: what cells are as wide as.
const char* interaction(const State& state) {
  return state.parameters.steps.empty() ? "contact distance" : "range of an energy";
}

// Cells, integer units and the unit of length at constant volume.
void choose_cells(State& state) {
  Parameters& p = state.parameters;
  Geometry& g = state.geometry;
  const int D = p.dimensions;
  const double reach = state.distances.reach;
  const GridRules rules = state.rules();
  double width[3] = {0, 0, 0}, all = 1;
  for (int a = 0; a < 3; ++a) {
    g.cells[a] = 1;
    if (a >= D) continue;
    double cells = std::max(3.0, std::floor(p.box[a] / p.cell_width));
    // The width must be below that for which the slots of a cell suffice; few cells may come out
    // much wider than wanted.
    while (p.box[a] / cells >= rules.widest_cell * reach) ++cells;
    if (cells > 30000)
      refuse("box edge ", "xyz"[a], " holds more than 30000 cells: use a smaller box");
    g.cells[a] = static_cast<int>(cells);
    width[a] = p.box[a] / cells;
    all *= cells;
  }
  if (all > 1e9) refuse("the box holds ", all, " cells, more than 1e9: use a smaller box");
  const auto widest = static_cast<int>(std::max_element(width, width + D) - width);
  // Even H whose ratios are those of the widths. The widest edge is kept exactly; the others have a
  // relative error of typically 1e-9, and of at most 1.4e-6 in every box (section 1.5 of
  // docs/theory/hard_spheres.md).
  const std::int64_t most[3] = {rules.most_half_width / 2, rules.most_half_width / 2,
                                rules.most_half_width / 2};
  double error;
  const auto half = nearest_ratios(D, widest, most, error, [&](std::int64_t h, int a) {
    return static_cast<double>(h) * (width[a] / width[widest]);
  });
  for (int a = 0; a < 3; ++a) {
    // H is even; the box has 2 H n = 4 h n units along an edge of n cells.
    g.half[a] = a < D ? static_cast<float>(2 * half[a]) : 1.0f;
    state.extent[a] = a < D ? 4 * half[a] * g.cells[a] : 2;
  }
  const int kept = state.equal_disks() ? 0 : widest;  // the edge that is kept exactly
  state.unit = p.box[kept] / static_cast<double>(state.extent[kept]);
}

void choose_slots(State& state) {
  if (state.equal_disks()) {
    // A cell narrower than sqrt(2) diameters holds at most four disks.
    state.geometry.slots = equal_disks::kSlots;
    return;
  }
  const auto slots_of = [&](const double* width) {
    double slots = most_in_cell(state.distances, width, state.dimensions());
    if (!state.number_changes()) slots = std::min(slots, static_cast<double>(state.particles));
    if (slots > kMaxSlots)
      refuse("a cell as wide as the largest ", interaction(state), " ", state.distances.reach,
             " has room for ", slots, " of the smallest particles (contact distance ",
             state.distances.smallest, "); at most ", kMaxSlots, " are supported");
    return std::max(1, static_cast<int>(slots));
  };
  double width[3] = {0, 0, 0};
  if (state.box_changes()) {  // for all volumes
    std::fill_n(width, state.dimensions(), kWidestCell * state.distances.reach);
    slots_of(width);
  }
  for (int a = 0; a < state.dimensions(); ++a)
    width[a] = state.parameters.box[a] / state.geometry.cells[a];
  state.geometry.slots = slots_of(width);
}

// The contact distances of types in integer units.
void fill_contacts(State& state) {
  state.contacts.clear();
  state.sigmas.clear();
  for (const double contact : state.parameters.contacts) {
    const double sigma = contact / state.unit;
    state.contacts.push_back(sigma * sigma);
    state.sigmas.push_back(static_cast<float>(sigma));
  }
  const std::vector<double>& table = state.parameters.contacts;
  const auto types = static_cast<std::size_t>(std::lround(std::sqrt(table.size())));
  state.radii.clear();
  for (std::size_t a = 0; a < types; ++a)
    for (std::size_t b = 0; b < a; ++b)
      // sigma_ab = (sigma_aa + sigma_bb) / 2 for all pairs: then two radii give each contact
      // distance.
      if (std::abs(table[a * types + b] - 0.5 * (table[a * (types + 1)] + table[b * (types + 1)])) >
          1e-12 * state.distances.largest)
        return;
  for (std::size_t a = 0; a < types; ++a)
    state.radii.push_back(radius_in_units(table[a * (types + 1)], state.unit).radius);
}

}  // namespace

void fill_diameters(State& state) {
  const std::vector<double>& diameters = state.parameters.diameters;
  state.diameters.resize(diameters.size());
  if (!diameters.empty()) state.labels.resize(diameters.size());
  for (std::size_t i = 0; i < diameters.size(); ++i) {
    state.diameters[i] = diameter_in_units(diameters[i], state.unit);
    state.labels[i] = radius_in_units(diameters[i], state.unit);
  }
}

void check_pinned(const State& state) {
  const std::vector<std::uint8_t>& pinned = state.parameters.pinned;
  const Parameter name{"pinned"};
  if (pinned.empty()) return;
  if (pinned.size() != state.particles)
    refuse(name, "must have an entry for each of ", state.particles, " particles, got ",
           pinned.size());
  if (state.box_changes())
    refuse(name, "cannot be combined with constant pressure, where a change of the box moves all ",
           "particles");
  if (state.swaps())
    refuse(name, "cannot be combined with swap moves, which exchange particles of different sizes");
}

void choose_grid(State& state) {
  Parameters& p = state.parameters;
  Geometry& g = state.geometry;
  if (p.dimensions != 2 && p.dimensions != 3)
    refuse("the number of dimensions must be 2 or 3, got ", p.dimensions);
  const int D = p.dimensions;
  const bool disks = state.equal_disks();
  const GridRules rules = state.rules();
  state.distances = distances_of(p, state.particles);
  state.distances.reach = settle_steps(state);
  const double sigma = state.distances.largest, reach = state.distances.reach;
  for (int a = 0; a < D; ++a) {
    check_positive("box", p.box[a]);
    // Three cells along an edge: the two neighbors of a cell are then different cells.
    if (p.box[a] < 3 * reach)
      refuse("box too small for the checkerboard: edge ", "xyz"[a], " is ", p.box[a],
             disks ? ", three diameters are "
                   : text_of(", three times the largest ", interaction(state), " are "),
             3 * reach);
  }
  check_pinned(state);
  settle_insertions(state);
  if (p.cell_width == 0) p.cell_width = reach;
  if (!(p.cell_width >= reach) || !(p.cell_width < rules.widest_cell * reach)) {
    if (disks)
      refuse(Parameter{"cell_width"},
             "must be at least one diameter and below sqrt(2) diameters, got ", p.cell_width);
    refuse(Parameter{"cell_width"}, "must be at least the largest ", interaction(state), " ", reach,
           " and below ", kWidestCell * reach, ", got ", p.cell_width);
  }
  if (p.gibbs || (state.constant_pressure() && p.edges_apart)) {
    choose_edges(state);
  } else if (state.constant_pressure()) {
    choose_lattice(state);
    if (!set_box(state, state.data.volume))
      refuse("the lattice has no grid for this box: choose a less elongated one");
  } else {
    choose_cells(state);
  }
  choose_slots(state);
  // The engine reads one array of cells and writes another one, hence twice their bytes.
  const std::size_t bytes =
      disks ? equal_disks::kSlots * (sizeof(equal_disks::Position) + sizeof(std::int32_t))
            : g.slots * sizeof(Sphere) + sizeof(std::uint32_t);
  check_dilution(static_cast<double>(state.cells()), 2.0 * static_cast<double>(bytes),
                 state.number_changes() ? 0 : state.particles);

  double narrow = reach;  // as narrow as cells become
  if (!state.box_changes()) {
    narrow = p.box[0] / g.cells[0];
    for (int a = 1; a < D; ++a) narrow = std::min(narrow, p.box[a] / g.cells[a]);
  }
  if (p.max_displacement == 0)
    p.max_displacement = std::min(rules.displacement * sigma, 0.25 * narrow);
  // The realized displacement, which checkpoints hold, may be larger by one part in 128.
  if (!(p.max_displacement > 0) || p.max_displacement > 1.0079 * narrow)
    refuse(Parameter{"max_displacement"}, "must be positive and at most the cell width ", narrow,
           ", got ", p.max_displacement);
  p.max_displacement = std::min(p.max_displacement, narrow);
  // In units of the integer grid.
  g.step = displacement_step(p.max_displacement / state.unit);

  // n_m, the trial moves of a visit, and how often each set is visited in a cycle.
  settle("moves_per_cell", p.moves_per_cell, rules.moves_per_cell, 1024);
  settle("rounds", p.rounds, state.constant_pressure() ? 1 : 4, kMaxRounds);
  if (state.grand_canonical()) {
    settle("insertion_attempts", p.insertion_attempts, 4, 1000);
    settle("insertion_every", p.insertion_every, 1, 1000000000);
    fill_insertions(state);
  }
  g.moves_per_cell = p.moves_per_cell;
  g.rounds = p.rounds;
  g.key = {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};
  choose_tile(state);
  settle_fields(state);
  if (p.swap_rounds < 0 || p.swap_rounds > 1000)
    refuse(Parameter{"swap_rounds"}, "must be from 0 to 1000, got ", p.swap_rounds);
  if (state.swaps() && state.distances.contact != Contact::additive &&
      state.distances.of_types.size() < 2)
    refuse("swap moves exchange the diameters or the types of particles: give diameters, or types");
  if (state.swaps_types() && p.swap_range > 0)
    refuse(Parameter{"swap_range"}, "is a difference of diameters: types are exchanged without it");
  int across = 0;  // the most cells of a tile along an axis
  for (int a = 0; a < D; ++a) across = std::max(across, g.cells[a] / g.tiles[a]);
  if (state.swaps() && across < 4)
    refuse("swap moves need tiles of at least four cells along an edge, got ", across,
           ": choose a larger box or tile");
  if (!(p.swap_range >= 0)) refuse(Parameter{"swap_range"}, "must be positive, got ", p.swap_range);
  if (p.swap_every == 0) p.swap_every = 1;
  fill_contacts(state);
  fill_steps(state);
  fill_diameters(state);
  for (const std::int32_t type : p.types) {
    Label label{};
    label.type = type;
    state.labels.push_back(label);
  }
}

void set_cells(State& state, const int* cells) {
  for (int a = 0; a < 3; ++a) {
    const bool is = a < state.dimensions();
    state.geometry.cells[a] = is ? cells[a] : 1;
    state.geometry.half[a] = is ? static_cast<float>(state.extent[a] / (2 * cells[a])) : 1.0f;
    if (is) state.parameters.box[a] = static_cast<double>(state.extent[a]) * state.unit;
  }
}

double box_volume(const State& state) {
  const double* const box = state.parameters.box;
  return std::accumulate(box, box + state.dimensions(), 1.0, std::multiplies<>());
}

void set_volume(State& state, double coordinate) {
  if (!set_box(state, coordinate))
    throw std::runtime_error("the lattice has no grid for this volume: the state is corrupt");
  follow_box(state);
}

void follow_box(State& state) {
  choose_slots(state);
  state.geometry.step = displacement_step(state.parameters.max_displacement / state.unit);
  set_tile(state, state.parameters.tile);
  fill_contacts(state);
  fill_steps(state);
}

Law law_of(const State& s) {
  Law law{};
  const double largest = s.distances.largest / s.unit, reach = s.distances.reach / s.unit;
  // sigma^2 in units, for the exact predicate r^2 >= sigma^2.
  law.contact = largest * largest;
  law.largest = static_cast<float>(reach);
  // The estimate's error is in proportion to the square of a cell's width.
  law.margin = static_cast<float>(kEstimateError * reach * reach);
  law.diameters = s.diameters.data();
  law.labels = s.labels.data();
  law.types = static_cast<int>(s.distances.of_types.size());
  law.contacts = s.contacts.data();
  law.sigmas = s.sigmas.data();
  law.pinned = s.parameters.pinned.empty() ? nullptr : s.parameters.pinned.data();
  return law;
}

void check_sizes(State& state) {
  state.distances = distances_of(state.parameters, state.particles);
  for (int a = 0; a < state.dimensions(); ++a) check_positive("box", state.parameters.box[a]);
}

Grid grid_of(const State& s) {
  const Geometry& g = s.geometry;
  Grid grid{};
  grid.dimensions = s.dimensions();
  for (int a = 0; a < grid.dimensions; ++a) {
    grid.cells[a] = g.cells[a];
    grid.tiles[a] = g.tiles[a];
    grid.tile[a] = g.tile[a];
    grid.cell_width[a] = s.parameters.box[a] / g.cells[a];
    grid.box[a] = s.parameters.box[a];
    grid.extent[a] = s.extent[a];
  }
  grid.moves_per_cell = g.moves_per_cell;
  grid.rounds = g.rounds;
  grid.slots = g.slots;
  // At constant pressure the realized one depends on the box, and checkpoints need the wanted one.
  grid.max_displacement = s.box_changes() ? s.parameters.max_displacement
                                          : static_cast<double>(g.step) * 16383.5 * s.unit;
  grid.unit = s.unit;
  grid.volume_delta = s.parameters.volume_delta;
  if (s.constant_pressure()) grid.largest_volume_delta = largest_volume_delta(s);
  grid.box_deltas = s.parameters.box_deltas;
  grid.largest_box_deltas = largest_box_deltas(s);
  grid.volume_repeats = s.parameters.volume_repeats;
  grid.volume_every = s.parameters.volume_every;
  return grid;
}

double largest_displacement(const Parameters& parameters, std::size_t particles) {
  State state;
  state.parameters = parameters;
  state.parameters.max_displacement = 0;
  state.particles = particles;
  choose_grid(state);
  const Grid grid = grid_of(state);
  if (parameters.beta_pressure != 0) return state.distances.reach;
  return *std::min_element(grid.cell_width, grid.cell_width + grid.dimensions);
}

}  // namespace manymove::hard_particles
