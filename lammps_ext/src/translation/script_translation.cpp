// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/script_translation.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "atom.h"
#include "core/dpd/settings.h"
#include "domain.h"
#include "fix.h"
#include "fix_nh.h"
#include "force.h"
#include "modify.h"
#include "neighbor.h"
#include "output.h"
#include "styles/pair_manymove_dpd.h"
#include "thermo.h"
#include "translation/box.h"
#include "translation/lammps_members.h"
#include "translation/served_commands.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::Settings;

namespace {

constexpr bigint kLongestSeries = 4096;  // steps whose changing forces are known ahead
// Of pairs and bonded terms in a series, with the nodes of tables.
constexpr bigint kMostCoefficients = 1'000'000;

// These act in the steps in which they want new neighbor lists, before these are built.
const std::set<std::string> kBeforeExchange{"balance", "deposit", "evaporate"};

// When fixes act while the particles are with the engine.
constexpr int kWithinStep = FixConst::INITIAL_INTEGRATE | FixConst::POST_INTEGRATE |
                            FixConst::PRE_EXCHANGE | FixConst::PRE_NEIGHBOR |
                            FixConst::POST_NEIGHBOR | FixConst::PRE_FORCE | FixConst::PRE_REVERSE |
                            FixConst::POST_FORCE | FixConst::FINAL_INTEGRATE;

}  // namespace

ScriptTranslation::ScriptTranslation(LAMMPS* lmp, const LastSetup& last_setup)
    : Pointers(lmp),
      last_setup_(last_setup),
      refusals_(lmp),
      pairs_(lmp),
      charges_(lmp, pairs_),
      styles_(lmp),
      forces_(lmp),
      velocities_(lmp),
      thermostat_(lmp),
      classes_(lmp, true),
      topology_(lmp),
      shearing_(lmp),
      barostat_(lmp),
      rigid_(lmp),
      adapting_(lmp),
      readers_(lmp) {
  if (comm->nprocs > 1 && comm->layout == Comm::LAYOUT_TILED)
    refusals_.add("comm_style tiled (instead: comm_style brick)");
  ServedCommands commands(lmp, refusals_);
  commands.check_interactions(pairs_, styles_, charges_);
  commands.check_atoms();
  commands.check_box();
  check_fixes();
  refusals_.share();
  if (refusals_.empty()) find_classes();
  if (!refusals_.empty()) return;
  if (const std::string why = why_no_engine(); !why.empty()) {
    refusals_.add(why);
    return;
  }
  forces_.check(refusals_);
  refusals_.share();
  readers_.find(end_of_step_);
}

