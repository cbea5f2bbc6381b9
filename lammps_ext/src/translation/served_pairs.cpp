// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/served_pairs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "atom.h"
#include "compute.h"
#include "core/dpd/pair_potentials.h"
#include "core/runtime/text.h"
#include "force.h"
#include "modify.h"
#include "styles/pair_manymove_dpd.h"
#include "styles/pair_manymove_dpd_coul_slater_long.h"
#include "translation/dpd_pairs.h"
#include "translation/style_values.h"

using namespace LAMMPS_NS;
using manymove::text_of;
using manymove::dpd::PairPotential;
using manymove::dpd::PairTable;

namespace LAMMPS_NS {

// The one member of LAMMPS' class that is called; its header is not among those that are installed.
class PairHybrid {
 public:
  int check_ijtype(int itype, int jtype, char* substyle);
};

}  // namespace LAMMPS_NS

namespace {

// LAMMPS' pair styles that also exist as manymove/...
const std::set<std::string> kPairsOfDPD{
    "dpd", "dpd/coul/slater/long", "dpd/tstat", "dpd/ext", "dpd/ext/tstat", "mdpd", "edpd", "tdpd"};

const std::set<std::string> kCharges{"coul/slater/long", "coul/slater/cut", "coul/cut",
                                     "coul/debye"};

bool is_combined(PairManymoveDPD* style) {
  return dynamic_cast<PairManymoveDPDCoulSlaterLong*>(style) != nullptr;
}

bool is_hybrid(const std::string& style) { return style == "hybrid" || style == "hybrid/overlay"; }

// A coefficient of a style, [types + 1][types + 1]; null if the style has none of this name.
double** coefficient(Pair& style, const char* name) {
  int dimension = 0;
  void* const values = style.extract(name, dimension);
  return dimension == 2 ? static_cast<double**>(values) : nullptr;
}

// Names of the coefficients of each style, as extract() knows them.
struct PotentialStyle {
  const char* name;
  manymove::dpd::PotentialForm form;
  const char *strength, *length, *steepness;  // null: the style has none
};
const PotentialStyle kPotentials[] = {
    {"lj/cut", manymove::dpd::kLennardJones, "epsilon", "sigma", nullptr},
    {"morse", manymove::dpd::kMorse, "d0", "r0", "alpha"},
    {"soft", manymove::dpd::kSoft, "a", nullptr, nullptr},
    {"table", manymove::dpd::kTabulated, nullptr, nullptr, nullptr}};

const PotentialStyle* potential_style(const std::string& style) {
  const auto* const found = std::ranges::find_if(
      kPotentials, [&](const PotentialStyle& each) { return style == each.name; });
  return found == std::end(kPotentials) ? nullptr : found;
}

double energy_of(const PairPotential& p, double squared, double& over_distance) {
  manymove::dpd::PairForce<double> sum{0, 0};
  manymove::dpd::add_potential(manymove::dpd::potential_of<double>(p, 1),
                               p.table ? p.table->node.data() : nullptr, squared, 1.0, sum);
  over_distance = sum.over_distance;
  return sum.energy;
}

}  // namespace

ServedPairs::ServedPairs(LAMMPS* lmp) : Pointers(lmp) {
  unserved_ = find_parts();
  if (unserved_.empty()) unserved_ = check_potentials();
}

std::string ServedPairs::find_parts() {
  dpd_ = dynamic_cast<PairManymoveDPD*>(force->pair);
  const std::string style = force->pair_style ? force->pair_style : "none",
                    command = "pair_style " + style;
  if (dpd_) {
    if (is_combined(dpd_)) charges_ = dpd_;
    return dpd_->compute_flag ? "" : "pair_modify compute no";
  }
  if (!is_hybrid(style)) return command + instead();
  // Number of styles, flags of `pair_modify compute/tally`, and for each style its name, its
  // settings, and its own factors of special neighbors.
  RestartBytes written([this](std::FILE* file) { force->pair->write_restart(file); });
  const int styles = written.next<int>(1)[0];
  for (const int tallied : written.next<int>(static_cast<std::size_t>(std::max(styles, 0))))
    if (!tallied) return command + " with pair_modify compute/tally no";
  std::string others;
  for (int k = 0; k < styles && written.left() > 0; ++k) {
    const auto length = static_cast<std::size_t>(std::max(written.next<int>(1)[0], 1));
    const std::string name(written.next<char>(length).data());
    Pair* const pair = force->pair_match(name, 1);
    if (!pair) return command + " with two instances of " + name;
    if (!pair->compute_flag) return command + " with pair_modify compute no";
    written.skip(RestartBytes([&](std::FILE* file) { pair->write_restart_settings(file); }).size());
    for (int factors = 0; factors < 2; ++factors)
      if (written.next<int>(1)[0]) return command + " with pair_modify special";
    const std::string plain = without_suffix(name.c_str());
    auto* const dpd = dynamic_cast<PairManymoveDPD*>(pair);
    if (dpd && !dpd_ && !is_combined(dpd))
      dpd_ = dpd;
    else if (kCharges.count(plain) && !charges_ && style == "hybrid/overlay")
      charges_ = pair;
    else if (dpd || (!potential_style(plain) && plain != "zero"))
      others += (others.empty() ? " with " : ", ") + name;
    else if (plain != "zero")
      potentials_.push_back({name, plain, pair});
  }
  if (written.left() != 0) return command + " of another kind";
  // Many-body forces need the densities of all types.
  if (!potentials_.empty() && has_many_body_style(lmp)) others += " with manymove/mdpd";
  if (!others.empty() || !dpd_) return command + others + instead();
  for (int k = 0; k < modify->ncompute; ++k)
    if (std::string(modify->compute[k]->style) == "pair")
      return "compute " + std::string(modify->compute[k]->id) + " pair with " + command;
  // Compute pressure asks for this where it reads the virial of a single style, which has none.
  if (force->pair->no_virial_fdotr_compute) return "compute pressure pair/hybrid with " + command;
  return "";
}

