// SPDX-License-Identifier: BSD-3-Clause
// The interface of the engines of hard particles: plain C++17, no CUDA types, for any host
// program's compiler.
//
// One engine has two policies. `EqualDisks` (equal_disks.h) moves disks of one size at constant
// volume, `Particles` (particles.h) everything else: spheres, mixtures in two and three dimensions,
// and disks at constant pressure. make_engine() chooses by the parameters. The policies differ in
// the order of their random draws and in what they store, and therefore in their trajectories.
//
// Lengths are in the caller's unit. Arrays are dense, in C order, in the memory of the host unless
// HostParticles says otherwise; they belong to the caller, are used during the call, and no pointer
// is kept. Particles are known by their index in the input, D is the number of dimensions. What is
// collective stands with make_engine() for several ranks; on one rank nothing is.
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
#include "../runtime/fields.h"
#include "../runtime/watchdog.h"

struct CUstream_st;
namespace manymove {
class EngineGroup;  // runtime/engine_group.h
}
namespace manymove::hard_particles {

struct HandOverWork;  // hand_over_passes.h

// Particles of the start overlap; it names the worst pair.
using manymove::OverlapError;

// At constant pressure, thrown by all ranks: the box has become too large or too small for the
// lattice of the coordinates, which belongs to the box of the start.
struct MANYMOVE_API OutgrownLattice : std::runtime_error, Agreed {
  using std::runtime_error::runtime_error;
};

// All edges by one factor, one edge, or one edge and the others against it, at constant volume.
enum class BoxMove { volume, length, aspect };

// A field that acts on each particle alone. Energies are in kT, and infinite where the center of a
// particle may not be. The distance from a wall is positive on the side of the particles.
enum class FieldKind {
  wall,           // hard: the distance of a center is at least `value`
  harmonic_wall,  // value / 2 (length - distance)^2 at distances below `length`
  lj93_wall,      // value (2/15 (length / distance)^9 - (length / distance)^3), cut and shifted
  linear,         // value times the coordinate along `direction` from `origin`
  springs         // value / 2 times the squared distance of the nearest image of a point
};
enum class WallShape { plane, sphere, cylinder };
struct ExternalField {
  FieldKind kind = FieldKind::wall;
  WallShape shape = WallShape::plane;
  bool inside = true;                        // the particles are inside a sphere or a cylinder
  std::array<double, 3> origin{0, 0, 0};     // a point of the plane, or the center
  std::array<double, 3> direction{0, 0, 1};  // normal towards the particles, or axis; any length
  double radius = 0;
  double length = 0, cutoff = 0;
  double value = 0;
  std::vector<double> values;  // [N], instead of `value`, or empty
  std::vector<double> points;  // [N][D], of springs
};
inline constexpr int kMostFields = 8;

// A step of the energies of pairs: those closer than their range have the energy, in kT. The
// energies of several steps add up.
struct PairStep {
  std::vector<double> ranges;    // [T][T], symmetric, above the contact distances
  std::vector<double> energies;  // [T][T], symmetric; where it is 0, the range does not matter
};
inline constexpr int kMostSteps = 8;

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
  // [N] or empty: particles that are not 0 never move. Their trial moves are rejected. Not at
  // constant pressure nor with swap moves.
  std::vector<std::uint8_t> pinned;
  // Wanted width of a cell: at least the largest contact distance or range of a step; of equal
  // disks below sqrt(2) diameters, otherwise below 4/3 of that length.
  double cell_width = 0;
  int moves_per_cell = 0;  // n_m, trial moves per visit of a cell
  int rounds = 0;          // passes over the 2^D checkerboard sets between two grid shifts
  // Widest tile in cells along each axis, of equal disks the first number along both. The first
  // layer of a tile along each axis is frozen in a cycle.
  std::array<int, 3> tile{};
  std::uint64_t seed = 0;
  std::uint64_t first_cycle = 0;  // where the counter of cycles, and so the random numbers, begins
  double repair_depth = 1e-4;     // overlaps of the start up to this depth are repaired
  // Constant pressure: trial changes of the volume, all edges together, after every `volume_every`
  // cycles. The edges of the start are then realized to 1e-4 of their ratios, the volume exactly.
  double beta_pressure = 0;  // pressure over kT; 0: constant volume
  bool ln_volume = true;     // steps uniform in ln V, otherwise in V
  bool edges_apart = false;  // steps of one edge at a time, uniform in its length; not in ln V
  // With edges apart, several kinds of steps: the relative probability of each BoxMove, all 0 for
  // steps of one edge alone; and the largest steps, of ln V, of an edge of the start, and the
  // relative one of an edge whose length changes at constant volume.
  std::array<double, 3> box_weights{}, box_deltas{};
  double volume_delta = 0;            // largest step, of ln V, V or an edge, if there is one kind
  double edge_shares[3] = {1, 1, 1};  // of volume_delta, for each edge; 0: a fixed edge
  int volume_repeats = 0;             // trial changes at a time
  int volume_every = 0;
  // Swap moves of diameters [N], or of types, after every `swap_every` cycles: rounds of pairs for
  // each set of cells, 0 for none, and the largest difference of the diameters of a pair, 0 for
  // any, as with types.
  int swap_rounds = 0, swap_every = 0;
  double swap_range = 0;
  // External fields, at most kMostFields. Not at constant pressure nor with swap moves.
  std::vector<ExternalField> fields;
  // Steps of the energies of pairs, at most kMostSteps, where T is 1 if all particles have one
  // diameter. Not with diameters [N].
  std::vector<PairStep> steps;
  // Grand-canonical: fugacities exp(mu / kT) / Lambda^D of the types, 0 for those that are neither
  // inserted nor deleted; empty for a constant number of particles, and of one entry if all have
  // one diameter. After every `insertion_every` cycles each active cell is visited once, for
  // `insertion_attempts` trial insertions and deletions. The system may begin without particles.
  // Not with diameters [N], pinned particles, springs, fields with `values`, at constant pressure
  // nor with swap moves.
  std::vector<double> fugacities;
  int insertion_attempts = 0, insertion_every = 0;
  // One of the two systems of a Gibbs ensemble: exchange_in_gibbs_ensemble() changes its volume and
  // its number of particles, and may leave it without particles. Not with fugacities, nor with what
  // fugacities exclude.
  bool gibbs = false;

