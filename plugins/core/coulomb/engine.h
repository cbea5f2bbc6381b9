// SPDX-License-Identifier: BSD-3-Clause
// The interface of the Coulomb engines: plain C++17, no CUDA types, for any host program's
// compiler.
//
// Lengths are in the caller's unit, energies in kT, charges in units of the elementary charge.
// Arrays are dense, in C order, in the memory of the host unless HostParticles says otherwise; they
// belong to the caller, are used during the call, and no pointer is kept. Ions are known by their
// index in the input. make_engine() lists the collective calls; on one rank no call is collective.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../parallel/communicator.h"
#include "../runtime/api.h"
#include "../runtime/errors.h"
#include "../runtime/fields.h"

namespace manymove {
class EngineGroup;  // runtime/engine_group.h
}
namespace manymove::coulomb {

// Two ions of the start overlap.
using manymove::OverlapError;

enum class Method {
  brush,      // groups of trials side by side, decided in order (section 3)
  reduction,  // one trial at a time, its pair terms side by side (section 4)
  serial,     // one trial at a time, one pair term after the other; CPU only
  tree,       // the brush's decisions from a far field whose error is bounded; double precision
  automatic,  // brush or tree, by the number of ions; Engine::method() tells which
};

// Lengths in the caller's unit. Zero means: choose from the input.
struct Parameters {
  bool periodic = false;
  double radius = 0;          // of the spherical cell, within which the centers of the ions stay
  double box[3] = {0, 0, 0};  // edges of the periodic box, centered on the origin
  // Ewald's energy, with a conductor around the images of the periodic box, in place of that of
  // nearest images. The longest edge is at most about twice the shortest.
  bool ewald = false;
  bool vacuum = false;  // Ewald's energy with a vacuum around the images instead
  double bjerrum_length = 0;
  double max_displacement = 0;    // moves are uniform in a cube of twice this edge
  double short_displacement = 0;  // the same for a share of the moves
  double short_fraction = 0;
  bool double_precision = false;  // of pair terms; sums are integers in both
  Method method = Method::brush;
  int threads_per_particle = 0;  // eta, a power of two up to 16 (GPU)
  std::uint64_t seed = 0;
  std::uint64_t first_sweep = 0;  // where the counter of sweeps, and so the random numbers, begins
};

struct Ions {
  const double* position;       // [N][3]
  const double* valence;        // [N]
  const double* diameter;       // [N]
  const std::int32_t* species;  // [N], from 0
  std::size_t count;
  // [N], IDs of the ions in the host program, for messages; null: messages count ions from 0.
  const std::int64_t* atom_id = nullptr;
  // [N][3], how many boxes each ion has gone ahead along each axis; null: none. Only for `vacuum`.
  const std::int32_t* image = nullptr;
};

struct Counters {
  std::uint64_t sweeps = 0;
  std::uint64_t trial_moves = 0;
  std::uint64_t accepted_moves = 0;
  std::uint64_t evaluated_moves = 0;  // candidates: the others are rejected early
  std::uint64_t direct_moves = 0;     // trials that the tree's estimate could not decide
};

template <class Fields, class Visitor, FieldsOf<Fields, Counters> = 0>
void for_each_field(Fields& c, Visitor&& visit) {
  visit("sweeps", c.sweeps);
  visit("trial_moves", c.trial_moves);
  visit("accepted_moves", c.accepted_moves);
  visit("evaluated_moves", c.evaluated_moves);
  visit("direct_moves", c.direct_moves);
}

// What a trajectory depends on besides valences, diameters and parameters, in host memory.
struct Snapshot {
  Counters counters;
  std::vector<float> positions;                  // [N][3], integers in units
  std::vector<std::int32_t> image;               // [N][3] with `vacuum`, otherwise empty
  std::int64_t change_high = 0, change_low = 0;  // energy since the start: high 2^32 + low quanta
};

template <class Fields, class Visitor, FieldsOf<Fields, Snapshot> = 0>
void for_each_field(Fields& s, Visitor&& visit) {
  visit("counters", s.counters);
  visit("change", s.change_high, s.change_low);
  visit("positions", s.positions);
  visit("images", s.image);
}

struct Histogram {
  double bin_width = 0;
  int bins = 0;
  double interior_radius = 0;  // of the ions that count (spherical cell)
  int species = 0;
};

// The particles of a host program, in its own memory: that of the engine's (first) device for a
// CUDA engine, the host's for a CPU engine.
struct HostParticles {
  void* position;              // [N][4], x, y and z first; the fourth is left alone
  bool double_precision;       // of position, charge and diameter: float64 or float32
  std::int32_t* image;         // [N][3]
  const void* charge;          // [N]
  const void* diameter;        // [N]
  const std::uint32_t* index;  // [N], where ion i stands
  double highest[3];           // coordinates of a host program's box, below half its edges
};

// To be used by one thread at a time. What a CUDA engine does is ordered with the legacy default
// stream of its (first) device, and the calling thread's current device is afterwards what it was.
// An error of a device is a std::runtime_error. After one in run() every call that needs the device
// throws it again, and the engine can only be destroyed.
class MANYMOVE_API Engine {
 public:
  virtual ~Engine() = default;

