// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "../runtime/devices.h"
#include "../runtime/errors.h"
#include "molecules/cell.h"

namespace manymove::adsorption {
namespace {

void check_laws(const std::vector<LennardJones>& laws) {
  for (const auto& [epsilon, sigma] : laws)
    if (!(epsilon >= 0) || !std::isfinite(epsilon) || !positive(sigma))
      refuse("Lennard-Jones parameters must be finite, epsilon >= 0 and sigma > 0, got epsilon ",
             epsilon, " and sigma ", sigma);
}

// The parameters of the types of sites, or those of the species of point particles.
void check_types(const State& s) {
  const Parameters& p = s.parameters;
  const auto types = static_cast<std::size_t>(s.types());
  if (types < 1 || types > kMostTypes)
    refuse("the number of types of sites must be from 1 to ", kMostTypes, ", got ", types);
  const auto& pairs = s.molecules() ? p.force_field->pairs : p.pairs;
  if (pairs.size() != types * types) refuse("pairs need a law for each two types of sites");
  check_laws(pairs);
  // Each type has as many laws with the framework as there are kinds of framework atoms.
  const std::size_t kinds = s.with_framework(0).size();
  for (int t = 0; t < s.types(); ++t) {
    if (s.with_framework(t).size() != kinds)
      refuse("each type of site needs parameters with each kind of framework atom");
    if (!std::isfinite(s.charge(t))) refuse("a charge is not finite: ", s.charge(t));
    check_laws(s.with_framework(t));
  }
  for (const auto kind : p.framework.kind)
    if (kind < 0 || static_cast<std::size_t>(kind) >= kinds)
      refuse("a framework atom is of a kind without parameters");
}

void check_framework(const State& s) {
  const Parameters& p = s.parameters;
  const Framework& f = p.framework;
  if (f.fractional.size() != 3 * f.kind.size() || !(s.molecules() || s.has_framework()))
    refuse("the framework must have atoms, with three coordinates each");
  for (int a = 0; a < 3; ++a) {
    if (!positive(f.cell[a]) || (s.molecules() && !std::isfinite(p.force_field->tilt[a])))
      refuse("the framework's cell edges must be positive and finite, got ", f.cell[a]);
    if (p.cells[a] < 1 || p.cells[a] > 1000)
      refuse(Parameter{"cells"}, "must be from 1 to 1000 along each axis, got ", p.cells[a],
             " along ", "abc"[a]);
    const double wide = width(s.inverse, a);
    // Otherwise a particle would meet two images of another within the cutoff. The slack is for
    // rounding.
    if (wide < 2 * p.cutoff * (1 - 1e-12))
      refuse("the box is ", wide, " angstrom wide along ", "abc"[a],
             ", less than twice the cutoff of ", p.cutoff, ": more unit cells are needed");
  }
  for (const double x : f.fractional)
    if (!std::isfinite(x)) refuse("a coordinate of the framework is not finite");
}

void check_molecules(const Parameters& p) {
  if (!positive(p.temperature))
    refuse("the temperature must be positive and finite, got ", p.temperature);
  if (!positive(p.cutoff)) refuse("the cutoff must be positive and finite, got ", p.cutoff);
  const std::size_t count = p.species.size();
  if (count < 1 || count > kMostSpecies)
    refuse("the number of species must be from 1 to ", kMostSpecies, ", got ", count);
  std::int64_t slots = 0;
  for (const Species& s : p.species) {
    // Open systems may leave the capacity at 0: it is chosen from the fugacity later.
    if (s.molecules < 0 || (s.capacity < s.molecules && (s.capacity || !(p.exchange > 0))))
      refuse("the number of molecules must be from 0 to the capacity ", s.capacity, ", got ",
             s.molecules);
    if (p.exchange > 0 && !positive(s.activity))
      refuse(Parameter{"exchange"}, "needs a fugacity of each species");
    slots += s.capacity;
  }
  if (slots < 1 && !(p.exchange > 0))
    refuse("there must be at least one molecule: give molecules, or a fugacity");
  if (slots > kMostSlots)
    refuse(slots, " molecules in a system are too many, at most ", kMostSlots, " are possible");
}

void check_trials(const Parameters& p) {
  const int k = p.trial_positions, m = p.trial_orientations;
  // Those of a chain are trials of one bead after the other.
  const bool chains = p.force_field && !p.force_field->chains.empty();
  // A reinsertion has one place more, that of the old state.
  if (k < 1 || m < 1 || k > kMostTrials || m > kMostTrials ||
      (!chains && (k + 1) * m > kMostTrials))
    refuse(
        "trial_positions and trial_orientations must be positive, and (trial_positions + 1) times "
        "trial_orientations must be at most ",
        kMostTrials, ", got ", k, " and ", m);
  for (const double share : {p.reinsertion, p.identity_change, p.regrowth})
    if (!(share >= 0) || !(share < 1)) refuse("shares of moves must be in [0, 1), got ", share);
  if (!(p.exchange + p.reinsertion + p.identity_change + p.regrowth < 1))
    refuse(
        "exchange, reinsertion, identity_change and regrowth must leave some steps for other "
        "moves");
  // The numbers of the species change, which only an open system may do.
  if (p.identity_change > 0 && !(p.exchange > 0 && p.species.size() > 1))
    refuse(Parameter{"identity_change"}, "needs an open system of several species");
  if (k * m == 1 && p.reinsertion == 0 && p.identity_change == 0 && p.regrowth == 0) return;
  if (!p.force_field) refuse("trials, reinsertions and identity changes are for rigid molecules");
  if (p.method != Method::metropolis && p.method != Method::plj)
    refuse("trials, reinsertions and identity changes need the method metropolis or plj");
}

void check_method(const Parameters& p) {
  if (several_proposals(p.method) &&
      (p.proposals < kWidth || p.proposals > kMostProposals || (p.proposals & (p.proposals - 1))))
    refuse(Parameter{"proposals"}, "must be a power of two from 32 to ", kMostProposals, ", got ",
           p.proposals);
  if (!(p.exchange >= 0) || !(p.exchange < 1))
    refuse(Parameter{"exchange"}, "must be in [0, 1), got ", p.exchange);
  if (p.exchange > 0 && p.method != Method::metropolis && p.method != Method::plj)
    refuse("insertions and deletions go with the methods metropolis and plj");
  check_trials(p);
  if (p.systems < 1) refuse("there must be at least one system, got ", p.systems);
  if (p.systems > kMostSystems)
    refuse(p.systems, " systems are too many, at most ", kMostSystems, " are possible");
  if (p.groups < 1 || p.groups > p.systems)
    refuse(Parameter{"groups"}, "must be from 1 to the number of systems, ", p.systems, ", got ",
           p.groups);
  if (p.bins < 0 || p.bins > 1024)
    refuse(Parameter{"bins"}, "must be from 1 to 1024, got ", p.bins);
  if (p.bins && !p.direction[0] && !p.direction[1] && !p.direction[2])
    refuse("the direction of the profile must not be zero");
}

constexpr double kMostAtoms = 1e5;  // with more atoms the grid takes minutes to hours

void check_grid(const Parameters& p) {
  double values = 1;
  for (int a = 0; a < 3; ++a) {
    if (p.grid[a] < 4)
      refuse("the grid needs at least four points along each axis, got ", p.grid[a], " along ",
             "xyz"[a], ": use a narrower spacing");
    // Planes before the first point and after the last one are repeated, for splines.
    values *= p.grid[a] + 3;
  }
  if (values >= 2147483647.0) refuse("the grid has more than 2^31 points: use a wider spacing");
  if (!(p.barrier >= 0) || !std::isfinite(p.hill)) refuse("barrier and hill must be finite");
  // Each value of the grid is a sum over the atoms within the cutoff.
  // N (4 pi / 3) R_c^3 / V, the mean number of atoms within the cutoff of a point.
  double atoms = static_cast<double>(p.framework.kind.size()) * 4 * std::numbers::pi / 3;
  for (int a = 0; a < 3; ++a) atoms *= p.cutoff / p.framework.cell[a];
  if (atoms > kMostAtoms)
    refuse("a cutoff of ", p.cutoff, " angstrom reaches about ", std::round(atoms),
           " atoms of the framework, but at most ", kMostAtoms,
           " are possible: use a shorter cutoff");
}

// Lennard-Jones for Eq. 1.
template <class F>
PairLaw<F> make_law(const LennardJones& law, const Parameters& p, double qq = 0) {
  const double cutoff = p.cutoff;
  // u(r) = 4 epsilon [(sigma / r)^12 - (sigma / r)^6], less its value at the cutoff where
  // potentials are shifted.
  const double s6 = std::pow(law.sigma, 6), q6 = std::pow(cutoff, -6);
  const double repulsion = 4 * law.epsilon * s6 * s6, attraction = 4 * law.epsilon * s6;
  // (sigma / r)^6 where 4 epsilon [(sigma / r)^12 - (sigma / r)^6] is kCovered T plus the
  // attraction of opposite charges at sigma / 2, which is stronger than at r > sigma / 2. If r is
  // below sigma / 2, this is no bound, and no trial is excluded.
  const double most = kCovered * p.temperature + 2 * std::max(-qq, 0.0) / law.sigma,
               closest6 = 0.5 + 0.5 * std::sqrt(1 + most / law.epsilon);
  return {static_cast<F>(repulsion),
          static_cast<F>(attraction),
          static_cast<F>(p.shifted ? q6 * (repulsion * q6 - attraction) : 0),
          static_cast<F>(cutoff * cutoff),
          static_cast<F>(0.01 * law.sigma * law.sigma),
          static_cast<F>(closest6 < 64 ? law.sigma * law.sigma / std::cbrt(closest6) : 0)};
}

}  // namespace

bool positive(double value) { return value > 0 && std::isfinite(value); }

int State::types() const {
  return static_cast<int>(molecules() ? parameters.force_field->types.size()
                                      : parameters.species.size());
}
const std::vector<LennardJones>& State::with_framework(int type) const {
  return molecules() ? parameters.force_field->types[type].with_framework
                     : parameters.species[type].with_framework;
}
bool State::felt(int type) const {
  bool felt = felt_charges && charge(type) != 0;
  for (const LennardJones& law : with_framework(type)) felt |= law.epsilon > 0;
  return felt;
}
std::size_t State::shape_size() const {
  std::size_t most = 0;
  for (std::size_t b = 0; b < chains.size(); ++b)
    most = std::max(most, 3 * parameters.force_field->bodies[b].size());
  return most;
}
std::size_t State::grid_values(int repeated) const {
  std::size_t values = 1;
  for (const int points : parameters.grid) values *= static_cast<std::size_t>(points + repeated);
  return values;
}

namespace {

// Sets energies and averages to zero, and the numbers of molecules to those of the start.
void clear_data(State& s) {
  const Parameters& p = s.parameters;
  const auto systems = static_cast<std::size_t>(p.systems);
  s.data.max_displacement = p.max_displacement;
  s.data.energies.assign(systems, 0);
  // sums[kSums][systems], profile[groups][bins], counts[systems][species].
  // The systems of one sum are contiguous, so that neighboring threads of a GPU read neighboring
  // numbers.
  s.data.sums.assign(kSums * systems, 0);
  s.data.profile.assign(static_cast<std::size_t>(p.groups) * p.bins, 0);
  for (std::size_t i = 0; i < systems; ++i)
    for (const Species& b : p.species) s.data.counts.push_back(b.molecules);
}

}  // namespace

State make_state(const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  const Parameters& p = s.parameters;
  check_molecules(p);
  cell_matrix(p, p.cells, s.edges);
  invert(s.edges, s.inverse);
  check_types(s);
  check_framework(s);
  check_method(p);
  if (s.has_framework()) check_grid(p);
  check_displacement(s, p.max_displacement);
  const std::vector<LennardJones>& pairs = s.molecules() ? p.force_field->pairs : p.pairs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const int types = s.types(), a = static_cast<int>(i) / types, b = static_cast<int>(i) % types;
    const double qq = kCoulomb * s.charge(a) * s.charge(b);
    s.of_double.laws.push_back(make_law<double>(pairs[i], p, qq));
    s.of_float.laws.push_back(make_law<float>(pairs[i], p, qq));
  }
  // atom_laws[kind of framework atom][type].
  for (std::size_t k = 0; k < s.with_framework(0).size(); ++k)
    for (int t = 0; t < s.types(); ++t)
      s.atom_laws.push_back(make_law<double>(s.with_framework(t)[k], p));
  clear_data(s);
  if (s.molecules()) make_molecules(s);
  collect_atoms(s);
  if (!s.has_framework()) {
    const auto none = std::make_shared<Grids>();
    none->info = {{0, 0, 0}, 0, 0, 0, 1, {}};
    s.grid = none;
    make_room(s);
  }
  return s;
}

