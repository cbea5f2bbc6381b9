// SPDX-License-Identifier: GPL-2.0-or-later
#include "deck_translation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>
#include <typeinfo>

#include "addforce_api.h"
#include "atom.h"
#include "bond.h"
#include "bond_manymove_harmonic.h"
#include "comm.h"
#include "compute.h"
#include "core/dpd/decomposition.h"
#include "core/dpd/settings.h"
#include "core/runtime/text.h"
#include "domain.h"
#include "error.h"
#include "fix.h"
#include "fix_manymove_wall.h"
#include "force.h"
#include "group.h"
#include "input.h"
#include "modify.h"
#include "mpi_communicator.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "pair_manymove_dpd.h"
#include "plugin_api.h"
#include "region.h"
#include "update.h"
#include "variable.h"

using namespace LAMMPS_NS;
using manymove::dpd::Settings;

namespace {

constexpr int kShrinkWrapped = 2;  // Domain::nonperiodic
constexpr int kStandard = 1;       // Atom::molecular: topology is kept by particle

// When fixes act while the particles are with the engine.
constexpr int kWithinStep = FixConst::INITIAL_INTEGRATE | FixConst::POST_INTEGRATE |
                            FixConst::PRE_EXCHANGE | FixConst::PRE_NEIGHBOR |
                            FixConst::POST_NEIGHBOR | FixConst::PRE_FORCE | FixConst::PRE_REVERSE |
                            FixConst::POST_FORCE | FixConst::FINAL_INTEGRATE;

// Styles with nothing but positions, velocities and forces per particle.
const std::set<std::string> kAtomStyles{"atomic", "charge", "bond", "angle", "molecular", "full"};

// Computes and fixes known to look at a rank's own atoms only. What is not here may read ghost
// atoms or neighbour lists, which are then made on the host whenever it may look.
const std::set<std::string> kOwnAtomsOnly{
    // computes
    "bond", "centroid/stress/atom", "chunk/atom", "chunk/spread/atom", "com", "com/chunk",
    "count/type", "displace/atom", "global/atom", "gyration", "gyration/chunk", "heat/flux", "ke",
    "ke/atom", "momentum", "msd", "msd/chunk", "pair", "pe", "pe/atom", "pressure", "property/atom",
    "property/chunk", "reduce", "reduce/chunk", "reduce/region", "slice", "stress/atom", "temp",
    "temp/chunk", "temp/com", "temp/deform", "temp/partial", "temp/profile", "temp/ramp",
    "temp/region", "vacf", "vcm/chunk",
    // fixes
    "addforce", "ave/atom", "ave/chunk", "ave/correlate", "ave/histo", "ave/time", "dt/reset",
    "halt", "manymove/wall", "momentum", "nve", "print", "store/state", "temp/berendsen",
    "temp/csvr", "temp/rescale", "vector"};

double extent(const Region* region, int axis, bool high) {
  const double extents[3][2] = {{region->extent_xlo, region->extent_xhi},
                                {region->extent_ylo, region->extent_yhi},
                                {region->extent_zlo, region->extent_zhi}};
  return extents[axis][high];
}

// The variant of the OPENMP package differs only by its threads.
bool is_nve(const Fix* fix) {
  const std::string style = fix->style;
  return style == "nve" || style == "nve/omp";
}

std::string name_of(const Fix* fix) { return std::string("fix ") + fix->id + " " + fix->style; }

}  // namespace

DeckTranslation::DeckTranslation(LAMMPS* lmp) : Pointers(lmp) {
  if (comm->nprocs > 1 && comm->layout == Comm::LAYOUT_TILED) refuse("comm_style tiled");
  check_pairs_and_bonds();
  check_atoms();
  check_box();
  check_fixes();
  refuse_together();
  if (!unserved_.empty()) return;
  try {
    manymove::dpd::check_settings(settings());
  } catch (const std::invalid_argument& refusal) {
    refuse(refusal.what());
    return;
  }
  check_integrated_once();
  check_body_forces_act_as_read();
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
  if (!pair_) refuse("pair_style " + std::string(force->pair_style ? force->pair_style : "none"));
  if (pair_ && !pair_->compute_flag) refuse("pair_modify compute no");
  if (force->bond && !dynamic_cast<BondManymoveHarmonic*>(force->bond))
    refuse("bond_style " + std::string(force->bond_style));
  if (force->angle) refuse("angle_style " + std::string(force->angle_style));
  if (force->dihedral) refuse("dihedral_style " + std::string(force->dihedral_style));
  if (force->improper) refuse("improper_style " + std::string(force->improper_style));
  if (force->kspace) refuse("kspace_style " + std::string(force->kspace_style));
  if (force->special_onefive) refuse("special_bonds one/five");
  if (neighbor->exclude) refuse("neigh_modify exclude");
  if (neighbor->includegroup) refuse("neigh_modify include");
}

