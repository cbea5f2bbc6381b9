// SPDX-License-Identifier: GPL-2.0-or-later
#include "fix_wrmc.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <unordered_map>

#include "atom.h"
#include "comm.h"
#include "core/adsorption/model.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "update.h"

using namespace LAMMPS_NS;
using namespace manymove::adsorption;

namespace {

const std::string kMethods[] = {"pmc", "plj", "mup", "mdp", "mdp-dj"};
constexpr Method kEngineMethods[] = {Method::pmc, Method::plj, Method::mup, Method::mdp,
                                     Method::mdp};
// The engine's constants are for angstrom and kelvin: sigma and kT become these.
constexpr double kSigma = 3.5, kTemperature = 300, kBarrier = 20;
constexpr int kResults = 6;

}  // namespace

// fix ID group manymove/wrmc N steps seed T cutoff epsilon sigma keyword ...
FixManymoveWRMC::FixManymoveWRMC(LAMMPS* lmp, int narg, char** arg) : Fix(lmp, narg, arg) {
  if (narg < 10) utils::missing_cmd_args(FLERR, "fix manymove/wrmc", error);
  nevery = utils::inumeric(FLERR, arg[3], false, lmp);
  steps_ = utils::inumeric(FLERR, arg[4], false, lmp);
  const auto seed = utils::bnumeric(FLERR, arg[5], false, lmp);
  temperature_ = utils::numeric(FLERR, arg[6], false, lmp);
  cutoff_ = utils::numeric(FLERR, arg[7], false, lmp);
  epsilon_ = utils::numeric(FLERR, arg[8], false, lmp);
  sigma_ = utils::numeric(FLERR, arg[9], false, lmp);
  if (nevery < 1 || steps_ < 1)
    error->all(FLERR, "Fix manymove/wrmc: N and steps must be positive");
  if (seed < 1) error->all(FLERR, "Fix manymove/wrmc: the seed must be positive");
  for (const double value : {temperature_, cutoff_, sigma_})
    if (!(value > 0))
      error->all(FLERR, "Fix manymove/wrmc: temperature, cutoff and sigma must be positive");
  seed_ = static_cast<std::uint64_t>(seed);
  displacement_ = 0.17 * sigma_;
  spacing_ = 0.055 * sigma_;
  parameters_.proposals = 64;
  parse(narg, arg);

  scalar_flag = vector_flag = 1;
  size_vector = kResults;
  extscalar = extvector = 0;
  global_freq = 1;
  if (parameters_.bins) {
    array_flag = 1;
    size_array_rows = parameters_.bins;
    size_array_cols = 2;
    extarray = 0;
  }
  results_.assign(kResults + parameters_.bins, 0);
  force_reneighbor = 1;
  next_reneighbor = update->ntimestep + 1;
}

void FixManymoveWRMC::parse(int narg, char** arg) {
  const auto need = [&](int k, int count) {
    if (k + count >= narg)
      utils::missing_cmd_args(FLERR, std::string("fix manymove/wrmc ") + arg[k], error);
  };
  for (int k = 10; k < narg;) {
    const std::string word = arg[k];
    if (word == "framework") {
      need(k, 3);
      framework_.push_back({utils::inumeric(FLERR, arg[k + 1], false, lmp),
                            utils::numeric(FLERR, arg[k + 2], false, lmp),
                            utils::numeric(FLERR, arg[k + 3], false, lmp)});
      k += 4;
    } else if (word == "inert") {
      need(k, 1);
      framework_.push_back({utils::inumeric(FLERR, arg[k + 1], false, lmp), 0, sigma_});
      k += 2;
    } else if (word == "profile") {
      need(k, 2);
      const char* axis = std::strchr("xyz", arg[k + 1][0]);
      if (!axis || std::strlen(arg[k + 1]) != 1)
        error->all(FLERR, "Fix manymove/wrmc: profile along {} (x, y, z)", arg[k + 1]);
      for (int a = 0; a < 3; ++a) parameters_.direction[a] = "xyz"[a] == *axis;
      parameters_.bins = utils::inumeric(FLERR, arg[k + 2], false, lmp);
      if (parameters_.bins < 1)
        error->all(FLERR, "Fix manymove/wrmc: the profile needs at least one bin");
      k += 3;
    } else {
      need(k, 1);
      const char* value = arg[k + 1];
      if (word == "method") {
        const auto* found = std::find(std::begin(kMethods), std::end(kMethods), value);
        if (found == std::end(kMethods))
          error->all(FLERR, "Fix manymove/wrmc: unknown method {} (pmc, plj, mup, mdp, mdp-dj)",
                     value);
        method_ = static_cast<int>(found - std::begin(kMethods));
      } else if (word == "proposals") {
        parameters_.proposals = utils::inumeric(FLERR, value, false, lmp);
      } else if (word == "displacement") {
        displacement_ = utils::numeric(FLERR, value, false, lmp);
        if (!(displacement_ > 0))
          error->all(FLERR, "Fix manymove/wrmc: displacement {} must be positive", value);
      } else if (word == "spacing") {
        spacing_ = utils::numeric(FLERR, value, false, lmp);
        if (!(spacing_ > 0)) error->all(FLERR, "Fix manymove/wrmc: spacing must be positive");
      } else if (word == "device") {
        device_ = value;
      } else if (word == "threads") {
        threads_ = utils::inumeric(FLERR, value, false, lmp);
        if (threads_ < 1)
          error->all(FLERR, "Fix manymove/wrmc: threads {} must be positive", value);
      } else {
        error->all(FLERR, "Fix manymove/wrmc: unknown keyword {}", word);
      }
      k += 2;
    }
  }
  for (const Law& law : framework_) {
    if (law.type < 1 || law.type > atom->ntypes)
      error->all(FLERR, "Fix manymove/wrmc: there is no atom type {}", law.type);
    if (std::count_if(framework_.begin(), framework_.end(),
                      [&](const Law& other) { return other.type == law.type; }) > 1)
      error->all(FLERR, "Fix manymove/wrmc: parameters of atom type {} are given twice", law.type);
  }
}

