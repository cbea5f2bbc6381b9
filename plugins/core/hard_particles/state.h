// SPDX-License-Identifier: BSD-3-Clause
// What the engines share on the host, for both policies: input to grid, grid to output. Equal disks
// are `Particles<2, Contact::one_size>` here, but for the rules of their grid and their snapshot,
// which has their order in the cells (cells_of_disks.h).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../runtime/devices.h"
#include "engine.h"
#include "equal_disks.h"
#include "particles.h"
#include "strip.h"
#include "swaps.h"

namespace manymove::hard_particles {

class HandOver;  // hand_over.h

// The contact distances of all pairs in the caller's unit.
struct Distances {
  Contact contact = Contact::one_size;
  double largest = 0, smallest = 0;
  double reach = 0;  // the largest range of a step, or `largest`: as far as particles interact
  // The least distance of two particles of a type, for each type; one entry without types.
  std::vector<double> of_types;
};

// Constant pressure: the points along the edges do not depend on the numbers of cells.
struct Lattice {
  std::vector<int> cells[3];  // the numbers of cells that divide the points of an edge, ascending
  double quantum = 0;         // of the volume's coordinate
  // The largest steps of edges, in possible edges, or with several kinds of box moves in quanta of
  // ln L, where there are also those of ln V / D and of ln L at constant volume, over D - 1.
  std::int64_t steps[3] = {0, 0, 0};
  std::int64_t volume_step = 0, aspect_step = 0;
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
  Snapshot data;  // without its particles
  Cells start;    // the particles of the start, which the engine takes
  Repair repair;
  std::vector<double> type_diameters;  // of a host program's types, which follow the swap moves
  std::optional<Strip> strip;          // of a divided system
  Communicator* ranks = nullptr;

  // Tables behind the law, in units.
  std::vector<double> diameters, contacts;
  std::vector<float> sigmas, radii;  // radii: only if all contact distances of types are sums
  std::vector<Label> labels;
  // And behind the steps.
  std::vector<double> step_squares;
  std::vector<float> step_bounds, step_reaches;
  std::vector<std::int64_t> step_energies;
  // The types that are inserted and deleted, and ln(z V) of each with the volume V of a cell.
  std::vector<std::int32_t> inserted_types;
  std::vector<double> insertion_logarithms;
  // With fugacities, see Engine::take_former_indices().
  std::vector<std::uint32_t> former_indices;

  int dimensions() const { return parameters.dimensions; }
  bool equal_disks() const { return parameters.equal_disks(); }
  // For messages.
  const char* noun() const { return equal_disks() ? "disk" : "particle"; }
  GridRules rules() const {
    return equal_disks() ? EqualDisks::kGrid : Particles<3, Contact::additive>::kGrid;
  }
  bool constant_pressure() const { return parameters.beta_pressure != 0; }
  bool box_changes() const { return constant_pressure() || parameters.gibbs; }
  bool swaps() const { return parameters.swap_rounds != 0; }
  bool swaps_types() const { return swaps() && distances.contact == Contact::table; }
  bool swaps_diameters() const { return swaps() && !swaps_types(); }
  bool grand_canonical() const { return !parameters.fugacities.empty(); }
  bool number_changes() const { return grand_canonical() || parameters.gibbs; }
  // Whether particles are inserted and deleted after a cycle.
  bool inserts_after(std::uint64_t cycle) const {
    return !inserted_types.empty() && cycle % parameters.insertion_every == 0;
  }
  // Whether trial moves are decided by energies.
  bool has_energies() const { return !parameters.fields.empty() || !parameters.steps.empty(); }
  std::size_t cells() const {
    const int* n = geometry.cells;
    return static_cast<std::size_t>(n[0]) * n[1] * n[2];
  }