// What an input script can use instead of the pair style, or of styles within a hybrid one.
std::string ServedPairs::instead() const {
  const std::string style = force->pair_style ? force->pair_style : "none";
  if (kPairsOfDPD.count(style)) return " (instead: pair_style manymove/" + style + ")";
  if (style.rfind("hybrid", 0) != 0) return "";
  for (const std::string& part : kPairsOfDPD)
    if (force->pair_match(part, 1)) return " (instead of " + part + ": manymove/" + part + ")";
  return "";
}

std::string ServedPairs::check_potentials() {
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i; j <= atom->ntypes; ++j) {
      int number = 0;
      for (const Part& part : potentials_) {
        if (!acts(part, i, j)) continue;
        if (++number > 1)
          return text_of("pair_style ", force->pair_style, " with two potentials of types ", i, " ",
                         j);
        if (const std::string why = check_potential(part, i, j); !why.empty()) return why;
      }
    }
  return "";
}

// What is read from a style is what it computes, at two distances.
std::string ServedPairs::check_potential(const Part& part, int i, int j) {
  const PairPotential read = potential(part, i, j);
  const bool tabulated = read.form == manymove::dpd::kTabulated;
  if (tabulated && !read.table)
    return "pair_style table lookup or bitmap (instead: pair_style table linear or spline)";
  const double low = tabulated ? std::sqrt(read.table->low) : 0;
  for (const double at : {0.55, 0.95}) {
    const double r = low + at * (read.cutoff - low), squared = r * r;
    double found = 0, expected = 0;
    const double energy = energy_of(read, squared, expected),
                 difference = part.pair->single(0, 0, i, j, squared, 1, 1, found) - energy;
    const double scale =
        std::fabs(tabulated ? energy : read.strength) + std::fabs(expected) * squared;
    if (!(std::fabs(difference) <= 1e-9 * scale) ||
        !(std::fabs(found - expected) * squared <= 1e-9 * scale))
      return "pair_style " + part.style + " of another kind";
  }
  return "";
}

bool ServedPairs::acts(const Part& part, int i, int j) const {
  std::string name = part.name;
  return reinterpret_cast<PairHybrid*>(force->pair)->check_ijtype(i, j, name.data()) != 0;
}

// i <= j: styles may have only these coefficients.
PairPotential ServedPairs::potential(const Part& part, int i, int j) {
  const PotentialStyle& style = *potential_style(part.style);
  const auto value = [&](const char* name) {
    double** const values = name ? coefficient(*part.pair, name) : nullptr;
    return values ? values[i][j] : 0.0;
  };
  PairPotential read{style.form, std::sqrt(part.pair->cutsq[i][j]), value(style.strength),
                     value(style.length), value(style.steepness)};
  if (style.form == manymove::dpd::kTabulated) read.table = tables_.of(*part.pair, i, j);
  // `pair_modify shift yes` subtracts the energy at the cutoff: what the style has less than this
  // potential at its length.
  if (read.length > 0 && read.length < read.cutoff) {
    double unused;
    const double squared = read.length * read.length,
                 less = energy_of(read, squared, unused) -
                        part.pair->single(0, 0, i, j, squared, 1, 1, unused);
    read.shift = std::fabs(less) > 1e-12 * std::fabs(read.strength) ? less : 0;
  }
  return read;
}

PairTable ServedPairs::table() {
  PairTable table = dpd_->table();
  const auto size = static_cast<std::size_t>(table.types) + 1;
  coefficients_.assign(table.coefficients, table.coefficients + size * size);
  table.coefficients = coefficients_.data();
  for (const Part& part : potentials_)
    for (std::size_t i = 1; i < size; ++i)
      for (std::size_t j = i; j < size; ++j) {
        const int first = static_cast<int>(i), second = static_cast<int>(j);
        if (!acts(part, first, second)) continue;
        const PairPotential read = potential(part, first, second);
        coefficients_[i * size + j].potential = coefficients_[j * size + i].potential = read;
        table.largest_cutoff = std::max(table.largest_cutoff, read.cutoff);
      }
  return table;
}
