// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/rigid_fix.h"

#include <algorithm>
#include <numeric>

#include "atom.h"
#include "comm.h"
#include "core/dpd/packed_image.h"
#include "core/dpd/rigid_motion.h"
#include "fix_rigid.h"
#include "fix_rigid_small.h"
#include "force.h"
#include "modify.h"
#include "neighbor.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::RigidBodies;
using manymove::dpd::RigidBody;
using manymove::dpd::RigidParticle;

namespace {

// Their package is not a part of every LAMMPS, so that the classes are not named by typeid.
struct OfRigid : FixRigid {
  using FixRigid::angmom, FixRigid::body, FixRigid::displace, FixRigid::dtf, FixRigid::dtq,
      FixRigid::dtv, FixRigid::earlyflag, FixRigid::ex_space, FixRigid::ey_space,
      FixRigid::ez_space, FixRigid::fcm, FixRigid::fflag, FixRigid::id_gravity, FixRigid::imagebody,
      FixRigid::inertia, FixRigid::inpfile, FixRigid::langflag, FixRigid::masstotal,
      FixRigid::maxmol, FixRigid::mol2body, FixRigid::nbody, FixRigid::omega, FixRigid::quat,
      FixRigid::rstyle, FixRigid::tflag, FixRigid::torque, FixRigid::vcm, FixRigid::xcm;
};
struct OfSmall : FixRigidSmall {
  using FixRigidSmall::Body, FixRigidSmall::body, FixRigidSmall::bodytag, FixRigidSmall::customflag,
      FixRigidSmall::displace, FixRigidSmall::dtf, FixRigidSmall::dtq, FixRigidSmall::dtv,
      FixRigidSmall::earlyflag, FixRigidSmall::id_gravity, FixRigidSmall::inpfile,
      FixRigidSmall::langflag, FixRigidSmall::nlocal_body, FixRigidSmall::onemols;
};

constexpr int kMolecule = 1;  // FixRigid::rstyle

template <class Of>
std::string why_not(auto* fix, double dt, double half_kick) {
  if (fix->*(&Of::langflag)) return "langevin (instead: fix langevin)";
  if (fix->*(&Of::inpfile)) return "infile";
  if (fix->*(&Of::id_gravity)) return "gravity (instead: fix addforce)";
  if (fix->*(&Of::earlyflag)) return "fix_modify bodyforces early";
  if (fix->*(&Of::dtv) != dt || fix->*(&Of::dtq) != 0.5 * dt || fix->*(&Of::dtf) != half_kick)
    return "other time steps than those of the run";
  return "";
}

// What both classes have, by pointers to the numbers of a body.
struct Pointers3 {
  double *center, *velocity, *force, *torque, *turn, *momentum, *omega, *x, *y, *z;
  imageint* image;
};

void read_body(const Pointers3& from, double mass, const double* inertia, RigidBody& to) {
  to.mass = mass;
  std::copy_n(inertia, 3, to.inertia);
  std::copy_n(from.center, 3, to.center);
  const auto image = manymove::dpd::unpack_image(*from.image);
  std::ranges::copy(image, to.image);
  std::copy_n(from.velocity, 3, to.velocity);
  std::copy_n(from.force, 3, to.force);
  std::copy_n(from.torque, 3, to.torque);
  std::copy_n(from.momentum, 3, to.angular_momentum);
  std::copy_n(from.turn, 4, to.quaternion);
}

void write_body(const RigidBody& from, const Pointers3& to) {
  std::copy_n(from.center, 3, to.center);
  std::copy_n(from.velocity, 3, to.velocity);
  std::copy_n(from.force, 3, to.force);
  std::copy_n(from.torque, 3, to.torque);
  std::copy_n(from.quaternion, 4, to.turn);
  std::copy_n(from.angular_momentum, 3, to.momentum);
  std::copy_n(from.angular_velocity, 3, to.omega);
  const double* const q = from.quaternion;
  const manymove::dpd::BodyAxes axes = manymove::dpd::axes_of({q[0], q[1], q[2], q[3]});
  const manymove::dpd::Vector<double>* const axis[3] = {&axes.x, &axes.y, &axes.z};
  double* const place[3] = {to.x, to.y, to.z};
  for (int k = 0; k < 3; ++k) {
    place[k][0] = axis[k]->x;
    place[k][1] = axis[k]->y;
    place[k][2] = axis[k]->z;
  }
  *to.image = manymove::dpd::pack_image<imageint>(
      std::array<int, 3>{from.image[0], from.image[1], from.image[2]});
}

Pointers3 pointers_of(FixRigid* fix, int b) {
  const auto row = [&](double** FixRigid::* member) { return (fix->*member)[b]; };
  return {row(&OfRigid::xcm),
          row(&OfRigid::vcm),
          row(&OfRigid::fcm),
          row(&OfRigid::torque),
          row(&OfRigid::quat),
          row(&OfRigid::angmom),
          row(&OfRigid::omega),
          row(&OfRigid::ex_space),
          row(&OfRigid::ey_space),
          row(&OfRigid::ez_space),
          fix->*(&OfRigid::imagebody) + b};
}
Pointers3 pointers_of(OfSmall::Body& b) {
  return {b.xcm,   b.vcm,      b.fcm,      b.torque,   b.quat,  b.angmom,
          b.omega, b.ex_space, b.ey_space, b.ez_space, &b.image};
}

}  // namespace