void check_displacement(const State& s, double d) {
  const double half = 0.5 * std::min({s.edge(0), s.edge(1), s.edge(2)});
  if (!(d > 0) || !(d < half))
    refuse(Parameter{"max_displacement"}, "must be positive and below half the box, ", half,
           ", got ", d);
}

// ---- the molecules of a caller or a checkpoint ----

namespace {

Pose checked_pose(const State& s, const double* xyz, const double* turn, int species, int molecule,
                  int system) {
  for (int a = 0; a < 3; ++a)
    if (!std::isfinite(xyz[a]))
      refuse("the position of molecule ", molecule, " of system ", system, " is not finite");
  Pose pose{to_site(s, xyz), {1, 0, 0, 0}};
  if (turn) {
    const Quaternion q{turn[0], turn[1], turn[2], turn[3]};
    // |q|^2 = 1, up to the rounding of numbers in a file.
    const double norm = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    if (!(std::abs(norm - 1) < 1e-6))
      refuse("the orientation of molecule ", molecule, " of system ", system,
             " is not a unit quaternion");
    pose.turn = normalized(q);
  }
  const double energy = framework_energy_at(s, species, pose);
  const bool pocket = energy == kForbidden;
  if (!pocket && energy < s.parameters.hill) return pose;
  throw PlaceError(text_of("molecule ", molecule, " of system ", system,
                           pocket ? " is in a pocket that molecules cannot reach"
                                  : text_of(" is on a hill, at ", energy, " K"),
                           " (at ", xyz[0], ", ", xyz[1], ", ", xyz[2], ")"),
                   molecule, pocket, energy);
}

}  // namespace