  // Whether the policy is that of equal disks.
  bool equal_disks() const {
    return dimensions == 2 && diameters.empty() && types.empty() && contacts.empty() &&
           beta_pressure == 0 && swap_rounds == 0 && pinned.empty() && fields.empty() &&
           steps.empty() && fugacities.empty() && !gibbs;
  }
  bool several_box_moves() const {
    return gibbs || box_weights[0] != 0 || box_weights[1] != 0 || box_weights[2] != 0;
  }
};

struct Counters {
  std::uint64_t cycles = 0;  // grid shifts
  std::uint64_t trial_moves = 0;
  std::uint64_t accepted_moves = 0;
};
template <class Fields, class Visitor, FieldsOf<Fields, Counters> = 0>
void for_each_field(Fields& c, Visitor&& visit) {
  visit("cycles", c.cycles);
  visit("trial_moves", c.trial_moves);
  visit("accepted_moves", c.accepted_moves);
}

// Trial changes of the volume, swap moves, insertions or deletions.
struct TrialCounters {
  std::uint64_t trials = 0, accepted = 0;

  void operator+=(const TrialCounters& others) {
    trials += others.trials;
    accepted += others.accepted;
  }
};

// Everything that a trajectory depends on besides the parameters, in host memory, or what one rank
// has of it.
struct Snapshot {
  Counters counters;
  std::array<std::int64_t, 3> origin{};  // lower corner of the first cell, integer units
  // Equal disks, whose order in a cell the trajectory depends on.
  bool equal_disks = false;
  std::vector<float> cells;       // [rows][columns][4][2], out of reach where there is no disk
  std::vector<std::int32_t> ids;  // [rows][columns][4], -1 where there is no disk
  // All others, in integer units from the box's lower corner.
  std::vector<std::int64_t> places;  // [N][D]
  // Constant pressure: V or ln V, and the trial changes of it.
  double volume = 0;
  TrialCounters volume_moves;
  std::array<std::int64_t, 3> extent{};  // with edges apart, the box in integer units
  // With several kinds of box moves: ln of the edges in units, as integers, and for each kind the
  // trials and those accepted. `volume_moves` are those of the volume and of edges together.
  std::array<std::int64_t, 3> logarithms{};
  std::array<std::uint64_t, 6> box_moves{};
  // Swap moves: the present diameters [N], with which a run continues, and the trials.
  std::vector<double> diameters;
  TrialCounters swap_moves;
  TrialCounters insertions, deletions;
  // On a rank: indices [N] of the particles to which the places and diameters belong.
  std::vector<std::uint32_t> indices;