int FixManymoveWRMC::setmask() { return FixConst::PRE_EXCHANGE; }

void FixManymoveWRMC::init() {
  if (domain->triclinic) error->all(FLERR, "Fix manymove/wrmc does not work with triclinic boxes");
  if (domain->dimension != 3 || !domain->xperiodic || !domain->yperiodic || !domain->zperiodic)
    error->all(FLERR, "Fix manymove/wrmc needs a box that is periodic along x, y and z");
  if (!atom->tag_enable) error->all(FLERR, "Fix manymove/wrmc needs atom IDs");
  // What LAMMPS' exchange carries from a rank to any other.
  for (const int ranks : comm->procgrid)
    if (comm->nprocs > 1 && (comm->style != Comm::BRICK || ranks > 2))
      error->all(FLERR,
                 "Fix manymove/wrmc moves atoms across the box: at most two ranks along each axis, "
                 "comm_style brick");
  if (utils::strmatch(update->integrate_style, "^respa"))
    error->all(FLERR, "Fix manymove/wrmc does not work with run_style respa");
}

// Atoms of the group, or all others, on rank 0, by ID.
std::vector<FixManymoveWRMC::Atom> FixManymoveWRMC::gather(bool of_group) const {
  constexpr int kWords = sizeof(Atom) / sizeof(double);
  std::vector<Atom> mine;
  for (int i = 0; i < atom->nlocal; ++i)
    if (static_cast<bool>(atom->mask[i] & groupbit) == of_group)
      mine.push_back({static_cast<double>(atom->tag[i]),
                      static_cast<double>(atom->type[i]),
                      {atom->x[i][0], atom->x[i][1], atom->x[i][2]}});
  const int count = kWords * static_cast<int>(mine.size());
  std::vector<int> counts(comm->nprocs), offsets(comm->nprocs);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, world);
  int total = 0;
  for (int r = 0; r < comm->nprocs; ++r) {
    offsets[r] = total;
    total += counts[r];
  }
  std::vector<Atom> all(total / kWords);
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), offsets.data(), MPI_DOUBLE,
              0, world);
  std::sort(all.begin(), all.end(), [](const Atom& a, const Atom& b) { return a.tag < b.tag; });
  return all;
}

// Of where the atoms that must not move are, and of the box; the same on all ranks.
std::uint64_t FixManymoveWRMC::fingerprint() const {
  const auto mix = [](std::uint64_t h, double value) {
    h = (h ^ manymove::bits_of(value)) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 31;
  };
  unsigned long long mine = 0, total = 0;
  for (int i = 0; i < atom->nlocal; ++i) {
    if (atom->mask[i] & groupbit) continue;
    double x[3] = {atom->x[i][0], atom->x[i][1], atom->x[i][2]};
    domain->remap(x);  // LAMMPS may not have done it yet
    std::uint64_t h = static_cast<std::uint64_t>(atom->tag[i]) + 1;
    for (const double value : x) h = mix(h, value);
    mine += h;
  }
  MPI_Allreduce(&mine, &total, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, world);
  for (int a = 0; a < 3; ++a) total = mix(mix(total, domain->boxlo[a]), domain->boxhi[a]);
  return total;
}