  // A sweep is one trial move of each ion, in the order of the input. Blocks until done.
  virtual void run(std::uint64_t sweeps) = 0;
  // Makes the following sweeps together with the engines of a group, or alone for null. Returns
  // whether they are made together, which is so for a brush of eight threads per ion on one GPU,
  // the choice for small systems.
  virtual bool join(const std::shared_ptr<EngineGroup>&) { return false; }
  // Energies after each sweep, in kT and relative to the start; handed over once. Of more than a
  // million (2^20), the last one or two million.
  virtual std::vector<double> take_energies() = 0;

  virtual Counters counters() const = 0;
  virtual std::size_t particles() const = 0;
  // Energy since the start, in kT, as the decisions saw it.
  virtual double energy_change() const = 0;
  // The energy in kT from all pairs, in float64 whatever the precision of the moves; Ewald's with
  // that of each ion and its own images.
  virtual double energy() const = 0;
  // [N][3], in the order of the input.
  virtual void positions(double* xyz) const = 0;
  // The same into the memory of the engine's (first) device, after the work of the default stream.
  virtual void positions_on_device(double* xyz) const { positions(xyz); }
  // The same coordinates as integers in float32; changed ones have moved.
  virtual Snapshot snapshot() const = 0;
  // How many boxes each ion has gone ahead along each axis, [N][3]; with `vacuum` only.
  virtual void images(std::int32_t* image) const = 0;
  // Other positions [N][3] of the same ions, and their images as in Ions; counters continue. Throws
  // as make_engine does; the old positions are kept then.
  virtual void set_positions(const double* xyz, const std::int32_t* image = nullptr) = 0;

  // Takes a host program's particles for the ions as they are now, without a comparison.
  virtual void adopt(const HostParticles& particles) = 0;
  // Whether they are as they were left, positions, charges and diameters, in whatever order.
  virtual bool same_particles(const HostParticles& particles) const = 0;
  // Writes the positions of ions that have moved since the last time. Images follow them by the
  // nearest image; with `vacuum` they are the engine's.
  virtual void write_positions(const HostParticles& particles) = 0;

  // Adds the pairs of the present configuration to counts, [species (species + 1) / 2][bins] with
  // the pairs of species 00, 01, ..., 11, 12, ..., and the ions of each species that counted to
  // interior, [species].
  virtual void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                           std::uint64_t* interior) const = 0;

  // Largest displacements as realized, length of one unit, eta in use.
  virtual double max_displacement() const = 0;
  virtual double short_displacement() const = 0;
  virtual double unit() const = 0;
  virtual int threads_per_particle() const = 0;
  virtual Method method() const = 0;  // in use, never `automatic`
  // Smallest distance minus contact distance of any pair, over the contact distance, if negative.
  virtual double max_overlap() const = 0;
  // Hash of the integer positions and counters: the same on every machine.
  virtual std::uint64_t state_hash() const = 0;
};

// device: "cpu", "cuda:<index>", or for one chain on several GPUs "cuda:<index>,<index>,...".
// threads: of the CPU engine, 0 for all.
// Throws std::invalid_argument (OverlapError) for bad input, std::bad_alloc when memory runs out,
// std::runtime_error for device errors.
//
// ranks: processes that share the chain on their CPUs, by brush or tree; null if there is one
// process. Each rank has all ions, gets the same input, and has its own number of threads. The
// trajectory, energies and counters are those of one rank, bit for bit. The communicator must
// outlive the engine. make_engine(), set_positions(), run(), energy() and count_pairs() are
// collective then: all ranks succeed or all throw the same error. That is a RankFailure, after
// which the engine can only be destroyed, unless it is std::invalid_argument for bad input, for
// input that is not the same on all ranks, or for a device or a method that ranks cannot share. All
// other calls are local and answer for all ions.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Ions& ions, const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 Communicator* ranks = nullptr);
// Continues from a snapshot of an engine with the same ions and parameters, bit for bit, on any
// number of ranks; ions.position is not read.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Ions& ions,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 Communicator* ranks = nullptr);

}  // namespace manymove::coulomb
