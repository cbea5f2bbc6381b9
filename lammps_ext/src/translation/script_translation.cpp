// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/script_translation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "atom.h"
#include "comm.h"
#include "compute.h"
#include "core/dpd/settings.h"
#include "domain.h"
#include "error.h"
#include "fix.h"
#include "force.h"
#include "group.h"
#include "input.h"
#include "modify.h"
#include "mpi_communicator.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "plugin_api.h"
#include "resident/pairs_on_device.h"
#include "styles/pair_manymove_dpd.h"
#include "translation/bonded_styles.h"
#include "translation/box.h"
#include "translation/layouts_of_fixes_api.h"
#include "update.h"
#include "variable.h"

using namespace LAMMPS_NS;
using manymove::dpd::Settings;

namespace {

constexpr int kShrinkWrapped = 2;  // Domain::nonperiodic
constexpr int kStandard = 1;       // Atom::molecular: topology is kept by particle

constexpr bigint kCourse = 4096;                 // steps whose changing forces are known ahead
constexpr bigint kMostCoefficients = 1'000'000;  // of pairs, bonds and angles, in a course

// When fixes act while the particles are with the engine.
constexpr int kWithinStep = FixConst::INITIAL_INTEGRATE | FixConst::POST_INTEGRATE |
                            FixConst::PRE_EXCHANGE | FixConst::PRE_NEIGHBOR |
                            FixConst::POST_NEIGHBOR | FixConst::PRE_FORCE | FixConst::PRE_REVERSE |
                            FixConst::POST_FORCE | FixConst::FINAL_INTEGRATE;

const std::set<std::string> kAtomStyles{"atomic",    "charge", "bond",   "angle",
                                        "molecular", "full",   "sphere", "dipole"};

// Computes and fixes known to look at a rank's own atoms only. What is not here may read ghost
// atoms or neighbor lists, which are then made on the host whenever it may look.
const std::set<std::string> kOwnAtomsOnly{
    // computes
    "bond", "angle", "centroid/stress/atom", "chunk/atom", "chunk/spread/atom", "com", "com/chunk",
    "count/type", "displace/atom", "global/atom", "gyration", "gyration/chunk", "heat/flux", "ke",
    "ke/atom", "momentum", "msd", "msd/chunk", "pair", "pe", "pe/atom", "pressure", "property/atom",
    "property/chunk", "reduce", "reduce/chunk", "reduce/region", "slice", "stress/atom", "temp",
    "temp/chunk", "temp/com", "temp/deform", "temp/partial", "temp/profile", "temp/ramp",
    "temp/region", "vacf", "vcm/chunk",
    // fixes
    "addforce", "ave/atom", "ave/chunk", "ave/correlate", "ave/histo", "ave/time", "dt/reset",
    "halt", "manymove/wall", "momentum", "nve", "print", "store/state", "temp/berendsen",
    "temp/csvr", "temp/rescale", "vector"};

// What a deck can use instead, where there is something.
const std::map<std::string, std::string> kInstead{
    {"nvt", "fix nve; the pair style is a thermostat"},
    {"nvt/omp", "fix nve; the pair style is a thermostat"},
    {"nve/sphere", "fix nve"},
    {"wall/lj93", "fix wall/reflect"},
    {"wall/lj126", "fix wall/reflect"},
    {"wall/lj1043", "fix wall/reflect"},
    {"wall/harmonic", "fix wall/reflect"},
    {"freeze", "fix setforce 0 0 0"}};

// LAMMPS' pair styles that also exist as manymove/...
const std::set<std::string> kPairsServed{"dpd", "dpd/tstat", "dpd/ext", "dpd/ext/tstat", "mdpd"};

// What a deck can use instead of a pair style, or of styles within a hybrid one.
std::string instead_of_pairs(LAMMPS* lmp, const std::string& style) {
  if (kPairsServed.count(style)) return " (instead: pair_style manymove/" + style + ")";
  if (style == "dpd/coul/slater/long")
    return " (instead: pair_style hybrid/overlay manymove/dpd ... coul/slater/long ...)";
  if (style.rfind("hybrid", 0) != 0) return "";
  for (const std::string& part : kPairsServed)
    if (lmp->force->pair_match(part, 1)) return " (instead of " + part + ": manymove/" + part + ")";
  return "";
}

std::string name_of(const Fix* fix) {
  const std::string name = std::string("fix ") + fix->id + " " + fix->style;
  const auto instead = kInstead.find(fix->style);
  return instead == kInstead.end() ? name : name + " (instead: " + instead->second + ")";
}

}  // namespace

