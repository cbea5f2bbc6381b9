// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/probed_fixes.h"

#include <cmath>
#include <limits>

#include "translation/kept_atoms.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Each value that a rank knows becomes that of all ranks. Whether they agree. Collective.
bool share(std::vector<double>& values, bool possible, const Refusals& ranks) {
  ranks.on_all_ranks([&](MpiCommunicator& communicator) {
    const std::size_t count = values.size();
    std::vector<double> all(count * static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(values.data(), all.data(), count * sizeof(double));
    for (std::size_t k = 0; k < all.size(); ++k) {
      double& value = values[k % count];
      if (std::isnan(value)) value = all[k];
      possible = possible && (std::isnan(all[k]) || all[k] == value);
    }
  });
  return ranks.all_agree(possible);
}

}  // namespace

std::vector<double> LAMMPS_NS::friction_of_viscous(LAMMPS* lmp, Fix* fix, const Refusals& ranks) {
  const Atom& atom = *lmp->atom;
  std::vector<double> friction(static_cast<std::size_t>(atom.ntypes) + 1, kUnknown);
  bool same = true;
  {
    const KeptAtoms kept(&atom, {atom.v, atom.f});
    kept.fill(atom.f, 0);
    kept.fill(atom.v, 1);
    fix->post_force(0);
    for (int i = 0; i < atom.nlocal; ++i) {
      const double* const f = atom.f[i];
      const bool acts = atom.mask[i] & fix->groupbit;
      double& known = friction[static_cast<std::size_t>(atom.type[i])];
      if (acts && std::isnan(known)) known = -f[0];
      const double expected = acts ? -known : 0;
      same = same && f[0] == expected && f[1] == expected && f[2] == expected;
    }
  }
  if (!share(friction, same, ranks)) return {};
  for (double& value : friction)
    if (std::isnan(value)) value = 0;
  return friction;
}

// The atoms have another velocity before and no forces. What the fix makes of the next step and of
// the eighth one from now is seven steps of linear motion apart, except for rounding.
std::vector<double> LAMMPS_NS::velocity_of_move(LAMMPS* lmp, Fix* fix, const Refusals& ranks) {
  const Atom& atom = *lmp->atom;
  Update& update = *lmp->update;
  std::vector<double> velocity(3, kUnknown), places[2];
  bool same = true;
  const bigint now = update.ntimestep;
  for (const int steps : {1, 8}) {
    const KeptAtoms kept(&atom, {atom.x, atom.v, atom.f});
    kept.fill(atom.f, 0);
    kept.fill(atom.v, 0.5 + steps);
    update.ntimestep = now + steps;
    fix->initial_integrate(0);
    update.ntimestep = now;
    for (int i = 0; i < atom.nlocal; ++i)
      for (std::size_t a = 0; a < 3 && (atom.mask[i] & fix->groupbit); ++a) {
        if (std::isnan(velocity[a])) velocity[a] = atom.v[i][a];
        same = same && atom.v[i][a] == velocity[a];
        places[steps == 8].push_back(atom.x[i][a]);
        // Atoms are where the fix expects them, but for the rounding of earlier steps.
        const double before = kept.before(0)[3 * static_cast<std::size_t>(i) + a];
        same = same && std::fabs(atom.x[i][a] - before - velocity[a] * update.dt * steps) < 1e-3;
      }
  }
  for (std::size_t k = 0; k < places[0].size(); ++k)
    same = same && std::fabs(places[1][k] - places[0][k] - 7 * velocity[k % 3] * update.dt) <=
                       1e-9 * (1 + std::fabs(places[0][k]));
  if (!share(velocity, same, ranks) || std::isnan(velocity[0])) return {};
  return velocity;
}
