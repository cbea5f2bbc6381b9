// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/barostat.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "atom.h"
#include "comm.h"
#include "compute.h"
#include "domain.h"
#include "fix_nh.h"
#include "modify.h"
#include "translation/box.h"
#include "translation/lammps_members.h"
#include "translation/velocities_of_sums.h"

using namespace LAMMPS_NS;

namespace {

struct OfNH : FixNH {
  using FixNH::allremap, FixNH::dipole_flag;
};

// LAMMPS' arrays are those of four atoms without forces while this object lives, of which the first
// three have the kinetic energies of all particles on the first rank. The velocity of the last one
// is too small to count: it shows the factors.
class FewAtoms : protected Pointers {
 public:
  FewAtoms(LAMMPS* lmp, const std::array<double, 6>& kinetic) : Pointers(lmp), own_(arrays()) {
    std::fill_n(mask_, kCount, ~0);
    std::fill_n(type_, kCount, 1);
    std::fill_n(rmass_, kCount, 1.0);
    for (int i = 0; i < kCount; ++i) x_row_[i] = x_[i], f_row_[i] = f_[i];
    set({kCount, x_row_, f_row_, mask_, type_, atom->rmass ? rmass_ : nullptr});
    velocities_.emplace(atom, kinetic, comm->me == 0, v_row_);
    std::fill_n(v_row_[3], 3, kTiny);
  }
  ~FewAtoms() { set(own_); }
  FewAtoms(const FewAtoms&) = delete;

  double factor(int axis) const { return v_row_[3][axis] / kTiny; }

 private:
  static constexpr int kCount = 4;
  static constexpr double kTiny = 0x1p-500;
  struct Arrays {
    int count;
    double **x, **f;
    int *mask, *type;
    double* rmass;
  };
  Arrays arrays() const {
    return {atom->nlocal, atom->x, atom->f, atom->mask, atom->type, atom->rmass};
  }
  void set(const Arrays& a) {
    atom->nlocal = a.count;
    atom->x = a.x;
    atom->f = a.f;
    atom->mask = a.mask;
    atom->type = a.type;
    atom->rmass = a.rmass;
  }

  const Arrays own_;
  double x_[kCount][3] = {}, f_[kCount][3] = {}, rmass_[kCount];
  double *x_row_[kCount], *f_row_[kCount];
  int mask_[kCount], type_[kCount];
  std::vector<double*> v_row_;
  std::optional<VelocitiesOfSums> velocities_;
};

}  // namespace

bool Barostat::is_one(const Fix* fix) {
  const std::string style = fix->style;
  return style == "npt" || style == "nph" || style == "press/berendsen";
}

std::string Barostat::take(Fix* fix) {
  if (fix_) return "more than one barostat";
  if (fix->igroup != 0) return "a group";
  if (domain->triclinic) return "a tilted box";
  if (domain->dimension == 2) return "two dimensions";
  if (domain->nonperiodic) return "a face that is not periodic";
  const bool integrates = std::string(fix->style) != "press/berendsen";
  if (integrates) {
    FixNH* const chain = static_cast<FixNH*>(fix);
    if (!(chain->*(&OfNH::allremap))) return "dilate";
    if (chain->*(&OfNH::dipole_flag)) return "update dipole";
  }
  const Compute *temperature = modify->get_compute_by_id(std::string(fix->id) + "_temp"),
                *pressure = modify->get_compute_by_id(std::string(fix->id) + "_press");
  if (!temperature || std::string(temperature->style) != "temp" || temperature->igroup != 0 ||
      recounts_atoms(temperature) || !pressure || std::string(pressure->style) != "pressure")
    return "another temperature or pressure than its own";
  for (int k = 0; k < modify->nfix; ++k)
    if (modify->fix[k]->thermo_virial && modify->fix[k]->virial_global_flag)
      return std::string("fix_modify virial yes of fix ") + modify->fix[k]->style;
  fix_ = fix;
  integrates_ = integrates;
  return "";
}

manymove::dpd::Box Barostat::box() const {
  manymove::dpd::Settings settings;
  describe_box(lmp, settings);
  return settings.box;
}

Barostat::Change Barostat::act(const std::array<double, 6>& kinetic, const auto& part) const {
  FewAtoms atoms(lmp, kinetic);
  Change change{{}, box(), {}};
  part();
  for (int a = 0; a < 3; ++a) change.factor[a] = atoms.factor(a);
  change.next = box();
  return change;
}

// Half of the dilation is before the motion, and half is after it.
Barostat::Change Barostat::begin_step(const std::array<double, 6>& kinetic) const {
  Change change = act(kinetic, [this] { fix_->initial_integrate(0); });
  for (int a = 0; a < 3; ++a) {
    // With the factor e of each half about a fixed point F: l' - F = e^2 (l - F), and halfway
    // l + (l' - l) / (1 + e).
    const double factor = std::sqrt(change.next.extent[a] / change.way.extent[a]);
    change.way.low[a] += (change.next.low[a] - change.way.low[a]) / (1 + factor);
    change.way.extent[a] *= factor;
  }
  return change;
}

Barostat::Change Barostat::end_step(const std::array<double, 6>& kinetic) const {
  Change change =
      act(kinetic, [this] { integrates_ ? fix_->final_integrate() : fix_->end_of_step(); });
  change.way = change.next;
  return change;
}