  std::uint32_t index(std::size_t i) const {
    return indices.empty() ? static_cast<std::uint32_t>(i) : indices[i];
  }
};
// What a checkpoint holds. Ranks share one, which needs no indices.
template <class Fields, class Visitor, FieldsOf<Fields, Snapshot> = 0>
void for_each_field(Fields& s, Visitor&& visit) {
  // A visitor may take the arrays away.
  const bool disks = s.equal_disks, diameters = !s.diameters.empty();
  const bool swaps = diameters || s.swap_moves.trials > 0;
  const bool grand_canonical = s.insertions.trials + s.deletions.trials > 0;
  const bool several = s.logarithms != std::array<std::int64_t, 3>{};
  visit("counters", s.counters);
  visit("origin", s.origin);
  visit(OptionalField{"cells", disks}, s.cells);
  visit(OptionalField{"ids", disks}, s.ids);
  visit(OptionalField{"places", !disks}, s.places);
  visit(OptionalField{"volume", !disks}, s.volume, s.volume_moves.trials, s.volume_moves.accepted);
  visit(OptionalField{"extent", !disks}, s.extent);
  visit(OptionalField{"logarithms", several}, s.logarithms);
  visit(OptionalField{"box_moves", several}, s.box_moves);
  visit(OptionalField{"diameters", diameters}, s.diameters);
  visit(OptionalField{"swaps", swaps}, s.swap_moves.trials, s.swap_moves.accepted);
  visit(OptionalField{"insertions", grand_canonical}, s.insertions.trials, s.insertions.accepted,
        s.deletions.trials, s.deletions.accepted);
}

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
  std::array<double, 3> box_deltas, largest_box_deltas;  // the same with several kinds
  int volume_repeats, volume_every;
};

struct Repair {
  std::size_t count = 0;  // overlapping pairs found in the input
  double depth = 0;       // of the deepest, in contact distances
};

// Histograms of pair distances from contact on (section 4): bin k counts the pairs whose distance,
// in contact distances, is within bin_width of 1 + k bin_width; bin_width * bins is at most 1. With
// steps, those from the range of each step on follow, first downwards and then upwards. They are
// accumulated every `every` cycles, a row every `record` cycles (a multiple of `every`).
struct Sampling {
  double bin_width = 0;
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

inline constexpr std::uint32_t kNewcomer = 0xffffffffu;

struct ParticlePosition {
  std::uint32_t particle;   // its index in the input
  std::array<double, 3> r;  // z is 0 in two dimensions
  std::int32_t type = -1;   // of a host program, where swap moves exchange them
};

// To be used by one thread at a time. What a CUDA engine does is ordered with the legacy default
// stream of its device, where host programs work, and the calling thread's current device is
// afterwards what it was. An error of the device is a std::runtime_error of the call that notices
// it; the engine can only be destroyed then.
class MANYMOVE_API Engine {
 public:
  virtual ~Engine() = default;

  // Runs whole cycles: shift the grid, then `rounds` passes over the sets. Blocks until done.
  void run(std::uint64_t cycles) {
    enqueue(cycles);
    counters();
  }
  // The same, but a GPU may still be at it on return; what asks for the state waits.
  virtual void enqueue(std::uint64_t cycles) = 0;
  // One rank's part of enqueue(): it does not wait for the other ranks, and a GPU that runs_ahead()
  // may still be at it. counters() and take_rows() are up to date after the next enqueue(), if only
  // of no cycle, and so is what else the engine is asked for. take_back(): the cycles of the last
  // start() do not count; afterwards the counters can be read, and nothing else.
  virtual void start(std::uint64_t cycles) { enqueue(cycles); }
  virtual bool runs_ahead() const { return false; }
  virtual void take_back() {
    throw std::logic_error("this engine has made the cycles when start() returns");
  }
  // Makes the following cycles together with the engines of a group, or alone for null.
  // Returns whether they are made together, which is so for an undivided system of a few tiles on a
  // GPU without external fields, steps and fugacities.
  virtual bool join(const std::shared_ptr<EngineGroup>&) { return false; }
  // And leaves the positions with a host program.
  virtual void enqueue(std::uint64_t cycles, const HostParticles& particles) {
    enqueue(cycles);
    write_positions(particles);
  }

  // Whether a host program's positions are those that write_positions() or enqueue() left there, in
  // any order. `Particles` compares the fourth component too, where HOOMD-blue has the type.
  virtual bool same_positions(const HostParticles& particles) const = 0;
  // Whether the last same_positions() has found that no bit is set in the components beyond two
  // coordinates, which are not compared where disks are equal. False where it has not looked.
  virtual bool saw_plane() const { return false; }
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
  // In a cycle a particle stays in its cell.
  int cycles_between_writes() const {
    const Grid g = grid();
    int fewest = g.cells[0];
    for (int a = 1; a < g.dimensions; ++a) fewest = g.cells[a] < fewest ? g.cells[a] : fewest;
    return (fewest - 1) / 2;
  }

