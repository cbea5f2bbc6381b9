// SPDX-License-Identifier: GPL-2.0-or-later
#include "styles/fix_manymove_wrmc.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "atom.h"
#include "comm.h"
#include "core/adsorption/model.h"
#include "core/runtime/fingerprint.h"
#include "core/runtime/text.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "modify.h"
#include "update.h"

using namespace LAMMPS_NS;
using namespace manymove::adsorption;
using manymove::text_of;

namespace {

const std::string kMethods[] = {"pmc", "plj", "mup", "mdp", "mdp-dj"};
constexpr Method kEngineMethods[] = {Method::pmc, Method::plj, Method::mup, Method::mdp,
                                     Method::mdp};
// The engine's constants are for angstrom and kelvin: sigma and kT become these.
constexpr double kSigma = 3.5, kTemperature = 300, kBarrier = 20;
constexpr int kResults = 6;
constexpr double kShape = 1e-3;     // sigma: atoms of molecules may be this far from their places
constexpr double kRounding = 1e-6;  // sigma: atoms outside the group, in a tilted box
constexpr double kDeepest = 20;     // well depth in kT
constexpr double kCoarsest = 0.14;  // spacing of the grid in the smallest sigma

}  // namespace

// fix ID group manymove/wrmc N steps seed T cutoff epsilon sigma keyword ...
// fix ID group manymove/wrmc/rigid N steps seed T cutoff keyword ...
FixManymoveWRMC::FixManymoveWRMC(LAMMPS* lmp, int narg, char** arg)
    : FixMonteCarlo(lmp, narg, arg, utils::strmatch(arg[2], "/rigid$") ? 8 : 10, "steps"),
      of_molecules_(utils::strmatch(arg[2], "/rigid$")) {
  temperature_ = positive("temperature", arg[6]);
  cutoff_ = positive("cutoff", arg[7]);
  if (!of_molecules_) {
    epsilon_ = utils::numeric(FLERR, arg[8], false, lmp);
    sigma_ = positive("sigma", arg[9]);
  }
  parameters_.proposals = 64;
  parse(of_molecules_ ? 8 : 10, narg, arg);
  for (const Law& law : sites_)
    if (law.epsilon > 0) sigma_ = std::max(sigma_, law.sigma);
  if (sigma_ == 0) sigma_ = 0.25 * cutoff_;  // no site has a core
  tolerance_ = kShape * sigma_;
  if (max_displacement_ == 0) max_displacement_ = 0.17 * sigma_;
  if (spacing_ == 0) spacing_ = 0.055 * sigma_;
  warn_of_laws();
  choose_device();

  scalar_flag = 1;
  size_vector = kResults;
  extscalar = extvector = 0;
  if (parameters_.bins) {
    array_flag = 1;
    size_array_rows = parameters_.bins;
    size_array_cols = 2;
    extarray = 0;
  }
  results_.assign(kResults + parameters_.bins, 0);
  next_reneighbor = update->ntimestep + 1;
}