void FixManymoveWRMC::setup_pre_exchange() {
  if (next_reneighbor <= update->ntimestep) next_reneighbor = update->ntimestep + 1;
  const std::uint64_t now = fingerprint();
  if (now == fingerprint_) return;  // a run that goes on
  fingerprint_ = now;
  make_engine();
}

void FixManymoveWRMC::make_engine() {
  length_ = kSigma / sigma_;
  energy_ = kTemperature / (force->boltz * temperature_);
  const std::vector<Atom> rigid = gather(false), moving = gather(true);
  engine_.reset();
  if (comm->me != 0) return;
  const auto scaled = [&](double epsilon, double sigma) {
    return LennardJones{epsilon * energy_, sigma * length_};
  };
  if (moving.empty()) error->one(FLERR, "Fix manymove/wrmc: there is no atom in the group");
  Parameters& p = parameters_;
  p.framework = {};
  for (const Atom& a : rigid) {
    const auto law = std::find_if(framework_.begin(), framework_.end(),
                                  [&](const Law& l) { return l.type == static_cast<int>(a.type); });
    if (law == framework_.end())
      error->one(FLERR,
                 "Fix manymove/wrmc: atom {} of type {} is outside the group, but has no "
                 "parameters (keywords framework and inert)",
                 static_cast<tagint>(a.tag), static_cast<int>(a.type));
    p.framework.kind.push_back(static_cast<std::int32_t>(law - framework_.begin()));
    for (int k = 0; k < 3; ++k)
      p.framework.fractional.push_back((a.x[k] - domain->boxlo[k]) / domain->prd[k]);
  }
  const auto count = static_cast<int>(moving.size());
  p.species.assign(1, {count, count, 0, {}});
  for (const Law& law : framework_)
    p.species[0].with_framework.push_back(scaled(law.epsilon, law.sigma));
  p.pairs = {scaled(epsilon_, sigma_)};
  for (int a = 0; a < 3; ++a) {
    if (domain->prd[a] / spacing_ > 1e6)
      error->one(FLERR, "Fix manymove/wrmc: spacing {} is too fine for a box {} wide", spacing_,
                 domain->prd[a]);
    p.framework.cell[a] = domain->prd[a] * length_;
    p.grid[a] = std::max(4, static_cast<int>(std::ceil(domain->prd[a] / spacing_)));
  }
  p.temperature = kTemperature;
  p.cutoff = cutoff_ * length_;
  p.method = kEngineMethods[method_];
  p.moments = kMethods[method_] == "mdp-dj";
  p.max_displacement = displacement_ * length_;
  p.cubic = true;
  p.barrier = p.hill = kBarrier * kTemperature;
  // Another run, another sequence of random numbers.
  p.seed = seed_ + (static_cast<std::uint64_t>(update->ntimestep) << 32);
  guarded([&] { engine_ = make_engine_at(moving); });
}

// What the engine refuses ends the run, on all ranks.
template <class Function>
void FixManymoveWRMC::guarded(Function&& function) {
  try {
    function();
  } catch (const std::exception& e) {
    error->one(FLERR,
               "Fix manymove/wrmc: {} (atoms of the group count by ID from 0; in units "
               "where sigma is {} and the temperature {})",
               e.what(), kSigma, kTemperature);
  }
}

std::vector<double> FixManymoveWRMC::inward(const std::vector<Atom>& atoms) const {
  std::vector<double> positions;
  for (const Atom& a : atoms)
    for (int k = 0; k < 3; ++k) positions.push_back((a.x[k] - domain->boxlo[k]) * length_);
  return positions;
}

std::unique_ptr<Engine> FixManymoveWRMC::make_engine_at(const std::vector<Atom>& atoms) const {
  return manymove::adsorption::make_engine(inward(atoms).data(), parameters_, device_, threads_);
}

