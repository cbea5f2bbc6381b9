// SPDX-License-Identifier: BSD-3-Clause
// What the engines of spheres share on the host: input to grid, grid to output.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine.h"
#include "model.h"
#include "swaps.h"

namespace manymove::hard_particles::spheres {

// The contact distances of all pairs in the caller's unit.
struct Distances {
  Contact contact = Contact::one_size;
  double largest = 0, smallest = 0;
  // The least distance of two particles of a type, for each type; one entry without types.
  std::vector<double> of_types;
};

// Constant pressure: the points along the edges do not depend on the numbers of cells.
struct Lattice {
  std::vector<int> cells[3];     // the numbers of cells that divide the points of an edge, ascending
  double quantum = 0;            // of the volume's coordinate
  std::vector<double> contacts;  // squares of the table in the caller's unit, [types][types]
};

struct State {
  Parameters parameters;  // at constant pressure the box changes
  Geometry geometry{};
  Distances distances;
  double unit = 0;                       // length of one integer unit
  std::array<std::int64_t, 3> extent{};  // box in integer units
  std::size_t particles = 0;
  Lattice lattice;
  Snapshot data;
  Repair repair;

  // Tables behind the law, in units.
  std::vector<double> diameters, contacts;
  std::vector<float> sigmas;
  std::vector<Label> labels;

  int dimensions() const { return parameters.dimensions; }
  bool constant_pressure() const { return parameters.beta_pressure != 0; }
  bool swaps() const { return parameters.swap_rounds != 0; }
  std::size_t cells() const {
    const int* n = geometry.cells;
    return static_cast<std::size_t>(n[0]) * n[1] * n[2];
  }
  int kinds() const {  // histograms of a row
    const int types = static_cast<int>(distances.of_types.size());
    return types * (types + 1) / 2;
  }
};

// Chooses the grid, puts the particles on it, repairs shallow overlaps, checks everything.
State make_state(const double* coordinates, std::size_t particles, const Parameters& parameters);
State make_state(const Snapshot& snapshot, std::size_t particles, const Parameters& parameters);

// The most particles in a cell with these edges, from packing bounds (section 1.1 of
// docs/theory/hard_spheres.md).
double most_in_cell(const Distances& distances, const double* edges, int dimensions);

// The most particles of a tile with its far border by these bounds; and as many as are expected
// there in a homogeneous system, with room for fluctuations.
int most_in_tile(const State& state);
int expected_in_tile(const State& state);

// The law with tables in the memory of the host, which belong to the state.
Law law_of(const State& state);

// Slots of all cells, [cells][slots], and the number of particles in each cell. In each cell the
// particles are in the order of their indices.
struct Cells {
  std::vector<Sphere> spheres;
  std::vector<std::uint32_t> counts;
};
Cells cells_of(const State& state, const Snapshot& data);
// Particles of all cells, as places in the box. Throws std::runtime_error if one is missing.
std::vector<std::int64_t> places_of(const State& state, const std::array<std::int64_t, 3>& origin,
                                    const Sphere* spheres, const std::uint32_t* counts);

Grid grid_of(const State& state);
void export_positions(const State& state, const Snapshot& data, double* coordinates);
double deepest_overlap(const State& state, const Snapshot& data);
std::uint64_t hash_of(const State& state, const Snapshot& data);
ContactBins contact_bins(const State& state, const Sampling& sampling);
void move_origin(const State& state, const Draw& draw, std::array<std::int64_t, 3>& origin);
Draw draw_cycle(const State& state, std::uint64_t cycle);
SwapRules swap_rules(const State& state, std::uint64_t cycle);

// The contact distance of two particles in the caller's unit.
double contact_distance(const State& state, std::size_t i, std::size_t j);

// ---- overlaps in float64, with a cell list of their own (overlaps.cpp) ----

struct ClosePair {
  std::size_t first = 0, second = 0;
  double ratio;  // distance over contact distance; infinite if no two particles are that close
};
ClosePair closest_pair(const State& state, const double* coordinates);
// Pushes particles apart until all pairs are at least 1 + margin contact distances apart; false if
// that is not reached.
bool push_apart(const State& state, std::vector<double>& coordinates, double margin);

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads);
// Throws std::invalid_argument for a device that does not exist, and in a build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, int device);

}  // namespace manymove::hard_particles::spheres