DeckTranslation::DeckTranslation(LAMMPS* lmp, const LastSetup& last_setup)
    : Pointers(lmp),
      last_setup_(last_setup),
      styles_(lmp),
      forces_(lmp),
      velocities_(lmp),
      thermostat_(lmp),
      classes_(lmp, true),
      topology_(lmp) {
  if (comm->nprocs > 1 && comm->layout == Comm::LAYOUT_TILED)
    refuse("comm_style tiled (instead: comm_style brick)");
  check_pairs_and_bonds();
  check_atoms();
  check_box();
  check_fixes();
  for (int i = 0; shearing_ && i < atom->nlocal; ++i)
    if (!is_integrated(i)) {
      refuse(name_of(shearing_) + " with atoms that are not integrated");
      break;
    }
  refuse_together();
  if (unserved_.empty()) find_classes();
  if (!unserved_.empty()) return;
  try {
    manymove::dpd::check_settings(settings());
  } catch (const std::invalid_argument& refusal) {
    refuse(refusal.what());
    return;
  }
  std::vector<std::string> refused;
  forces_.check(refused);
  for (const std::string& each : refused) refuse(each);
  refuse_together();
  check_readers();
}

void DeckTranslation::refuse(const std::string& culprit) {
  unserved_ += (unserved_.empty() ? "" : ", ") + culprit;
}

// Runs a task of collective calls; what they throw becomes an error of LAMMPS.
template <class Task>
void DeckTranslation::on_all_ranks(Task task) {
  if (comm->nprocs == 1) return;
  MpiCommunicator communicator = communicator_of(lmp);
  reported(lmp, "Run style manymove/verlet",
           [&] { manymove::collective(communicator, [&] { task(communicator); }); });
}

