// SPDX-License-Identifier: GPL-2.0-or-later
#include "resident/pairs_on_device.h"

#include <utility>

#include "core/dpd/settings.h"
#include "domain.h"
#include "fix.h"
#include "force.h"
#include "modify.h"
#include "neighbor.h"
#include "styles/pair_manymove_dpd.h"
#include "translation/box.h"
#include "translation/dpd_pairs.h"
#include "update.h"

using namespace LAMMPS_NS;
using manymove::dpd::HostArrays;
using manymove::dpd::Settings;

namespace {

constexpr int kShrinkWrapped = 2;  // Domain::nonperiodic
constexpr int kTemplate = 2;       // Atom::molecular

}  // namespace

std::string PairOnDevice::obstacle(LAMMPS* lmp) {
  if (dpd_pairs(lmp).empty())
    return has_many_body_style(lmp) ? "pair_style manymove/mdpd in a hybrid style"
                                    : "no pair_style manymove/dpd";
  if (!lmp->force->pair->compute_flag) return "pair_modify compute no";
  for (const PairManymoveDPD* pair : dpd_pairs(lmp))
    if (pair->scalars()) return "pair_style " + pair->style();
  if (lmp->comm->nprocs > 1 && lmp->comm->layout == Comm::LAYOUT_TILED) return "comm_style tiled";
  if (lmp->domain->nonperiodic == kShrinkWrapped) return "shrink-wrapped boundary";
  if (lmp->atom->molecular >= kTemplate) return "atom_style template";
  if (lmp->force->special_onefive) return "special_bonds one/five";
  if (lmp->neighbor->nex_mol > 0) return "neigh_modify exclude molecule";
  if (lmp->neighbor->includegroup) return "neigh_modify include";
  if (has_many_body_style(lmp) && lmp->atom->rho_flag)
    return "densities of atoms (instead: atom_style atomic)";
  if (const std::string why = why_no_densities(lmp, lmp->force->pair); !why.empty()) return why;
  for (int k = 0; k < lmp->modify->nfix; ++k)
    if (lmp->modify->fix[k]->box_change)
      return std::string("fix ") + lmp->modify->fix[k]->id + " " + lmp->modify->fix[k]->style +
             ", which changes the box";
  if (static_cast<std::int64_t>(lmp->atom->map_tag_max) > 0xffffffffLL)
    return "atom IDs beyond 32 bits";
  Settings box{};
  describe_box(lmp, box);
  double width[3];
  manymove::dpd::widths_of(box.box, width);
  for (PairManymoveDPD* pair : dpd_pairs(lmp))
    for (int a = 0; a < 3; ++a)
      if (box.box.periodic[a] && width[a] < 2 * pair->table().largest_cutoff)
        return std::string("a periodic box narrower than twice the cutoff along ") + "xyz"[a];
  return "";
}

PairOnDevice::PairOnDevice(LAMMPS* lmp, PairManymoveDPD& pair, const DeviceWishes& wishes)
    : DevicePhase(lmp, wishes),
      pair_(&pair),
      no_virial_before_(force->pair->no_virial_fdotr_compute),
      classes_(lmp, false),
      topology_(lmp) {
  pair_->attach(this);
  force->pair->no_virial_fdotr_compute = 1;  // of a hybrid style
}

PairOnDevice::~PairOnDevice() {
  if (!pair_) return;
  pair_->attach(nullptr);
  force->pair->no_virial_fdotr_compute = no_virial_before_;
}

