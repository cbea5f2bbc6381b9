// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/particle_classes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "atom.h"
#include "core/runtime/text.h"
#include "neighbor.h"

using namespace LAMMPS_NS;
using manymove::dpd::PairCoefficients;
using manymove::dpd::PairTable;

namespace {

constexpr std::size_t kMostClasses = 256;  // the table of laws has the square of it

}  // namespace

ParticleClasses::ParticleClasses(LAMMPS* lmp, bool with_masses)
    : Pointers(lmp), with_masses_(with_masses) {}

ParticleClasses::Kind ParticleClasses::kind_of(int i) const {
  return {atom->type[i], atom->mask[i] & relevant_,
          with_masses_ && atom->rmass ? atom->rmass[i] : 0.0};
}

std::string ParticleClasses::find(MpiCommunicator& communicator) {
  plain_ = !neighbor->exclude && !(with_masses_ && atom->rmass);
  if (plain_) return "";
  relevant_ = 0;
  for (int m = 0; m < neighbor->nex_group; ++m)
    relevant_ |= neighbor->ex1_bit[m] | neighbor->ex2_bit[m];
  std::set<Kind> mine;
  for (int i = 0; i < atom->nlocal && mine.size() <= kMostClasses; ++i) mine.insert(kind_of(i));
  std::vector<Kind> found(mine.begin(), mine.end());
  auto longest = static_cast<std::int64_t>(found.size());
  if (communicator.ranks() > 1) {
    communicator.maximum(&longest, 1);
    const auto length = static_cast<std::size_t>(longest);
    found.resize(length, {0, 0, 0.0});
    std::vector<Kind> all(length * static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(found.data(), all.data(), length * sizeof(Kind));
    mine.insert(all.begin(), all.end());
    mine.erase({0, 0, 0.0});
  }
  kinds_.assign(mine.begin(), mine.end());
  if (kinds_.size() > kMostClasses)
    return manymove::text_of("more than ", kMostClasses,
                             " combinations of type, mass by particle and excluded groups");
  if (with_masses_ && atom->rmass)
    for (const Kind& kind : kinds_)
      if (!(kind.mass > 0) || !std::isfinite(kind.mass))
        return "masses by particle that are not positive";
  return "";
}

int ParticleClasses::count() const {
  return plain_ ? atom->ntypes : static_cast<int>(kinds_.size());
}

int ParticleClasses::of(int i) const {
  if (plain_) return atom->type[i];
  const Kind kind = kind_of(i);
  const auto at = std::ranges::lower_bound(kinds_, kind);
  return at == kinds_.end() || *at != kind ? 0 : static_cast<int>(at - kinds_.begin()) + 1;
}

bool ParticleClasses::excluded(const Kind& a, const Kind& b) const {
  if (neighbor->nex_type > 0 && neighbor->ex_type[a.type][b.type]) return true;
  for (int m = 0; m < neighbor->nex_group; ++m) {
    const int first = neighbor->ex1_bit[m], second = neighbor->ex2_bit[m];
    if ((a.groups & first && b.groups & second) || (a.groups & second && b.groups & first))
      return true;
  }
  return false;
}

std::vector<PairCoefficients> ParticleClasses::expanded(const PairTable& table) const {
  const auto types = static_cast<std::size_t>(table.types) + 1;
  if (plain_) return {table.coefficients, table.coefficients + types * types};
  const std::size_t size = kinds_.size() + 1;
  std::vector<PairCoefficients> result(size * size);
  for (std::size_t i = 1; i < size; ++i)
    for (std::size_t j = 1; j < size; ++j) {
      const Kind &a = kinds_[i - 1], &b = kinds_[j - 1];
      PairCoefficients& c = result[i * size + j];
      c = table.coefficients[static_cast<std::size_t>(a.type) * types +
                             static_cast<std::size_t>(b.type)];
      if (!excluded(a, b)) continue;
      c.a = c.gamma = c.sigma = c.transverse_gamma = c.transverse_sigma = 0;
      c.potential = {};
      c.scalars = {};
    }
  return result;
}

std::vector<int> ParticleClasses::types() const {
  std::vector<int> type(static_cast<std::size_t>(count()) + 1, 0);
  for (std::size_t k = 1; k < type.size(); ++k)
    type[k] = plain_ ? static_cast<int>(k) : kinds_[k - 1].type;
  return type;
}

std::vector<double> ParticleClasses::masses() const {
  std::vector<double> mass(static_cast<std::size_t>(count()) + 1, 0.0);
  for (std::size_t k = 1; k < mass.size(); ++k) {
    if (plain_)
      mass[k] = atom->mass[k];
    else
      mass[k] = atom->rmass ? kinds_[k - 1].mass : atom->mass[kinds_[k - 1].type];
  }
  return mass;
}
