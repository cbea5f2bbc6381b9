// SPDX-License-Identifier: BSD-3-Clause
// The interface of the hard-disk engines: plain C++17, no CUDA types, for any host program's
// compiler.
//
// Lengths are in the caller's unit. Arrays are dense, in C order, in the memory of the host unless
// HostParticles says otherwise; they belong to the caller, are used during the call, and no pointer
// is kept. Disks are known by their index in the input. What is collective stands with
// make_engine() for several ranks; on one rank nothing is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../parallel/communicator.h"
#include "../runtime/api.h"
#include "../runtime/errors.h"

namespace manymove::hard_particles {

// Two disks of the start overlap; indices and depth (in diameters) of the worst pair.
struct MANYMOVE_API OverlapError : ParticleError {
  OverlapError(const Particles& pair, const std::string& problem, double depth)
      : ParticleError(pair, problem), depth(depth) {}
  double depth;
};

// Lengths in the caller's unit. Zero means: choose from the input.
struct Parameters {
  double box[2] = {0, 0};  // periodic, centered on the origin
  double diameter = 1;
  double max_displacement = 0;  // moves are uniform in a square of twice this edge
  double cell_width = 0;        // wanted width of a cell, from one to below sqrt(2) diameters
  int moves_per_cell = 0;       // n_m, trial moves of a cell's disks per visit
  int rounds = 0;               // passes over the four checkerboard sets between two grid shifts
  int tile = 0;  // widest tile in cells; one column and one row of each are frozen in a cycle
  bool shuffle_particles = true;  // without: wrong (Table 1)
  bool shuffle_sets = true;       // without: the reverse sweep is not possible (section 2.4)
  bool shift_along_axis = false;  // the paper's shift: keeps more of the cell lists (Algorithm 4)
  std::uint64_t seed = 0;
  std::uint64_t first_cycle = 0;  // where the counter of cycles, and so the random numbers, begins
  double repair_depth = 1e-4;  // overlaps of the start up to this depth, in diameters, are repaired
};

struct Counters {
  std::uint64_t cycles = 0;  // grid shifts
  std::uint64_t trial_moves = 0;
  std::uint64_t accepted_moves = 0;
};

// Everything that a trajectory depends on, in host memory, or one rank's strip of it. Lists keep
// their order.
struct Snapshot {
  Counters counters;
  std::array<std::int64_t, 2> origin{};  // lower left corner of cell (0, 0), integer units
  int first_row = 0;                     // of a strip
  std::vector<float> cells;              // [rows][columns][4][2], kEmpty where there is no disk
  std::vector<std::int32_t> ids;         // [rows][columns][4], -1 where there is no disk
};

// The grid that the engine chose.
struct Grid {
  int cells[2];
  double cell_width[2];
  int tiles[2];
  int tile, moves_per_cell, rounds;
  double max_displacement;  // as realized
  double unit;              // length of one integer unit
};

struct Repair {
  std::size_t count = 0;  // overlapping pairs found in the input
  double depth = 0;       // of the deepest, in diameters
};

// Histogram of pair distances from contact on (section 4), accumulated every `every` cycles, a row
// every `record` cycles (a multiple of `every`). A sample adds up to 3 N.
struct Sampling {
  double bin_width = 0;  // in diameters
  int bins = 0;
  std::uint64_t every = 0, record = 0;
};

// The particles of a host program, in its own memory: the device's for a CUDA engine, the host's
// for a CPU engine.
struct HostParticles {
  void* position;              // [N][4], the coordinates first; the others are left alone
  bool double_precision;       // of `position`: float64 or float32
  std::int32_t* image;         // [N][3], or null: not kept
  const std::uint32_t* index;  // [N], where particle i stands
  const std::uint32_t* tag;    // [N], the particle that stands there
};

struct ParticlePosition {
  std::uint32_t particle;   // its index in the input
  std::array<double, 3> r;  // z is 0 in two dimensions
  std::int32_t type = -1;   // of a host program, where swap moves exchange them
};

// What a host program needs of an engine, of disks of one size (below) or of spheres and mixtures
// (spheres/engine.h).
//
// To be used by one thread at a time. What a CUDA engine does is ordered with the legacy default
// stream of its device, where host programs work, and the calling thread's current device is
// afterwards what it was. An error of the device is a std::runtime_error of the call that notices
// it; the engine can only be destroyed then.
class MANYMOVE_API HostedEngine {
 public:
  virtual ~HostedEngine() = default;

  // Runs whole cycles: shift the grid, then `rounds` passes over the sets. Blocks until done.
  void run(std::uint64_t cycles) {
    enqueue(cycles);
    counters();
  }
  // The same, but a GPU may still be at it on return; what asks for the state waits.
  virtual void enqueue(std::uint64_t cycles) = 0;
  // And leaves the positions with a host program.
  virtual void enqueue(std::uint64_t cycles, const HostParticles& particles) {
    enqueue(cycles);
    write_positions(particles);
  }

