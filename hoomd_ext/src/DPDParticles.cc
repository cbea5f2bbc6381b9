// SPDX-License-Identifier: BSD-3-Clause
#include "DPDParticles.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "Compat.h"
#include "core/runtime/fingerprint.h"
#include "core/runtime/text.h"

namespace manymove::host {

using hoomd::access_location;
using hoomd::access_mode;
using hoomd::ArrayHandle;
using hoomd::Scalar;
using hoomd::Scalar3;
using hoomd::Scalar4;

namespace {

// The table of coefficients has a row and a column for each type of the engine.
constexpr std::size_t kMostKinds = 256;

class Hash {
 public:
  template <class... Values>
  explicit Hash(Values... values) {
    (add(values), ...);
  }
  template <class Value>
  void add(Value value) {
    std::uint64_t bits = 0;
    static_assert(sizeof value <= sizeof bits);
    std::memcpy(&bits, &value, sizeof value);
    hash_ = split_mix(hash_ + bits + 0x9e3779b97f4a7c15u);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

}  // namespace

// ---- from HOOMD-blue ----

DPD::Particles DPD::read_particles() const {
  const unsigned int N = m_pdata->getN();
  Particles to(N);
  on_each_rank([&] {
    const HostArray<Scalar4> position(m_pdata->getPositions());
    const HostArray<Scalar4> velocity(m_pdata->getVelocities());
    const HostArray<int3> image(m_pdata->getImages());
    const HostArray<unsigned int> tag(m_pdata->getTags());
    const HostArray<unsigned int> body(m_pdata->getBodies());
    for (unsigned int i = 0; i < N; ++i) {
      if (body.data[i] < hoomd::MIN_FLOPPY)
        refuse(text_of(" has no rigid bodies: the particle with tag ", tag.data[i],
                       " belongs to body ", body.data[i],
                       "; set its body to -1 (none), or to less for a floppy one"));
      const Scalar4 &r = position.data[i], &v = velocity.data[i];
      const int3& n = image.data[i];
      const double places[3] = {double(r.x), double(r.y), double(r.z)};
      const double speeds[3] = {double(v.x), double(v.y), double(v.z)};
      const int images[3] = {n.x, n.y, n.z};
      std::copy_n(places, 3, &to.position[3 * i]);
      std::copy_n(speeds, 3, &to.velocity[3 * i]);
      std::copy_n(images, 3, &to.image[3 * i]);
      to.type[i] = hoomd::__scalar_as_int(r.w);
      to.tag[i] = engine_tag(tag.data[i]);
    }
  });
  const HostArray<unsigned int> index(m_pdata->getRTags());
  for (unsigned int k = 0; k < group_->getNumMembersGlobal(); ++k)
    if (const unsigned int i = index.data[group_->getMemberTag(k)]; i < N)
      to.flags[i] = dpd::kIntegrated;
  read_kinds(to);
  return to;
}

// The engine has a mass for each of its types. Therefore it has a type for each mass of each type
// of HOOMD-blue. A type without particles gets the mass 1.
void DPD::read_kinds(Particles& particles) const {
  const HostArray<Scalar4> velocity(m_pdata->getVelocities());
  const auto kind_of = [&](std::size_t i) {
    return Kind{static_cast<unsigned int>(particles.type[i]), double(velocity.data[i].w)};
  };
  std::set<Kind> found;
  on_each_rank([&] {
    for (std::size_t i = 0; i < particles.type.size(); ++i) {
      const Kind kind = kind_of(i);
      if (!(kind.mass > 0 && std::isfinite(kind.mass)))
        refuse(text_of(" needs positive masses: a particle of type ",
                       m_pdata->getNameByType(kind.type), " has the mass ", kind.mass));
      found.insert(kind);
    }
  });
  std::vector<Kind> kinds(found.begin(), found.end());
  among_ranks([&](Communicator& ranks) { kinds = collect(ranks, std::move(kinds)); });
  found = {kinds.begin(), kinds.end()};
  const unsigned int types = m_pdata->getNTypes();
  for (unsigned int type = 0; type < types; ++type) {
    const auto first = found.lower_bound({type, 0});
    if (first == found.end() || first->type != type) found.insert({type, 1});
  }
  if (found.size() > std::max<std::size_t>(types, kMostKinds))
    refuse(text_of(" needs at most ", kMostKinds, " different pairs of a type and a mass; the ",
                   "particles have ", found.size()));
  kinds = {found.begin(), found.end()};
  for (std::size_t i = 0; i < particles.type.size(); ++i)
    particles.type[i] = static_cast<int>(std::lower_bound(kinds.begin(), kinds.end(), kind_of(i)) -
                                         kinds.begin() + 1);
  particles.kinds = std::move(kinds);
}

std::uint64_t DPD::checksum() const {
  const HostArray<Scalar4> position(m_pdata->getPositions());
  const HostArray<Scalar4> velocity(m_pdata->getVelocities());
  const HostArray<int3> image(m_pdata->getImages());
  const HostArray<unsigned int> tag(m_pdata->getTags());
  // Sums do not depend on the order of particles, which HOOMD-blue may sort.
  std::uint64_t sum = 0;
  for (unsigned int i = 0; i < m_pdata->getN(); ++i) {
    const Scalar4 &r = position.data[i], &v = velocity.data[i];
    const int3& n = image.data[i];
    sum += Hash(tag.data[i], r.x, r.y, r.z, r.w, v.x, v.y, v.z, v.w, n.x, n.y, n.z).value();
  }
  // Each rank has the bonds of its particles, and the whole box and group.
  const HostArray<unsigned int> index(m_pdata->getRTags());
  const auto add = [&](const auto& groups, std::uint64_t kind) {
    for_each_group(groups, [&](const auto& tags, unsigned int type) {
      if (index.data[tags[0]] >= m_pdata->getN()) return;
      Hash hash(kind, type);
      for (const unsigned int tag : tags) hash.add(tag);
      sum += hash.value();
    });
  };
  add(*m_sysdef->getBondData(), 2);
  add(*m_sysdef->getAngleData(), 3);
  if (excludes("dihedral")) add(*m_sysdef->getDihedralData(), 5);
  if (excludes("special_pair")) add(*m_sysdef->getPairData(), 6);
  if (excludes("constraint")) add(*m_sysdef->getConstraintData(), 7);
  if (excludes("body")) {
    const HostArray<unsigned int> body(m_pdata->getBodies());
    for (unsigned int i = 0; i < m_pdata->getN(); ++i)
      sum += Hash(std::uint64_t(8), tag.data[i], body.data[i]).value();
  }
  const hoomd::BoxDim global = m_pdata->getGlobalBox();
  const auto size = global.getL();
  sum += Hash(size.x, size.y, size.z, global.getTiltFactorXY(), global.getTiltFactorXZ(),
              global.getTiltFactorYZ())
             .value();
  for (unsigned int k = 0; k < group_->getNumMembersGlobal(); ++k)
    sum += Hash(std::uint64_t(4), group_->getMemberTag(k)).value();
  among_ranks([&](Communicator& ranks) { ranks.sum(&sum, 1); });
  return sum;
}

// ---- to HOOMD-blue ----

template <class Task>
void DPD::with_arrays(access_location::Enum where, Task&& task) const {
  const hoomd::BoxDim global = m_pdata->getGlobalBox();
  const auto edge = global.getL();
  const ArrayHandle<Scalar4> position(m_pdata->getPositions(), where, access_mode::readwrite);
  const ArrayHandle<Scalar4> velocity(m_pdata->getVelocities(), where, access_mode::readwrite);
  const ArrayHandle<Scalar3> acceleration(m_pdata->getAccelerations(), where,
                                          access_mode::overwrite);
  const ArrayHandle<int3> image(m_pdata->getImages(), where, access_mode::overwrite);
  const ArrayHandle<Scalar4> force(m_pdata->getNetForce(), where, access_mode::overwrite);
  const ArrayHandle<unsigned int> index(m_pdata->getRTags(), where, access_mode::read);
  task(dpd::HostParticles{index.data,
                          position.data,
                          velocity.data,
                          acceleration.data,
                          force.data,
                          reinterpret_cast<std::int32_t (*)[3]>(image.data),
                          {double(edge.x), double(edge.y), double(edge.z)},
                          {double(global.getTiltFactorXY()), double(global.getTiltFactorXZ()),
                           double(global.getTiltFactorYZ())},
                          sizeof(Scalar) == sizeof(double)});
}

void DPD::show() {
  follow_migration();
  if (ranks_ || !m_exec_conf->isCUDAEnabled()) {
    Particles from(tag_.size());
    guarded([&] { engine_->download(from.arrays()); });
    with_arrays(access_location::host, [&](const dpd::HostParticles& to) {
      for (std::size_t k = 0; k < tag_.size(); ++k)
        dpd::write_for_host<Scalar>(to, tag_[k], &from.position[3 * k], &from.velocity[3 * k],
                                    &from.force[3 * k], &from.image[3 * k]);
    });
  } else {
    with_arrays(home_of(*m_exec_conf),
                [&](const dpd::HostParticles& to) { guarded([&] { engine_->write(to); }); });
  }
  const Sums now = sums_of_engine();
  m_pdata->setExternalEnergy(
      static_cast<Scalar>(now.pair_energy + now.bond_energy + now.angle_energy));
  for (unsigned int a = 0; a < 6; ++a)
    m_pdata->setExternalVirial(a, static_cast<Scalar>(now.virial[a]));
  if (ranks_) clear_virials();  // particles may have come from other ranks
  migrate();
  checksum_.reset();
  shown_ = true;
}

// Energies and virials are known of the whole system only.
void DPD::clear_virials() const {
  const HostArray<Scalar> virial(m_pdata->getNetVirial(), hoomd::access_mode::overwrite);
  std::fill_n(virial.data, m_pdata->getNetVirial().getNumElements(), Scalar(0));
}

// Of several ranks this one's share.
DPD::Sums DPD::sums_of_engine() const {
  Sums sums;
  sums.pair_energy = energies_.pairs.energy;
  sums.bond_energy = energies_.bonds.energy;
  sums.angle_energy = energies_.angles.energy;
  constexpr int engine[6] = {0, 3, 4, 1, 5, 2};  // xx, xy, xz, yy, yz, zz
  for (std::size_t a = 0; a < 6; ++a)
    for (const dpd::EnergySum* part : {&energies_.pairs, &energies_.bonds, &energies_.angles})
      sums.virial[a] += part->virial[engine[a]];
  return sums;
}

DPD::Sums DPD::sums() {
  be_current();
  Sums sums = sums_of_engine();
  among_ranks([&](Communicator& ranks) {
    for (double* energy : {&sums.pair_energy, &sums.bond_energy, &sums.angle_energy})
      ranks.sum(energy, 1);
    ranks.sum(sums.virial.data(), 6);
  });
  return sums;
}

std::array<double, 6> DPD::motion() {
  be_current();
  const HostArray<Scalar4> velocity(m_pdata->getVelocities());
  std::array<double, 6> motion{};
  for (unsigned int member = 0; member < group_->getNumMembers(); ++member) {
    const unsigned int i = group_->getMemberIndex(member);
    const double v[3] = {double(velocity.data[i].x), double(velocity.data[i].y),
                         double(velocity.data[i].z)};
    const double m = double(velocity.data[i].w);
    std::size_t k = 0;
    for (int a = 0; a < 3; ++a)
      for (int b = a; b < 3; ++b) motion[k++] += m * v[a] * v[b];
  }
  among_ranks([&](Communicator& ranks) { ranks.sum(motion.data(), 6); });
  return motion;
}

double DPD::kinetic_energy() {
  const std::array<double, 6> moving = motion();
  return 0.5 * (moving[0] + moving[3] + moving[5]);
}

std::array<double, 6> DPD::pressure_tensor() {
  std::array<double, 6> tensor = motion();
  const Sums forces = sums();
  const double volume = static_cast<double>(m_pdata->getGlobalBox().getVolume());
  for (std::size_t k = 0; k < 6; ++k) tensor[k] = (tensor[k] + forces.virial[k]) / volume;
  return tensor;
}

std::vector<double> DPD::forces() {
  be_current();
  std::vector<double> by_tag(std::size_t(3) * m_pdata->getNGlobal());
  std::vector<double> mine(3 * tag_.size());
  dpd::HostArrays forces{};
  forces.count = static_cast<int>(tag_.size());
  forces.force = reinterpret_cast<double (*)[3]>(mine.data());
  guarded([&] { engine_->download(forces); });
  for (std::size_t k = 0; k < tag_.size(); ++k)
    std::copy_n(&mine[3 * k], 3, &by_tag[3 * std::size_t(tag_[k] - 1)]);
  among_ranks([&](Communicator& ranks) { ranks.merge(by_tag.data(), by_tag.size()); });
  return by_tag;
}

}  // namespace manymove::host