// What the engine says of the settings; empty if it takes them.
std::string ScriptTranslation::why_no_engine() {
  try {
    const Settings all = settings();
    manymove::dpd::check_settings(all);
    if (barostat_.fix()) manymove::dpd::check_dilation(all, all.box);
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
  return "";
}

void ScriptTranslation::find_classes() {
  std::string why;
  MpiCommunicator communicator = communicator_of(lmp);
  reported(lmp, "Run style manymove/verlet", [&] {
    const auto find = [&] { why = classes_.find(communicator); };
    if (comm->nprocs == 1) return find();
    manymove::collective(communicator, find);
  });
  if (!why.empty()) refusals_.add(why);
}

// ---- fixes ----

void ScriptTranslation::check_fixes() {
  for (int k = 0; k < modify->nfix; ++k) check_fix(modify->fix[k], modify->fmask[k]);
  bool pressed = false;  // by a fix that changes the box at the end of steps
  for (int k = 0; k < modify->nfix; ++k) {
    Fix* const fix = modify->fix[k];
    if (!(modify->fmask[k] & FixConst::END_OF_STEP) || fix == shearing_.fix()) continue;
    if (fix == barostat_.fix()) {
      pressed = true;
      if (!end_of_step_.empty())
        refusals_.add(name_of(fix) + " after " + name_of(end_of_step_[0]) +
                      " (instead: before it)");
    } else if (pressed || !engine_changes_velocities(fix)) {
      end_of_step_.push_back(fix);
    }
  }
  adapting_.find_whether_known_ahead();
  if (const PairManymoveDPD* const dpd = pairs_.dpd();
      dpd && dpd->scalars() && !forces_.integrate_scalars())
    refusals_.add("pair_style " + dpd->style() + " with another integrator than fix mvv/" +
                  (dpd->scalars() == manymove::dpd::kTemperature ? "edpd" : "tdpd"));
  // nvt/sllod acts on the flow of a fix deform that is served, and nvt without a flow.
  if (chain_ && ChainThermostat::is_sllod(chain_) != shearing_.has_flow())
    refusals_.add(name_of(chain_));
  open_face_ = open_face(false);
  ignores_losses_ = output->thermo->lostflag != Thermo::ERROR;
  check_steps_of_host();
  check_rigid();
  if (barostat_.fix() && (forces_.has_moves() || shearing_.fix() || chain_))
    refusals_.add(name_of(barostat_.fix()) + " with fix move, deform or nvt");
  if (!shearing_.fix()) return;
  const auto is_left_out = [this](int mask) {
    return !(forces_.flags_of(mask) & manymove::dpd::kIntegrated);
  };
  if (std::any_of(atom->mask, atom->mask + atom->nlocal, is_left_out))
    refusals_.add(name_of(shearing_.fix()) + " with atoms that are not integrated");
  if (forces_.has_moves()) refusals_.add(name_of(shearing_.fix()) + " with fix move");
}

// Bodies are moved as a whole: nothing else moves or reflects their particles.
void ScriptTranslation::check_rigid() {
  rigid_.check_exclusions(refusals_);
  if (!rigid_.fix()) return;
  const std::string name = name_of(rigid_.fix());
  if (barostat_.fix() || shearing_.fix()) refusals_.add(name + " in a box that changes");
  if (!before_exchange_.empty()) refusals_.add(name + " with " + name_of(before_exchange_[0]));
  if (may_lose_particles())
    refusals_.add(name + " with an open face and thermo_modify lost ignore or warn");
  if (pairs_.dpd() && pairs_.dpd()->scalars())
    refusals_.add(name + " with pair_style " + pairs_.dpd()->style());
  for (int k = 0; k < modify->ncompute; ++k)
    if (modify->compute[k]->pressatomflag)
      refusals_.add(name + " with compute " + modify->compute[k]->style);
  for (int i = 0; i < atom->nlocal; ++i) {
    if (!rigid_.has(i)) continue;
    const int mask = atom->mask[i];
    if (forces_.flags_of(mask) & manymove::dpd::kIntegrated)
      return refusals_.add(name + " with another integrator of the same atoms");
    if (forces_.is_moved(mask) || forces_.reflects(mask))
      return refusals_.add(name + " with fix move or a reflecting wall for the same atoms");
  }
}

// Some steps are made by LAMMPS: see step_on_host() of the run style.
void ScriptTranslation::check_steps_of_host() {
  const bool loses = may_lose_particles();
  if (before_exchange_.empty() && !loses) return;
  const std::string first =
      loses ? "thermo_modify lost ignore or warn with the open face " + open_face_
            : name_of(before_exchange_[0]);
  if (barostat_.fix() || shearing_.fix()) refusals_.add(first + " in a box that changes");
  if (!modify->get_fix_by_style("^langevin").empty()) refusals_.add(first + " with fix langevin");
  // The engine has the degrees of freedom of the start of a run.
  const Compute* const of_chain =
      chain_ ? modify->get_compute_by_id(std::string(chain_->id) + "_temp") : nullptr;
  if (velocities_.recount_atoms() || (of_chain && recounts_atoms(of_chain)))
    refusals_.add(first + " with a thermostat of compute_modify dynamic/dof yes");
  if (loses && output->thermo->lostbond != Thermo::ERROR && styles_.types() > 0)
    refusals_.add(first + " and lost/bond ignore or warn");
  if (loses && neighbor->build_once) refusals_.add(first + " and neigh_modify once");
  if (loses && force->kspace) refusals_.add(first + " and kspace_style " + force->kspace_style);
  for (const Fix* fix : before_exchange_)
    if (charges_.may_change_by(fix)) refusals_.add(name_of(fix) + " with charges");
}

void ScriptTranslation::check_fix(Fix* fix, int mask) {
  const std::string style = fix->style;
  if (Barostat::is_one(fix)) {
    if (const std::string why = barostat_.take(fix); !why.empty())
      refusals_.add(name_of(fix) + " with " + why);
    else if (barostat_.integrates())
      forces_.take_nve(fix);
    return;
  }
  if (RigidFix::is_one(fix)) {
    if (const std::string why = rigid_.take(fix); !why.empty())
      refusals_.add(name_of(fix) + " with " + why);
    return;
  }
  if (FixNH* const chain = ChainThermostat::of(fix); chain && !chain_) {
    chain_ = chain;
    forces_.take_nve(fix);
    return;
  }
  if (kBeforeExchange.count(style)) return before_exchange_.push_back(fix);
  const bool taken = forces_.take(fix, refusals_);
  if (style == "enforce2d" && domain->dimension == 2)
    return;                      // ServedCommands looks whether it is for all
  if (style == "GROUP") return;  // a dynamic group, which ServedCommands names
  if (style == "OMP")
    return;  // memory for force styles of the OPENMP package, which are refused by their own names
  if (style == "deform" && last_setup_.may_shear && !shearing_.fix() && shearing_.take(fix)) return;
  // Coefficients count for the forces of a step; masses would count for half of its motion.
  if (style == "adapt" && atom->rmass)
    refusals_.add(name_of(fix) + " with masses by particle");
  else if (style == "adapt" && charges_.any())
    refusals_.add(name_of(fix) + " with charges");
  else if (style == "adapt" && (mask & kWithinStep) == FixConst::PRE_FORCE)
    adapting_.add(fix);
  else if (!taken && ((mask & kWithinStep) || fix->box_change))
    refusals_.add(name_of(fix));
}

// At the end of a step fixes act in their order: after one of the host, the engine is late. Flags
// are for the groups of fixes that act within a step first. Velocities that fix move prescribes are
// restored when the host has changed them, and those of rigid bodies in the next step.
bool ScriptTranslation::engine_changes_velocities(Fix* fix) {
  if (shearing_.fix() || forces_.has_moves() || rigid_.fix() || !end_of_step_.empty() ||
      !forces_.has_flags_for(2) || !refusals_.all_agree(velocities_.can_take(fix)))
    return false;
  velocities_.take(fix, forces_);
  return true;
}

bigint ScriptTranslation::next_step_of_host() const {
  bigint next = std::numeric_limits<bigint>::max();
  for (const Fix* fix : before_exchange_)
    if (fix->next_reneighbor > update->ntimestep) next = std::min(next, fix->next_reneighbor);
  return next;
}

std::string ScriptTranslation::take_thermostat() {
  if (!chain_ || thermostat_.present()) return "";
  if (ChainThermostat::is_reversible(chain_)) return name_of(chain_) + " without integrator legacy";
  if (!refusals_.all_agree(comm->me != 0 || ChainThermostat::has_known_layout(chain_)))
    return name_of(chain_) + ", whose state is not stored as in known releases of LAMMPS";
  if (!refusals_.all_agree(thermostat_.take(chain_, shearing_))) return name_of(chain_);
  return why_no_engine();
}

std::string ScriptTranslation::risk() const {
  const std::string face = open_face(true);
  if (face.empty() || ignores_losses_) return "";
  return "device auto with the face " + face +
         ", which is not periodic and has no fix manymove/wall or wall/reflect of all atoms "
         "(device cpu keeps them)";
}

std::string ScriptTranslation::open_face(bool surfaces_count) const {
  for (int face = 0; face < 6; ++face) {
    const int axis = face / 2;
    const bool high = face % 2 != 0;
    if (!domain->periodicity[axis] && !forces_.closes(axis, high, surfaces_count))
      return std::string(1, "xyz"[axis]) + (high ? "hi" : "lo");
  }
  return "";
}

// ---- the description for the engine ----

Settings ScriptTranslation::settings() {
  Settings settings;
  describe_box(lmp, settings);
  shearing_.describe(settings);
  settings.pairs = pairs_.table();
  coefficients_ = classes_.expanded(settings.pairs);
  settings.pairs.types = classes_.count();
  settings.pairs.coefficients = coefficients_.data();
  settings.cutoff = settings.pairs.largest_cutoff;
  // LAMMPS finds the partners of the particle that owns a term up to this distance. Two partners
  // may be twice as far apart.
  settings.bonded_reach = (styles_.has_wide_terms() ? 2 : 1) * comm->get_comm_cutoff();
  settings.force_to_acceleration = force->ftm2v;
  settings.mass = classes_.masses();
  settings.seed = pairs_.dpd()->seed();
  settings.bonds = styles_.bonds();
  settings.angles = styles_.angles();
  settings.dihedrals = styles_.dihedrals();
  settings.impropers = styles_.impropers();
  settings.loses_at_once = may_lose_particles();
  charges_.describe(settings);
  forces_.describe(settings, classes_.types());
  velocities_.describe(settings);
  if (thermostat_.present()) thermostat_.describe(settings);
  return settings;
}

manymove::dpd::Coefficients ScriptTranslation::coefficients(bigint from) {
  return {from,
          classes_.expanded(pairs_.table()),
          styles_.bonds(),
          styles_.angles(),
          styles_.dihedrals(),
          styles_.impropers()};
}

bigint ScriptTranslation::series_length() const {
  if (!adapting_.known_ahead()) return kLongestSeries;
  const bigint of_step = static_cast<bigint>(classes_.count()) * classes_.count() +
                         styles_.types() + static_cast<bigint>(pairs_.nodes() + styles_.nodes());
  return std::clamp<bigint>(kMostCoefficients / std::max<bigint>(of_step, 1), 1, kLongestSeries);
}

manymove::dpd::ParameterSeries ScriptTranslation::series(bigint first, bigint last) {
  manymove::dpd::ParameterSeries series{first, {}, {}};
  const bool changes = forces_.has_series() || velocities_.has_series();
  if (std::exchange(adapted_, false)) series.coefficients.push_back(coefficients(first + 1));
  const bigint now = update->ntimestep;
  for (update->ntimestep = first; update->ntimestep <= last; ++update->ntimestep) {
    if (changes) {
      forces_.add_to_series(series.values);
      velocities_.add_to_series(series.values);
    }
    if (!adapting_.known_ahead() || update->ntimestep == first ||
        !adapting_.acts_at(update->ntimestep))
      continue;
    adapting_.act(0);
    series.coefficients.push_back(coefficients(update->ntimestep));
  }
  update->ntimestep = now;
  forces_.evaluate();
  return series;
}

void ScriptTranslation::adapt(int vflag) {
  adapting_.act(vflag);
  adapted_ = true;
}

bool ScriptTranslation::is_integrated(int i) const {
  const int mask = atom->mask[i];
  return (forces_.flags_of(mask) & manymove::dpd::kIntegrated) && !forces_.is_moved(mask);
}

manymove::dpd::Topology ScriptTranslation::topology() const {
  manymove::dpd::Topology topology = topology_.view(flags_);
  if (charges_.any()) topology.charge = atom->q;
  topology.rigid = bodies_;
  return topology;
}

std::uint64_t ScriptTranslation::draw() { return pairs_.dpd()->draw(); }

bool ScriptTranslation::has_new_classes(MpiCommunicator& communicator) {
  std::int64_t unknown = 0;
  for (int i = 0; i < atom->nlocal; ++i) unknown += classes_.of(i) == 0;
  if (comm->nprocs > 1) communicator.maximum(&unknown, 1);
  if (unknown == 0) return false;
  if (const std::string why = classes_.find(communicator); !why.empty())
    throw std::runtime_error(why);
  return true;
}

void ScriptTranslation::read_particles(MpiCommunicator& communicator) {
  topology_.read_tags();
  topology_.read_types(classes_);
  flags_.resize(static_cast<std::size_t>(atom->nlocal));
  for (int i = 0; i < atom->nlocal; ++i) flags_[i] = forces_.flags_of(atom->mask[i]);
  topology_.read_bonded(communicator, styles_);
  topology_.read_special(charges_.any());
  bodies_ = rigid_.read(communicator);
}