void FixManymoveWRMC::parse(int first, int narg, char** arg) {
  const auto need = [&](int k, int count) {
    if (k + count >= narg)
      utils::missing_cmd_args(FLERR, std::string("fix ") + style + " " + arg[k], error);
  };
  for (int k = first; k < narg;) {
    const std::string word = arg[k];
    int taken = 0;
    if (of_molecules_ && parse_of_molecules(word, narg - k - 1, arg + k + 1, taken)) {
      k += 1 + taken;
    } else if (word == "framework") {
      need(k, 3);
      framework_.push_back({utils::inumeric(FLERR, arg[k + 1], false, lmp),
                            utils::numeric(FLERR, arg[k + 2], false, lmp),
                            utils::numeric(FLERR, arg[k + 3], false, lmp)});
      k += 4;
    } else if (word == "inert") {
      need(k, 1);
      framework_.push_back({utils::inumeric(FLERR, arg[k + 1], false, lmp), 0, 1});
      k += 2;
    } else if (word == "profile") {
      need(k, 2);
      const char* axis = std::strchr("xyz", arg[k + 1][0]);
      if (!axis || std::strlen(arg[k + 1]) != 1)
        error->all(FLERR, "{}: profile along {} must be along x, y or z", name_, arg[k + 1]);
      for (int a = 0; a < 3; ++a) parameters_.direction[a] = "xyz"[a] == *axis;
      parameters_.bins = positive_integer("bins", arg[k + 2]);
      k += 3;
    } else {
      need(k, 1);
      const char* value = arg[k + 1];
      if (word == "method") {
        const auto* found = std::ranges::find(kMethods, value);
        if (found == std::end(kMethods))
          error->all(FLERR, "{}: unknown method {} (pmc, plj, mup, mdp, mdp-dj)", name_, value);
        method_ = static_cast<int>(found - std::begin(kMethods));
      } else if (word == "proposals") {
        parameters_.proposals = utils::inumeric(FLERR, value, false, lmp);
      } else if (word == "max_displacement") {
        max_displacement_ = positive(word.c_str(), value);
      } else if (word == "spacing") {
        spacing_ = positive("spacing", value);
      } else if (word == "fugacity" || word == "exchange" || word == "trial_positions" ||
                 word == "trial_orientations" || word == "reinsertion" ||
                 word == "identity_change") {
        error->all(FLERR, "{}: {} is for manymove.Adsorption: the number of atoms is fixed", name_,
                   word);
      } else if (!take(word, value)) {
        error->all(FLERR, "{}: unknown keyword {}", name_, word);
      }
      k += 2;
    }
  }
  check_laws(framework_);
  check_laws(sites_);
  check_pairs();
  for (const Law& site : sites_)
    if (!(site.epsilon >= 0) || !(site.sigma > 0))
      error->all(FLERR, "{}: epsilon {} and sigma {} of site {} must be positive", name_,
                 site.epsilon, site.sigma, site.type);
  if (of_molecules_ && sites_.empty())
    error->all(FLERR, "{} needs the keyword site for the atom types of the molecules", name_);
}

// Parameters that are possible, but hardly meant.
void FixManymoveWRMC::warn_of_laws() const {
  if (comm->me != 0) return;
  double deepest = epsilon_, narrowest = 0;
  std::vector<Law> on_grid = of_molecules_ ? std::vector<Law>() : framework_;
  for (const Law& site : sites_)
    for (const Law& law : framework_) on_grid.push_back(law_between(site, law));
  for (const std::vector<Law>* laws : {&framework_, &sites_})
    for (const Law& law : *laws) deepest = std::max(deepest, law.epsilon);
  for (const Law& law : on_grid)
    if (law.epsilon > 0) narrowest = narrowest == 0 ? law.sigma : std::min(narrowest, law.sigma);
  const double thermal = force->boltz * temperature_;
  if (deepest > kDeepest * thermal)
    error->warning(
        FLERR,
        "{}: epsilon {} is {:.3g} kT; give it in the energy units of the input script (units "
        "{}), not in kelvin",
        name_, deepest, deepest / thermal, update->unit_style);
  if (narrowest > 0 && spacing_ > kCoarsest * narrowest)
    error->warning(FLERR,
                   "{}: spacing {} is large for a smallest sigma of {}: interpolation may change "
                   "energies by more than a tenth of kT; use at most {:.3g}",
                   name_, spacing_, narrowest, kCoarsest * narrowest);
}

const FixManymoveWRMC::Law* FixManymoveWRMC::law_of(const std::vector<Law>& laws, int type) {
  for (const Law& law : laws)
    if (law.type == type) return &law;
  return nullptr;
}

void FixManymoveWRMC::check_laws(const std::vector<Law>& laws) const {
  for (const Law& law : laws) {
    if (law.type < 1 || law.type > atom->ntypes)
      error->all(FLERR, "{}: there is no atom type {}", name_, law.type);
    if (law_of(laws, law.type) != &law)
      error->all(FLERR, "{}: parameters of atom type {} are given twice", name_, law.type);
  }
}

void FixManymoveWRMC::init() {
  check_surroundings(of_molecules_);
  if (of_molecules_ && !atom->molecule_flag)
    error->all(FLERR, "{} needs an atom style with molecule IDs, such as full", name_);
  if (of_molecules_)
    for (const Fix* other : modify->get_fix_list())
      if (utils::strmatch(other->style, "^rigid") || utils::strmatch(other->style, "^poems"))
        error->all(FLERR,
                   "{}: fix {} ({}) keeps positions of rigid bodies of its own, which would undo "
                   "the moves; remove it (unfix {})",
                   name_, other->id, other->style, other->id);
  if (!domain->xperiodic || !domain->yperiodic || !domain->zperiodic)
    error->all(FLERR, "{} needs a box that is periodic along x, y and z", name_);
  box_ = {{domain->prd[0], 0, 0, domain->prd[1], 0, domain->prd[2]}};
  if (domain->triclinic) box_.h[1] = domain->xy, box_.h[2] = domain->xz, box_.h[4] = domain->yz;
  for (int axis = 0; axis < 3; ++axis) {
    const double edge = domain->triclinic ? box_.width(axis) : domain->prd[axis];
    if (edge < 2 * cutoff_)
      error->all(
          FLERR,
          "{}: the box is {} wide along {}, less than twice the cutoff of {}; use a larger box "
          "or a shorter cutoff",
          name_, edge, "xyz"[axis], cutoff_);
    if (max_displacement_ >= edge / 2)
      error->all(FLERR, "{}: max_displacement {} must be below half the box, {} along {}", name_,
                 max_displacement_, edge / 2, "xyz"[axis]);
  }
}