  // Local storage, with its number of rows along the last axis and of cells in a row, and the rows
  // there that are this rank's. An undivided system has no margins.
  Geometry local() const {
    Geometry g = geometry;
    if (!strip) return g;
    g.cells[dimensions() - 1] = strip->capacity();
    g.part = {strip->whole().cells, strip->rows(), strip->first_row(),
              strip->tile_row(0) * tiles_in_row()};
    return g;
  }
  int stored_rows() const { return strip ? strip->capacity() : geometry.cells[dimensions() - 1]; }
  std::size_t row_cells() const { return cells() / geometry.cells[dimensions() - 1]; }
  int first_row() const { return strip ? strip->margin() : 0; }
  int rows() const { return strip ? strip->rows() : geometry.cells[dimensions() - 1]; }
  int tiles_in_row() const {
    return geometry.tiles[0] * (dimensions() == 3 ? geometry.tiles[1] : 1);
  }
  int tiles() const {
    return tiles_in_row() * (strip ? strip->tile_rows() : geometry.tiles[dimensions() - 1]);
  }
  // H of the narrowest edge of a cell.
  float narrowest_half() const {
    return *std::min_element(geometry.half, geometry.half + dimensions());
  }
  int histograms() const {  // of a row: for each kind of pairs that of contact, and two of a step
    const int types = static_cast<int>(distances.of_types.size());
    return types * (types + 1) / 2 * (1 + 2 * static_cast<int>(parameters.steps.size()));
  }
};

// Chooses the grid, puts the particles on it, repairs shallow overlaps, checks everything.
State make_state(const double* coordinates, std::size_t particles, const Parameters& parameters);
State make_state(const Snapshot& snapshot, std::size_t particles, const Parameters& parameters);

// A pair of particles, and its distance over the contact distance.
struct ClosePair {
  std::size_t first = 0, second = 0;
  double ratio = 1;
};
// The number of overlapping pairs of particles in cells, and the deepest one. With steps, also the
// energy of all pairs in quanta modulo 2^64. Pairs count with their first cell, of which those
// beyond `rows` rows are left out; below 0: none are.
struct Overlaps : ClosePair {
  std::size_t count = 0;
  std::uint64_t energy = 0;
};
Overlaps overlaps_of(const State& state, const Cells& cells, int rows = -1);

// What the places of particles depend on, and what a snapshot has besides them.
State frame_of(const State& state);
// After a change of the grid: new strips, whose ranks take their particles from what each had, with
// the diameters of swap moves; returns this rank's cells. Collective. Throws std::runtime_error, on
// all ranks, if the box has become too small for so many ranks.
Cells divide_again(State& state, Snapshot mine);
// Sets the box, the grid and the contact distances to those of a snapshot at constant pressure.
// Throws std::invalid_argument if there is no such box.
void adopt_box(State& state, const Snapshot& data);
// What all ranks have, as the snapshot of the whole on rank 0: in the order of the indices, or of
// equal disks in that of the ranks, with indices. Collective.
Snapshot particles_of_all(const State& state, const Snapshot& mine);
// The rows that ranks divide.
GridRows rows_of(const State& state);
// The row of the whole grid in which a particle is, of which this is the place along the last axis.
int row_of(const State& state, const Snapshot& data, std::int64_t place);

// The most particles in a cell with these edges, from packing bounds (section 1.1 of
// docs/theory/hard_spheres.md).
double most_in_cell(const Distances& distances, const double* edges, int dimensions);

// The most particles of a tile with its far border by these bounds, or by the number of particles;
// and as many as are expected there in a homogeneous system, with room for fluctuations.
int most_in_tile(const State& state);
int expected_in_tile(const State& state);

// The law with tables in the memory of the host, which belong to the state.
Law law_of(const State& state);

Cells cells_of(const State& state, const Snapshot& data);
// Whether no two particles overlap and all fit into their cells; then the energy of the pairs in
// the first `rows` rows, see Overlaps.
std::optional<std::uint64_t> legal_energy(const State& state, const Snapshot& data, int rows = -1);
// The same for a system that ranks divide in any way, each with its part in `mine`. Collective.
std::optional<std::uint64_t> legal_energy_on_ranks(const State& state, const Snapshot& mine);
// A snapshot with the places of this rank's particles in the order of the cells, with indices.
Snapshot particles_in(const State& state, const Cells& cells);
// The same, in the order of the indices unless ranks divide the system.
Snapshot snapshot_of(const State& state, const Cells& cells);
// Puts the particles of a snapshot into the order of their indices. Throws std::runtime_error if
// one is missing.
Snapshot by_index(const State& state, const Snapshot& data);
// A particle's diameter in the caller's unit, in integer units and as a label.
void set_diameter(State& state, std::uint32_t id, double diameter);

Grid grid_of(const State& state);

// ---- what leaves the grid; snapshots have places here, those of equal disks too ----

// The hash of a state from a sum over its particles, which ranks add up, and the counters, the
// volume and all diameters of a snapshot.
std::uint64_t sum_over_particles(const State& state, const Snapshot& data);
std::uint64_t hash_of(const State& state, std::uint64_t sum, const Snapshot& data);
std::vector<ParticlePosition> particle_positions(const State& state, const Snapshot& data);

ContactBins contact_bins(const State& state, const Sampling& sampling);
// The grid moves by the shift of a cycle.
void move_origin(State& state, const Draw& draw);
Draw draw_cycle(const State& state, std::uint64_t cycle);
SwapRules swap_rules(const State& state, std::uint64_t cycle);
// Moves the strip with the grid, as near to its equal part of the box as the tiles allow.
HaloRows advance_strip(State& state, const Draw& draw);
// The draw in local storage, after advance_strip().
Draw local_draw(const State& state, Draw draw);

// The contact distance of two particles in the caller's unit.
double contact_distance(const State& state, std::size_t i, std::size_t j);

// ---- overlaps in float64, with a cell list of their own (overlaps.cpp) ----

// Infinitely far apart if no two particles are closer than the largest contact distance.
ClosePair closest_pair(const State& state, const double* coordinates);
// Pushes particles apart until all pairs are at least 1 + margin contact distances apart; false if
// that is not reached.
bool push_apart(const State& state, std::vector<double>& coordinates, double margin);

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads);
// Throws std::invalid_argument for a device that does not exist, and in a build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, int device);
std::unique_ptr<HandOver> make_cuda_hand_over(Communicator& ranks, int device);
// The one for a device. The state is made only once the device and the threads are known to make
// sense.
std::unique_ptr<Engine> engine_on(const std::string& device, int threads, auto&& state) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  if (!gpus.empty()) return make_cuda_engine(state(), gpus[0]);
  return make_cpu_engine(state(), threads);
}

}  // namespace manymove::hard_particles
