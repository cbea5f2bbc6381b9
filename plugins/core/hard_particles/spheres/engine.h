// SPDX-License-Identifier: BSD-3-Clause
// The interface of the engines of hard spheres and of mixtures in two and three dimensions: plain
// C++17, no CUDA types, for any host program's compiler. Disks of one size have an engine of their
// own, ../engine.h.
//
// Lengths are in the caller's unit. Arrays are dense, in C order, in the memory of the host; they
// belong to the caller, are used during the call, and no pointer is kept. Particles are known by
// their index in the input, D is the number of dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../../runtime/api.h"
#include "../../runtime/watchdog.h"
#include "../engine.h"

namespace manymove::hard_particles::spheres {

using hard_particles::Counters;  // a cycle is a grid shift and `rounds` passes over the sets
using hard_particles::HostedEngine;
using hard_particles::HostParticles;
using hard_particles::OverlapError;  // the depth is in contact distances of the pair
using hard_particles::Repair;        // likewise
using hard_particles::Sampling;      // the bin width is in contact distances of the pair

// At constant pressure, thrown by all ranks: the box has become too large or too small for the
// lattice of the coordinates, which belongs to the box of the start.
struct MANYMOVE_API OutgrownLattice : std::runtime_error, Agreed {
  using std::runtime_error::runtime_error;
};

// Zero means: choose from the input. Two particles overlap if they are closer than their contact
// distance, which is
// - the diameter, if neither diameters nor types are given;
// - half the sum of their diameters, if `diameters` [N] are given;
// - contacts[a][b] for particles of types a and b, if `types` [N] and `contacts` [T][T] are given.
struct Parameters {
  int dimensions = 3;         // 2 or 3
  double box[3] = {0, 0, 0};  // periodic, centered on the origin
  double diameter = 1;        // of all particles
  std::vector<double> diameters;
  std::vector<std::int32_t> types;  // from 0 to T - 1
  std::vector<double> contacts;     // symmetric
  double max_displacement = 0;      // moves are uniform in a cube (square) of twice this edge
  double cell_width = 0;            // wanted width of a cell, at least the largest contact distance
  int moves_per_cell = 0;           // n_m, trial moves per visit of a cell
  int rounds = 0;                   // passes over the 2^D checkerboard sets between two grid shifts
  std::array<int, 3> tile{};        // widest tile in cells along each axis
  std::uint64_t seed = 0;
  std::uint64_t first_cycle = 0;  // where the counter of cycles, and so the random numbers, begins
  double repair_depth = 1e-4;     // overlaps of the start up to this depth are repaired
  // Constant pressure: trial changes of the volume, all edges together, after every `volume_every`
  // cycles. The edges of the start are then realized to 1e-4 of their ratios, the volume exactly.
  double beta_pressure = 0;  // pressure over kT; 0: constant volume
  bool ln_volume = true;     // steps uniform in ln V, otherwise in V
  bool edges_apart = false;  // steps of one edge at a time, uniform in its length; not in ln V
  double volume_delta = 0;   // largest step, of ln V, V or an edge
  double edge_shares[3] = {1, 1, 1};  // of volume_delta, for each edge; 0: a fixed edge
  int volume_repeats = 0;             // trial changes at a time
  int volume_every = 0;
  // Swap moves of diameters [N] after every `swap_every` cycles: rounds of pairs for each set of
  // cells, 0 for none, and the largest difference of the diameters of a pair, 0 for any.
  int swap_rounds = 0, swap_every = 0;
  double swap_range = 0;
};

// Everything that a trajectory depends on, besides the parameters, or what one rank has of it.
struct Snapshot {
  Counters counters;
  std::array<std::int64_t, 3> origin{};  // lower corner of the first cell, integer units
  std::vector<std::int64_t> places;      // [N][D], in integer units from the box's lower corner
  // Constant pressure: V or ln V, and the trial changes of it.
  double volume = 0;
  std::uint64_t volume_trials = 0, volume_accepted = 0;
  std::array<std::int64_t, 3> extent{};  // with edges apart, the box in integer units
  // Swap moves: the present diameters [N], with which a run continues, and the trials.
  std::vector<double> diameters;
  std::uint64_t swap_trials = 0, swap_accepted = 0;
  // On a rank: indices [N] of the particles to which the places and diameters belong.
  std::vector<std::uint32_t> ids;

