// SPDX-License-Identifier: GPL-2.0-or-later
// What an engine that keeps the particles needs of the commands of an input script, besides fixes.
#pragma once

#include "pointers.h"
#include "translation/bonded_styles.h"
#include "translation/charge_styles.h"
#include "translation/refusals.h"
#include "translation/served_pairs.h"

namespace LAMMPS_NS {

// Each function adds what is not served to the refusals.
class ServedCommands : protected Pointers {
 public:
  ServedCommands(class LAMMPS* lmp, Refusals& refusals) : Pointers(lmp), refusals_(refusals) {}

  void check_interactions(const ServedPairs& pairs, const BondedStyles& styles,
                          const ChargeStyles& charges);
  void check_atoms();
  void check_box();  // collective

 private:
  bool is_known_atom_style() const;
  void check_plane();

  Refusals& refusals_;
};

}  // namespace LAMMPS_NS
