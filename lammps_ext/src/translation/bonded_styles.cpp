// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/bonded_styles.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "angle.h"
#include "angle_hybrid.h"
#include "atom.h"
#include "bond.h"
#include "bond_fene.h"
#include "bond_hybrid.h"
#include "compute.h"
#include "dihedral.h"
#include "dihedral_hybrid.h"
#include "force.h"
#include "improper.h"
#include "improper_hybrid.h"
#include "modify.h"
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
template <class Hybrid>
struct OfHybrid : Hybrid {
  using Hybrid::map;
};

// command: bond_style, ...; name: that of the style.
template <class Hybrid, class Style>
StylesByType<Style> styles_by_type(const std::string& command, Style* style, const char* name,
                                   int types) {
  StylesByType<Style> all{command + " " + (style ? name : "none"), {}};
  if (!style) return all;
  const std::string plain = without_suffix(name);
  all.is_hybrid = plain == "hybrid";
  all.part.resize(static_cast<std::size_t>(types) + 1);
  for (int type = 1; type <= types; ++type) {
    auto& part = all.part[static_cast<std::size_t>(type)];
    part = {plain, style};
    if (all.is_hybrid) {
      const auto& hybrid = static_cast<const Hybrid&>(*style);
      const int k = (hybrid.*(&OfHybrid<Hybrid>::map))[type];
      part = {"none", nullptr};
      if (k >= 0) part = {without_suffix(hybrid.keywords[k]), hybrid.styles[k]};
    }
    if (part.name == "zero") part.style = nullptr;
  }
  return all;
}

// The first style that is not known, or the command if coefficients were not read as they act;
// further: what else may be the reason.
template <class Style>
std::string unserved_of(const StylesByType<Style>& all, const std::set<std::string>& known,
                        const auto& read_as_they_act, const std::string& further = "") {
  if (!all.any()) return "";
  for (const auto& part : all.part) {
    if (!part.style || known.count(part.name)) continue;
    return all.command + (all.is_hybrid ? " with " + part.name : "") +
           (part.name == "quartic" ? ", whose bonds break" : "");
  }
  return read_as_they_act() ? "" : all.command + " of another kind" + further;
}

// The coefficients of all types, with read(type, part) for those that act.
template <class Coefficients, class Style>
std::vector<Coefficients> by_type(const StylesByType<Style>& all, const Coefficients& none,
                                  const auto& read) {
  if (!all.any()) return {};
  std::vector<Coefficients> result(all.part.size(), none);
  for (std::size_t type = 1; type < result.size(); ++type) {
    if (!all.part[type].style) continue;
    const std::optional<Coefficients> found = read(type, all.part[type]);
    if (!found) return {};
    result[type] = *found;
  }
  return result;
}

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

BondedStyles::BondedStyles(LAMMPS* lmp)
    : Pointers(lmp),
      bonds_(styles_by_type<BondHybrid>("bond_style", force->bond, force->bond_style,
                                        atom->nbondtypes)),
      angles_(styles_by_type<AngleHybrid>("angle_style", force->angle, force->angle_style,
                                          atom->nangletypes)),
      dihedrals_(styles_by_type<DihedralHybrid>("dihedral_style", force->dihedral,
                                                force->dihedral_style, atom->ndihedraltypes)),
      impropers_(styles_by_type<ImproperHybrid>("improper_style", force->improper,
                                                force->improper_style, atom->nimpropertypes)) {}

int BondedStyles::types() const {
  const auto count = [](const auto& all) {
    return all.any() ? static_cast<int>(all.part.size()) - 1 : 0;
  };
  return count(bonds_) + count(angles_) + count(dihedrals_) + count(impropers_);
}

std::size_t BondedStyles::nodes() const {
  std::size_t sum = 0;
  for (const BondCoefficients& bond : bonds()) sum += bond.table ? bond.table->node.size() : 0;
  return sum;
}

std::string BondedStyles::unserved() const {
  std::set<std::string> of_angles;
  for (const auto& [name, form] : kAngleForms) of_angles.insert(name);
  std::string text;
  const auto add = [&text](const std::string& what) {
    if (!what.empty()) text += (text.empty() ? "" : ", ") + what;
  };
  add(unserved_of(bonds_, {"harmonic", "manymove/harmonic", "fene", "table"},
                  [this] { return bonds_act_as_read(); }));
  add(unserved_of(angles_, of_angles, [this] { return !angles().empty(); }));
  add(unserved_of(
      dihedrals_, {"harmonic", "opls"}, [this] { return !dihedrals().empty(); },
      ", or with a multiplicity above " + std::to_string(manymove::dpd::kMostMultiplicity)));
  add(unserved_of(impropers_, {"harmonic"}, [this] { return !impropers().empty(); }));
  // These computes have the energies of the styles within a hybrid style.
  for (int k = 0; k < modify->ncompute; ++k) {
    const Compute& each = *modify->compute[k];
    for (const char* kind : {"bond", "angle", "dihedral", "improper"})
      if (std::string(each.style) == kind)
        add("compute " + std::string(each.id) + " " + kind + " with " + kind + "_style hybrid");
  }
  return text;
}