  // Takes effect with the next cycle; rows not yet taken are dropped, and so is a first row of
  // several samples that would be incomplete (intervals are counted from cycle 0, so that a resumed
  // run has the same rows).
  virtual void set_sampling(const Sampling& sampling) = 0;
  // Finished rows, [rows][1 + 2 steps][kinds][bins], and the cycle at which each ended; they are
  // handed over once. Kinds are the pairs of types in the order (0, 0), (0, 1), ... (1, 1), ...,
  // or one without types.
  virtual std::vector<std::uint64_t> take_rows(std::vector<std::uint64_t>& cycles) = 0;
  // The same histograms of the present configuration, [1 + 2 steps][kinds][bins].
  virtual std::vector<std::uint64_t> contact_histogram(double bin_width, int bins) const = 0;

  // Constant pressure: means over the cycles of records, from the next cycle on, as for the
  // histograms; 0 for none. With fugacities V stands for the number of particles. take_volumes()
  // hands over [rows][3], the means of V, V^2 and 1/V, and the cycle at which each row ended.
  virtual void set_volume_sampling(std::uint64_t record) = 0;
  virtual std::vector<double> take_volumes(std::vector<std::uint64_t>& cycles) = 0;
  // Trial changes of the volume and of edges; and with several kinds those of each kind.
  virtual TrialCounters volume_counters() const = 0;
  virtual TrialCounters box_counters(BoxMove kind) const = 0;
  virtual TrialCounters swap_counters() const = 0;
  virtual TrialCounters insertion_counters() const = 0;
  virtual TrialCounters deletion_counters() const = 0;
  // The types [N], or nothing where all particles have one diameter. They change with the number
  // of particles.
  virtual std::vector<std::int32_t> types() const = 0;
  // The energy of each particle in all fields [N], in kT, on all ranks.
  virtual std::vector<double> field_energies() const = 0;
  // The energy of each particle in the steps of its pairs [N], in kT, on all ranks. The sum counts
  // each pair twice.
  virtual std::vector<double> step_energies() const = 0;
  // With swap moves the present diameters [N], on all ranks.
  virtual std::vector<double> diameters() const = 0;
  // With swap moves: the diameters of a host program's particle types, no two of them equal. From
  // then on write_positions() leaves the type of a particle's present diameter in the fourth
  // component, as HOOMD-blue has it.
  virtual void set_type_diameters(const std::vector<double>& diameters) = 0;

  virtual Counters counters() const = 0;
  virtual Repair repair() const = 0;
  // It changes in a grand-canonical run: indices are then from 0 to N - 1 after each run, and those
  // of particles that are left may be others than before.
  virtual std::size_t particles() const = 0;
  virtual Grid grid() const = 0;
  int dimensions() const { return grid().dimensions; }
  // With fugacities: replaces them for the following cycles, in which nothing is inserted or
  // deleted if all are 0.
  virtual void set_fugacities(const std::vector<double>& fugacities) = 0;
  // With fugacities: the index that each particle [N] had at the last call, or at the start;
  // kNewcomer for those that were not there.
  virtual std::vector<std::uint32_t> take_former_indices() = 0;
  // Along each axis.
  std::array<double, 3> cell_widths() const {
    const Grid g = grid();
    return {g.cell_width[0], g.cell_width[1], g.dimensions == 3 ? g.cell_width[2] : 0};
  }
  // [N][D], in the order of the input, in [-L/2, L/2).
  virtual void positions(double* coordinates) const = 0;
  // The places of this rank's particles, in no particular order; not collective, but other ranks
  // get its error in their next collective call. An undivided engine has all particles.
  virtual std::vector<ParticlePosition> own_positions() const = 0;
  // The same for a hand-over whose passes run on this engine's GPU (hand_over_passes.h): enqueues
  // in a stream what is done with each particle. lead(): what comes next in the stream waits for
  // what the engine has enqueued. follow(): work that the engine enqueues next waits for the stream
  // before it changes what the stream reads.
  virtual void hand_over(const HandOverWork&, CUstream_st*) const { refuse_stream(); }
  virtual void lead(CUstream_st*) const { refuse_stream(); }
  virtual void follow(CUstream_st*) const { refuse_stream(); }
  // Mean of psi_6 over equal disks, with neighbors closer than `reach` (at most twice the cell
  // width). Throws std::logic_error for others.
  virtual std::array<double, 2> bond_order(double reach) const = 0;
  // Depth of the deepest overlap in contact distances, in float64; 0 if there is none.
  virtual double max_overlap() const = 0;
  virtual Snapshot snapshot() const = 0;
  // For people: what rows of cells travel through from rank to rank. Empty on one rank.
  virtual std::string transport() const = 0;
  // Hash of the integer positions by index and of the counters: the same on every machine.
  virtual std::uint64_t state_hash() const = 0;