  std::uint32_t index(std::size_t i) const {
    return ids.empty() ? static_cast<std::uint32_t>(i) : ids[i];
  }
};

// The grid that the engine chose.
struct Grid {
  int dimensions;
  int cells[3], tiles[3], tile[3];
  double cell_width[3];
  int moves_per_cell, rounds;
  int slots;                // particles for which a cell has room, by a proven bound
  double max_displacement;  // as realized
  double unit;              // length of one integer unit
  double box[3];            // present edges
  std::int64_t extent[3];   // and in integer units
  // Constant pressure: as chosen, and the largest volume_delta.
  double volume_delta, largest_volume_delta;
  int volume_repeats, volume_every;
};

// Trial changes of the volume, or swap moves.
struct TrialCounters {
  std::uint64_t trials = 0, accepted = 0;
};

// The contract is that of a HostedEngine.
class MANYMOVE_API Engine : public HostedEngine {
 public:
  int cycles_between_writes() const final {  // in a cycle a particle stays in its cell
    const Grid g = grid();
    int fewest = g.cells[0];
    for (int a = 1; a < g.dimensions; ++a) fewest = g.cells[a] < fewest ? g.cells[a] : fewest;
    return (fewest - 1) / 2;
  }
  int dimensions() const final { return grid().dimensions; }
  std::array<double, 3> cell_widths() const final {
    const Grid g = grid();
    return {g.cell_width[0], g.cell_width[1], g.dimensions == 3 ? g.cell_width[2] : 0};
  }

  // Histograms of pair distances from contact on: bin k counts the pairs whose distance, in contact
  // distances, is within bin_width of 1 + k bin_width. One histogram, or one per pair of types in
  // the order (0, 0), (0, 1), ... (1, 1), ...: [pairs of types][bins]. Every `every` cycles; a row
  // every `record` cycles (a multiple of `every`). Takes effect with the next cycle; rows not yet
  // taken are dropped, and so is a first row that would be incomplete (intervals are counted from
  // cycle 0, so that a resumed run has the same rows). bin_width * bins is at most 1.
  virtual void set_sampling(const Sampling& sampling) = 0;
  // Finished rows, [rows][pairs of types][bins], and the cycle at which each ended; they are handed
  // over once.
  virtual std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) = 0;
  // contact_histogram() gives the same histograms of the present configuration.

  // Constant pressure: means over the cycles of records, from the next cycle on, as for the
  // histograms; 0 for none. take_volumes() hands over [rows][3], the means of V, V^2 and 1/V, and
  // the cycle at which each row ended.
  virtual void set_volume_sampling(std::uint64_t record) = 0;
  virtual std::vector<double> take_volumes(std::vector<std::uint64_t>& cycles) = 0;
  virtual TrialCounters volume_counters() const = 0;
  virtual TrialCounters swap_counters() const = 0;
  // With swap moves the present diameters [N], on all ranks.
  virtual std::vector<double> diameters() const { return snapshot().diameters; }

  // With swap moves: the diameters of a host program's particle types, no two of them equal. From
  // then on write_positions() leaves the type of a particle's present diameter in the fourth
  // component, as HOOMD-blue has it.
  virtual void set_type_diameters(const std::vector<double>& diameters) = 0;

  virtual Grid grid() const = 0;
  // The share of cells that hold at least one particle in the present grid.
  virtual double occupied() const = 0;
  // Depth of the deepest overlap in contact distances, in float64; 0 if there is none.
  virtual double max_overlap() const = 0;
  virtual Snapshot snapshot() const = 0;
};

// coordinates: [N][D]. device: "cpu" or "cuda:<index>". threads: of the CPU engine, 0 for all.
// Throws std::invalid_argument (OverlapError) for bad input, std::bad_alloc when memory runs out,
// std::runtime_error for device errors.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const double* coordinates, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads);

// Continues from a snapshot of an engine with the same parameters: the same trajectory, bit for
// bit.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads);

// ---- a system that is divided among ranks ----

// What an engine of these particles begins with; and whether a snapshot is one of a system with
// these parameters. Errors are those of make_engine().
MANYMOVE_API Snapshot make_snapshot(const double* coordinates, std::size_t particles,
                                    const Parameters& parameters, Repair& repair);
MANYMOVE_API void check_snapshot(const Snapshot& snapshot, std::size_t particles,
                                 const Parameters& parameters);
// One rank's engine, from a snapshot of the whole, which rank 0 has and has checked; the others may
// pass null. Ranks have slabs of whole layers of tiles, along z, or strips along y in two
// dimensions. The contract is that of disks (../engine.h): parameters are the same on all ranks,
// those by particle included, and the communicator must outlive the engine; the trajectory is that
// of an engine of the whole; what is collective there is here, errors are those of all ranks, and a
// host program's particles are not supported. The snapshot() of rank 0 has all particles.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 Communicator& ranks);

// The largest max_displacement that an engine accepts: the width of its narrowest cells.
MANYMOVE_API double largest_displacement(const Parameters& parameters, std::size_t particles);

// Number of pairs that are closer than their contact distance by more than rounding; coordinates:
// [N][D]. Where thousands of particles are in one place, not all of their pairs are counted.
MANYMOVE_API std::size_t count_overlaps(const double* coordinates, std::size_t particles,
                                        const Parameters& parameters);

}  // namespace manymove::hard_particles::spheres