void adopt(State& s, const double* positions, const double* orientations) {
  const Parameters& p = s.parameters;
  if (!s.chains.empty())
    refuse("positions of chains cannot be given: they start at random or from a checkpoint");
  const std::size_t all = static_cast<std::size_t>(p.systems) * s.slots;
  // [systems][slots]: the slots of a species follow each other up to its capacity.
  std::vector<std::uint32_t> sites(3 * all);
  std::vector<double> turns(s.molecules() ? 4 * all : 0);
  std::vector<std::int32_t> counts;
  // Free slots have the rotation by nothing, (1, 0, 0, 0).
  for (std::size_t i = 0; i < turns.size(); i += 4) turns[i] = 1;
  for (int i = 0; i < p.systems; ++i) {
    std::size_t slot = static_cast<std::size_t>(i) * s.slots;
    int molecule = 0;
    for (std::size_t b = 0; b < p.species.size(); ++b) {
      for (int k = 0; k < p.species[b].molecules; ++k, positions += 3, ++molecule) {
        const Pose pose =
            checked_pose(s, positions, orientations, static_cast<int>(b), molecule, i);
        if (orientations) orientations += 4;
        std::memcpy(sites.data() + 3 * (slot + k), &pose.center, sizeof pose.center);
        if (s.molecules()) std::memcpy(turns.data() + 4 * (slot + k), &pose.turn, sizeof pose.turn);
      }
      counts.push_back(p.species[b].molecules);
      slot += p.species[b].capacity;
    }
  }
  s.data.sites = std::move(sites);
  s.data.orientations = std::move(turns);
  s.data.counts = std::move(counts);
}