 private:
  [[noreturn]] static void refuse_stream() {
    throw std::logic_error("this engine has its particles in the memory of the host");
  }
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

// ---- two systems of a Gibbs ensemble ----

// What two systems with `gibbs` try between their cycles.
struct GibbsMoves {
  std::uint64_t transfers = 0;  // of particles from one to the other
  int volume_trials = 0;        // exchanges of volume, after the transfers
  double volume_delta = 0;      // the largest change of ln(V1 / V2)
  double volume = 0;            // V1 + V2, a constant of the ensemble
};
// For each system and type [2][T], the trial transfers of this type into the system, and the sum of
// V exp(-dU) / (n + 1) over them, with the energy dU of the new particle and n others of its type.
struct GibbsSamples {
  std::array<double, 2> volumes{};  // present ones
  std::vector<std::uint64_t> trials;
  std::vector<double> sums;
};
// Makes the moves. Their random numbers belong to the seed and the present cycle of the first
// system, so that the systems must have made a cycle since the last call, and have different seeds.
// Throws std::invalid_argument if the systems are not two of the same particles with `gibbs`.
MANYMOVE_API GibbsSamples exchange_in_gibbs_ensemble(Engine& first, Engine& second,
                                                     const GibbsMoves& moves);

// ---- a system that is divided among ranks ----

// What an engine of these particles begins with; and whether a snapshot is one of a system with
// these parameters. Errors are those of make_engine().
MANYMOVE_API Snapshot make_snapshot(const double* coordinates, std::size_t particles,
                                    const Parameters& parameters, Repair& repair);
MANYMOVE_API void check_snapshot(const Snapshot& snapshot, std::size_t particles,
                                 const Parameters& parameters);
// One rank's engine, from a snapshot of the whole, which rank 0 has and has checked; the others may
// pass null. Ranks have slabs of whole layers of tiles along z, or strips along y in two
// dimensions. Parameters, those by particle included, are the same on all ranks, and the
// communicator must outlive the engine. The trajectory is that of an engine of the whole. This
// call, start(), enqueue(), positions(), bond_order(), contact_histogram(), max_overlap(),
// field_energies(), step_energies(), diameters(), snapshot() and state_hash() are collective: all
// ranks succeed or all throw the same error, which is a RankFailure unless it is
// std::invalid_argument because the ranks cannot share the box or use these devices. They answer
// for the whole, but the arrays of snapshot() are on rank 0 only. A host program's particles are
// not supported (std::logic_error). The ranks' devices are all CPUs or all GPUs; the environment
// variable MANYMOVE_TRANSPORT chooses how rows go from GPU to GPU, see parallel/transport.cuh.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot* whole, std::size_t particles,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 Communicator& ranks);

// The largest max_displacement that an engine accepts: the width of its narrowest cells. Throws
// std::invalid_argument for bad parameters.
MANYMOVE_API double largest_displacement(const Parameters& parameters, std::size_t particles);

// Number of pairs that are closer than their contact distance by more than rounding; coordinates:
// [N][D]. Where thousands of particles are in one place, not all of their pairs are counted. Only
// the box and the sizes of the parameters matter.
MANYMOVE_API std::size_t count_overlaps(const double* coordinates, std::size_t particles,
                                        const Parameters& parameters);

// The particles in each bin of the smallest x for which a system with all distances scaled by 1 -
// x, or in an expansion by 1 + x, has a contact of the particle or takes it across the range of a
// step; bin k begins at k bin_width. A contact counts as 1, and a change of the energy by dU kT as
// the larger of 0 and 1 - exp(-dU). Overlapping pairs are left out. Throws std::invalid_argument
// unless bins * bin_width < 1/3. Other arguments: count_overlaps(); the steps of the parameters
// matter too.
struct ScaleDistribution {
  std::vector<double> compression, expansion;  // [bins]
};
MANYMOVE_API ScaleDistribution nearest_contacts(const double* coordinates, std::size_t particles,
                                                const Parameters& parameters, double bin_width,
                                                int bins);

}  // namespace manymove::hard_particles
