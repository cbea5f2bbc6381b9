// SPDX-License-Identifier: BSD-3-Clause
// What the two engines share on the host: input to grid, grid to output.
#pragma once

#include <memory>
#include <optional>

#include "engine.h"
#include "host_particles.h"
#include "equal_disks.h"
#include "strip.h"

namespace manymove::hard_particles {

struct State {
  Parameters parameters;
  Geometry geometry{};
  double unit = 0;                       // length of one integer unit
  std::array<std::int64_t, 2> extent{};  // box in integer units
  std::size_t particles = 0;
  Snapshot data;  // of a strip: in its local storage
  Repair repair;
  std::optional<Strip> strip;  // of a divided system
  Communicator* ranks = nullptr;

  // Local storage as a grid, and the rows there that are this rank's.
  Geometry local() const {
    Geometry g = geometry;
    if (strip) g.cells[1] = strip->capacity();
    return g;
  }
  int first_row() const { return strip ? strip->margin() : 0; }
  int rows() const { return strip ? strip->rows() : geometry.cells[1]; }
  std::size_t row_slots() const { return static_cast<std::size_t>(geometry.cells[0]) * kSlots; }
};

// The rows that ranks divide; and, after Strip::advance(), the draw and the tiles from a row of a
// strip on, as the kernels need them in local storage.
inline GridRows rows_of(const Geometry& g) { return {g.cells[1], g.tiles[1], g.tile}; }
inline Draw local_draw(const Strip& strip, Draw d) {
  d.shift_cells[1] = strip.local_shift();
  return d;
}
inline Part part_of(const Strip& strip, const Geometry& whole, int tile_row) {
  Part p;
  for (int a = 0; a < 2; ++a) {
    p.cells[a] = whole.cells[a];
    p.tiles[a] = whole.tiles[a];
  }
  p.first_tile = strip.tile_row(tile_row) * whole.tiles[0];
  p.first_row = strip.first_row();
  return p;
}

// Chooses the grid, puts the disks on it, mends shallow overlaps, checks everything.
State make_state(const double* xy, std::size_t particles, const Parameters& parameters);
State make_state(const Snapshot& snapshot, std::size_t particles, const Parameters& parameters);
// This rank's part of a system, without its disks, and these. Throws std::invalid_argument if the
// box is too small for so many ranks.
State make_part(std::size_t particles, const Parameters& parameters, Communicator& ranks);
void put_in(State& part, Snapshot strip);

Grid grid_of(const State& state);
Frame frame_of(const State& state, const std::array<std::int64_t, 2>& origin);
// How far a disk may have gone along an axis between two cycles.
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};
double reach_of(const State& state, std::uint64_t from, std::uint64_t to);
void export_positions(const State& state, const Snapshot& data, double* xy);
std::vector<ParticlePosition> disk_positions(const State& state, const Snapshot& data);
double deepest_overlap(const State& state, const Snapshot& data);
std::uint64_t hash_of(const State& state, const Snapshot& data);
// The same in two steps, for what is in several places.
std::uint64_t sum_over_disks(const State& state, const Snapshot& data);
std::uint64_t hash_of(std::uint64_t sum, const Counters& counters);
// Depth of the deepest overlap of positions in the box; 0 if there is none.
double deepest_overlap(const State& state, const double* xy);
// The share of the grid's cells that hold a disk here.
double occupied_share(const State& state, const Snapshot& data);
// Sums of [rows][2], in order, over the number of disks.
std::array<double, 2> mean_of(const double* sums, std::size_t rows, std::size_t particles);
ContactBins contact_bins(const Geometry& g, const Sampling& sampling);
void move_origin(const State& state, const Draw& draw, std::array<std::int64_t, 2>& origin);

// ---- the engines of each backend, of which make_engine() of engine.h chooses one ----

// threads: at least one.
std::unique_ptr<Engine> make_cpu_engine(State state, int threads);
// Throws std::invalid_argument for a device that does not exist, and in a
// build without CUDA.
std::unique_ptr<Engine> make_cuda_engine(State state, int device);

}  // namespace manymove::hard_particles
