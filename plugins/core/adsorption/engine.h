// SPDX-License-Identifier: BSD-3-Clause
// The interface of the engines for adsorbates in rigid frameworks: plain C++17, no CUDA types.
//
// Lengths are in angstrom, energies in kelvin (U / k_B). Arrays are dense, in C order, in the
// memory of the host; they belong to the caller, are used during the call, and no pointer is kept.
// Species, kinds of framework atoms and molecules are counted from 0. No call is collective.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../runtime/api.h"
#include "../runtime/fields.h"

namespace manymove::adsorption {

// A molecule is in a pocket or on a hill.
struct MANYMOVE_API PlaceError : std::invalid_argument {
  PlaceError(const std::string& text, int molecule, bool pocket, double energy)
      : std::invalid_argument(text), molecule(molecule), pocket(pocket), energy(energy) {}
  int molecule;   // index in its system, from 0
  bool pocket;    // behind the barrier; otherwise on a hill
  double energy;  // of the framework there, in kelvin; meaningless in a pocket
};

// No channel leads through the framework below the barrier.
struct MANYMOVE_API NoChannelError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// metropolis: one system after the other on one core, plain loops: the reference (CPU only).
// pmc: one thread, or SIMD lane, per system. plj: a system's pair sum is shared by 32 lanes.
// mup, mdp: several proposals per step, uniform in the box or along two random walks.
enum class Method { metropolis, pmc, plj, mup, mdp };

struct LennardJones {
  double epsilon = 0, sigma = 1;
};

// Rigid, periodic, with right angles unless Parameters::force_field says otherwise.
struct Framework {
  double cell[3] = {0, 0, 0};
  std::vector<double> fractional;  // [atoms][3]
  std::vector<std::int32_t> kind;  // [atoms], index into Species::with_framework
};

// The interactions by types of sites, which are counted from 0 over all species.
struct SiteType {
  double charge = 0;                         // e
  std::vector<LennardJones> with_framework;  // per kind of framework atom; epsilon 0: none
};
struct BodySite {
  int type = 0;
  std::array<double, 3> offset{0, 0, 0};  // from the center, without rotation
};
// A linear chain of sites with bonds of fixed length; see docs/theory/open_systems.md. The energy
// of a bend is stiffness / 2 (theta - angle)^2, that of a torsion c0 + c1 (1 + cos phi)
// + c2 (1 - cos 2 phi) + c3 (1 + cos 3 phi), where phi is zero if the outer sites are on one side.
struct Bend {
  double stiffness = 0, angle = 0;  // K, of radians
};
struct ChainLaws {
  std::vector<double> bonds;                    // [sites - 1], angstrom
  std::vector<Bend> bends;                      // [sites - 2]
  std::vector<std::array<double, 4>> torsions;  // [sites - 3], K
};
// Of a chain alone: the mean of exp(-beta u) over bends and torsions, where u is the Lennard-Jones
// energy of sites that are four or more bonds apart, and its mean energy in kelvin, all of it.
struct IdealChain {
  double weight = 1, weight_error = 0, energy = 0;
};
// What molecules of several sites, charges, and cells of any shape need: docs/theory/molecules.md.
struct ForceField {
  std::vector<SiteType> types;
  std::vector<LennardJones> pairs;  // [types][types]; epsilon 0: none
  // [species]; no molecule is longer than the smallest width of the box minus the cutoff.
  std::vector<std::vector<BodySite>> bodies;
  // Components b_x, c_x, c_y of the edges of the unit cell, whose edge a is along x and whose b is
  // in the plane of x and y. Framework::cell is then a_x, b_y, c_z.
  std::array<double, 3> tilt{0, 0, 0};
  std::vector<double> framework_charge;  // [atoms] in e; empty: none
  bool tail = false;                     // corrections for what is beyond it
  double alpha = 0, wave_cutoff = 0;     // of Ewald's sum of the molecules, 1 / angstrom
  // Of each species, if they are flexible; then the offsets of the sites have no meaning, and no
  // site has a charge.
  std::vector<ChainLaws> chains;
};

struct Species {
  int molecules = 0;
  int capacity = 0;                          // room at the start of an open system; 0: an estimate
  double activity = 0;                       // beta f V, for exchange steps
  std::vector<LennardJones> with_framework;  // per kind of framework atom; epsilon 0: none
};

struct Parameters {
  Framework framework;
  std::array<int, 3> cells{1, 1, 1};  // of the box
  double temperature = 300, cutoff = 12;
  std::vector<Species> species;
  std::vector<LennardJones> pairs;  // [species][species]
  bool shifted = true;              // potentials are zero at the cutoff (Eq. 1), not truncated
  Method method = Method::mdp;
  bool moments = false;  // Eq. 8's sums, for b*
  int proposals = 32;    // N_prop, the old state among them; a power of two from 32 to 512
  int systems = 1;
  double max_displacement = 0.65;  // along each axis
  double exchange = 0;             // share of insertions and deletions among the steps
  // Only with `force_field` and the methods metropolis and plj. Insertions, deletions and
  // reinsertions choose one of trial_positions times trial_orientations poses (configurational
  // bias); reinsertion and identity_change are the shares of these moves among the steps.
  int trial_positions = 1, trial_orientations = 1;
  double reinsertion = 0, identity_change = 0;
  double regrowth = 0;               // share of partial regrowths among the steps, of chains
  std::array<int, 3> grid{0, 0, 0};  // points along each edge of the unit cell
  bool cubic = false, double_precision = false;
  double barrier = 0;  // pockets behind higher framework energies are blocked; 0: none are
  double hill = 0;     // molecules start below this framework energy
  std::array<int, 3> direction{0, 0, 1};  // of the profile, in reciprocal unit cells
  int bins = 0;                           // of the profile
  int groups = 1;                         // of systems with a profile of their own
  std::uint64_t seed = 0;
  // With it the species have no `with_framework`, and there are no `pairs`: types have them. The
  // framework may be without atoms then.
  std::optional<ForceField> force_field;
};

// Number of molecules of all systems together at the start.
inline std::size_t molecules_of(const Parameters& p) {
  std::size_t count = 0;
  for (const Species& s : p.species) count += static_cast<std::size_t>(s.molecules);
  return count * static_cast<std::size_t>(p.systems);
}

struct Counters {
  std::uint64_t steps = 0;         // of each system
  std::uint64_t trial_states = 0;  // proposals besides the old state, of all systems
  std::uint64_t accepted = 0;      // displacements and rotations, or choices of another state
  std::uint64_t exchanges = 0, accepted_exchanges = 0;
  std::uint64_t insertions = 0;  // of test molecules into each system
  std::uint64_t samples = 0;     // steps averaged over
  // Tried reinsertions and partial regrowths of all systems; accepted ones are not in `accepted`.
  std::uint64_t reinsertions = 0;
};

template <class Fields, class Visitor, FieldsOf<Fields, Counters> = 0>
void for_each_field(Fields& c, Visitor&& visit) {
  visit("steps", c.steps);
  visit("trial_states", c.trial_states);
  visit("accepted", c.accepted);
  visit("exchanges", c.exchanges);
  visit("accepted_exchanges", c.accepted_exchanges);
  visit("insertions", c.insertions);
  visit("samples", c.samples);
  visit("reinsertions", c.reinsertions);
}

// Everything that a trajectory and its averages depend on, in host memory.
struct Snapshot {
  Counters counters;
  double max_displacement = 0;
  std::vector<std::uint32_t> sites;    // [systems][slots][3], fractions of the box in 2^-32
  std::vector<std::int32_t> counts;    // [systems][species]
  std::vector<double> energies;        // [systems]
  std::vector<double> sums;            // [kSums][systems], see model.h
  std::vector<std::uint64_t> profile;  // [groups][bins], in units of 2^-32
  // Of rigid molecules: unit quaternions (w, x, y, z), [systems][slots][4], and structure factors.
  std::vector<double> orientations, waves;
  // Of chains: positions of the sites from the center, without rotation,
  // [systems][slots][most sites of a molecule][3].
  std::vector<double> shapes;
};

template <class Fields, class Visitor, FieldsOf<Fields, Snapshot> = 0>
void for_each_field(Fields& s, Visitor&& visit) {
  const bool molecules = !s.orientations.empty();
  visit("counters", s.counters);
  visit("max_displacement", s.max_displacement);
  visit("sites", s.sites);
  visit("counts", s.counts);
  visit("energies", s.energies);
  visit("sums", s.sums);
  visit("profile", s.profile);
  visit(OptionalField{"orientations", molecules}, s.orientations);
  visit(OptionalField{"waves", molecules}, s.waves);
  visit(OptionalField{"shapes", !s.shapes.empty()}, s.shapes);
}

// A blocked region of the unit cell, of one type of sites or one species of point particles.
struct Pocket {
  int type = 0;
  std::array<double, 3> center{0, 0, 0};  // of its volume, in fractions of the edges
  double share = 0;                       // of the unit cell's volume
  double lowest = 0;                      // Lennard-Jones energy in K
};

struct GridInfo {
  std::array<int, 3> points;
  std::size_t bytes;
  double lowest;         // K, of all species
  double blocked_share;  // of the unit cell's volume that is below the barrier, but out of reach
  double open_share;     // that is below it and within reach; without one, below the hill
  std::vector<Pocket> pockets;  // of one type after the other, from the largest to the smallest
};

// To be used by one thread at a time. The calling thread's current device is after each call what
// it was before. An error of the device is a std::runtime_error; the engine can only be destroyed
// then.
class MANYMOVE_API Engine {
 public:
  virtual ~Engine() = default;

