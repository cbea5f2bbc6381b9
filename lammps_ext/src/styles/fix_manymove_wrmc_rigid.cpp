// SPDX-License-Identifier: GPL-2.0-or-later
// What fix manymove/wrmc/rigid does besides fix manymove/wrmc.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/adsorption/model.h"
#include "core/adsorption/molecules/cell.h"
#include "core/adsorption/molecules/model.h"
#include "core/runtime/text.h"
#include "error.h"
#include "force.h"
#include "styles/fix_manymove_wrmc.h"

using namespace LAMMPS_NS;
using namespace manymove::adsorption;
using manymove::text_of;

namespace {

constexpr double kScreened = 3.2;  // alpha times the cutoff
// The engine's limits of net charges in e.
constexpr double kNetOfMolecule = 1e-9, kNetOfFramework = 1e-3;

double smallest_wave(const HostBox& box) {
  double inverse[6], least = INFINITY;
  invert(box.h, inverse);
  for (int x = -2; x <= 2; ++x)
    for (int y = -2; y <= 2; ++y)
      for (int z = -2; z <= 2; ++z)
        if (x || y || z)
          least = std::min(least, std::hypot(inverse[0] * x, inverse[1] * x + inverse[3] * y,
                                             inverse[2] * x + inverse[4] * y + inverse[5] * z));
  return 2 * kPi * least;
}

}  // namespace

// The keywords of manymove/wrmc/rigid alone; `left` words follow.
bool FixManymoveWRMC::parse_of_molecules(const std::string& word, int left, char** arg,
                                         int& taken) {
  const auto need = [&](int count) {
    if (left < count)
      utils::missing_cmd_args(FLERR, "fix " + std::string(style) + " " + word, error);
    taken = count;
  };
  const auto real = [&](int k) { return utils::numeric(FLERR, arg[k], false, lmp); };
  const auto integer = [&](int k) { return utils::inumeric(FLERR, arg[k], false, lmp); };
  if (word == "site") {
    need(3);
    sites_.push_back({integer(0), real(1), real(2)});
  } else if (word == "species") {
    need(1);
    species_ = integer(0);
    if (species_ < 1 || species_ > kMostSpecies)
      error->all(FLERR, "{}: species {} must be from 1 to {}", name_, species_, kMostSpecies);
  } else if (word == "pair") {
    need(4);
    pairs_.push_back({{integer(0), integer(1)}, real(2), real(3)});
  } else if (word == "mix") {
    need(1);
    const std::string rule = arg[0];
    if (rule != "arithmetic" && rule != "geometric")
      error->all(FLERR, "{}: unknown mixing rule {} (arithmetic, geometric)", name_, rule);
    geometric_ = rule == "geometric";
  } else if (word == "potential") {
    need(1);
    const std::string kind = arg[0];
    if (kind != "shifted" && kind != "truncated" && kind != "tail")
      error->all(FLERR, "{}: unknown potential {} (shifted, truncated, tail)", name_, kind);
    parameters_.shifted = kind == "shifted";
    tail_ = kind == "tail";
  } else if (word == "ewald") {
    need(2);
    alpha_ = positive("alpha", arg[0]);
    wave_cutoff_ = positive("k_max", arg[1]);
  } else {
    return false;
  }
  return true;
}

void FixManymoveWRMC::check_pairs() const {
  const auto same = [](const PairLaw& a, const PairLaw& b) {
    return std::minmax(a.types[0], a.types[1]) == std::minmax(b.types[0], b.types[1]);
  };
  for (const PairLaw& pair : pairs_) {
    const auto [a, b] = pair.types;
    const bool sites[2] = {law_of(sites_, a) != nullptr, law_of(sites_, b) != nullptr};
    if (!(sites[0] && (sites[1] || law_of(framework_, b))) && !(sites[1] && law_of(framework_, a)))
      error->all(FLERR,
                 "{}: pair {} {} has no effect: no type of a site with one of a site or of the "
                 "framework",
                 name_, a, b);
    if (std::ranges::count_if(pairs_, [&](const PairLaw& other) { return same(pair, other); }) > 1)
      error->all(FLERR, "{}: pair {} {} is given twice", name_, a, b);
  }
}

