// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/bonded_styles.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "angle.h"
#include "atom.h"
#include "bond.h"
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

// Arrays by type, in the order in which a style of LAMMPS writes them to a restart file: [array]
// [type], type from 1. Empty if the style writes another number of values.
template <class Style>
std::vector<std::vector<double>> arrays_of(Style& style, int types, std::size_t arrays) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* memory = open_memstream(&text, &bytes);
  if (!memory) return {};
  style.write_restart(memory);
  std::fclose(memory);
  const std::size_t each = static_cast<std::size_t>(types) * sizeof(double);
  std::vector<std::vector<double>> result;
  if (bytes == arrays * each)
    for (std::size_t k = 0; k < arrays; ++k) {
      result.emplace_back(static_cast<std::size_t>(types) + 1, 0.0);
      std::memcpy(result.back().data() + 1, text + k * each, each);
    }
  std::free(text);
  return result;
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

std::vector<BondCoefficients> BondedStyles::bonds() const {
  if (!has_bonds()) return {};
  const bool fene = without_suffix(force->bond_style) == "fene";
  const auto arrays = arrays_of(*force->bond, atom->nbondtypes, fene ? 4 : 2);
  if (arrays.empty()) return {};
  std::vector<BondCoefficients> result;
  for (std::size_t k = 0; k < arrays[0].size(); ++k) {
    result.push_back({arrays[0][k], arrays[1][k]});
    if (!fene) continue;
    result.back().form = manymove::dpd::kFene;
    result.back().epsilon = arrays[2][k];
    result.back().sigma = arrays[3][k];
  }
  return result;
}

std::vector<AngleCoefficients> BondedStyles::angles() const {
  if (!has_angles()) return {};
  const bool cosine = without_suffix(force->angle_style) == "cosine";
  const auto arrays = arrays_of(*force->angle, atom->nangletypes, cosine ? 1 : 2);
  if (arrays.empty()) return {};
  std::vector<AngleCoefficients> result;
  for (std::size_t k = 0; k < arrays[0].size(); ++k)
    result.push_back({arrays[0][k], cosine ? 0 : arrays[1][k],
                      cosine ? manymove::dpd::kAngleCosine : manymove::dpd::kAngleHarmonic});
  return result;
}
