// SPDX-License-Identifier: BSD-3-Clause
// DPD that lives where it is computed: positions, velocities, forces, lists, bonds and integration
// stay with the engine; a host program reads them when it needs them. Velocity Verlet at constant
// energy as in LAMMPS' fix nve, with forces of model.h, harmonic bonds, walls and constant body
// forces. One rank, or several that share the box.
//
// Positions are fractions of the box in fixed point (32 bits in mixed precision, 64 in double):
// a difference of two wraps by itself to the nearest periodic image, and the resolution is the same
// everywhere in the box. Sums have a fixed order or are of integers: the same calls on the same
// number of ranks give the same bits.
//
// Units are those of the caller, as LAMMPS has them: any units of length, time, energy and mass,
// with Settings::force_to_acceleration between force over mass and acceleration. Arrays are dense,
// in C order, and belong to the caller; the engine copies what it needs and keeps no pointer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../runtime/watchdog.h"
#include "charges/settings.h"
#include "host_particles.h"
#include "pair_forces.h"
#include "rigid_bodies.h"

namespace manymove {
class Communicator;
}

namespace manymove::dpd {

// Bounce-forward: a particle beyond it is mirrored, its normal velocity is reversed, and its
// tangential velocity is kept.
struct Wall {
  int axis;            // 0, 1, 2
  bool high;           // particles belong below position, else above
  double position;     // Cartesian
  std::uint32_t flag;  // for particles with this bit in their flags
};

// A constant force on the particles in a block (everywhere without one). It is added to the forces
// on them, body forces before it included; its components in `replaced` replace these forces. With
// a scalar it is a source of this scalar instead: per unit of time it grows by force[0].
struct BodyForce {
  double force[3];
  unsigned replaced;  // bit a: component a
  bool in_block;
  double low[3], high[3];  // inclusive; of positions wrapped into the box
  std::uint32_t flag;      // for particles with this bit in their flags
  int scalar = -1;         // index of a scalar; -1: a force
};

// A plane, cylinder or sphere. Its force on a particle is normal to the surface, and a function of
// the distance d, which is positive on the side of the particles. kIndenter: first d^2 if d < 0, as
// in LAMMPS' fix indent. The other laws act if d < cutoff, as in its fixes wall/... and
// wall/region, and a particle behind such a surface is lost. kHarmonic: first (cutoff - d).
// kPowers93: first / d^10 - second / d^4. kPowers126: first / d^13 - second / d^7. Surfaces act
// before body forces.
struct Surface {
  enum Law : int { kIndenter, kHarmonic, kPowers93, kPowers126 } law;
  unsigned axes;  // bit a: the distance from the center has a component along axis a: one bit for a
                  // plane, two for a cylinder, three for a sphere
  bool outside;   // the particles are outside of the radius, or above a plane
  double center[3];  // Cartesian, along these axes; for a plane, its position
  double radius;     // 0 for a plane
  double first, second, cutoff;
  std::uint32_t flag;  // for particles with this bit in their flags
};

// Velocities are scaled down to this speed after each half of a step.
struct SpeedLimit {
  double speed = 0;        // 0: there is none
  std::uint32_t flag = 0;  // for particles with this bit in their flags
};

// A Langevin thermostat as LAMMPS' fix langevin has it: the force -friction v + noise sqrt(T) (u -
// 1/2) with u uniform in (0, 1), independent for each particle, component and step. It is added to
// the forces of pairs and bonds before body forces. Random numbers are functions of seed, tag and
// draw (Clock).
struct LangevinThermostat {
  std::vector<double> friction, noise;  // [types + 1], by type
  double temperature;
  std::uint32_t seed;
  std::uint32_t flag;  // for particles with this bit in their flags
};

// Changes velocities at the end of those steps that are multiples of `every`, as LAMMPS' fixes
// temp/berendsen (kRelax), temp/rescale (kRescale) and momentum linear (kStop) do. A thermostat
// scales the velocities of a group by lambda, where T = temperature_of_sum times the sum of m v^2
// over the measured group. kRelax: lambda^2 = 1 + rate (target / T - 1). kRescale: the temperature
// becomes T - rate (T - target), if it is farther than `window` from the target. kStop: the
// velocity of the center of mass is subtracted along `axes`.
struct VelocityChange {
  enum Kind { kRelax, kRescale, kStop } kind;
  std::int64_t every;
  std::uint32_t flag, measured;  // changes particles with this bit, measures those with that one
  double temperature_of_sum = 0, temperature = 0, rate = 0, window = 0;  // of thermostats
  double mass = 0;                                                       // of the group, of kStop
  unsigned axes = 0;                                                     // bit a: along axis a
  bool keeps_energy = false;  // velocities are scaled so that the sum of m v^2 stays the same
};

// Bonds, as LAMMPS has them. Harmonic: E = stiffness (r - length)^2. FENE: E = -stiffness / 2
// length^2 ln(1 - (r / length)^2), and within 2^(1/6) sigma also 4 epsilon [(sigma / r)^12 - (sigma
// / r)^6] + epsilon. Tabulated: `table`, outside of which a bond is broken.
enum BondForm : int { kHarmonic, kFene, kTabulatedBond };
struct BondCoefficients {
  double stiffness, length;
  BondForm form = kHarmonic;
  double epsilon = 0, sigma = 0;  // of FENE
  std::shared_ptr<const ForceTable> table = {};
};

// Angles, as LAMMPS has them. Harmonic: E = stiffness (theta - angle)^2, in radians. Cosine: E =
// stiffness (1 + cos theta). Cosine squared: E = stiffness (cos theta - cos angle)^2. Cosine delta:
// E = stiffness (1 - cos(theta - angle)).
enum AngleForm : int { kAngleHarmonic, kAngleCosine, kAngleCosineSquared, kAngleCosineDelta };
struct AngleCoefficients {
  double stiffness, angle;
  AngleForm form = kAngleHarmonic;
};

// Dihedrals: E = constant + sum of amplitude[m - 1] cos(m phi), where phi is 180 degrees if the
// first and the last particle are as far apart as their bonds and angles allow (trans). LAMMPS'
// styles `harmonic` and `opls` are such series.
constexpr int kMostMultiplicity = 6;
struct DihedralCoefficients {
  double constant = 0, amplitude[kMostMultiplicity] = {};
};

// Impropers, as LAMMPS' style `harmonic` has them: E = stiffness (chi - angle)^2, where chi from 0
// to pi is the angle between the planes of particles 1, 2, 3 and 2, 3, 4.
struct ImproperCoefficients {
  double stiffness, angle;
};

// A box as LAMMPS has it: edges (extent[0], 0, 0), (tilt[0], extent[1], 0),
// (tilt[1], tilt[2], extent[2]) from low. Along directions that are not periodic, low and extent
// are walls or fixed faces: a particle that is beyond them when lists are built is lost (see also
// Settings::loses_at_once).
struct Box {
  double low[3], extent[3], tilt[3];
  bool periodic[3];
};

// How ranks share the box: cuts at these fractions of each edge, from 0 to 1, and who has what is
// between them, [z][y][x]. Empty for one rank.
struct Grid {
  std::vector<double> cut[3];
  std::vector<int> rank;
};

// Shear of the box along the axis `flow`, with the gradient of the velocity along `gradient`, which
// comes after it. The tilt of these axes is its Box::tilt at the time step `begin` and grows by
// rate * Box::extent[gradient] per unit of time; positions are those in the box with the tilt
// Engine::tilt(). If the particles have the flow, the engine's velocities, also in HostArrays, are
// relative to it: rate (r - low)[gradient] along `flow`. If not, the box carries the particles, and
// velocities do not change where one crosses it; see check_settings().
struct Shear {
  double rate = 0;  // per unit of time; 0: no shear
  std::int64_t begin = 0;
  int flow = 0, gradient = 1;
  bool has_flow = true;
  constexpr int tilt() const { return flow + gradient - 1; }  // index of Box::tilt
};

// A chain of Nose-Hoover thermostats, integrated in half steps before and after each step, as in
// LAMMPS' fixes nvt and nvt/sllod: it scales the velocities relative to the flow, and each half
// step takes half a time step times the gradient of the flow times the velocity off it (SLLOD). As
// in LAMMPS 22 Jul 2025, this is in addition to what a velocity loses to the flow when the particle
// moves along its gradient: the shear term acts twice. The masses of the chain are N_f k_B T time^2
// of the first thermostat and k_B T time^2 of the others.
struct NoseHoover {
  int chain = 0;  // number of thermostats; 0: there is none
  double damping_time = 0, temperature = 0, boltzmann = 0;
  double degrees_of_freedom = 0;  // N_f
  double temperature_of_sum = 0;  // as in VelocityChange
};
struct NoseHooverState {
  std::vector<double> position, velocity;  // of each thermostat
  double temperature = 0;                  // that was measured last, scaled by the half steps since
  double factor = 1;                       // of the velocities, in the latest half step
};

struct Settings {
  Box box;
  Shear shear;
  NoseHoover thermostat;
  Grid grid;
  PairTable pairs;  // coefficients are copied; sigma over the root of the time step, as there
  double cutoff;    // largest, of pairs
  double skin;
  double time_step;
  // A rank knows the particles of other ranks within cutoff and skin of its part of the box, or
  // within up to this distance if bonds, angles, dihedrals or impropers need them.
  double bonded_reach = 0;
  // Acceleration is this times force over mass (1 in reduced units, LAMMPS' ftm2v).
  double force_to_acceleration;
  std::vector<double> mass;  // [types + 1], by type
  std::uint64_t seed;
  std::vector<BondCoefficients> bonds;          // [bond types + 1]
  std::vector<AngleCoefficients> angles;        // [angle types + 1]; empty if there are none
  std::vector<DihedralCoefficients> dihedrals;  // the same of their types
  std::vector<ImproperCoefficients> impropers;
  ChargeSettings charges;
  std::vector<Wall> walls;
  std::vector<BodyForce> body_forces;
  std::vector<Surface> surfaces;
  // Whether a particle is lost in the very step in which it leaves the box, not when lists are
  // built.
  bool loses_at_once = false;
  std::vector<LangevinThermostat> langevin_thermostats;
  SpeedLimit speed_limit;
  std::vector<VelocityChange> velocity_changes;  // in the order in which they act
  // Between GPUs of several ranks: "peer" (straight into the memory of the other GPU), "shared"
  // (page-locked memory that the ranks of a host share), "nccl", "mpi" (the communicator, from GPU
  // to GPU), "host" (page-locked memory and the communicator), or "auto", the fastest that is
  // there; and whether particles move while ghosts travel.
  std::string transport = "auto";
  bool overlap = true;
};

constexpr std::uint32_t kIntegrated = 1;  // flag of particles that move; up to bit 7 is free

// Arrays of the host, index i below count; null pointers are left out.
struct HostArrays {
  int count;
  double (*position)[3];  // wrapped into the box on the way out; anywhere on the way in
  double (*velocity)[3];
  double (*force)[3];  // of pairs, bonded terms and Langevin thermostats, without body forces
  int (*image)[3];     // times that a periodic face was crossed
  // Of PairTable::scalars; without them unused. The flux is what changes them: per unit of time
  // heat, or amounts of species, those of sources included.
  double (*scalars)[kScalars] = nullptr;
  double (*flux)[kScalars] = nullptr;
  // Of download(): bit a is set if velocities along axis a are needed. Other components may be
  // written or not.
  unsigned velocity_axes = 7;
};

// The kind of an entry of Topology::bond_type: a bond has its type alone. Other terms have an entry
// for each partner, of which the first has the type with the role of the particle, and the others
// are kFurtherPartner. An angle has two partners: for an end of it, the center and the other end;
// for its center, both ends. A dihedral and an improper have three, in their order in the term,
// and the role tells the particle's place among the four: kDihedral or kImproper, plus kNextPlace
// for each place after the first one.
constexpr int kBondedType = 0xffffff;  // bits of the type
constexpr int kNextPlace = 1 << 24;
constexpr int kAngleEnd = 1 << 24, kAngleCenter = 2 << 24, kFurtherPartner = 3 << 24,
              kDihedral = 4 << 24, kImproper = 8 << 24;
constexpr bool has_several_partners(int kind) { return kind > kBondedType; }

// What never changes while the engine has the particles.
struct Topology {
  const int* type;             // [count], from 1
  const std::uint32_t* tag;    // [count], unique, not 0
  const std::uint32_t* flags;  // [count], low 8 bits
  // Bonds, angles, dihedrals and impropers of particle i, seen from all of their particles: entries
  // first_bond[i] .. first_bond[i + 1] of partner's tag and kind. Null where there are none.
  const int* first_bond;
  const std::uint32_t* bond_partner;
  const int* bond_type;
  // Special neighbors of particle i, seen from both ends: tag and kind (1 to 3, an index of
  // PairTable::special and ChargeSettings::special), entries first_special[i] ..
  // first_special[i + 1]. Null where there are none. A pair whose factor in PairTable is 0 is left
  // out of the lists.
  const int* first_special;
  const std::uint32_t* special_partner;
  const std::uint8_t* special_kind;
  const double* charge = nullptr;  // [count]; null if all are 0
  // Null where there are none. Their particles are not integrated, have no walls, and must not be
  // in groups of velocity changes.
  const RigidBodies* rigid = nullptr;
};

// A time step and the number of its draw: its random numbers are those of noise_key(seed, draw).
// Both increase by one with each step.
struct Clock {
  std::int64_t step;
  std::uint64_t draw;
};

// Coefficients of pairs and bonded terms for the forces of the steps from `from` on, as in
// Settings, with the same numbers of types and the same largest cutoff.
struct Coefficients {
  std::int64_t from;
  std::vector<PairCoefficients> pairs;
  std::vector<BondCoefficients> bonds;
  std::vector<AngleCoefficients> angles;
  std::vector<DihedralCoefficients> dihedrals;
  std::vector<ImproperCoefficients> impropers;
};

// Parameters that change from step to step. values: for each step from `first` on, the temperature
// of each Langevin thermostat, then the three components of each body force, then the center and
// the radius of each surface, then the temperature of each change of velocities. coefficients: in
// the order of their steps, which come after step().
struct ParameterSeries {
  std::int64_t first = 0;
  std::vector<double> values;
  std::vector<Coefficients> coefficients;
};

// An energy and a virial in the order xx, yy, zz, xy, xz, yz.
struct EnergySum {
  double energy = 0, virial[6] = {};
};

// Sums over all pairs, bonds and angles and over the pairs of charges in real space, of several
// ranks this one's share. mesh: the sum over all charges in reciprocal space, the same on all
// ranks.
struct EnergyAndVirial {
  EnergySum pairs, bonds, angles, dihedrals, impropers, charges, mesh;
  // Of the forces that keep the shapes of rigid bodies, in the two half steps of the last step: the
  // virial of all bodies, the same on all ranks.
  EnergySum constraints;
  // The largest tag, of all ranks, of the particles with a FENE bond beyond sqrt(0.9) of its
  // largest length in the steps of the last advance(); 0: there was none. Such a bond pulls with
  // the force over distance that it has at this length.
  std::uint32_t stretched = 0;
};

struct EngineCounters {
  std::int64_t steps = 0, builds = 0;
  std::int64_t intervals = 0;  // kernels that took the steps between two builds (GPU)
  std::int64_t neighbors = 0;  // entries of the present lists
};

// What is summed up over the particles in each bin of a grid along up to three axes.
struct Profile {
  // A particle is in layer (x - offset) * per_length, with x = (r - shift) * scale along the axis,
  // which a period (0: none) takes into low to high. Particles beyond the ends are in the first or
  // the last layer, or in none.
  struct Axis {
    int along, layers;
    double shift, scale, low, high, period, offset, per_length;
    bool takes_lower, takes_upper;
  };
  enum Kind : int { kNumber, kMass, kSquare, kVelocity, kForce };  // kSquare: m v^2
  struct Column {
    Kind kind;
    int axis;  // of kVelocity and kForce
  };
  static constexpr int kMostColumns = 12;
  int axes = 0, columns = 0;
  Axis axis[3];
  Column column[kMostColumns];

