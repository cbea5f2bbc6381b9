// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../runtime/devices.h"
#include "../runtime/errors.h"
#include "dilute.h"
#include "distributed.h"
#include "engine_of_ranks.h"
#include "overlaps.h"
#include "packing.h"
#include "tiles.h"

namespace manymove::hard_particles {
namespace {

constexpr std::int64_t kHalfWidth = std::int64_t{1} << 21;  // H of the wider cell edge
// Largest error of the float32 estimate of a squared distance, in d^2 (model.h).
constexpr double kBoundError = 4e-6;

// Even H along x and y whose ratio is that of the cell widths: to 1e-11 as a rule, to 5e-7 at worst
// (edges that differ by less than the integers resolve, as in an almost square box). The x edge is
// kept exactly.
std::array<std::int64_t, 2> half_widths(double wx, double wy) {
  const double ratio = std::min(wx, wy) / std::max(wx, wy);
  std::int64_t best = kHalfWidth;
  double error = 1;
  for (std::int64_t h = kHalfWidth; h > kHalfWidth / 2 && error > 1e-15; h -= 2) {
    const double other = static_cast<double>(h) * ratio;
    const double off = std::abs(2 * std::nearbyint(other / 2) - other) / other;
    if (off < error) {
      error = off;
      best = h;
    }
  }
  const auto other =
      static_cast<std::int64_t>(2 * std::nearbyint(static_cast<double>(best) * ratio / 2));
  return wx >= wy ? std::array{best, other} : std::array{other, best};
}

// The width for which the busiest multiprocessor has least to do, in proportion to the cells that
// are not frozen. Its cost is the number of cells of its tiles, and 300 more for each two tiles:
// with this number the rule finds the best width at each size that was measured.
int default_tile(const int cells[2]) {
  constexpr int kNarrowest = 17, kWidest = 35;
  int best = kNarrowest;
  double least = std::numeric_limits<double>::infinity();
  for (int width = kNarrowest; width <= kWidest; ++width) {
    double tiles = 1, own = 1, active = 1;
    for (int a = 0; a < 2; ++a) {
      const int along = (cells[a] + width - 1) / width, edge = (cells[a] + along - 1) / along;
      tiles *= along;
      own *= edge;
      active *= 1 - 1.0 / edge;
    }
    const double each = std::ceil(tiles / kMultiprocessors);
    const double cost = (each * own + 300 * std::ceil(each / 2)) / active;
    if (cost < least) {
      least = cost;
      best = width;
    }
  }
  return best;
}

void choose_grid(State& state) {
  Parameters& p = state.parameters;
  Geometry& g = state.geometry;
  if (!(p.diameter > 0) || !std::isfinite(p.diameter))
    refuse(Parameter{"diameter"}, "must be positive and finite, got ", p.diameter);
  for (int a = 0; a < 2; ++a) {
    if (!(p.box[a] > 0) || !std::isfinite(p.box[a]))
      refuse(Parameter{"box"}, "must be positive and finite, got (", p.box[0], ", ", p.box[1], ")");
    if (p.box[a] < 3 * p.diameter)
      refuse("box too small for the checkerboard: edge ", "xy"[a], " is ", p.box[a],
             ", three diameters are ", 3 * p.diameter);
  }
  if (p.cell_width == 0) p.cell_width = p.diameter;
  if (!(p.cell_width >= p.diameter) || !(p.cell_width < std::sqrt(2.0) * p.diameter))
    refuse(Parameter{"cell_width"},
           "must be at least one diameter and below sqrt(2) diameters, got ", p.cell_width);
  double width[2];
  for (int a = 0; a < 2; ++a) {
    double cells = std::max(3.0, std::floor(p.box[a] / p.cell_width));
    // Few cells may come out much wider than wanted; four disks are the most that a cell can hold
    // only below sqrt(2) d.
    while (p.box[a] / cells >= std::sqrt(2.0) * p.diameter) ++cells;
    if (cells > 30000)
      refuse("box edge ", "xy"[a], " holds more than 30000 cells: use a smaller box");
    g.cells[a] = static_cast<int>(cells);
    width[a] = p.box[a] / cells;
  }
  // The engine reads one array of cells and writes another one.
  check_dilution(static_cast<double>(g.cells[0]) * g.cells[1],
                 2.0 * kSlots * (sizeof(Position) + sizeof(std::int32_t)), state.particles);
  const auto half = half_widths(width[0], width[1]);
  for (int a = 0; a < 2; ++a) {
    g.half[a] = static_cast<float>(half[a]);
    state.extent[a] = 2 * half[a] * g.cells[a];
  }
  state.unit = p.box[0] / static_cast<double>(state.extent[0]);
  g.diameter = p.diameter / state.unit;
  g.contact = g.diameter * g.diameter;
  g.surely_free = static_cast<float>(g.contact * (1 + kBoundError));
  g.surely_overlap = static_cast<float>(g.contact * (1 - kBoundError));

  const double narrow = std::min(width[0], width[1]);
  if (p.max_displacement == 0) p.max_displacement = std::min(0.16 * p.diameter, 0.25 * narrow);
  // The realized displacement, which checkpoints hold, may be larger by one part in 128.
  if (!(p.max_displacement > 0) || p.max_displacement > 1.0079 * narrow)
    refuse(Parameter{"max_displacement"}, "must be positive and at most the cell width ", narrow,
           ", got ", p.max_displacement);
  p.max_displacement = std::min(p.max_displacement, narrow);
  g.step = displacement_step(p.max_displacement / state.unit);

  if (p.moves_per_cell == 0) p.moves_per_cell = 4;
  if (p.moves_per_cell < 1 || p.moves_per_cell > 1024)
    refuse(Parameter{"moves_per_cell"}, "must be from 1 to 1024, got ", p.moves_per_cell);
  if (p.rounds == 0) p.rounds = 4;
  if (p.rounds < 1 || p.rounds > kMaxRounds)
    refuse(Parameter{"rounds"}, "must be from 1 to ", kMaxRounds, ", got ", p.rounds);
  g.moves_per_cell = p.moves_per_cell;
  g.rounds = p.rounds;
  g.shuffle_particles = p.shuffle_particles;
  g.shuffle_sets = p.shuffle_sets;
  g.shift_along_axis = p.shift_along_axis;
  g.key = {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};

  if (p.tile == 0) p.tile = default_tile(g.cells);
  if (p.tile < 3 || p.tile > kMaxTile)
    refuse(Parameter{"tile"}, "must be from 3 to ", kMaxTile, " cells, got ", p.tile);
  g.tile = p.tile;
  g.stride = 2 * ((p.tile + 2) / 2);
  g.plane = g.stride * (p.tile + 1);
  for (int odd = 0; odd < 2; ++odd)
    for (int k = 0; k < 8; ++k) {
      const int dx = neighbor_dx(k), dy = neighbor_dy(k), half_row = g.stride / 2;
      const int sideways = dx == 0  ? 0
                           : dx < 0 ? (odd ? -half_row : half_row - 1)
                                    : (odd ? 1 - half_row : half_row);
      g.near[odd][k] = {dy * g.stride + sideways, 2 * g.half[0] * static_cast<float>(dx),
                        2 * g.half[1] * static_cast<float>(dy), 0};
    }
  for (int a = 0; a < 2; ++a) g.tiles[a] = (g.cells[a] + p.tile - 1) / p.tile;
}

// Coordinates on the odd integers of the box.
std::array<std::int64_t, 2> to_units(const State& s, const double* r) {
  std::array<std::int64_t, 2> x;
  for (int a = 0; a < 2; ++a) {
    x[a] = 2 * static_cast<std::int64_t>(std::floor((r[a] / s.parameters.box[a] + 0.5) *
                                                    static_cast<double>(s.extent[a] / 2))) +
           1;
    if (x[a] >= s.extent[a]) x[a] -= s.extent[a];
    if (x[a] < 0) x[a] += s.extent[a];
  }
  return x;
}

// False if a cell overflows, which only overlapping disks can cause.
bool fill_cells(State& s, const std::vector<double>& xy) {
  const Geometry& g = s.geometry;
  const std::size_t slots = static_cast<std::size_t>(g.cells[0]) * g.cells[1] * kSlots;
  s.data.cells.assign(2 * slots, kEmpty);
  s.data.ids.assign(slots, -1);
  s.data.origin = {0, 0};
  for (std::size_t i = 0; i < s.particles; ++i) {
    const auto x = to_units(s, &xy[2 * i]);
    std::int64_t cell[2];
    float local[2];
    for (int a = 0; a < 2; ++a) {
      const auto half = static_cast<std::int64_t>(g.half[a]);
      cell[a] = x[a] / (2 * half);
      local[a] = static_cast<float>(x[a] - 2 * half * cell[a] - half);
    }
    std::size_t at = (static_cast<std::size_t>(cell[1]) * g.cells[0] + cell[0]) * kSlots;
    int slot = 0;
    while (slot < kSlots && s.data.ids[at + slot] >= 0) ++slot;
    if (slot == kSlots) return false;
    s.data.ids[at + slot] = static_cast<std::int32_t>(i);
    s.data.cells[2 * (at + slot)] = local[0];
    s.data.cells[2 * (at + slot) + 1] = local[1];
  }
  return true;
}

// Calls pair(i, j, squared distance) for every overlapping pair, once.
template <class Pair>
void for_overlaps(const State& s, const Snapshot& data, Pair&& pair) {
  const Geometry& g = s.geometry;
  const auto* cells = reinterpret_cast<const Position*>(data.cells.data());
  for (int row = 0; row < g.cells[1]; ++row)
    for (int column = 0; column < g.cells[0]; ++column)
      for (int slot = 0; slot < kSlots; ++slot) {
        const std::size_t at =
            (static_cast<std::size_t>(row) * g.cells[0] + column) * kSlots + slot;
        if (data.ids[at] < 0) continue;
        for (int j = 0; j <= 1; ++j)
          for (int i = j == 0 ? 0 : -1; i <= 1; ++i) {
            const int c = (column + i + g.cells[0]) % g.cells[0], r = (row + j) % g.cells[1];
            for (int k = 0; k < kSlots; ++k) {
              const std::size_t other = (static_cast<std::size_t>(r) * g.cells[0] + c) * kSlots + k;
              if (data.ids[other] < 0 || (i == 0 && j == 0 && k <= slot)) continue;
              const double dx =
                  static_cast<double>(cells[other].x - cells[at].x + 2 * g.half[0] * i);
              const double dy =
                  static_cast<double>(cells[other].y - cells[at].y + 2 * g.half[1] * j);
              const double r2 = dx * dx + dy * dy;
              if (r2 < g.contact) pair(data.ids[at], data.ids[other], r2);
            }
          }
      }
}

}  // namespace

State make_state(const double* xy, std::size_t particles, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  s.data.counters.cycles = parameters.first_cycle;
  if (particles == 0) refuse(Parameter{"positions"}, "must hold at least one disk");
  if (particles > 2000000000) refuse("at most 2e9 disks, got ", particles);
  choose_grid(s);
  const double* box = s.parameters.box;
  for (std::size_t i = 0; i < particles; ++i)
    for (int a = 0; a < 2; ++a) {
      const double r = xy[2 * i + a];
      if (!std::isfinite(r)) refuse(Particles("disk", i, "position"), "is not finite");
      if (std::abs(r) > 0.5 * box[a] * (1 + 1e-6))
        refuse(Particles("disk", i), "is outside the box: ", "xy"[a], " = ", r, ", the edge is at ",
               0.5 * box[a], remedy_for(xy, particles, box, 2));
    }
  const double fraction = std::acos(-1.0) / 4 * static_cast<double>(particles) *
                          s.parameters.diameter * s.parameters.diameter / (box[0] * box[1]);
  if (fraction > 0.90690)
    refuse("packing fraction ", fraction, " is above that of the densest packing, 0.9069");

  std::vector<double> r(xy, xy + 2 * particles);
  std::size_t worst[2] = {0, 0};
  double nearest2 = s.geometry.contact;
  const auto inspect = [&] {
    std::size_t count = 0;
    nearest2 = s.geometry.contact;
    for_overlaps(s, s.data, [&](std::int32_t i, std::int32_t j, double r2) {
      ++count;
      if (r2 < nearest2) {
        nearest2 = r2;
        worst[0] = std::min(i, j);
        worst[1] = std::max(i, j);
      }
    });
    return count;
  };
  const auto depth = [&] { return 1 - std::sqrt(nearest2 / s.geometry.contact); };
  const double most = s.parameters.repair_depth;
  const auto complain = [&](const char* why) {
    throw OverlapError(Particles("disk", worst[0], worst[1]),
                       text_of("overlap by ", depth(), " diameters",
                               depth() > most ? text_of(", more than repair_depth = ", most) : why),
                       depth());
  };
  if (!fill_cells(s, r)) {
    const auto pair = closest_pair(r.data(), particles, box, s.parameters.diameter);
    worst[0] = pair.first;
    worst[1] = pair.second;
    nearest2 =
        s.geometry.contact * pair.distance2 / (s.parameters.diameter * s.parameters.diameter);
    complain("");
  }
  const std::size_t count = inspect();
  if (count == 0) return s;
  s.repair = {count, depth()};
  if (s.repair.depth > most) complain("");
  // Push a little farther apart than contact, so that rounding to the grid makes no new overlap.
  for (double margin : {4e-6, 2e-6, 1e-6}) {
    r.assign(xy, xy + 2 * particles);
    relax_overlaps(r.data(), particles, box[0], box[1], s.parameters.diameter * (1 + margin), 2000);
    if (fill_cells(s, r) && inspect() == 0) return s;
  }
  complain(" and could not be pushed apart");
  return s;
}

Grid grid_of(const State& s) {
  const Geometry& g = s.geometry;
  Grid grid{};
  for (int a = 0; a < 2; ++a) {
    grid.cells[a] = g.cells[a];
    grid.tiles[a] = g.tiles[a];
    grid.cell_width[a] = s.parameters.box[a] / g.cells[a];
  }
  grid.tile = g.tile;
  grid.moves_per_cell = g.moves_per_cell;
  grid.rounds = g.rounds;
  grid.max_displacement = static_cast<double>(g.step) * 16383.5 * s.unit;
  grid.unit = s.unit;
  return grid;
}

State make_state(const Snapshot& data, std::size_t particles, const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  choose_grid(s);
  const Geometry& g = s.geometry;
  const std::size_t slots = static_cast<std::size_t>(g.cells[0]) * g.cells[1] * kSlots;
  if (data.cells.size() != 2 * slots || data.ids.size() != slots)
    refuse("checkpoint has ", data.ids.size(), " slots, this grid has ", slots);
  for (int a = 0; a < 2; ++a)
    if (data.origin[a] < 0 || data.origin[a] >= s.extent[a] || data.origin[a] % 2)
      refuse("checkpoint: the grid's origin is not in the box");
  if (particles == 0 || particles > slots)
    refuse("checkpoint: this grid cannot hold ", particles, " disks");
  std::vector<bool> seen(particles);
  std::size_t found = 0;
  for (std::size_t at = 0; at < slots; ++at) {
    const std::int32_t id = data.ids[at];
    const float x = data.cells[2 * at], y = data.cells[2 * at + 1];
    if (id < 0) {
      if (x != kEmpty || y != kEmpty)
        refuse("checkpoint: slot ", at, " has a position but no disk");
      continue;
    }
    if (static_cast<std::size_t>(id) >= particles || seen[id])
      refuse("checkpoint: disk ", id, " is unknown or there twice");
    if (!(std::abs(x) < g.half[0]) || !(std::abs(y) < g.half[1]) ||
        std::fmod(std::abs(x), 2.0f) != 1.0f || std::fmod(std::abs(y), 2.0f) != 1.0f)
      refuse("checkpoint: disk ", id, " is not on the grid of its cell");
    if (at % kSlots && data.ids[at - 1] < 0)
      refuse("checkpoint: disk ", id, " follows an empty slot");
    seen[id] = true;
    ++found;
  }
  if (found != particles) refuse("checkpoint holds ", found, " disks, expected ", particles);
  for_overlaps(s, data, [&](std::int32_t i, std::int32_t j, double) {
    refuse("checkpoint: disks ", i, " and ", j, " overlap");
  });
  s.data = data;
  return s;
}

State make_part(std::size_t particles, const Parameters& parameters, Communicator& ranks) {
  State s;
  s.parameters = parameters;
  s.particles = particles;
  choose_grid(s);
  s.strip.emplace(rows_of(s.geometry), ranks.rank(), ranks.ranks());
  s.ranks = &ranks;
  return s;
}

Snapshot make_snapshot(const double* xy, std::size_t particles, const Parameters& parameters,
                       Repair& repair) {
  State s = make_state(xy, particles, parameters);
  repair = s.repair;
  return std::move(s.data);
}

void check_snapshot(const Snapshot& snapshot, std::size_t particles, const Parameters& parameters) {
  make_state(snapshot, particles, parameters);
}

double largest_displacement(Parameters parameters) {
  parameters.max_displacement = 0;
  State state;
  state.parameters = parameters;
  choose_grid(state);
  const Grid grid = grid_of(state);
  return std::min(grid.cell_width[0], grid.cell_width[1]);
}

// ---- the choice of an engine by the name of the device ----

namespace {

// The state is made only once the device and the threads are known to make sense.
template <class MakeState>
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, MakeState&& state) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  if (!gpus.empty()) return make_cuda_engine(state(), gpus[0]);
  return make_cpu_engine(state(), threads);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const double* xy, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(xy, particles, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, [&] { return make_state(snapshot, particles, parameters); });
}

std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                    const Parameters& parameters, const std::string& device,
                                    int threads, Communicator& ranks) {
  return make_distributed_engine(ranks, [&](State& part) {
    check_devices(ranks, device);
    std::vector<int> edges;
    together(ranks, [&] {
      part = make_part(particles, parameters, ranks);
      edges = first_strips(rows_of(part.geometry), ranks.ranks());
    });
    Snapshot strip = deal_out(ranks, whole, edges);
    return engine_on(device, threads, [&] {
      State state = part;
      put_in(state, std::move(strip));
      return state;
    });
  });
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, int) {
  throw std::invalid_argument(why_no_cuda_devices());
}
#endif

}  // namespace manymove::hard_particles