void DeckTranslation::check_atoms() {
  if (!kAtomStyles.count(atom->atom_style)) refuse("atom_style " + std::string(atom->atom_style));
  if (atom->rmass) refuse("masses by particle");
  if (atom->molecular > kStandard) refuse("atom_style template");
  const auto beyond = [](tagint tag) { return static_cast<std::int64_t>(tag) > 0xffffffffLL; };
  if (std::any_of(atom->tag, atom->tag + atom->nlocal, beyond)) refuse("atom IDs beyond 32 bits");
  for (int k = 0; k < group->ngroup; ++k)
    if (group->dynamic[k]) refuse("dynamic group " + std::string(group->names[k]));
}

void DeckTranslation::check_box() {
  if (domain->dimension == 2) check_plane();
  if (domain->nonperiodic == kShrinkWrapped) refuse("shrink-wrapped boundary");
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
}

void DeckTranslation::check_fix(Fix* fix, int mask) {
  const std::string style = fix->style;
  auto* wall = dynamic_cast<FixManymoveWall*>(fix);
  if (wall)
    check_wall(wall);
  else if (is_nve(fix))
    integrators_.push_back(fix);
  else if (style == "addforce")
    check_body_force(fix);
  else if (style == "enforce2d" && domain->dimension == 2)
    return;  // check_plane looks whether it is for all
  else if (style == "GROUP")
    return;  // a dynamic group, which check_atoms names
  else if (style == "OMP")
    return;  // memory for force styles of the OPENMP package, which are refused by their own names
  else if ((mask & kWithinStep) || fix->box_change)
    refuse(name_of(fix));
  if (mask & FixConst::END_OF_STEP) end_of_step_.push_back(fix);
  if ((wall || is_nve(fix) || style == "addforce") && flag_of(fix) > 0x80)
    refuse("more than seven groups in fixes");
}

// A flag of its own for each group that a fix acts on.
std::uint32_t DeckTranslation::flag_of(const Fix* fix) {
  if (is_nve(fix)) return manymove::dpd::kIntegrated;
  for (const auto& [bit, flag] : group_flags_)
    if (bit == fix->groupbit) return flag;
  group_flags_.emplace_back(fix->groupbit, manymove::dpd::kIntegrated << (group_flags_.size() + 1));
  return group_flags_.back().second;
}

void DeckTranslation::check_wall(FixManymoveWall* fix) {
  for (const auto& wall : fix->walls()) {
    const double position = fix->position_of(wall);
    if (position < domain->boxlo[wall.axis] || position > domain->boxhi[wall.axis])
      return refuse(name_of(fix) + " outside the box");
  }
  walls_.push_back(fix);
}

// The fix is read as the restated class, which UndefinedBehaviorSanitizer would report.
__attribute__((no_sanitize("vptr"))) void DeckTranslation::check_body_force(Fix* fix) {
  if (std::string(typeid(*fix).name()) != "N9LAMMPS_NS11FixAddForceE") return refuse(name_of(fix));
  const auto* read = static_cast<const FixAddForceLayout*>(fix);
  if (read->kind_of_force != FixAddForceLayout::kConstant || read->x_variable || read->y_variable ||
      read->z_variable || read->energy_variable)
    return refuse(name_of(fix) + " with a variable");
  if (fix->nevery != 1) return refuse(name_of(fix) + " with every");
  if (domain->dimension == 2 && read->force[2] != 0)
    return refuse(name_of(fix) + " out of the plane");
  BodyForce body{fix, {read->force[0], read->force[1], read->force[2]}, nullptr};
  if (read->region_id || read->region) {
    body.block = read->region;
    if (!is_block(body.block))
      return refuse(name_of(fix) + " in a region that is not a fixed block");
    if (domain->xy != 0 || domain->xz != 0 || domain->yz != 0)
      return refuse(name_of(fix) + " in a region of a tilted box");
  }
  body_forces_.push_back(body);
}