  std::size_t sums() const {
    auto sums = static_cast<std::size_t>(columns);
    for (int k = 0; k < axes; ++k) sums *= static_cast<std::size_t>(axis[k].layers);
    return sums;
  }
};

// All ranks throw it together.
struct MANYMOVE_API LostParticle : std::runtime_error, Agreed {
  using std::runtime_error::runtime_error;
};

// A FENE bond of at least twice its largest length, a bond beyond its table, or a bonded term
// beyond the reach of a rank. All ranks throw it together.
struct MANYMOVE_API BrokenBond : std::runtime_error, Agreed {
  using std::runtime_error::runtime_error;
};

// A change of velocities that is impossible, for example because a thermostat's particles are at
// rest. All ranks throw it together.
struct MANYMOVE_API BadVelocityChange : std::invalid_argument, Agreed {
  using std::invalid_argument::invalid_argument;
};

// On several ranks upload(), advance(), change_velocities(), download(), set_particles(),
// set_origins() and make_engine() are collective: all ranks call them in the same order, and
// destroy engines in the same order, within collective() of communicator.h. Host arrays and
// topology are those of the rank's own particles at upload, wherever these go later.
//
// All errors are collective. What ranks agree on they throw together, an Agreed of the type below,
// with the text of the lowest rank that has the error: refused particles, memory that is missing at
// upload, LostParticle, BadVelocityChange. upload() can be called again after it. Anything else (a
// fault of a GPU, memory that is missing later, a silent rank) is a RankFailure on all ranks; the
// engine can only be destroyed then, and so can every other object that uses the communicator.
//
// To be used by one thread at a time. A CUDA engine leaves the current device of the calling thread
// as it was.
class MANYMOVE_API Engine {
 public:
  // Local: another rank may still use its engine.
  virtual ~Engine() = default;