// Hash of what an engine takes from the atoms that must not move, and of the box; the same on all
// ranks. Places in a tilted box are compared by in_place().
std::uint64_t FixManymoveWRMC::fingerprint() const {
  const auto mix = [](std::uint64_t h, double value) {
    return manymove::split_mix(h ^ manymove::bits_of(value));
  };
  std::uint64_t mine = 0, total = 0;
  for (int i = 0; i < atom->nlocal; ++i) {
    if (atom->mask[i] & groupbit) continue;
    double x[3] = {atom->x[i][0], atom->x[i][1], atom->x[i][2]};
    domain->remap(x);  // LAMMPS may not have done it yet
    std::uint64_t h = static_cast<std::uint64_t>(atom->tag[i]) + 1;
    for (const double value : x)
      if (!domain->triclinic) h = mix(h, value);
    h = mix(h, atom->type[i]);
    if (of_molecules_ && atom->q_flag) h = mix(h, atom->q[i]);
    mine += h;
  }
  ranks_->sum(&mine, 1);
  total += mine;
  for (int a = 0; a < 3; ++a) total = mix(mix(total, domain->boxlo[a]), domain->boxhi[a]);
  if (domain->triclinic) total = mix(mix(mix(total, domain->xy), domain->xz), domain->yz);
  if (of_molecules_) total = mix(total, force->qqrd2e);
  return total;
}

// The largest distance of an atom outside the group from where it was, and its ID; on rank 0.
std::pair<double, tagint> FixManymoveWRMC::farthest(const std::vector<Particle>& rigid) const {
  double most = 0;
  tagint tag = 0;
  for (std::size_t i = 0; i < rigid.size(); ++i) {
    double squared = 0, d[3];
    for (int a = 0; a < 3; ++a) d[a] = rigid[i].x[a] - rigid_[i].x[a];
    box_.shorten(d);
    for (const double component : d) squared += component * component;
    if (squared > most) most = squared, tag = static_cast<tagint>(rigid[i].tag);
  }
  return {std::sqrt(most), tag};
}

// In a tilted box LAMMPS converts all positions to fractions and back whenever it exchanges atoms,
// which rounds; therefore they are compared one by one, after the fingerprint.
bool FixManymoveWRMC::in_place() const {
  if (!domain->triclinic) return true;
  const std::vector<Particle> rigid = gather(false);
  std::vector<double> most(1);
  on_first_rank([&] { most[0] = farthest(rigid).first; });
  spread(most);
  return most[0] <= kRounding * sigma_;
}

// What has changed since the engine was made; on rank 0.
std::string FixManymoveWRMC::change(const std::vector<Particle>& rigid) const {
  if (rigid.size() != rigid_.size())
    return text_of("the number of atoms outside the group has changed from ", rigid_.size(), " to ",
                   rigid.size());
  const auto [most, tag] = farthest(rigid);
  if (most <= (domain->triclinic ? kRounding * sigma_ : 0))
    return "the box, or the IDs, types or charges of the atoms outside the group, have changed";
  return text_of("atom ", tag, ", which is outside the group, has moved by ", most);
}

void FixManymoveWRMC::setup_pre_exchange() {
  if (next_reneighbor <= update->ntimestep) next_reneighbor = update->ntimestep + 1;
  collectively([this] {
    const std::uint64_t now = fingerprint();
    if (now == fingerprint_ && in_place()) return;  // the averages of the run before continue
    make_engine();
    fingerprint_ = now;
  });
}

void FixManymoveWRMC::make_engine() {
  length_ = kSigma / sigma_;
  energy_ = kTemperature / (force->boltz * temperature_);
  rigid_ = gather(false);
  const std::vector<Particle> moving = gather(true);
  engine_.reset();
  on_first_rank([&] {
    engine_ = make_engine_at(moving);
    summarize(engine_->snapshot());
  });
  spread(results_);
}