void adopt(State& s, const Snapshot& snapshot) {
  const Snapshot& d = s.data;
  const auto size = [](const Snapshot& of) {
    return std::array{of.sites.size(), of.counts.size(),  of.energies.size(),
                      of.sums.size(),  of.profile.size(), of.orientations.size(),
                      of.waves.size(), of.shapes.size()};
  };
  if (size(snapshot) != size(d)) refuse("checkpoint: the arrays do not fit the parameters");
  const std::vector<Species>& species = s.parameters.species;
  for (std::size_t i = 0; i < snapshot.counts.size(); ++i) {
    const Species& b = species[i % species.size()];
    // A closed system keeps the molecules that it began with.
    if (snapshot.counts[i] < (s.parameters.exchange > 0 ? 0 : b.molecules) ||
        snapshot.counts[i] > b.capacity)
      refuse("checkpoint: a number of molecules is out of range");
  }
  for (const double energy : snapshot.energies)
    if (!std::isfinite(energy)) refuse("checkpoint: an energy is not finite");
  for (const double wave : snapshot.waves)
    if (!std::isfinite(wave)) refuse("checkpoint: a structure factor is not finite");
  if (s.molecules()) check_poses(s, snapshot);
  check_displacement(s, snapshot.max_displacement);
  s.data = snapshot;
}