  // Steps of every system; each tries to move, insert or delete one molecule. Blocks until done.
  // measure: add to the averages. Capacities grow as needed, which does not influence the
  // trajectory. Throws std::runtime_error or std::invalid_argument if they cannot grow; the engine
  // cannot be used afterwards.
  virtual void run(std::uint64_t steps, bool measure) = 0;
  virtual void set_max_displacement(double angstrom) = 0;
  virtual double max_displacement() const = 0;
  // Numbers of trials in the following steps, of molecules of a force field; the state and the
  // averages continue. Throws std::invalid_argument, with the numbers as they were, if they are out
  // of range or too many for the memory of the device. More trials than before in an open system
  // must also fit after all species have grown once.
  virtual void set_trials(int positions, int orientations) = 0;
  // Molecules elsewhere, [systems][molecules][3] in angstrom; counters and averages continue.
  // Throws PlaceError for one in a pocket or on a hill, with the state as it was.
  // orientations: unit quaternions of rigid molecules, [systems][molecules][4]; null: none turned.
  virtual void set_positions(const double* positions, const double* orientations = nullptr) = 0;
  virtual void reset_averages() = 0;
  // Sets beta f V of each species for open systems. Averages and counters of moves are reset to
  // zero.
  virtual void set_activities(const std::vector<double>& activities) = 0;
  // Test insertions of a molecule of a species at uniform places of the box: per system, the sums
  // of exp(-beta dU) and of dU exp(-beta dU). empty: in the framework alone.
  virtual std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                                    bool empty) = 0;