  // "cpu", or the GPU's name.
  virtual std::string device() const = 0;
  // What ghosts travel through between ranks; empty for one rank.
  virtual std::string transport() const { return ""; }

  // Takes particles over at a time step: positions, velocities and forces of that step, forces
  // without body forces. Throws std::invalid_argument for positions or velocities that are not
  // finite and for particles outside a box that is not periodic there; std::bad_alloc.
  virtual void upload(const HostArrays& arrays, const Topology& topology, Clock clock) = 0;

  // Replaces temperatures and body forces in the steps that the series has; in all others they are
  // those of the settings. The body force of the present step still acts in the first half of the
  // next one. The coefficients of a series replace the earlier ones permanently, unless their step
  // comes after step() when the next series is set. Local, the same on all ranks. Throws
  // std::invalid_argument for coefficients of other types or with another largest cutoff.
  virtual void set_parameter_series(ParameterSeries series) = 0;

  // Advances by `steps` time steps; afterwards all arrays and sums are those of time step
  // step(). Without `sums` energies and virials may be 0, unless the call ends early. interrupted,
  // asked now and then, ends the call early at a whole step, on all ranks when one of them wants
  // it. Throws LostParticle with the tag; BrokenBond with the tag, possibly only after the last
  // step. Velocities change at the end of all steps but the last, whose changes are left to
  // change_velocities().
  virtual void advance(std::int64_t steps, bool (*interrupted)() = nullptr, bool sums = true) = 0;
  // Makes the changes of velocities that are due at step(). Collective. Throws BadVelocityChange if
  // a temperature is 0 or a factor is not finite, as advance() does.
  virtual void change_velocities() = 0;
  // The state of Settings::thermostat at step(). Local; set it after upload(), the same on all
  // ranks. Throws std::invalid_argument for a chain of another length.
  virtual void set_thermostat(NoseHooverState state) = 0;
  virtual const NoseHooverState& thermostat() const = 0;
  // By how much each thermostat has lowered its temperature so far, summed over its steps. Local.
  virtual const std::vector<double>& temperature_drops() const = 0;
  // Sums of m v_a v_b over the particles of all ranks at step(), in the order xx, yy, zz, xy, xz,
  // yz; under shear, relative to the flow. Each addend is rounded to 2^-60 of the largest m v^2 or
  // less, so that the order of particles does not matter. Collective.
  virtual std::array<double, 6> kinetic_sums() = 0;
  // Sums [bins][columns] over the particles of this rank, with the last axis fastest. Each addend
  // is rounded to 2^-60 of the largest of its column. Forces are those of download(). Collective.
  virtual std::vector<double> profile(const Profile& profile) = 0;
  // Multiplies the velocities of integrated particles. kinetic_sums() has frozen ones, too, which
  // count in LAMMPS' temperature.
  virtual void scale_velocities(const double factor[3]) = 0;
  // The box has other lengths: particles keep their fractions of its edges, and move in `way` from
  // step() to the next step, whose forces and those of all later steps are those in `next`. Local,
  // the same on all ranks. Throws std::invalid_argument for a box that is tilted or not periodic,
  // and with shear, charges, walls, surfaces or regions. Not for rigid bodies.
  virtual void set_box(const Box& way, const Box& next) = 0;
  // The time step of the present state. Local, as are energy_and_virial() and counters().
  virtual std::int64_t step() const = 0;
  // The tilt of Settings::shear at a time step. Under shear it is the equivalent tilt whose
  // magnitude is at most half of the extent along the flow.
  virtual double tilt(std::int64_t step) const = 0;
  virtual EnergyAndVirial energy_and_virial() const = 0;
  // Those of upload() at step(). Local.
  virtual std::vector<RigidBody> rigid_bodies() const { return {}; }