bool RigidFix::is_one(const Fix* fix) {
  const std::string style = fix->style;
  return style == "rigid" || style == "rigid/small";
}

std::string RigidFix::take(Fix* fix) {
  if (fix_) return "another one";
  fix_ = fix;
  const double half_kick = 0.5 * update->dt * force->ftm2v;
  const bool small = std::string(fix->style) == "rigid/small";
  if (small)
    small_ = static_cast<FixRigidSmall*>(fix);
  else
    rigid_ = static_cast<FixRigid*>(fix);
  // Their particles may have moments of inertia of their own.
  if (atom->radius_flag || atom->ellipsoid_flag || atom->line_flag || atom->tri_flag ||
      atom->mu_flag)
    return std::string("atom_style ") + atom->atom_style;
  if (small && small_->*(&OfSmall::onemols)) return "mol";
  return small ? why_not<OfSmall>(small_, update->dt, half_kick)
               : why_not<OfRigid>(rigid_, update->dt, half_kick);
}

bool RigidFix::has(int i) const {
  if (small_) return (small_->*(&OfSmall::bodytag))[i] != 0;
  return rigid_ && (rigid_->*(&OfRigid::body))[i] >= 0;
}

// The number of a body, or the ID of the atom that owns it.
std::int64_t RigidFix::name_of_body(int i) const {
  if (small_) return (small_->*(&OfSmall::bodytag))[i];
  return (rigid_->*(&OfRigid::body))[i];
}

// ---- excluded pairs ----

// Whether the body of local atom i consists of the atoms of its molecule.
bool RigidFix::is_molecule(int i) const {
  if (small_) return !(small_->*(&OfSmall::customflag));
  const tagint molecule = atom->molecule[i];
  return rigid_->*(&OfRigid::rstyle) == kMolecule && molecule <= rigid_->*(&OfRigid::maxmol) &&
         (rigid_->*(&OfRigid::mol2body))[molecule] == (rigid_->*(&OfRigid::body))[i];
}

void RigidFix::check_exclusions(Refusals& refusals) const {
  bool served = true;
  for (int m = 0; m < neighbor->nex_mol; ++m) {
    served = served && fix_ && neighbor->ex_mol_intra[m];
    for (int i = 0; served && i < atom->nlocal; ++i) {
      const bool named = atom->mask[i] & neighbor->ex_mol_bit[m];
      served = named == has(i) && (!named || is_molecule(i));
    }
  }
  if (!served)
    refusals.add(
        "neigh_modify exclude molecule (instead: molecule/intra of the atoms of rigid molecules)");
}

std::string RigidFix::why_not_on_gpu(const manymove::dpd::PairTable& pairs) const {
  const std::string instead = " (instead: device cpu)";
  if (comm->nprocs > 1) return name_of(fix_) + " on several GPUs" + instead;
  if (neighbor->nex_mol > 0) return "neigh_modify exclude molecule on a GPU" + instead;
  if (pairs.has_densities() || pairs.transverse || pairs.has_potentials())
    return name_of(fix_) + " beside these pair styles on a GPU" + instead;
  return "";
}

