// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/dpd_pairs.h"

#include <algorithm>

#include "force.h"
#include "lammps.h"
#include "neighbor.h"
#include "styles/pair_manymove_dpd.h"
#include "styles/pair_manymove_mdpd.h"

using namespace LAMMPS_NS;

std::vector<PairManymoveDPD*> LAMMPS_NS::dpd_pairs(LAMMPS* lmp) {
  std::vector<PairManymoveDPD*> pairs;
  if (auto* pair = dynamic_cast<PairManymoveDPD*>(lmp->force->pair)) return {pair};
  for (const char* style : {"manymove/dpd", "manymove/dpd/coul/slater/long", "manymove/dpd/tstat",
                            "manymove/dpd/ext", "manymove/dpd/ext/tstat"})
    for (int instance = 1;; ++instance) {
      Pair* const found = lmp->force->pair_match(style, 1, instance);
      auto* pair = dynamic_cast<PairManymoveDPD*>(found);
      if (!pair || std::ranges::find(pairs, pair) != pairs.end()) break;
      pairs.push_back(pair);
    }
  return pairs;
}

bool LAMMPS_NS::has_many_body_style(LAMMPS* lmp) {
  return lmp->force->pair_match("manymove/mdpd", 1) || lmp->force->pair_match("mdpd/manymove", 1);
}

std::string LAMMPS_NS::why_no_densities(LAMMPS* lmp, const Pair* pair) {
  if (!dynamic_cast<const PairManymoveMDPD*>(pair)) return "";
  if (lmp->neighbor->nex_type > 0 || lmp->neighbor->nex_group > 0)
    return "neigh_modify exclude with pair_style manymove/mdpd";
  return "";
}