// Repeats the engine's errors in the terms and units of the input script.
auto FixManymoveWRMC::translated(const std::vector<Particle>& atoms, const auto& call) const {
  try {
    return call();
  } catch (const PlaceError& failure) {
    const auto index = static_cast<std::size_t>(failure.molecule);
    const Particle& a = atoms[molecules_ ? molecules_->first_atom(failure.molecule) : index];
    throw std::invalid_argument(text_of(
        "atom ", static_cast<tagint>(a.tag), " at (", a.x[0], ", ", a.x[1], ", ", a.x[2], ") is ",
        failure.pocket ? text_of("in a pocket of the framework, which atoms cannot enter or leave")
                       : text_of("where the framework's energy is ", failure.energy / energy_),
        "; the group's atoms must be in channels where the framework's energy is below ", kBarrier,
        " kT = ", kBarrier * force->boltz * temperature_));
  } catch (const NoChannelError&) {
    throw std::invalid_argument(
        text_of("no channel leads through the atoms outside the group where their energy is below ",
                kBarrier, " kT = ", kBarrier * force->boltz * temperature_));
  }
}

std::unique_ptr<Engine> FixManymoveWRMC::make_engine_at(const std::vector<Particle>& moving) {
  const auto scaled = [&](double epsilon, double sigma) {
    return LennardJones{epsilon * energy_, sigma * length_};
  };
  if (moving.empty()) throw std::invalid_argument("there is no atom in the group");
  if (rigid_.empty() && !of_molecules_)
    throw std::invalid_argument("there is no atom outside the group");
  Parameters& p = parameters_;
  p.framework = {};
  for (const Particle& a : rigid_) {
    const Law* law = law_of(framework_, static_cast<int>(a.type));
    if (!law)
      throw std::invalid_argument(
          text_of("atom ", static_cast<tagint>(a.tag), " of type ", static_cast<int>(a.type),
                  " is outside the group, but has no parameters (keywords framework and inert)"));
    p.framework.kind.push_back(static_cast<std::int32_t>(law - framework_.data()));
    double inside[3], fractions[3];
    for (int k = 0; k < 3; ++k) inside[k] = a.x[k] - domain->boxlo[k];
    box_.to_fractions(inside, fractions);
    p.framework.fractional.insert(p.framework.fractional.end(), fractions, fractions + 3);
  }
  if (of_molecules_) {
    describe_molecules(moving);
  } else {
    const auto count = static_cast<int>(moving.size());
    p.species.assign(1, {count, count, 0, {}});
    for (const Law& law : framework_)
      p.species[0].with_framework.push_back(scaled(law.epsilon, law.sigma));
    p.pairs = {scaled(epsilon_, sigma_)};
  }
  for (int a = 0; a < 3; ++a) {
    if (domain->prd[a] / spacing_ > 1e6)
      throw std::invalid_argument(
          text_of("spacing ", spacing_, " is too fine for a box ", domain->prd[a], " wide"));
    p.framework.cell[a] = domain->prd[a] * length_;
    const double* h = box_.h;
    const double edge = a == 0   ? h[0]
                        : a == 1 ? std::hypot(h[1], h[3])
                                 : std::hypot(h[2], h[4], h[5]);
    p.grid[a] = std::max(4, static_cast<int>(std::ceil(edge / spacing_)));
  }
  p.temperature = kTemperature;
  p.cutoff = cutoff_ * length_;
  p.method = kEngineMethods[method_];
  p.moments = kMethods[method_] == "mdp-dj";
  p.max_displacement = max_displacement_ * length_;
  p.cubic = true;
  p.barrier = p.hill = kBarrier * kTemperature;
  // Another run, another sequence of random numbers.
  p.seed = seed_ + (static_cast<std::uint64_t>(update->ntimestep) << 32);
  return translated(moving, [&] {
    const std::vector<double> places = inward(moving);
    return manymove::adsorption::make_engine(places.data(), p, device_, threads_,
                                             molecules_ ? molecules_->turns().data() : nullptr);
  });
}

std::vector<double> FixManymoveWRMC::inward(const std::vector<Particle>& atoms) const {
  std::vector<double> positions;
  if (molecules_) {
    const std::vector<double>& centers = molecules_->centers();
    for (std::size_t i = 0; i < centers.size(); ++i)
      positions.push_back((centers[i] - domain->boxlo[i % 3]) * length_);
    return positions;
  }
  for (const Particle& a : atoms)
    for (int k = 0; k < 3; ++k) {
      if (!std::isfinite(a.x[k]))
        throw std::invalid_argument(
            text_of("the position of atom ", static_cast<tagint>(a.tag), " is not finite"));
      positions.push_back((a.x[k] - domain->boxlo[k]) * length_);
    }
  return positions;
}