// ---- bodies ----

void RigidFix::read_bodies(std::vector<std::int64_t>& name, std::vector<RigidBody>& bodies) const {
  if (rigid_) {
    for (int b = 0; b < rigid_->*(&OfRigid::nbody); ++b) {
      RigidBody body{};
      read_body(pointers_of(rigid_, b), (rigid_->*(&OfRigid::masstotal))[b],
                (rigid_->*(&OfRigid::inertia))[b], body);
      for (int a = 0; a < 3; ++a) {
        body.moves[a] = (rigid_->*(&OfRigid::fflag))[b][a] != 0;
        body.turns[a] = (rigid_->*(&OfRigid::tflag))[b][a] != 0;
      }
      name.push_back(b);
      bodies.push_back(body);
    }
    return;
  }
  for (int b = 0; b < small_->*(&OfSmall::nlocal_body); ++b) {
    OfSmall::Body& from = (small_->*(&OfSmall::body))[b];
    RigidBody body{};
    read_body(pointers_of(from), from.mass, from.inertia, body);
    name.push_back(atom->tag[from.ilocal]);
    bodies.push_back(body);
  }
}

std::vector<RigidParticle> RigidFix::particles() const {
  std::vector<RigidParticle> all;
  double** const place = rigid_ ? rigid_->*(&OfRigid::displace) : small_->*(&OfSmall::displace);
  for (int i = 0; i < atom->nlocal; ++i) {
    if (!has(i)) continue;
    const double mass = atom->rmass ? atom->rmass[i] : atom->mass[atom->type[i]];
    all.push_back({static_cast<std::uint32_t>(atom->tag[i]),
                   number_.at(name_of_body(i)),
                   mass,
                   {place[i][0], place[i][1], place[i][2]}});
  }
  return all;
}

const RigidBodies* RigidFix::read(MpiCommunicator& communicator) {
  if (!fix_) return nullptr;
  std::vector<std::int64_t> name;
  std::vector<RigidBody> bodies;
  read_bodies(name, bodies);
  const bool shared = small_ && comm->nprocs > 1;
  if (shared) {
    name = manymove::collect(communicator, std::move(name));
    bodies = manymove::collect(communicator, std::move(bodies));
  }
  // In the order of their names, whichever ranks have them.
  std::vector<std::size_t> order(name.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return name[k]; });
  bodies_ = {};
  number_.clear();
  for (const std::size_t k : order) {
    number_[name[k]] = static_cast<int>(bodies_.bodies.size());
    bodies_.bodies.push_back(bodies[k]);
  }
  bodies_.particles = particles();
  if (comm->nprocs > 1)
    bodies_.particles = manymove::collect(communicator, std::move(bodies_.particles));
  std::ranges::sort(bodies_.particles, {},
                    [](const RigidParticle& p) { return std::pair(p.body, p.tag); });
  bodies_.excluded = neighbor->nex_mol > 0;
  return &bodies_;
}

void RigidFix::write(const std::vector<RigidBody>& bodies, const double virial[6]) const {
  if (!fix_ || bodies.empty()) return;
  for (int k = 0; k < 6; ++k) fix_->virial[k] = comm->me == 0 ? virial[k] : 0;
  for (std::size_t b = 0; rigid_ && b < bodies.size(); ++b)
    write_body(bodies[b], pointers_of(rigid_, static_cast<int>(b)));
  for (int b = 0; small_ && b < small_->*(&OfSmall::nlocal_body); ++b) {
    OfSmall::Body& to = (small_->*(&OfSmall::body))[b];
    write_body(bodies[number_.at(atom->tag[to.ilocal])], pointers_of(to));
    for (int a = 0; a < 3; ++a)
      to.xgc[a] = to.xcm[a] + to.xgc_body[0] * to.ex_space[a] + to.xgc_body[1] * to.ey_space[a] +
                  to.xgc_body[2] * to.ez_space[a];
  }
}

void RigidFix::follow_atoms(const Modify* modify) {
  for (int k = 0; k < modify->nfix; ++k)
    if (is_one(modify->fix[k])) modify->fix[k]->pre_neighbor();
}
