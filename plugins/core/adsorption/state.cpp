// SPDX-License-Identifier: BSD-3-Clause
#include "state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "../runtime/devices.h"
#include "../runtime/errors.h"
#include "grid.h"
#include "rigid/state.h"

namespace manymove::adsorption {
namespace {

constexpr const char* kAxis[3] = {"x", "y", "z"};

void check_framework(const Parameters& p) {
  const Framework& f = p.framework;
  if (f.kind.empty() || f.fractional.size() != 3 * f.kind.size())
    refuse("the framework must have atoms, with three coordinates each");
  for (int a = 0; a < 3; ++a) {
    if (!positive(f.cell[a]))
      refuse("the framework's cell edges must be positive and finite, got ", f.cell[a]);
    if (p.cells[a] < 1 || p.cells[a] > 1000)
      refuse(Parameter{"cells"}, "must be from 1 to 1000 along each axis, got ", p.cells[a],
             " along ", kAxis[a]);
    const double edge = f.cell[a] * p.cells[a];
    if (edge < 2 * p.cutoff)
      refuse("the box is ", edge, " angstrom along ", kAxis[a], ", less than twice the cutoff of ",
             p.cutoff, ": more unit cells are needed");
  }
  for (double x : f.fractional)
    if (!std::isfinite(x)) refuse("a coordinate of the framework is not finite");
  const std::size_t kinds = p.species[0].with_framework.size();
  if (kinds > 64) refuse("at most 64 kinds of framework atoms are possible, got ", kinds);
  for (const auto kind : f.kind)
    if (kind < 0 || static_cast<std::size_t>(kind) >= kinds)
      refuse("a framework atom is of a kind without parameters");
  for (const Species& s : p.species)
    if (s.with_framework.size() != kinds)
      refuse("each species needs parameters with each kind of framework atom");
}

void check_pairs(const Parameters& p) {
  const std::size_t count = p.species.size();
  if (p.pairs.size() != count * count) refuse("pairs need a law for each two species");
  for (const LennardJones& law : p.pairs) check_law(law);
  for (const Species& s : p.species)
    for (const LennardJones& law : s.with_framework) check_law(law);
}

void collect_images(State& s) {
  const Parameters& p = s.parameters;
  const Framework& f = p.framework;
  int reach[3];
  for (int a = 0; a < 3; ++a) reach[a] = static_cast<int>(std::ceil(p.cutoff / f.cell[a])) + 1;
  for (std::size_t i = 0; i < f.kind.size(); ++i) {
    const bool felt = std::any_of(p.species.begin(), p.species.end(), [&](const Species& b) {
      return b.with_framework[f.kind[i]].epsilon > 0;
    });
    if (!felt) continue;
    double in_cell[3];
    for (int a = 0; a < 3; ++a) {
      const double u = f.fractional[3 * i + a];
      in_cell[a] = (u - std::floor(u)) * f.cell[a];
    }
    for (int nz = -reach[2]; nz <= reach[2]; ++nz)
      for (int ny = -reach[1]; ny <= reach[1]; ++ny)
        for (int nx = -reach[0]; nx <= reach[0]; ++nx) {
          const int n[3] = {nx, ny, nz};
          double at[3], outside = 0;
          for (int a = 0; a < 3; ++a) {
            at[a] = in_cell[a] + n[a] * f.cell[a];
            const double beyond = std::max({-at[a], at[a] - f.cell[a], 0.0});
            outside += beyond * beyond;
          }
          if (outside < p.cutoff * p.cutoff) s.images.push_back({at[0], at[1], at[2], f.kind[i]});
        }
  }
}

void check_trials(const Parameters& p) {
  const int k = p.trial_positions, m = p.trial_orientations;
  // Those of a chain are trials of one bead after the other.
  const bool chains = p.rigid && !p.rigid->chains.empty();
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
  if (p.identity_change > 0 && !(p.exchange > 0 && p.species.size() > 1))
    refuse(Parameter{"identity_change"}, "needs an open system of several species");
  if (k * m == 1 && p.reinsertion == 0 && p.identity_change == 0 && p.regrowth == 0) return;
  if (!p.rigid) refuse("trials, reinsertions and identity changes are for rigid molecules");
  if (p.method != Method::metropolis && p.method != Method::plj)
    refuse("trials, reinsertions and identity changes need the method metropolis or plj");
}

}  // namespace

bool positive(double value) { return value > 0 && std::isfinite(value); }

void check_law(const LennardJones& law) {
  if (!(law.epsilon >= 0) || !std::isfinite(law.epsilon) || !positive(law.sigma))
    refuse("Lennard-Jones parameters must be finite, epsilon >= 0 and sigma > 0, got epsilon ",
           law.epsilon, " and sigma ", law.sigma);
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

void check_method(const Parameters& p) {
  const bool multiple = p.method == Method::mup || p.method == Method::mdp;
  if (multiple &&
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
             kAxis[a], ": use a narrower spacing");
    values *= p.grid[a] + 3;
  }
  if (values >= 2147483647.0) refuse("the grid has more than 2^31 points: use a wider spacing");
  if (!(p.barrier >= 0) || !std::isfinite(p.hill)) refuse("barrier and hill must be finite");
  // Each value of the grid is a sum over the atoms within the cutoff.
  double atoms = static_cast<double>(p.framework.kind.size()) * 4 * std::numbers::pi / 3;
  for (int a = 0; a < 3; ++a) atoms *= p.cutoff / p.framework.cell[a];
  if (atoms > kMostAtoms)
    refuse("a cutoff of ", p.cutoff, " angstrom reaches about ", std::round(atoms),
           " atoms of the framework, but at most ", kMostAtoms,
           " are possible: use a shorter cutoff");
}

template <class F>
PairLaw<F> make_law(const LennardJones& law, const Parameters& p) {
  const double cutoff = p.cutoff;
  const double s6 = std::pow(law.sigma, 6), q6 = std::pow(cutoff, -6);
  const double repulsion = 4 * law.epsilon * s6 * s6, attraction = 4 * law.epsilon * s6;
  return {static_cast<F>(repulsion), static_cast<F>(attraction),
          static_cast<F>(p.shifted ? q6 * (repulsion * q6 - attraction) : 0),
          static_cast<F>(cutoff * cutoff), static_cast<F>(0.01 * law.sigma * law.sigma)};
}
template PairLaw<float> make_law(const LennardJones&, const Parameters&);
template PairLaw<double> make_law(const LennardJones&, const Parameters&);

std::size_t State::grid_values() const {
  const auto& n = parameters.grid;
  return static_cast<std::size_t>(n[0]) * n[1] * static_cast<std::size_t>(n[2]);
}

void clear_data(State& s) {
  const Parameters& p = s.parameters;
  const auto systems = static_cast<std::size_t>(p.systems);
  s.data.max_displacement = p.max_displacement;
  s.data.energies.assign(systems, 0);
  s.data.sums.assign(kSums * systems, 0);
  s.data.profile.assign(static_cast<std::size_t>(p.groups) * p.bins, 0);
  for (std::size_t i = 0; i < systems; ++i)
    for (const Species& b : p.species) s.data.counts.push_back(b.molecules);
}

State make_state(const Parameters& parameters) {
  State s;
  s.parameters = parameters;
  const Parameters& p = s.parameters;
  check_molecules(p);
  check_pairs(p);
  check_framework(p);
  check_method(p);
  check_grid(p);
  for (int a = 0; a < 3; ++a) s.edge[a] = p.framework.cell[a] * p.cells[a];
  check_displacement(s, p.max_displacement);
  collect_images(s);
  clear_data(s);
  return s;
}

void finish_grid(State& s, std::vector<double>&& energies) {
  const Parameters& p = s.parameters;
  const std::size_t values = s.grid_values();
  const std::size_t padded = static_cast<std::size_t>(p.grid[0] + 3) * (p.grid[1] + 3) *
                             static_cast<std::size_t>(p.grid[2] + 3);
  const std::size_t all = padded * p.species.size();
  if (p.double_precision)
    s.double_grid.resize(all);
  else
    s.grid.resize(all);
  s.info = {p.grid, all * (p.double_precision ? 8 : 4), std::numeric_limits<double>::max(), 0, 0};
  for (std::size_t b = 0; b < p.species.size(); ++b) {
    const double* e = energies.data() + b * values;
    s.info.lowest = std::min(s.info.lowest, *std::min_element(e, e + values));
    std::unique_ptr<Pockets> pockets;
    if (p.barrier > 0) pockets = std::make_unique<Pockets>(e, p.grid, p.barrier);
    std::vector<bool> open(values);
    std::size_t blocked = 0, opened = 0;
    for (std::size_t i = 0; i < values; ++i) {
      open[i] = pockets ? pockets->open(i) : e[i] < p.hill;
      blocked += pockets && pockets->blocked(i);
      opened += open[i];
    }
    if (pockets && opened == 0)
      throw NoChannelError(text_of("no channel for species ", b,
                                   " leads through the framework below ", p.barrier,
                                   " K: raise the barrier or block nothing"));
    const double share = static_cast<double>(p.species.size() * values);
    s.info.blocked_share += static_cast<double>(blocked) / share;
    s.info.open_share += static_cast<double>(opened) / share;
    if (Species& species = s.parameters.species[b]; species.capacity == 0 && p.exchange > 0)
      species.capacity =
          std::max(species.molecules, estimated_capacity(s, static_cast<int>(b), open));
    if (p.double_precision)
      store_grid(p.grid, p.cubic, e, pockets.get(), s.double_grid.data() + b * padded);
    else
      store_grid(p.grid, p.cubic, e, pockets.get(), s.grid.data() + b * padded);
  }
  make_room(s);
}

GridWork grid_work(const State& s, int species) {
  const Parameters& p = s.parameters;
  GridWork g{s.images.data(), s.images.size(), {}, {}, {}};
  const auto& laws = p.species[species].with_framework;
  for (std::size_t k = 0; k < laws.size(); ++k) g.law[k] = make_law<double>(laws[k], p);
  for (int a = 0; a < 3; ++a) {
    g.points[a] = p.grid[a];
    g.spacing[a] = p.framework.cell[a] / p.grid[a];
  }
  return g;
}

double direct_energy(const State& s, int species, const double* xyz) {
  const GridWork g = grid_work(s, species);
  double at[3];
  for (int a = 0; a < 3; ++a) {
    const double cell = s.parameters.framework.cell[a];
    at[a] = xyz[a] - std::floor(xyz[a] / cell) * cell;
  }
  double sum = 0;
  for (const Image& i : s.images) {
    const PairLaw<double>& law = g.law[i.kind];
    if (law.repulsion > 0) sum += image_energy(law, i.x, i.y, i.z, at[0], at[1], at[2]);
  }
  return sum;
}

Site to_site(const State& s, const double* xyz) {
  std::uint32_t part[3];
  for (int a = 0; a < 3; ++a) {
    const double u = xyz[a] / s.edge[a];
    part[a] = static_cast<std::uint32_t>(
        static_cast<std::uint64_t>(std::llround((u - std::floor(u)) * 0x1p32)));
  }
  return {part[0], part[1], part[2]};
}

void check_finite(const double* xyz, int molecule, int system) {
  for (int a = 0; a < 3; ++a)
    if (!std::isfinite(xyz[a]))
      refuse("the position of molecule ", molecule, " of system ", system, " is not finite");
}

void check_place(const State& s, const double* xyz, int molecule, int system, double energy,
                 bool pocket) {
  if (!pocket && energy < s.parameters.hill) return;
  throw PlaceError(text_of("molecule ", molecule, " of system ", system,
                           pocket ? " is in a pocket that molecules cannot reach"
                                  : text_of(" is on a hill, at ", energy, " K"),
                           " (at ", xyz[0], ", ", xyz[1], ", ", xyz[2], ")"),
                   molecule, pocket, energy);
}

void check_displacement(const State& s, double d) {
  const double half = 0.5 * *std::min_element(s.edge, s.edge + 3);
  if (!(d > 0) || !(d < half))
    refuse(Parameter{"max_displacement"}, "must be positive and below half the box, ", half,
           ", got ", d);
}

namespace {

// A framework energy from the grid, and whether it stands for a blocked pocket.
template <class F>
std::pair<double, bool> energy_in(const State& s, const F* grid, int species, const Site& site) {
  const F energy = framework_energy(make_model(s, grid), species, site);
  return {static_cast<double>(energy), energy == F(kForbidden)};
}
std::pair<double, bool> energy_at(const State& s, int species, const Site& site) {
  return s.parameters.double_precision ? energy_in(s, s.double_grid.data(), species, site)
                                       : energy_in(s, s.grid.data(), species, site);
}

Site checked_site(const State& s, const double* xyz, int species, int molecule, int system) {
  check_finite(xyz, molecule, system);
  const Site site = to_site(s, xyz);
  const auto [energy, pocket] = energy_at(s, species, site);
  check_place(s, xyz, molecule, system, energy, pocket);
  return site;
}

}  // namespace

void adopt(State& s, const double* positions) {
  const Parameters& p = s.parameters;
  std::vector<std::uint32_t> sites(s.data.sites.size());
  std::vector<std::int32_t> counts;
  for (int i = 0; i < p.systems; ++i) {
    int slot = 0, molecule = 0;
    for (std::size_t b = 0; b < p.species.size(); ++b) {
      for (int k = 0; k < p.species[b].molecules; ++k, positions += 3, ++molecule) {
        const Site site = checked_site(s, positions, static_cast<int>(b), molecule, i);
        std::uint32_t* at = sites.data() + 3 * (static_cast<std::size_t>(i) * s.slots + slot + k);
        at[0] = site.x;
        at[1] = site.y;
        at[2] = site.z;
      }
      counts.push_back(p.species[b].molecules);
      slot += p.species[b].capacity;
    }
  }
  s.data.sites = std::move(sites);
  s.data.counts = std::move(counts);
}

void check_counts(const State& s, const Snapshot& snapshot) {
  if (snapshot.counts.size() != s.data.counts.size())
    refuse("checkpoint: the arrays do not fit the parameters");
  const std::size_t kinds = s.parameters.species.size();
  for (std::size_t i = 0; i < snapshot.counts.size(); ++i) {
    const Species& b = s.parameters.species[i % kinds];
    if (snapshot.counts[i] < (s.parameters.exchange > 0 ? 0 : b.molecules) ||
        snapshot.counts[i] > b.capacity)
      refuse("checkpoint: a number of molecules is out of range");
  }
}

void adopt(State& s, const Snapshot& snapshot) {
  const Snapshot& d = s.data;
  if (snapshot.sites.size() != d.sites.size() || snapshot.energies.size() != d.energies.size() ||
      snapshot.sums.size() != d.sums.size() || snapshot.profile.size() != d.profile.size())
    refuse("checkpoint: the arrays do not fit the parameters");
  check_counts(s, snapshot);
  for (const double energy : snapshot.energies)
    if (!std::isfinite(energy)) refuse("checkpoint: an energy is not finite");
  check_displacement(s, snapshot.max_displacement);
  s.data = snapshot;
}

template <class F>
Model<F> make_model(const State& s, const F* grid) {
  const Parameters& p = s.parameters;
  Model<F> m{};
  m.beta = static_cast<F>(1 / p.temperature);
  m.species = static_cast<int>(p.species.size());
  for (int a = 0; a < 3; ++a) {
    m.edge[a] = static_cast<F>(s.edge[a]);
    m.unit[a] = static_cast<F>(s.edge[a] * 0x1p-32);
    m.reach[a] =
        static_cast<std::uint32_t>(std::max(1.0, 2 * s.data.max_displacement / s.edge[a] * 0x1p32));
    m.points[a] = p.grid[a];
    m.cells[a] = static_cast<std::uint32_t>(p.cells[a]);
    m.direction[a] = static_cast<std::uint32_t>(p.direction[a]);
  }
  for (int b = 0; b < m.species; ++b) {
    m.first_slot[b + 1] = m.first_slot[b] + p.species[b].capacity;
    m.activity[b] = p.species[b].activity;
    for (int c = 0; c < m.species && !p.rigid; ++c)
      m.law[b][c] = make_law<F>(p.pairs[b * m.species + c], p);
  }
  m.grid = grid;
  m.cubic = p.cubic;
  m.key = {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};
  m.exchange = static_cast<std::uint32_t>(p.exchange * 0x1p32);
  m.bins = p.bins;
  return m;
}

template <class F>
Work<F> make_work(const State& s, const F* grid) {
  const Parameters& p = s.parameters;
  return {make_model(s, grid),
          p.method,
          p.proposals,
          p.moments,
          false,
          p.systems,
          s.slots,
          p.groups,
          static_cast<F>(p.hill),
          s.data.counters.steps,
          0,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          false};
}

template Model<float> make_model(const State&, const float*);
template Model<double> make_model(const State&, const double*);
template Work<float> make_work(const State&, const float*);
template Work<double> make_work(const State&, const double*);

void check_species(const State& s, int species) {
  if (species < 0 || static_cast<std::size_t>(species) >= s.parameters.species.size())
    refuse("there is no species ", species, ", only ", s.parameters.species.size());
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
  c = {c.steps, 0, 0, 0, 0, c.insertions, 0, 0};
}

void check_placed(const State& s, const Tally& tally) {
  if (tally.stuck)
    throw std::runtime_error(
        text_of("too many molecules: not all of ", s.slots,
                " find a place in the box; fewer molecules or more unit cells are needed"));
}

// ---- the choice of an engine by the name of the device ----

namespace {

// The state is made only once the device and the threads are known to make sense. molecules(state)
// fills it, for single sites or rigid molecules; without, the engine places them.
template <class Molecules>
std::unique_ptr<Engine> engine_on(const std::string& device, int threads,
                                  const Parameters& parameters, const Molecules& molecules) {
  threads = cpu_threads(threads);
  const std::vector<int> gpus = cuda_indices(device);
  if (parameters.rigid) {
    RigidState state = make_rigid_state(parameters);
    if (!gpus.empty()) return make_rigid_cuda_engine(std::move(state), molecules, gpus[0], threads);
    return make_rigid_cpu_engine(std::move(state), molecules, threads);
  }
  State state = make_state(parameters);
  if (!gpus.empty()) return make_cuda_engine(std::move(state), molecules, gpus[0]);
  return make_cpu_engine(std::move(state), molecules, threads);
}

struct FromSnapshot {
  const Snapshot& snapshot;
  void operator()(State& s) const { adopt(s, snapshot); }
  void operator()(RigidState& s) const { adopt_snapshot(s, snapshot); }
};
struct FromPositions {
  const double *positions, *orientations;
  void operator()(State& s) const { adopt(s, positions); }
  void operator()(RigidState& s) const { adopt_poses(s, positions, orientations); }
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Parameters& parameters, const std::string& device,
                                    int threads) {
  return engine_on(device, threads, parameters, nullptr);
}

std::unique_ptr<Engine> make_engine(const Snapshot& snapshot, const Parameters& parameters,
                                    const std::string& device, int threads) {
  return engine_on(device, threads, parameters, FromSnapshot{snapshot});
}

std::unique_ptr<Engine> make_engine(const double* positions, const Parameters& parameters,
                                    const std::string& device, int threads,
                                    const double* orientations) {
  return engine_on(device, threads, parameters, FromPositions{positions, orientations});
}

#if !defined(MANYMOVE_HAVE_CUDA)
std::unique_ptr<Engine> make_cuda_engine(State, const Adopt&, int) {
  throw std::invalid_argument(why_no_cuda_devices());
}
#endif

}  // namespace manymove::adsorption