// Whether region is what its bounding box says, faces included.
bool DeckTranslation::is_block(Region* region) const {
  const auto regions = domain->get_region_list();
  if (std::find(regions.begin(), regions.end(), region) == regions.end()) return false;
  if (std::string(region->style) != "block" || !region->bboxflag || !region->interior ||
      region->varshape || region->dynamic || region->dynamic_check())
    return false;
  for (int corner = 0; corner < 8; ++corner) {
    double at[3];
    for (int a = 0; a < 3; ++a) at[a] = extent(region, a, corner >> a & 1);
    if (!region->match(at[0], at[1], at[2])) return false;
    for (int a = 0; a < 3; ++a) {
      const double inside = at[a];
      at[a] = std::nextafter(inside, corner >> a & 1 ? HUGE_VAL : -HUGE_VAL);
      if (region->match(at[0], at[1], at[2])) return false;
      at[a] = inside;
    }
  }
  return true;
}

void DeckTranslation::check_integrated_once() {
  if (integrators_.size() < 2) return;
  for (int i = 0; i < atom->nlocal; ++i) {
    int times = 0;
    for (const Fix* fix : integrators_) times += (atom->mask[i] & fix->groupbit) != 0;
    if (times > 1) return refuse("fix nve twice for the same atoms");
  }
}

// What was read from the fixes is what they do: to an atom put into the middle of each block, and
// to all atoms where they are.
void DeckTranslation::check_body_forces_act_as_read() {
  if (body_forces_.empty() || atom->nlocal == 0) return;
  bool same = true;
  double* x = atom->x[0];
  const double home[3] = {x[0], x[1], x[2]};
  const int mask = atom->mask[0];
  for (const BodyForce& body : body_forces_) {
    atom->mask[0] = body.fix->groupbit;
    for (int a = 0; body.block && a < 3; ++a)
      x[a] = 0.5 * std::max(extent(body.block, a, false), domain->boxlo_bound[a]) +
             0.5 * std::min(extent(body.block, a, true), domain->boxhi_bound[a]);
    same = same && body_forces_act_as_read();
    std::copy_n(home, 3, x);
    atom->mask[0] = mask;
  }
  if (!same || !body_forces_act_as_read()) refuse("fix addforce of another kind");
}

// Takes the body forces off, lets the fixes act, and expects the same bits.
bool DeckTranslation::body_forces_act_as_read() {
  double** f = atom->f;
  const std::size_t values = 3 * static_cast<std::size_t>(atom->nlocal);
  const std::vector<double> before(f[0], f[0] + values);
  std::vector<double> expected(values);
  for (int i = 0; i < atom->nlocal; ++i) {
    double sum[3];
    body_force(i, sum);
    for (int a = 0; a < 3; ++a) expected[3 * i + a] = f[i][a] -= sum[a];
    for (const BodyForce& body : body_forces_)
      for (int a = 0; acts_on(body, i) && a < 3; ++a) expected[3 * i + a] += body.force[a];
  }
  modify->post_force(0);
  bool same = true;
  for (int i = 0; i < atom->nlocal; ++i) {  // in two dimensions another fix has the third
    const std::size_t bytes = sizeof(double) * static_cast<unsigned>(domain->dimension);
    same = same && std::memcmp(&expected[3 * static_cast<std::size_t>(i)], f[i], bytes) == 0;
  }
  std::copy(before.begin(), before.end(), f[0]);
  return same;
}

void DeckTranslation::check_readers() {
  for (int k = 0; k < neighbor->nlist; ++k)
    if (neighbor->lists[k]->requestor_type != NeighList::PAIR) reads_neighbours_ = true;
  for (int k = 0; k < modify->ncompute; ++k)
    if (!kOwnAtomsOnly.count(modify->compute[k]->style)) reads_neighbours_ = true;
  for (const Fix* fix : end_of_step_)
    if (!kOwnAtomsOnly.count(fix->style)) reads_neighbours_ = true;

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

// If there are body forces, LAMMPS adds them to the forces, and some depend on positions.
unsigned DeckTranslation::read_by_thermo() const {
  return reads_positions_ || has_body_forces() ? kEverything : kVelocities | kForces;
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
    const auto closes = [&](const FixManymoveWall* fix) {
      const auto& walls = fix->walls();
      return fix->igroup == 0 && std::any_of(walls.begin(), walls.end(), [&](const auto& wall) {
               return wall.axis == axis && wall.high == high;
             });
    };
    if (!domain->periodicity[axis] && std::none_of(walls_.begin(), walls_.end(), closes))
      return std::string("device auto with the face ") + "xyz"[axis] + (high ? "hi" : "lo") +
             ", which is not periodic and has no fix manymove/wall of all atoms (device cpu keeps "
             "them)";
  }
  if (comm->nprocs > 1 && force->bond && comm->cutghostuser > neighbor->cutneighmax)
    return "device auto with bonds and a comm_modify cutoff above cutoff and skin (device cpu "
           "keeps them)";
  return "";
}