  // Whether a host program's positions are those that write_positions() or enqueue() left there, in
  // any order. An engine of spheres or of a mixture looks at the fourth component too, where
  // HOOMD-blue has the type.
  virtual bool same_positions(const HostParticles& particles) const = 0;
  // enqueue() if same_positions(), otherwise nothing. An engine on a GPU does not wait for the
  // answer before it enqueues.
  virtual bool enqueue_if_same(std::uint64_t cycles, const HostParticles& particles) {
    if (!same_positions(particles)) return false;
    enqueue(cycles, particles);
    return true;
  }
  // Images follow the particles, which must not have gone farther than half the box since the last
  // time: at most cycles_between_writes() cycles.
  virtual void write_positions(const HostParticles& particles) = 0;
  virtual int cycles_between_writes() const = 0;

  // Pairs by distance in the present configuration.
  virtual std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const = 0;

  virtual Counters counters() const = 0;
  virtual Repair repair() const = 0;
  virtual std::size_t particles() const = 0;
  virtual int dimensions() const = 0;
  // Along each axis.
  virtual std::array<double, 3> cell_widths() const = 0;
  // [N][D], in the order of the input, in [-L/2, L/2).
  virtual void positions(double* coordinates) const = 0;
  // The places of this rank's particles, in no particular order; not collective, but other ranks
  // hear of an error in their next collective call. An undivided engine has all particles.
  virtual std::vector<ParticlePosition> own_positions() const {
    const auto d = static_cast<std::size_t>(dimensions());
    std::vector<double> r(d * particles());
    positions(r.data());
    std::vector<ParticlePosition> own(particles());
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i].particle = static_cast<std::uint32_t>(i);
      for (std::size_t a = 0; a < d; ++a) own[i].r[a] = r[d * i + a];
    }
    return own;
  }
  // For people: what rows of cells travel through from rank to rank. Empty on one rank.
  virtual std::string transport() const { return ""; }
  // Hash of the integer positions by index and of the counters: the same on every machine.
  virtual std::uint64_t state_hash() const = 0;
};

class MANYMOVE_API Engine : public HostedEngine {
 public:
  int cycles_between_writes() const final {  // in a cycle a disk stays in its cell
    const Grid g = grid();
    return ((g.cells[0] < g.cells[1] ? g.cells[0] : g.cells[1]) - 1) / 2;
  }
  int dimensions() const final { return 2; }
  std::array<double, 3> cell_widths() const final {
    const Grid g = grid();
    return {g.cell_width[0], g.cell_width[1], 0};
  }

  // Takes effect with the next cycle; rows not yet taken are dropped, and so is a first row that
  // would be incomplete (intervals are counted from cycle 0, so that a resumed run has the same
  // rows).
  virtual void set_sampling(const Sampling& sampling) = 0;
  // Finished rows, [rows][bins], and the cycle at which each ended; they are handed over once.
  virtual std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) = 0;

  virtual Grid grid() const = 0;
  // The share of cells that hold at least one disk in the present grid.
  virtual double occupied() const = 0;

  // Mean of psi_6 over the disks, with neighbors closer than `reach` (at most twice the cell
  // width).
  virtual std::array<double, 2> bond_order(double reach) const = 0;
  // Depth of the deepest overlap in diameters, in float64; 0 if there is none.
  virtual double max_overlap() const = 0;
  virtual Snapshot snapshot() const = 0;
};

// xy: [N][2]. device: "cpu" or "cuda:<index>". threads: of the CPU engine, 0 for all.
// Throws std::invalid_argument (OverlapError) for bad input, std::bad_alloc when memory runs out,
// std::runtime_error for device errors.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const double* xy, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads);

// Continues from a snapshot of an engine with the same parameters: the same trajectory, bit for
// bit.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads);

// ---- a system that is divided among ranks ----

// What an engine of these disks begins with; and whether a snapshot is one of a system with these
// parameters. Errors are those of make_engine().
MANYMOVE_API Snapshot make_snapshot(const double* xy, std::size_t particles,
                                    const Parameters& parameters, Repair& repair);
MANYMOVE_API void check_snapshot(const Snapshot& snapshot, std::size_t particles,
                                 const Parameters& parameters);
// One rank's engine, from a snapshot of the whole, which rank 0 has and has checked; the others may
// pass null. Parameters are the same on all ranks, and the communicator must outlive the engine.
// The trajectory is that of an engine of the whole. This call, enqueue(), positions(),
// bond_order(), contact_histogram(), max_overlap(), occupied(), snapshot() and state_hash() are
// collective: all ranks succeed or all throw the same error, which is a RankFailure unless it is
// std::invalid_argument because the ranks cannot share the box or use these devices. They answer
// for the whole, but snapshot() has cells on rank 0 only. A host program's particles are not
// supported (std::logic_error). The ranks' devices are all CPUs or all GPUs; the environment
// variable MANYMOVE_TRANSPORT chooses how rows go from GPU to GPU, see parallel/transport.cuh.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 Communicator& ranks);

// The largest max_displacement that an engine accepts: the width of its narrowest cells. Depends on
// the box, the diameter and the cell width. Throws std::invalid_argument if these are bad.
MANYMOVE_API double largest_displacement(Parameters parameters);

// Pairs of disks closer than `diameter` by more than rounding; xy: [N][2]. Of a heap of hundreds
// not all.
MANYMOVE_API std::size_t count_overlaps(const double* xy, std::size_t particles,
                                        const double box[2], double diameter);

}  // namespace manymove::hard_particles