// ---- arrays ----

MoveLimits move_limits(const Parameters& p) {
  const auto limit = [](double share) { return static_cast<std::uint32_t>(share * 0x1p32); };
  // One random word w chooses: the first limit above w / 2^32 is that of the move, and beyond the
  // last one are displacements and rotations.
  return {limit(p.exchange), limit(p.exchange + p.reinsertion),
          limit(p.exchange + p.reinsertion + p.identity_change),
          limit(p.exchange + p.reinsertion + p.identity_change + p.regrowth)};
}

template <class F>
Model<F> make_model(const State& s, const F* grid) {
  const Parameters& p = s.parameters;
  Model<F> m{};
  const std::vector<PairLaw<F>>& laws = s.in<F>().laws;
  m.beta = static_cast<F>(1 / p.temperature);
  m.species = static_cast<int>(p.species.size());
  for (int a = 0; a < 3; ++a) {
    m.edge[a] = static_cast<F>(s.edge(a));
    // x = u L / 2^32 for integers u, between -L / 2 and L / 2.
    m.unit[a] = static_cast<F>(s.edge(a) * 0x1p-32);
    // Twice the largest displacement along the edge, in units of 2^-32 of it.
    m.reach[a] =
        static_cast<std::uint32_t>(std::max(1.0, 2 * s.data.max_displacement / s.edge(a) * 0x1p32));
    m.points[a] = p.grid[a];
    m.cells[a] = static_cast<std::uint32_t>(p.cells[a]);
    m.direction[a] = static_cast<std::uint32_t>(p.direction[a]);
  }
  for (int b = 0; b < m.species; ++b) {
    // Species b has slots from first_slot[b] to before first_slot[b + 1].
    m.first_slot[b + 1] = m.first_slot[b] + p.species[b].capacity;
    m.activity[b] = p.species[b].activity;
    for (int c = 0; c < m.species && !s.molecules(); ++c) m.law[b][c] = laws[b * m.species + c];
  }
  m.grid = grid;
  m.cubic = p.cubic;
  m.key = {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};
  m.exchange = move_limits(p).exchange;
  m.bins = p.bins;
  return m;
}

namespace {

template <class F>
void set_model(const State& s, const F* grid, PointArrays<F>& w) {
  w.m = make_model(s, grid);
}

}  // namespace

template <class Arrays>
Arrays make_arrays(const State& s, const typename Arrays::Real* grid) {
  const Parameters& p = s.parameters;
  Arrays w{};
  w.method = p.method;
  w.proposals = p.proposals;
  w.moments = p.moments;
  w.systems = p.systems;
  w.slots = s.slots;
  w.groups = p.groups;
  w.hill = static_cast<typename Arrays::Real>(p.hill);
  w.first_step = s.data.counters.steps;
  set_model(s, grid, w);
  return w;
}
template Model<float> make_model(const State&, const float*);
template Model<double> make_model(const State&, const double*);
template PointArrays<float> make_arrays(const State&, const float*);
template PointArrays<double> make_arrays(const State&, const double*);
template MoleculeArrays<float> make_arrays(const State&, const float*);
template MoleculeArrays<double> make_arrays(const State&, const double*);