FixManymoveWRMC::Law FixManymoveWRMC::law_between(const Law& a, const Law& b) const {
  double epsilon = std::sqrt(a.epsilon * b.epsilon), sigma = 1;
  if (epsilon > 0) sigma = geometric_ ? std::sqrt(a.sigma * b.sigma) : 0.5 * (a.sigma + b.sigma);
  for (const PairLaw& pair : pairs_)
    if (std::minmax(pair.types[0], pair.types[1]) == std::minmax(a.type, b.type))
      epsilon = pair.epsilon, sigma = pair.sigma;
  return {0, epsilon, sigma};
}

LennardJones FixManymoveWRMC::mixed(const Law& a, const Law& b) const {
  const Law law = law_between(a, b);
  return {law.epsilon * energy_, law.sigma * length_};
}

// The molecules of the group, and what the engine needs of them.
void FixManymoveWRMC::describe_molecules(const std::vector<Particle>& moving) {
  molecules_ = std::make_unique<RigidMolecules>(moving, box_, species_);
  for (const Particle& a : rigid_)
    for (const Particle& other : moving)
      if (a.molecule > 0 && a.molecule == other.molecule)
        throw std::invalid_argument(text_of("atom ", static_cast<tagint>(a.tag), " of molecule ",
                                            static_cast<tagint>(a.molecule),
                                            " is outside the group, and others are in it"));
  for (const RigidMolecules::Kind& kind : molecules_->kinds())
    if (kind.type.size() > static_cast<std::size_t>(kMostSites))
      throw std::invalid_argument(
          text_of("the molecules have ", kind.type.size(), " atoms, at most ", kMostSites));
  molecules_->fit(moving, tolerance_);
  // Charges such that the energy of two is q q force->qqrd2e / r in the units of the input script.
  const double charge = std::sqrt(energy_ * length_ * force->qqrd2e / kCoulomb);
  ForceField field;
  std::vector<const Law*> laws;  // of each type of site
  std::vector<double> charges;
  Parameters& p = parameters_;
  p.species.clear();
  for (const RigidMolecules::Kind& kind : molecules_->kinds()) {
    field.bodies.emplace_back();
    for (std::size_t i = 0; i < kind.type.size(); ++i) {
      const Law* law = law_of(sites_, kind.type[i]);
      if (!law)
        throw std::invalid_argument(text_of("atom type ", kind.type[i],
                                            " is in the molecules, but has no parameters (keyword "
                                            "site)"));
      std::size_t t = 0;
      while (t < laws.size() && !(laws[t] == law && charges[t] == kind.charge[i])) ++t;
      if (t == laws.size()) laws.push_back(law), charges.push_back(kind.charge[i]);
      const std::array<double, 3>& x = kind.shape[i];
      field.bodies.back().push_back(
          {static_cast<int>(t), {x[0] * length_, x[1] * length_, x[2] * length_}});
    }
    p.species.push_back({kind.molecules, kind.molecules, 0, {}});
    double net = 0;
    for (const double q : kind.charge) net += q;
    if (std::abs(net * charge) > kNetOfMolecule)
      throw std::invalid_argument(
          text_of("the molecules have a net charge of ", net, "; they must be neutral"));
  }
  for (std::size_t t = 0; t < laws.size(); ++t) {
    field.types.push_back({charges[t] * charge, {}});
    for (const Law& law : framework_)
      field.types.back().with_framework.push_back(mixed(*laws[t], law));
    for (const Law* other : laws) field.pairs.push_back(mixed(*laws[t], *other));
  }
  double net = 0;
  for (const Particle& a : rigid_) {
    field.framework_charge.push_back(a.charge * charge);
    net += a.charge;
  }
  if (std::abs(net * charge) > kNetOfFramework)
    throw std::invalid_argument(text_of("the atoms outside the group have a net charge of ", net,
                                        "; they must be neutral"));
  field.tail = tail_;
  field.alpha = (alpha_ > 0 ? alpha_ : kScreened / cutoff_) / length_;
  field.wave_cutoff =
      (wave_cutoff_ > 0 ? wave_cutoff_ : 2 * kScreened * kScreened / cutoff_) / length_;
  const double smallest = smallest_wave(box_) / length_;
  if (std::ranges::any_of(charges, [](double q) { return q != 0; }) && field.wave_cutoff < smallest)
    throw std::invalid_argument(text_of("ewald: k_max is ", field.wave_cutoff * length_,
                                        ", below the smallest wave number of the box, ",
                                        smallest * length_, "; raise it"));
  for (int a = 0; a < 3; ++a) field.tilt[a] = box_.h[a == 2 ? 4 : a + 1] * length_;
  p.pairs.clear();
  p.force_field = std::move(field);
}