// LAMMPS migrates the atoms and builds its lists right after this.
void FixManymoveWRMC::pre_exchange() {
  if (update->ntimestep != next_reneighbor) return;
  next_reneighbor = update->ntimestep + nevery;
  collectively([this] {
    if (fingerprint() != fingerprint_ || !in_place()) {
      const std::vector<Particle> rigid = gather(false);
      on_first_rank([&] {
        throw std::invalid_argument(change(rigid) +
                                    "; atoms outside the group and the box must be rigid");
      });
    }
    std::vector<Particle> atoms = gather(true);
    on_first_rank([&] { make_steps(atoms); });
    spread(results_);
    leave(atoms);
  });
}

void FixManymoveWRMC::make_steps(std::vector<Particle>& atoms) {
  if (molecules_) {
    molecules_->fit(atoms, tolerance_);
  } else if (atoms.size() != engine_->molecules()) {
    throw std::invalid_argument(text_of("the number of atoms in the group has changed from ",
                                        engine_->molecules(), " to ", atoms.size()));
  }
  translated(atoms, [&] {
    engine_->set_positions(inward(atoms).data(), molecules_ ? molecules_->turns().data() : nullptr);
  });
  engine_->run(static_cast<std::uint64_t>(count_), true);
  const Snapshot state = engine_->snapshot();
  std::vector<double> places(state.sites.size());
  for (std::size_t i = 0; i < places.size(); i += 3) {
    const double fractions[3] = {state.sites[i] * 0x1p-32, state.sites[i + 1] * 0x1p-32,
                                 state.sites[i + 2] * 0x1p-32};
    box_.from_fractions(fractions, places.data() + i);
  }
  if (molecules_) {
    const double origin[3] = {domain->boxlo[0], domain->boxlo[1], domain->boxlo[2]};
    molecules_->move(atoms, places, state.orientations.data(), origin);
  } else {
    const double* place = places.data();
    for (Particle& a : atoms) {
      double to[3];
      for (int k = 0; k < 3; ++k) to[k] = domain->boxlo[k] + *place++;
      move(a, to);
    }
  }
  summarize(state);
}

// results_: energy by the method's estimator, plain and waste-recycled energies, acceptance, steps,
// present energy; then P of each bin.
void FixManymoveWRMC::summarize(const Snapshot& state) {
  const auto samples = static_cast<double>(state.counters.samples);
  const double energy = engine_->energies()[0];
  // Before the first step the averages contain the start alone.
  const auto mean = [&](Sum sum) { return samples > 0 ? state.sums[sum] / samples : energy; };
  const double plain = mean(kPlain), waste = mean(kWaste);
  double best = method_ < 2 ? plain : waste;
  if (parameters_.moments && samples > 0 && mean(kJump) > 0) {
    const double b = (mean(kWasteSquared) - waste * waste) / (0.5 * mean(kJump));  // Eq. 8
    best = (1 - b) * plain + b * waste;                                            // Eq. 6
  }
  const auto steps = static_cast<double>(state.counters.steps);
  const double results[kResults] = {
      best / energy_,
      plain / energy_,
      (method_ < 2 ? plain : waste) / energy_,
      steps > 0 ? static_cast<double>(state.counters.accepted) / steps : 0,
      steps,
      energy / energy_};
  std::copy(results, results + kResults, results_.begin());
  double total = 0;
  for (const std::uint64_t n : state.profile) total += static_cast<double>(n);
  for (std::size_t i = 0; i < state.profile.size(); ++i)
    results_[kResults + i] = total > 0 ? static_cast<double>(state.profile[i]) / total : 0;
}

double FixManymoveWRMC::compute_scalar() { return results_[0]; }
double FixManymoveWRMC::compute_vector(int which) { return results_[which]; }

double FixManymoveWRMC::compute_array(int row, int column) {
  if (column == 1) return results_[kResults + row];
  const int axis = parameters_.direction[0] ? 0 : parameters_.direction[1] ? 1 : 2;
  return domain->boxlo[axis] + (row + 0.5) * domain->prd[axis] / parameters_.bins;
}

double FixManymoveWRMC::memory_usage() {
  return engine_ ? static_cast<double>(engine_->grid_info().bytes) : 0;
}
