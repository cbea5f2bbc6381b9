// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/bonded_styles.h"

#include <cmath>
#include <cstdio>
#include <map>

#include "angle.h"
#include "atom.h"
#include "bond.h"
#include "bond_fene.h"
#include "dihedral.h"
#include "force.h"
#include "improper.h"
#include "translation/force_tables.h"
#include "translation/style_values.h"

using namespace LAMMPS_NS;
using manymove::dpd::AngleCoefficients;
using manymove::dpd::BondCoefficients;
using manymove::dpd::DihedralCoefficients;
using manymove::dpd::ImproperCoefficients;

namespace {

struct OfBondFENE : BondFENE {
  using BondFENE::epsilon, BondFENE::sigma;
};

// A coefficient of a style by type, [types + 1]; null if the style has none of this name.
const double* coefficient(auto& style, const char* name) {
  int dimension = 0;
  const void* const values = style.extract(name, dimension);
  return dimension == 1 ? static_cast<const double*>(values) : nullptr;
}

// The numbers of a style in restart files: arrays by type, from type 1 on.
RestartBytes written_by(auto& style) {
  return RestartBytes([&](std::FILE* file) { style.write_restart(file); });
}

const std::map<std::string, manymove::dpd::AngleForm> kAngleForms{
    {"harmonic", manymove::dpd::kAngleHarmonic},
    {"cosine", manymove::dpd::kAngleCosine},
    {"cosine/squared", manymove::dpd::kAngleCosineSquared},
    {"cosine/delta", manymove::dpd::kAngleCosineDelta}};

bool has_forces(const void* style, const char* name) {
  return style && without_suffix(name) != "zero";
}

bool is_harmonic(const std::string& style) {
  return style == "harmonic" || style == "manymove/harmonic";
}

bool agree(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

// Whether the style computes what was read from its table, at two lengths.
bool acts_as_read(Bond& style, int type, const manymove::dpd::ForceTable& table) {
  const auto intervals = static_cast<int>(table.node.size()) - 1;
  for (const double part : {0.45, 0.8}) {
    const double at = part * intervals, length = table.low + at * table.spacing;
    double found = 0;
    const auto [expected, energy] = manymove::dpd::tabulated(table.node.data(), intervals, at);
    const double difference = style.single(type, length * length, 0, 0, found) - energy;
    const double scale = std::fabs(expected) * length + std::fabs(energy);
    if (!(std::fabs(found * length - expected) * length <= 1e-9 * scale) ||
        !(std::fabs(difference) <= 1e-9 * scale))
      return false;
  }
  return true;
}

// What is read from the style is what it computes: force over distance, at a length.
bool acts_as_read(Bond& style, int type, const BondCoefficients& c) {
  if (c.table) return acts_as_read(style, type, *c.table);
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

bool BondedStyles::has_bonds() const { return has_forces(force->bond, force->bond_style); }
bool BondedStyles::has_angles() const { return has_forces(force->angle, force->angle_style); }
bool BondedStyles::has_dihedrals() const {
  return has_forces(force->dihedral, force->dihedral_style);
}
bool BondedStyles::has_impropers() const {
  return has_forces(force->improper, force->improper_style);
}

int BondedStyles::types() const {
  return has_bonds() * atom->nbondtypes + has_angles() * atom->nangletypes +
         has_dihedrals() * atom->ndihedraltypes + has_impropers() * atom->nimpropertypes;
}

std::size_t BondedStyles::nodes() const {
  std::size_t sum = 0;
  for (const BondCoefficients& bond : bonds()) sum += bond.table ? bond.table->node.size() : 0;
  return sum;
}

std::string BondedStyles::unserved() const {
  std::string text;
  for (const std::string& what :
       {unserved_bonds(), unserved_angles(), unserved_dihedrals(), unserved_impropers()})
    if (!what.empty()) text += (text.empty() ? "" : ", ") + what;
  return text;
}

std::string BondedStyles::unserved_bonds() const {
  if (!has_bonds()) return "";
  const std::string style = without_suffix(force->bond_style),
                    command = "bond_style " + std::string(force->bond_style);
  if (style == "quartic") return command + ", whose bonds break";
  if (!is_harmonic(style) && style != "fene" && style != "table") return command;
  const auto coefficients = bonds();
  bool same = !coefficients.empty();
  for (std::size_t k = 1; same && k < coefficients.size(); ++k)
    same = acts_as_read(*force->bond, static_cast<int>(k), coefficients[k]);
  return same ? "" : command + " of another kind";
}

std::string BondedStyles::unserved_angles() const {
  if (!has_angles()) return "";
  const std::string command = "angle_style " + std::string(force->angle_style);
  if (!kAngleForms.count(without_suffix(force->angle_style))) return command;
  return angles().empty() ? command + " of another kind" : "";
}

std::string BondedStyles::unserved_dihedrals() const {
  if (!has_dihedrals()) return "";
  const std::string style = without_suffix(force->dihedral_style),
                    command = "dihedral_style " + std::string(force->dihedral_style);
  if (style != "harmonic" && style != "opls") return command;
  return dihedrals().empty() ? command + " of another kind, or with a multiplicity above " +
                                   std::to_string(manymove::dpd::kMostMultiplicity)
                             : "";
}

std::string BondedStyles::unserved_impropers() const {
  if (!has_impropers()) return "";
  const std::string command = "improper_style " + std::string(force->improper_style);
  if (without_suffix(force->improper_style) != "harmonic") return command;
  return impropers().empty() ? command + " of another kind" : "";
}

// The arrays have values for types from 1 on.
std::vector<BondCoefficients> BondedStyles::bonds() const {
  if (!has_bonds()) return {};
  if (without_suffix(force->bond_style) == "table") return tabulated_bonds();
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

std::vector<BondCoefficients> BondedStyles::tabulated_bonds() const {
  std::vector<BondCoefficients> result{{0, 0}};
  for (int type = 1; type <= atom->nbondtypes; ++type)
    result.push_back({.stiffness = 0,
                      .length = 0,
                      .form = manymove::dpd::kTabulatedBond,
                      .table = table_of_bond(*force->bond, type)});
  return result;
}

std::vector<AngleCoefficients> BondedStyles::angles() const {
  if (!has_angles()) return {};
  const auto form = kAngleForms.at(without_suffix(force->angle_style));
  const bool is_cosine = form == manymove::dpd::kAngleCosine;
  const double *const stiffness = coefficient(*force->angle, "k"), *const angle = coefficient(
                                                                       *force->angle, "theta0");
  if (atom->nangletypes > 0 && (!stiffness || !(angle || is_cosine))) return {};
  std::vector<AngleCoefficients> result{{0, 0, form}};
  for (int type = 1; type <= atom->nangletypes; ++type)
    result.push_back({stiffness[type], is_cosine ? 0 : angle[type], form});
  return result;
}

// harmonic: E = K [1 + d cos(n phi)]. opls: E = k_1 (1 + cos phi) + k_2 (1 - cos 2 phi) + k_3 (1 +
// cos 3 phi) + k_4 (1 - cos 4 phi), where LAMMPS keeps halves of the coefficients of the input
// script. Empty if a multiplicity is too large.
std::vector<DihedralCoefficients> BondedStyles::dihedrals() const {
  if (!has_dihedrals()) return {};
  const auto types = static_cast<std::size_t>(atom->ndihedraltypes);
  RestartBytes written = written_by(*force->dihedral);
  std::vector<DihedralCoefficients> result(types + 1);
  const auto add = [&](std::size_t k, double constant, int multiplicity, double amplitude) {
    result[k + 1].constant += constant;
    if (multiplicity == 0)
      result[k + 1].constant += amplitude;
    else
      result[k + 1].amplitude[multiplicity - 1] += amplitude;
  };
  if (without_suffix(force->dihedral_style) == "opls") {
    if (written.size() != types * 4 * sizeof(double)) return {};
    for (int m = 1; m <= 4; ++m) {
      const std::vector<double> stiffness = written.next<double>(types);
      for (std::size_t k = 0; k < types; ++k)
        add(k, stiffness[k], m, m % 2 ? stiffness[k] : -stiffness[k]);
    }
    return result;
  }
  if (written.size() != types * (sizeof(double) + 2 * sizeof(int))) return {};
  const auto stiffness = written.next<double>(types);
  const auto sign = written.next<int>(types), multiplicity = written.next<int>(types);
  for (std::size_t k = 0; k < types; ++k) {
    if (multiplicity[k] > manymove::dpd::kMostMultiplicity) return {};
    add(k, stiffness[k], multiplicity[k], sign[k] * stiffness[k]);
  }
  return result;
}

std::vector<ImproperCoefficients> BondedStyles::impropers() const {
  if (!has_impropers()) return {};
  const auto types = static_cast<std::size_t>(atom->nimpropertypes);
  RestartBytes written = written_by(*force->improper);
  if (written.size() != types * 2 * sizeof(double)) return {};
  const auto stiffness = written.next<double>(types), angle = written.next<double>(types);
  std::vector<ImproperCoefficients> result{{0, 0}};
  for (std::size_t k = 0; k < types; ++k) result.push_back({stiffness[k], angle[k]});
  return result;
}