  // Writes the arrays that are not null, in the order of upload(), or of set_origins().
  virtual void download(const HostArrays& arrays) = 0;
  // Writes the arrays of a host program on one rank, which are in the memory of the engine's GPU.
  // Waits for the default stream before, and for the end of the writes. Throws std::logic_error on
  // CPUs and on several ranks.
  virtual void write(const HostParticles&) {
    throw std::logic_error("only an engine on one GPU writes into arrays of a host program");
  }

  // Replaces the velocities of time step step() by those of the host's particles, which are
  // tag[count], in the order of download(). Nothing else changes, and neighbor lists are kept where
  // that is possible. Throws std::invalid_argument for a velocity that is not finite, and leaves
  // all velocities as they were.
  void set_velocities(int count, const std::uint32_t* tag, const double (*velocity)[3]) {
    set_particles(count, tag, nullptr, velocity);
  }
  // The same with positions, anywhere, unless they are null; images and forces stay. Particles
  // without flags do not move in the next step, whose forces are therefore those of these positions
  // and velocities. Throws std::invalid_argument as upload() does; after an error of a position the
  // particles have to be uploaded again.
  virtual void set_particles(int count, const std::uint32_t* tag, const double (*position)[3],
                             const double (*velocity)[3]) = 0;

  // The particles have other places in the arrays of the hosts: those of this rank are tag[count]
  // now. Throws std::logic_error on one rank; std::runtime_error if a particle is on no rank.
  virtual void set_origins(int count, const std::uint32_t* tag) = 0;

  virtual EngineCounters counters() const = 0;
};

// Throws std::invalid_argument that names what is wrong: a periodic box narrower than twice the
// cutoff (particles meet the nearest images of others only), more than 65,535 types, coefficients
// that are not finite. device: "cpu", "cuda" or "cuda:k", the k-th; threads are those of the CPU.
// communicator: of the ranks that settings.grid names, null for one; it must live as long as the
// engine.
MANYMOVE_API std::unique_ptr<Engine> make_engine(const Settings& settings,
                                                 const std::string& device, int threads,
                                                 Communicator* communicator = nullptr);

}  // namespace manymove::dpd