// ---- what the engine is told ----

Settings DeckTranslation::settings() {
  Settings settings;
  for (int a = 0; a < 3; ++a) {
    settings.box.low[a] = domain->boxlo[a];
    settings.box.extent[a] = domain->prd[a];
    settings.box.periodic[a] = domain->periodicity[a] != 0 && (a < 2 || domain->dimension == 3);
  }
  settings.box.tilt[0] = domain->xy;
  settings.box.tilt[1] = domain->xz;
  settings.box.tilt[2] = domain->yz;
  if (comm->nprocs > 1) {
    const double* const split[3] = {comm->xsplit, comm->ysplit, comm->zsplit};
    const int* along = comm->procgrid;
    for (int a = 0; a < 3; ++a) settings.grid.cut[a].assign(split[a], split[a] + along[a] + 1);
    for (int z = 0; z < along[2]; ++z)
      for (int y = 0; y < along[1]; ++y)
        for (int x = 0; x < along[0]; ++x) settings.grid.rank.push_back(comm->grid2proc[x][y][z]);
  }
  settings.pairs = pair_->table();
  settings.cutoff = settings.pairs.largest_cutoff;
  settings.skin = neighbor->skin;
  settings.time_step = update->dt;
  settings.force_to_acceleration = force->ftm2v;
  settings.mass.assign(atom->mass, atom->mass + atom->ntypes + 1);
  settings.mass[0] = 0;
  settings.seed = pair_->seed();
  if (force->bond) {
    int dim;
    const auto* k = static_cast<const double*>(force->bond->extract("k", dim));
    const auto* r0 = static_cast<const double*>(force->bond->extract("r0", dim));
    settings.bonds.assign(1, {0, 0});
    for (int type = 1; type <= atom->nbondtypes; ++type)
      settings.bonds.push_back({k[type], r0[type]});
  }
  for (const FixManymoveWall* fix : walls_)
    for (const auto& wall : fix->walls())
      settings.walls.push_back({wall.axis, wall.high, fix->position_of(wall), flag_of(fix)});
  for (const BodyForce& body : body_forces_) {
    manymove::dpd::BodyForce force{};
    std::copy_n(body.force, 3, force.force);
    force.in_block = body.block != nullptr;
    for (int a = 0; body.block && a < 3; ++a) {
      force.low[a] = extent(body.block, a, false);
      force.high[a] = extent(body.block, a, true);
    }
    force.flag = flag_of(body.fix);
    settings.body_forces.push_back(force);
  }
  return settings;
}

std::uint64_t DeckTranslation::draw() { return pair_->draw(); }

bool DeckTranslation::acts_on(const BodyForce& body, int i) const {
  const double* x = atom->x[i];
  return (atom->mask[i] & body.fix->groupbit) &&
         (!body.block || body.block->match(x[0], x[1], x[2]));
}

void DeckTranslation::body_force(int i, double sum[3]) const {
  sum[0] = sum[1] = sum[2] = 0;
  for (const BodyForce& body : body_forces_)
    for (int a = 0; acts_on(body, i) && a < 3; ++a) sum[a] += body.force[a];
}

void DeckTranslation::read_particles(MpiCommunicator& communicator) {
  read_tags();
  read_bonds(communicator);
  read_special();
}

void DeckTranslation::read_tags() {
  const int n = atom->nlocal;
  int integrated = 0;
  for (const Fix* fix : integrators_) integrated |= fix->groupbit;
  tag_.assign(atom->tag, atom->tag + n);
  flags_.resize(n);
  for (int i = 0; i < n; ++i) {
    std::uint32_t flags = atom->mask[i] & integrated ? manymove::dpd::kIntegrated : 0;
    for (const auto& [bit, flag] : group_flags_)
      if (atom->mask[i] & bit) flags |= flag;
    flags_[i] = flags;
  }
}

struct DeckTranslation::BondEnd {
  std::uint32_t particle, partner;
  int type;
};