void check_species(const State& s, int species) {
  if (species < 0 || static_cast<std::size_t>(species) >= s.parameters.species.size())
    refuse("there is no species ", species, ", only ", s.parameters.species.size());
}

void set_trials(State& s, int positions, int orientations, const std::function<void()>& resized) {
  if (!s.molecules()) refuse("numbers of trials are for molecules of a force field");
  Parameters& p = s.parameters;
  const int held[2] = {p.trial_positions, p.trial_orientations};
  p.trial_positions = positions;
  p.trial_orientations = orientations;
  try {
    check_trials(p);
    resized();
  } catch (...) {
    p.trial_positions = held[0];
    p.trial_orientations = held[1];
    resized();
    throw;
  }
}

void set_activities(State& s, const std::vector<double>& activities) {
  Parameters& p = s.parameters;
  if (!(p.exchange > 0))
    refuse("the systems are closed: they have no fugacity (give one when they are made)");
  if (activities.size() != p.species.size())
    refuse("a fugacity of each of ", p.species.size(), " species is needed, got ",
           activities.size());
  for (const double activity : activities)
    if (!positive(activity))
      refuse("a fugacity must be positive and finite, got the activity ", activity);
  for (std::size_t b = 0; b < activities.size(); ++b) p.species[b].activity = activities[b];
  Counters& c = s.data.counters;
  // Random numbers are functions of the steps and of the insertions, which therefore go on.
  c = {c.steps, 0, 0, 0, 0, c.insertions, 0, 0};
}

void check_placed(const State& s, const MoveCounts& moves) {
  if (moves.stuck)
    throw std::runtime_error(
        text_of("too many molecules: not all of ", s.slots,
                " find a place in the box; fewer molecules or more unit cells are needed"));
}

// ---- the choice of an engine by the name of the device ----

namespace {

std::unique_ptr<Engine> make_cuda_engine([[maybe_unused]] State state,
                                         [[maybe_unused]] const Start& start,
                                         [[maybe_unused]] int device) {
#if defined(MANYMOVE_HAVE_CUDA)
  if (state.parameters.method == Method::metropolis)
    refuse("method metropolis is the reference on a CPU; pmc is the same");
  return state.molecules() ? make_cuda_engine_of_molecules(std::move(state), start, device)
                           : make_cuda_engine_of_points(std::move(state), start, device);
#else
  refuse(why_no_cuda_devices());
#endif
}

// At least a twentieth of a second between two calls of a task.
Poll now_and_then(const Poll& task) {
  using Clock = std::chrono::steady_clock;
  return [task, next = Clock::now()]() mutable {
    const auto now = Clock::now();
    if (!task || now < next) return;
    next = now + std::chrono::milliseconds(50);
    task();
  };
}

// The state is made only once the device and the threads are known to make sense.
std::unique_ptr<Engine> engine_on(const std::string& device, int threads,
                                  const Parameters& parameters, const Poll& poll,
                                  const std::function<void(State&)>& molecules) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  State state = make_state(parameters);
  const Start start{molecules, now_and_then(poll)};
  return gpus.empty() ? make_cpu_engine(std::move(state), start, threads)
                      : make_cuda_engine(std::move(state), start, gpus[0]);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const Parameters& parameters, const std::string& device,
                                    int threads, const Poll& poll) {
  return engine_on(device, threads, parameters, poll, nullptr);
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Parameters& parameters,
                                    const std::string& device, int threads, const Poll& poll) {
  return engine_on(device, threads, parameters, poll,
                   [&](State& state) { adopt(state, snapshot); });
}

std::unique_ptr<Engine> make_engine(const double* positions, const Parameters& parameters,
                                    const std::string& device, int threads,
                                    const double* orientations, const Poll& poll) {
  return engine_on(device, threads, parameters, poll,
                   [&](State& state) { adopt(state, positions, orientations); });
}

}  // namespace manymove::adsorption