// Ranks may have found different culprits among their atoms: the longest list is named by all.
void DeckTranslation::refuse_together() {
  on_all_ranks([&](MpiCommunicator& communicator) {
    auto longest = static_cast<std::int64_t>(unserved_.size());
    communicator.maximum(&longest, 1);
    if (longest == 0) return;
    const auto length = static_cast<std::size_t>(longest);
    std::string mine = unserved_;
    mine.resize(length);
    std::vector<char> all(length * static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(mine.data(), all.data(), length);
    for (auto text = all.begin(); text != all.end(); text += longest) {
      unserved_.assign(text, text + longest);
      if (unserved_.back() != '\0') break;
    }
  });
}

// ---- what is served ----

void DeckTranslation::check_pairs_and_bonds() {
  pair_ = dynamic_cast<PairManymoveDPD*>(force->pair);
  const std::string pair_style = force->pair_style ? force->pair_style : "none";
  if (!pair_) refuse("pair_style " + pair_style + instead_of_pairs(lmp, pair_style));
  if (pair_ && !pair_->compute_flag) refuse("pair_modify compute no");
  if (const std::string styles = styles_.unserved(); !styles.empty()) refuse(styles);
  if (force->dihedral) refuse("dihedral_style " + std::string(force->dihedral_style));
  if (force->improper) refuse("improper_style " + std::string(force->improper_style));
  if (force->kspace) refuse("kspace_style " + std::string(force->kspace_style));
  if (force->special_onefive) refuse("special_bonds one/five");
  if (neighbor->nex_mol > 0) refuse("neigh_modify exclude molecule");
  if (neighbor->includegroup) refuse("neigh_modify include");
  if (const std::string why = why_no_densities(lmp); !why.empty()) refuse(why);
}

// Styles of which only positions, velocities, forces and masses count: what else they have (a
// radius, charges, a dipole) stays with the host, unless it turns, which no fix that is served
// does.
void DeckTranslation::check_atoms() {
  if (!is_known_atom_style()) refuse("atom_style " + std::string(atom->atom_style));
  if (atom->molecular > kStandard) refuse("atom_style template");
  const auto beyond = [](tagint tag) { return static_cast<std::int64_t>(tag) > 0xffffffffLL; };
  if (std::any_of(atom->tag, atom->tag + atom->nlocal, beyond)) refuse("atom IDs beyond 32 bits");
  for (int k = 0; k < group->ngroup; ++k)
    if (group->dynamic[k])
      refuse("dynamic group " + std::string(group->names[k]) + " (instead: a static group)");
}

// A hybrid style is known by its fields: no atom has a body, a line, a triangle, or a state that is
// integrated (energy, density, temperature).
bool DeckTranslation::is_known_atom_style() const {
  if (kAtomStyles.count(atom->atom_style)) return true;
  return std::string(atom->atom_style) == "hybrid" && !atom->ellipsoid_flag && !atom->line_flag &&
         !atom->tri_flag && !atom->body_flag && !atom->peri_flag && !atom->electron_flag &&
         !atom->wavepacket_flag && !atom->sph_flag && !atom->dpd_flag && !atom->edpd_flag &&
         !atom->tdpd_flag && !atom->mesont_flag && !atom->sp_flag && !atom->smd_flag;
}

void DeckTranslation::find_classes() {
  std::string why;
  MpiCommunicator communicator = communicator_of(lmp);
  reported(lmp, "Run style manymove/verlet", [&] {
    const auto find = [&] { why = classes_.find(communicator); };
    if (comm->nprocs == 1) return find();
    manymove::collective(communicator, find);
  });
  if (!why.empty()) refuse(why);
}

void DeckTranslation::check_box() {
  if (domain->dimension == 2) check_plane();
  if (domain->nonperiodic == kShrinkWrapped)
    refuse("shrink-wrapped boundary (instead: boundary f)");
}

// In two dimensions nothing leaves its plane, if all are in the same one and nobody pushes.
void DeckTranslation::check_plane() {
  bool kept = false;
  for (int k = 0; k < modify->nfix; ++k)
    kept =
        kept || (std::string(modify->fix[k]->style) == "enforce2d" && modify->fix[k]->igroup == 0);
  if (!kept) refuse("dimension 2 without fix enforce2d of all atoms");
  double ends[2] = {-HUGE_VAL, -HUGE_VAL};  // the highest, and minus the lowest
  for (int i = 0; i < atom->nlocal; ++i) {
    ends[0] = std::max(ends[0], atom->x[i][2]);
    ends[1] = std::max(ends[1], -atom->x[i][2]);
  }
  on_all_ranks([&](MpiCommunicator& communicator) {
    std::vector<double> all(2 * static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(ends, all.data(), sizeof ends);
    for (std::size_t k = 0; k < all.size(); ++k) ends[k % 2] = std::max(ends[k % 2], all[k]);
  });
  if (ends[0] > -ends[1]) refuse("dimension 2 with atoms at different heights");
}

void DeckTranslation::check_fixes() {
  for (int k = 0; k < modify->nfix; ++k) check_fix(modify->fix[k], modify->fmask[k]);
  for (int k = 0; k < modify->nfix; ++k)
    if ((modify->fmask[k] & FixConst::END_OF_STEP) && modify->fix[k] != shearing_ &&
        !engine_changes_velocities(modify->fix[k]))
      end_of_step_.push_back(modify->fix[k]);
  adapts_ahead_ = !adapting_.empty() && DeckVariables(lmp).all_of_step();
  // It acts on the flow of a fix deform that is served.
  if (sllod_ && !shearing_) refuse(name_of(sllod_));
}

void DeckTranslation::check_fix(Fix* fix, int mask) {
  const std::string style = fix->style;
  if (!sllod_ && fix->igroup == 0 && is_class(fix, "N9LAMMPS_NS11FixNVTSllodE")) {
    sllod_ = fix;
    forces_.take_nve(fix);
    return;
  }
  std::vector<std::string> refused;
  const bool taken = forces_.take(fix, refused);
  for (const std::string& each : refused) refuse(each);
  if (style == "enforce2d" && domain->dimension == 2)
    return;                      // check_plane looks whether it is for all
  if (style == "GROUP") return;  // a dynamic group, which check_atoms names
  if (style == "OMP")
    return;  // memory for force styles of the OPENMP package, which are refused by their own names
  // Coefficients count for the forces of a step; masses would count for half of its motion.
  if (style == "deform" && last_setup_.may_shear && !shearing_ && can_shear(fix)) {
    shearing_ = fix;
    shear_rate_ = domain->h_rate[5] / domain->prd[1];
    return;
  }
  if (style == "adapt" && atom->rmass)
    refuse(name_of(fix) + " with masses by particle");
  else if (style == "adapt" && (mask & kWithinStep) == FixConst::PRE_FORCE)
    adapting_.push_back(fix);
  else if (!taken && ((mask & kWithinStep) || fix->box_change))
    refuse(name_of(fix));
}

// At the end of a step fixes act in their order: after one of the host, the engine is late. Flags
// are for the groups of fixes that act within a step first.
bool DeckTranslation::engine_changes_velocities(Fix* fix) {
  if (shearing_) return false;
  if (!end_of_step_.empty() || !forces_.has_flags_for(2)) return false;
  std::int64_t refused = !velocities_.can_take(fix);
  on_all_ranks([&](MpiCommunicator& communicator) { communicator.maximum(&refused, 1); });
  if (refused) return false;
  velocities_.take(fix, forces_);
  return true;
}

std::string DeckTranslation::take_thermostat() {
  if (!sllod_ || thermostat_.present()) return "";
  const auto all_ranks = [&](bool agreed) {
    std::int64_t refused = !agreed;
    on_all_ranks([&](MpiCommunicator& communicator) { communicator.maximum(&refused, 1); });
    return refused == 0;
  };
  if (!all_ranks(comm->me != 0 || DeckThermostat::has_known_layout(sllod_)))
    return name_of(sllod_) + " of another release of LAMMPS than 22 Jul 2025";
  if (!all_ranks(thermostat_.take(sllod_, shear_rate_))) return name_of(sllod_);
  try {
    manymove::dpd::check_settings(settings());
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
  return "";
}

bool DeckTranslation::adapts_at(bigint step) const {
  return std::any_of(adapting_.begin(), adapting_.end(),
                     [step](const Fix* fix) { return fix->nevery > 0 && step % fix->nevery == 0; });
}

bigint DeckTranslation::last_step_before_adapting(bigint now) const {
  bigint last = MAXBIGINT;
  if (adapts_ahead_) return last;
  for (const Fix* fix : adapting_) {
    const bigint every = fix->nevery;
    if (every > 0) last = std::min(last, ((now + 1) / every + 1) * every - 1);
  }
  return last;
}

void DeckTranslation::adapt(int vflag) {
  for (Fix* fix : adapting_) fix->pre_force(vflag);
  adapted_ = true;
}

// A fix acts in the steps that are multiples of nevery, and in the setup of a run. A run without a
// setup begins with the coefficients that the one before it left.
void DeckTranslation::readapt(bigint step) const {
  if (!adapts_ahead_) return;
  const bigint now = update->ntimestep;
  for (Fix* fix : adapting_) {
    if (fix->nevery == 0) continue;
    update->ntimestep = std::max(step / fix->nevery * fix->nevery, last_setup_.step);
    fix->setup_pre_force(0);
  }
  update->ntimestep = now;
}

// Whether only the tilt xy changes, at a constant rate in each step, and velocities of all atoms
// are remapped. The fix has set the rate in the domain in its init() if it is constant, else at the
// end of each step.
bool DeckTranslation::can_shear(const Fix* fix) const {
  return is_class(fix, "N9LAMMPS_NS9FixDeformE") && fix->nevery == 1 &&
         fix->box_change == Fix::BOX_CHANGE_XY && domain->deform_flag && domain->deform_vremap &&
         domain->deform_groupbit == 1 && domain->h_rate[5] != 0;
}

// A box that is tilted too far is replaced by an equivalent one, with the atoms' images, at the
// beginning of the next step.
bool DeckTranslation::set_box_before(bigint step) const {
  if (!shearing_) return false;
  const bigint now = std::exchange(update->ntimestep, step - 1);
  shearing_->end_of_step();
  const double tilt = domain->xy;
  shearing_->pre_exchange();
  update->ntimestep = now;
  return domain->xy != tilt;
}
void DeckTranslation::set_box_after_step() const {
  if (shearing_) shearing_->end_of_step();
}

void DeckTranslation::check_readers() {
  for (int k = 0; k < neighbor->nlist; ++k)
    if (neighbor->lists[k]->requestor_type != NeighList::PAIR) reads_neighbors_ = true;
  for (int k = 0; k < modify->ncompute; ++k)
    if (!kOwnAtomsOnly.count(modify->compute[k]->style)) reads_neighbors_ = true;
  for (const Fix* fix : end_of_step_)
    if (!kOwnAtomsOnly.count(fix->style)) reads_neighbors_ = true;

  const std::set<std::string> of_velocities{"temp", "pressure", "pe", "ke"};
  reads_positions_ = false;
  for (int k = 0; k < modify->ncompute; ++k)
    if (!of_velocities.count(modify->compute[k]->style)) reads_positions_ = true;
  Variable* variables = input->variable;
  const int count = lammps_id_count(lmp, "variable");  // its own name for it has changed
  for (int k = 0; k < count; ++k)
    if (variables->equalstyle(k) || variables->atomstyle(k) || variables->vectorstyle(k))
      reads_positions_ = true;
}

// If there are body forces, LAMMPS adds them to the forces, and some depend on positions. A column
// of a fix may be a sum over forces; other columns that are not known read velocities.
unsigned DeckTranslation::read_by_thermo() const {
  if (reads_positions_ || has_body_forces()) return kEverything;
  const std::set<std::string> of_sums{"Step",   "Time",   "CPU",     "Atoms", "PotEng", "E_vdwl",
                                      "E_pair", "E_bond", "E_angle", "E_mol", "Volume", "Density"};
  const int columns = *static_cast<const int*>(lammps_last_thermo(lmp, "num", 0));
  unsigned what = 0;
  for (int k = 0; k < columns; ++k) {
    const std::string name = static_cast<const char*>(lammps_last_thermo(lmp, "keyword", k));
    if (name == "Fmax" || name == "Fnorm" || name.rfind("f_", 0) == 0) what |= kForces;
    if (!of_sums.count(name)) what |= kVelocities;
  }
  return what;
}

unsigned DeckTranslation::read_by(const Fix* fix) const {
  const std::string style = fix->style;
  if (style == "momentum") return kVelocities | kPositions;
  const bool thermostat = style == "temp/berendsen" || style == "temp/csld" ||
                          style == "temp/csvr" || style == "temp/rescale";
  return thermostat && !reads_positions_ ? kVelocities : kEverything;
}

std::string DeckTranslation::risk() const {
  for (int face = 0; face < 6; ++face) {
    const int axis = face / 2;
    const bool high = face % 2 != 0;
    if (!domain->periodicity[axis] && !forces_.closes(axis, high))
      return std::string("device auto with the face ") + "xyz"[axis] + (high ? "hi" : "lo") +
             ", which is not periodic and has no fix manymove/wall or wall/reflect of all atoms "
             "(device cpu keeps them)";
  }
  return "";
}

// ---- what the engine is told ----

Settings DeckTranslation::settings() {
  Settings settings;
  describe_box(lmp, settings);
  if (shearing_) {
    // Forces of a step are those in the box that the fix left at the end of the step before.
    settings.shear = {shear_rate_, update->ntimestep};
    settings.box.tilt[0] -= shear_rate_ * settings.box.extent[1] * update->dt;
  }
  settings.pairs = pair_->table();
  coefficients_ = classes_.expanded(settings.pairs);
  settings.pairs.types = classes_.count();
  settings.pairs.coefficients = coefficients_.data();
  settings.cutoff = settings.pairs.largest_cutoff;
  // LAMMPS finds bonds up to this length. Both bonds of an angle may be as long.
  settings.bonded_reach = (styles_.has_angles() ? 2 : 1) * comm->get_comm_cutoff();
  settings.force_to_acceleration = force->ftm2v;
  settings.mass = classes_.masses();
  settings.seed = pair_->seed();
  settings.bonds = styles_.bonds();
  settings.angles = styles_.angles();
  forces_.describe(settings, classes_.types());
  velocities_.describe(settings);
  if (thermostat_.present()) thermostat_.describe(settings);
  return settings;
}

manymove::dpd::Coefficients DeckTranslation::coefficients(bigint from) const {
  return {from, classes_.expanded(pair_->table()), styles_.bonds(), styles_.angles()};
}

bigint DeckTranslation::course_length() const {
  if (!adapts_ahead_) return kCourse;
  bigint of_step = static_cast<bigint>(classes_.count()) * classes_.count();
  if (styles_.has_bonds()) of_step += atom->nbondtypes;
  if (styles_.has_angles()) of_step += atom->nangletypes;
  return std::clamp<bigint>(kMostCoefficients / std::max<bigint>(of_step, 1), 1, kCourse);
}

manymove::dpd::ParameterSeries DeckTranslation::course(bigint first, bigint last) {
  manymove::dpd::ParameterSeries course{first, {}, {}};
  const bool changes = forces_.has_course() || velocities_.has_course();
  if (std::exchange(adapted_, false)) course.coefficients.push_back(coefficients(first + 1));
  const bigint now = update->ntimestep;
  for (update->ntimestep = first; update->ntimestep <= last; ++update->ntimestep) {
    if (changes) {
      forces_.add_to_course(course.values);
      velocities_.add_to_course(course.values);
    }
    if (!adapts_ahead_ || update->ntimestep == first || !adapts_at(update->ntimestep)) continue;
    for (Fix* fix : adapting_) fix->pre_force(0);
    course.coefficients.push_back(coefficients(update->ntimestep));
  }
  update->ntimestep = now;
  forces_.evaluate();
  return course;
}

int DeckTranslation::atom_mask(int i) const { return atom->mask[i]; }

std::uint64_t DeckTranslation::draw() { return pair_->draw(); }

bool DeckTranslation::has_new_classes(MpiCommunicator& communicator) {
  std::int64_t unknown = 0;
  for (int i = 0; i < atom->nlocal; ++i) unknown += classes_.of(i) == 0;
  if (comm->nprocs > 1) communicator.maximum(&unknown, 1);
  if (unknown == 0) return false;
  if (const std::string why = classes_.find(communicator); !why.empty())
    throw std::runtime_error(why);
  return true;
}

void DeckTranslation::read_particles(MpiCommunicator& communicator) {
  topology_.read_tags();
  topology_.read_types(classes_);
  flags_.resize(static_cast<std::size_t>(atom->nlocal));
  for (int i = 0; i < atom->nlocal; ++i) flags_[i] = forces_.flags_of(atom->mask[i]);
  topology_.read_bonded(communicator, styles_.has_bonds(), styles_.has_angles());
  topology_.read_special();
}