bool BondedStyles::bonds_act_as_read() const {
  const auto coefficients = bonds();
  for (std::size_t k = 1; k < coefficients.size(); ++k)
    if (bonds_.part[k].style && !acts_as_read(*force->bond, static_cast<int>(k), coefficients[k]))
      return false;
  return !coefficients.empty();
}

std::vector<BondCoefficients> BondedStyles::bonds() const {
  return by_type(
      bonds_, BondCoefficients{0, 0},
      [](std::size_t k, const auto& part) -> std::optional<BondCoefficients> {
        const int type = static_cast<int>(k);
        BondCoefficients read{0, 0};
        if (part.name == "table") {
          read.form = manymove::dpd::kTabulatedBond;
          read.table = table_of_bond(*part.style, type);
          return read;
        }
        const double *const stiffness = coefficient(*part.style, "k"), *const length = coefficient(
                                                                           *part.style, "r0");
        if (!stiffness || !length) return {};
        read.stiffness = stiffness[k];
        read.length = length[k];
        if (part.name != "fene") return read;
        const auto* fene = static_cast<const BondFENE*>(part.style);
        read.form = manymove::dpd::kFene;
        read.epsilon = (fene->*(&OfBondFENE::epsilon))[k];
        read.sigma = (fene->*(&OfBondFENE::sigma))[k];
        return read;
      });
}

std::vector<AngleCoefficients> BondedStyles::angles() const {
  return by_type(
      angles_, AngleCoefficients{0, 0},
      [](std::size_t k, const auto& part) -> std::optional<AngleCoefficients> {
        const auto form = kAngleForms.at(part.name);
        const bool is_cosine = form == manymove::dpd::kAngleCosine;
        const double *const stiffness = coefficient(*part.style, "k"), *const angle = coefficient(
                                                                           *part.style, "theta0");
        if (!stiffness || !(angle || is_cosine)) return {};
        return AngleCoefficients{stiffness[k], is_cosine ? 0 : angle[k], form};
      });
}

// harmonic: E = K [1 + d cos(n phi)]. opls: E = k_1 (1 + cos phi) + k_2 (1 - cos 2 phi) + k_3 (1 +
// cos 3 phi) + k_4 (1 - cos 4 phi), where LAMMPS keeps halves of the coefficients of the input
// script. Restart files have arrays of all types, from type 1 on.
std::vector<DihedralCoefficients> BondedStyles::dihedrals() const {
  const std::size_t types = dihedrals_.part.size() - 1;
  return by_type(dihedrals_, DihedralCoefficients{},
                 [types](std::size_t k, const auto& part) -> std::optional<DihedralCoefficients> {
                   DihedralCoefficients read;
                   const auto add = [&read](double constant, int multiplicity, double amplitude) {
                     read.constant += constant;
                     (multiplicity == 0 ? read.constant : read.amplitude[multiplicity - 1]) +=
                         amplitude;
                   };
                   RestartBytes written = written_by(*part.style);
                   if (part.name == "opls") {
                     if (written.size() != types * 4 * sizeof(double)) return {};
                     for (int m = 1; m <= 4; ++m) {
                       const double stiffness = written.next<double>(types)[k - 1];
                       add(stiffness, m, m % 2 ? stiffness : -stiffness);
                     }
                     return read;
                   }
                   if (written.size() != types * (sizeof(double) + 2 * sizeof(int))) return {};
                   const double stiffness = written.next<double>(types)[k - 1];
                   const int sign = written.next<int>(types)[k - 1],
                             multiplicity = written.next<int>(types)[k - 1];
                   if (multiplicity > manymove::dpd::kMostMultiplicity) return {};
                   add(stiffness, multiplicity, sign * stiffness);
                   return read;
                 });
}

std::vector<ImproperCoefficients> BondedStyles::impropers() const {
  const std::size_t types = impropers_.part.size() - 1;
  return by_type(impropers_, ImproperCoefficients{0, 0},
                 [types](std::size_t k, const auto& part) -> std::optional<ImproperCoefficients> {
                   RestartBytes written = written_by(*part.style);
                   if (written.size() != types * 2 * sizeof(double)) return {};
                   const double stiffness = written.next<double>(types)[k - 1];
                   return ImproperCoefficients{stiffness, written.next<double>(types)[k - 1]};
                 });
}