  virtual Counters counters() const = 0;
  virtual GridInfo grid_info() const = 0;
  // Keeps the grid in memory. An engine of this process with the same framework, force field and
  // points takes the grid of another one, or one that is kept, instead of filling its own.
  virtual std::shared_ptr<const void> kept_grid() const = 0;
  virtual std::vector<int> capacities() const = 0;  // of each species, at present
  virtual std::vector<IdealChain> ideal_chains() const { return {}; }  // of each species of chains
  virtual std::size_t molecules() const = 0;                           // that set_positions() takes
  // Present energies, [systems]. Those of rigid molecules are summed over all interactions, which
  // does not change the state; snapshot() has the energies that the moves have updated.
  virtual std::vector<double> energies() { return snapshot().energies; }
  virtual Snapshot snapshot() const = 0;
  // The arrays of a snapshot that averages need.
  virtual std::vector<double> sums() const { return snapshot().sums; }
  virtual std::vector<std::int32_t> counts() const { return snapshot().counts; }
  // Framework energies at places of the box, xyz: [count][3]: from the grid, and summed over the
  // atoms.
  virtual void framework_energies(const double* xyz, std::size_t count, int species, bool direct,
                                  double* energies) const = 0;
};

// A function that the calling thread calls about every twentieth of a second while it fills the
// grid, which may take minutes. What it throws ends the call.
using Poll = std::function<void()>;

// device: "cpu" or "cuda:<index>". threads: of the CPU engine, 0 for all. Molecules are placed at
// random below the hill.
// Throws std::invalid_argument (PlaceError, NoChannelError) for bad input, std::bad_alloc when
// memory runs out, std::runtime_error for device errors and where the molecules find no place.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 const Poll& poll = {});
// Continues from a snapshot of an engine with the same parameters: the same trajectory.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Snapshot& snapshot,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 const Poll& poll = {});
// From sites of the caller's: positions [systems][molecules][3] in angstrom; orientations as
// set_positions() has them.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const double* positions,
                                                 const Parameters& parameters,
                                                 const std::string& device, int threads,
                                                 const double* orientations = nullptr,
                                                 const Poll& poll = {});

}  // namespace manymove::adsorption
