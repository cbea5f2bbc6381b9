// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/bonded_styles.h"

#include <cmath>
#include <cstring>

#include "angle.h"
#include "atom.h"
#include "bond.h"
#include "bond_fene.h"
#include "force.h"

using namespace LAMMPS_NS;
using manymove::dpd::AngleCoefficients;
using manymove::dpd::BondCoefficients;

namespace {

// The variants of the OPENMP and OPT packages compute the same.
std::string without_suffix(const char* style) {
  std::string name = style ? style : "";
  for (const char* suffix : {"/omp", "/opt"}) {
    const std::size_t length = std::strlen(suffix);
    if (name.size() > length && name.compare(name.size() - length, length, suffix) == 0)
      name.resize(name.size() - length);
  }
  return name;
}

struct OfBondFENE : BondFENE {
  using BondFENE::epsilon, BondFENE::sigma;
};

// A coefficient of a style by type, [types + 1]; null if the style has none of this name.
const double* coefficient(auto& style, const char* name) {
  int dimension = 0;
  const void* const values = style.extract(name, dimension);
  return dimension == 1 ? static_cast<const double*>(values) : nullptr;
}

bool is_harmonic(const std::string& style) {
  return style == "harmonic" || style == "manymove/harmonic";
}

bool agree(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

// What is read from the style is what it computes: force over distance, at a length.
bool acts_as_read(Bond& style, int type, const BondCoefficients& c) {
  const bool harmonic = c.form == manymove::dpd::kHarmonic;
  for (const double part : {0.45, 0.8}) {
    const double length = part * c.length + (harmonic ? part : 0);
    double found, expected;
    const double squared = length * length;
    style.single(type, squared, 0, 0, found);
    if (harmonic) {
      expected = -2 * c.stiffness * (length - c.length) / length;
    } else {
      expected = -c.stiffness / (1 - squared / (c.length * c.length));
      if (squared < std::cbrt(2.0) * c.sigma * c.sigma) {
        const double sixth = std::pow(c.sigma * c.sigma / squared, 3);
        expected += 48 * c.epsilon * sixth * (sixth - 0.5) / squared;
      }
    }
    if (!agree(found, expected)) return false;
  }
  return true;
}

}  // namespace

bool BondedStyles::has_bonds() const {
  return force->bond && without_suffix(force->bond_style) != "zero";
}
bool BondedStyles::has_angles() const {
  return force->angle && without_suffix(force->angle_style) != "zero";
}

std::string BondedStyles::unserved() const {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  const std::string bond = without_suffix(force->bond_style),
                    angle = without_suffix(force->angle_style);
  if (has_bonds()) {
    if (!is_harmonic(bond) && bond != "fene") {
      add("bond_style " + std::string(force->bond_style));
    } else {
      const auto coefficients = bonds();
      bool same = !coefficients.empty();
      for (std::size_t k = 1; same && k < coefficients.size(); ++k)
        same = acts_as_read(*force->bond, static_cast<int>(k), coefficients[k]);
      if (!same) add("bond_style " + std::string(force->bond_style) + " of another kind");
    }
  }
  if (has_angles()) {
    if (angle != "harmonic" && angle != "cosine")
      add("angle_style " + std::string(force->angle_style));
    else if (angles().empty())
      add("angle_style " + std::string(force->angle_style) + " of another kind");
  }
  return text;
}

// The arrays have values for types from 1 on.
std::vector<BondCoefficients> BondedStyles::bonds() const {
  if (!has_bonds()) return {};
  const double *const stiffness = coefficient(*force->bond, "k"), *const length = coefficient(
                                                                      *force->bond, "r0");
  if (atom->nbondtypes > 0 && (!stiffness || !length)) return {};
  const bool is_fene = without_suffix(force->bond_style) == "fene";
  const auto form = is_fene ? manymove::dpd::kFene : manymove::dpd::kHarmonic;
  std::vector<BondCoefficients> result{{0, 0, form}};
  for (int type = 1; type <= atom->nbondtypes; ++type) {
    result.push_back({stiffness[type], length[type], form});
    if (!is_fene) continue;
    const auto* fene = static_cast<const BondFENE*>(force->bond);
    result.back().epsilon = (fene->*(&OfBondFENE::epsilon))[type];
    result.back().sigma = (fene->*(&OfBondFENE::sigma))[type];
  }
  return result;
}

std::vector<AngleCoefficients> BondedStyles::angles() const {
  if (!has_angles()) return {};
  const bool is_cosine = without_suffix(force->angle_style) == "cosine";
  const double *const stiffness = coefficient(*force->angle, "k"), *const angle = coefficient(
                                                                       *force->angle, "theta0");
  if (atom->nangletypes > 0 && (!stiffness || !(angle || is_cosine))) return {};
  const auto form = is_cosine ? manymove::dpd::kAngleCosine : manymove::dpd::kAngleHarmonic;
  std::vector<AngleCoefficients> result{{0, 0, form}};
  for (int type = 1; type <= atom->nangletypes; ++type)
    result.push_back({stiffness[type], is_cosine ? 0 : angle[type], form});
  return result;
}