// LAMMPS migrates the atoms and builds its lists right after this.
void FixManymoveWRMC::pre_exchange() {
  if (update->ntimestep != next_reneighbor) return;
  next_reneighbor = update->ntimestep + nevery;
  if (fingerprint() != fingerprint_)
    error->all(FLERR,
               "Fix manymove/wrmc: an atom outside the group has moved, or the box has "
               "changed; both must be rigid");
  std::vector<Atom> atoms = gather(true);
  int count = static_cast<int>(atoms.size());
  if (comm->me == 0)
    guarded([&] {
      if (static_cast<std::size_t>(count) != engine_->molecules())
        throw std::invalid_argument("the number of atoms in the group has changed");
      engine_->set_positions(inward(atoms).data());
      engine_->run(static_cast<std::uint64_t>(steps_), true);
      const Snapshot state = engine_->snapshot();
      for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k)
          atoms[i].x[k] = domain->boxlo[k] + state.sites[3 * i + k] * (domain->prd[k] * 0x1p-32);
      summarise(state);
    });
  MPI_Bcast(results_.data(), static_cast<int>(results_.size()), MPI_DOUBLE, 0, world);
  MPI_Bcast(&count, 1, MPI_INT, 0, world);
  atoms.resize(count);
  MPI_Bcast(atoms.data(), count * static_cast<int>(sizeof(Atom) / sizeof(double)), MPI_DOUBLE, 0,
            world);
  leave(atoms);
}

// Each rank its own atoms; images follow the nearest image.
void FixManymoveWRMC::leave(const std::vector<Atom>& atoms) {
  std::unordered_map<tagint, const Atom*> by_tag;
  for (const Atom& a : atoms) by_tag[static_cast<tagint>(a.tag)] = &a;
  for (int i = 0; i < atom->nlocal; ++i) {
    if (!(atom->mask[i] & groupbit)) continue;
    const Atom& a = *by_tag.at(atom->tag[i]);
    int image[3] = {static_cast<int>(atom->image[i] & IMGMASK) - IMGMAX,
                    static_cast<int>(atom->image[i] >> IMGBITS & IMGMASK) - IMGMAX,
                    static_cast<int>(atom->image[i] >> IMG2BITS) - IMGMAX};
    for (int k = 0; k < 3; ++k) {
      image[k] -= static_cast<int>(std::rint((a.x[k] - atom->x[i][k]) / domain->prd[k]));
      atom->x[i][k] = a.x[k];
    }
    atom->image[i] = (static_cast<imageint>(image[0] + IMGMAX) & IMGMASK) |
                     (static_cast<imageint>(image[1] + IMGMAX) & IMGMASK) << IMGBITS |
                     (static_cast<imageint>(image[2] + IMGMAX) & IMGMASK) << IMG2BITS;
  }
}

// results_: energy by the method's estimator, plain and waste-recycled energies, acceptance, steps,
// present energy; then P of each bin.
void FixManymoveWRMC::summarise(const Snapshot& state) {
  const auto samples = static_cast<double>(state.counters.samples);
  const auto mean = [&](Sum sum) { return state.sums[sum] / samples; };
  const double plain = mean(kPlain), waste = mean(kWaste);
  double best = method_ < 2 ? plain : waste;
  if (parameters_.moments && mean(kJump) > 0) {
    const double b = (mean(kWasteSquared) - waste * waste) / (0.5 * mean(kJump));  // Eq. 8
    best = (1 - b) * plain + b * waste;                                            // Eq. 6
  }
  const double results[kResults] = {
      best / energy_,
      plain / energy_,
      (method_ < 2 ? plain : waste) / energy_,
      static_cast<double>(state.counters.accepted) / static_cast<double>(state.counters.steps),
      static_cast<double>(state.counters.steps),
      state.energies[0] / energy_};
  std::copy(results, results + kResults, results_.begin());
  double total = 0;
  for (const std::uint64_t n : state.profile) total += static_cast<double>(n);
  for (std::size_t i = 0; i < state.profile.size(); ++i)
    results_[kResults + i] = static_cast<double>(state.profile[i]) / total;
}

double FixManymoveWRMC::compute_scalar() { return results_[0]; }
double FixManymoveWRMC::compute_vector(int which) { return results_[which]; }

double FixManymoveWRMC::compute_array(int row, int column) {
  if (column == 1) return results_[kResults + row];
  const double period = parameters_.direction[0]   ? domain->prd[0]
                        : parameters_.direction[1] ? domain->prd[1]
                                                   : domain->prd[2];
  return (row + 0.5) * period / parameters_.bins;
}

double FixManymoveWRMC::memory_usage() {
  return engine_ ? static_cast<double>(engine_->grid_info().bytes) : 0;
}