// Particles may leave the box for some steps where it is not periodic: the engine's has room there.
Settings PairOnDevice::settings() {
  Settings settings;
  describe_box(lmp, settings);
  for (int a = 0; a < 3; ++a) {
    manymove::dpd::Box& box = settings.box;
    if (box.periodic[a] || (a == 2 && domain->dimension == 2)) continue;
    for (double& cut : settings.grid.cut[a]) cut = cut == 0 || cut == 1 ? cut : 0.25 + 0.5 * cut;
    box.low[a] -= 0.5 * box.extent[a];
    box.extent[a] *= 2;
  }
  settings.pairs = pair_->table();
  ++settings.pairs.ramp.begin;  // see upload()
  ++settings.pairs.ramp.end;
  coefficients_ = classes_.expanded(settings.pairs);
  settings.pairs.types = classes_.count();
  settings.pairs.coefficients = coefficients_.data();
  settings.cutoff = settings.pairs.largest_cutoff;
  settings.force_to_acceleration = force->ftm2v;
  settings.mass.assign(static_cast<std::size_t>(classes_.count()) + 1, 1.0);
  settings.seed = pair_->seed();
  return settings;
}

bool PairOnDevice::needs_another_engine(const Settings& s) {
  std::vector<double> numbers(s.pairs.special + 1, s.pairs.special + 4);
  const manymove::dpd::NoiseRamp& ramp = s.pairs.ramp;
  numbers.insert(numbers.end(), {s.cutoff, s.skin, s.time_step, ramp.first, ramp.last});
  numbers.insert(numbers.end(), {static_cast<double>(ramp.begin), static_cast<double>(ramp.end)});
  numbers.insert(numbers.end(), {s.pairs.many_body.b, s.pairs.many_body.cutoff});
  for (int a = 0; a < 3; ++a) {
    numbers.insert(numbers.end(), {s.box.low[a], s.box.extent[a], s.box.tilt[a]});
    numbers.insert(numbers.end(), s.grid.cut[a].begin(), s.grid.cut[a].end());
  }
  for (const auto& c : coefficients_)
    numbers.insert(numbers.end(), {c.a, c.gamma, c.sigma, c.inverse_cutoff, c.weight_exponent,
                                   c.transverse_gamma, c.transverse_sigma, c.transverse_exponent});
  return numbers != std::exchange(engine_is_for_, numbers);
}

// Whether atoms of any rank have other places in its arrays, or are others, or have changed.
bool PairOnDevice::has_other_particles() {
  if (const std::string why = classes_.find(communicator_); !why.empty())
    throw std::runtime_error(why);
  AtomTopology now(lmp);
  now.read_tags();
  now.read_types(classes_);
  now.read_special();
  std::int64_t differ = !now.is_same(topology_);
  communicator_.maximum(&differ, 1);
  if (differ) topology_.take(now);
  return differ != 0;
}

// The engine's clock is one step ahead, so that its first step is never step 0.
void PairOnDevice::upload(std::uint64_t draw) {
  flags_.assign(static_cast<std::size_t>(atom->nlocal), 0);
  HostArrays from = arrays();
  from.force = nullptr;
  engine_->upload(from, topology_.view(flags_), {update->ntimestep, draw - 1});
}

manymove::dpd::EnergyAndVirial PairOnDevice::add_forces(std::uint64_t draw) {
  // LAMMPS gives atoms other places only when it builds its lists.
  const bool repeated = draw != next_draw_ || !engine_, listed = neighbor->ago == 0;
  guarded([&] {
    const bool others = (listed || repeated) && has_other_particles();
    const Settings wanted = settings();
    const bool another = needs_another_engine(wanted) || !engine_;
    if (another) {
      engine_.reset();
      engine_ = engine_of(wanted);
    }
    if (repeated || others || another) {
      upload(draw);
    } else {
      const HostArrays from = arrays();
      engine_->set_particles(atom->nlocal, topology_.tags().data(), from.position, from.velocity);
    }
    engine_->advance(1);
    force_.resize(3 * static_cast<std::size_t>(atom->nlocal));
    HostArrays to{};
    to.count = atom->nlocal;
    to.force = reinterpret_cast<double (*)[3]>(force_.data());
    engine_->download(to);
  });
  next_draw_ = draw + 1;
  double* const f = atom->nlocal > 0 ? atom->f[0] : nullptr;
  for (std::size_t k = 0; k < force_.size(); ++k) f[k] += force_[k];
  return engine_->energy_and_virial();
}