// From the lists by owner to lists by both ends, each in the order of the partners' IDs.
void DeckTranslation::read_bonds(MpiCommunicator& communicator) {
  first_bond_.clear();
  bond_partner_.clear();
  bond_type_.clear();
  if (!force->bond || atom->molecular != kStandard) return;
  const int n = atom->nlocal;
  std::vector<BondEnd> ends, reverse;
  for (int i = 0; i < n; ++i) {
    for (int m = 0; m < atom->num_bond[i]; ++m) {
      const int type = atom->bond_type[i][m];
      if (type <= 0) continue;  // switched off
      const auto partner = static_cast<std::uint32_t>(atom->bond_atom[i][m]);
      if (atom->map(atom->bond_atom[i][m]) < 0)
        throw std::runtime_error(manymove::text_of("Bond atoms ", tag_[i], " ", partner,
                                                   " missing at step ", update->ntimestep));
      ends.push_back({tag_[i], partner, type});
      if (force->newton_bond) reverse.push_back({partner, tag_[i], type});
    }
  }
  if (comm->nprocs > 1 && force->newton_bond) deliver_bonds(communicator, reverse);
  ends.insert(ends.end(), reverse.begin(), reverse.end());
  check_number("ends of bonds", ends.size());
  const auto index = [this](const BondEnd& end) {
    return atom->map(static_cast<tagint>(end.particle));
  };
  std::sort(ends.begin(), ends.end(), [&](const BondEnd& a, const BondEnd& b) {
    if (a.particle != b.particle) return index(a) < index(b);
    return a.partner != b.partner ? a.partner < b.partner : a.type < b.type;
  });
  first_bond_.assign(n + 1, 0);
  for (const BondEnd& end : ends) {
    ++first_bond_[index(end) + 1];
    bond_partner_.push_back(end.partner);
    bond_type_.push_back(end.type);
  }
  for (int i = 0; i < n; ++i) first_bond_[i + 1] += first_bond_[i];
}

// Sends each end to the rank that has its particle, and receives those of this rank's particles.
void DeckTranslation::deliver_bonds(MpiCommunicator& communicator,
                                    std::vector<BondEnd>& ends) const {
  std::vector<std::uint32_t> particles;
  for (const BondEnd& end : ends) particles.push_back(end.particle);
  const auto origins = manymove::find_origins(communicator, particles, atom->nlocal, tag_.data());
  std::vector<std::vector<BondEnd>> sent(static_cast<std::size_t>(comm->nprocs));
  for (std::size_t k = 0; k < ends.size(); ++k)
    sent[static_cast<std::size_t>(origins[k].rank)].push_back(ends[k]);
  ends = manymove::deliver(communicator, std::move(sent));
}

// Lists of one rank have indices of 32 bits.
void DeckTranslation::check_number(const char* what, std::size_t number) const {
  if (number > std::numeric_limits<int>::max())
    throw std::runtime_error(
        manymove::text_of(number, " ", what, " on one rank, at most 2^31 - 1"));
}

void DeckTranslation::read_special() {
  first_special_.clear();
  special_partner_.clear();
  special_kind_.clear();
  const double* factor = force->special_lj;
  if (atom->molecular != kStandard || (factor[1] == 1 && factor[2] == 1 && factor[3] == 1)) return;
  first_special_.push_back(0);
  for (int i = 0; i < atom->nlocal; ++i) {
    for (int m = 0; m < atom->nspecial[i][2]; ++m) {
      const int kind = m < atom->nspecial[i][0] ? 1 : m < atom->nspecial[i][1] ? 2 : 3;
      if (factor[kind] == 1) continue;
      special_partner_.push_back(static_cast<std::uint32_t>(atom->special[i][m]));
      special_kind_.push_back(static_cast<std::uint8_t>(kind));
    }
    first_special_.push_back(static_cast<int>(special_partner_.size()));
  }
  check_number("special neighbors", special_partner_.size());
}

manymove::dpd::Topology DeckTranslation::topology() const {
  manymove::dpd::Topology topology{};
  topology.type = atom->type;
  topology.tag = tag_.data();
  topology.flags = flags_.data();
  if (!bond_partner_.empty()) {
    topology.first_bond = first_bond_.data();
    topology.bond_partner = bond_partner_.data();
    topology.bond_type = bond_type_.data();
  }
  if (!special_partner_.empty()) {
    topology.first_special = first_special_.data();
    topology.special_partner = special_partner_.data();
    topology.special_kind = special_kind_.data();
  }
  return topology;
}
