// SPDX-License-Identifier: GPL-2.0-or-later
#include "translation/served_commands.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "atom.h"
#include "domain.h"
#include "fix.h"
#include "force.h"
#include "group.h"
#include "modify.h"
#include "neighbor.h"
#include "styles/pair_manymove_dpd.h"
#include "translation/dpd_pairs.h"

using namespace LAMMPS_NS;

namespace {

constexpr int kShrinkWrapped = 2;  // Domain::nonperiodic
constexpr int kStandard = 1;       // Atom::molecular: topology is kept by particle

const std::set<std::string> kAtomStyles{"atomic", "charge", "bond", "angle", "molecular", "full",
                                        "sphere", "dipole", "dpd",  "mdpd",  "edpd",      "tdpd"};

// Only some releases have wave packets.
bool has_wave_packets(const auto& atom) {
  if constexpr (requires { atom.wavepacket_flag; }) return atom.wavepacket_flag != 0;
  return false;
}

}  // namespace

void ServedCommands::check_interactions(const ServedPairs& pairs, const BondedStyles& styles,
                                        const ChargeStyles& charges) {
  if (!pairs.unserved().empty()) refusals_.add(pairs.unserved());
  if (const std::string bonded = styles.unserved(); !bonded.empty()) refusals_.add(bonded);
  if (const std::string why = charges.unserved(); !why.empty()) refusals_.add(why);
  if (force->special_onefive) refusals_.add("special_bonds one/five");
  if (neighbor->includegroup) refusals_.add("neigh_modify include");
  if (const std::string why = why_no_densities(lmp, pairs.dpd()); !why.empty()) refusals_.add(why);
}

// Styles of which only positions, velocities, forces and masses count: what else they have (a
// radius, charges, a dipole) stays with the host, unless it turns, which no fix that is served
// does.
void ServedCommands::check_atoms() {
  if (!is_known_atom_style()) refusals_.add("atom_style " + std::string(atom->atom_style));
  if (atom->molecular > kStandard) refusals_.add("atom_style template");
  const auto beyond = [](tagint tag) { return static_cast<std::int64_t>(tag) > 0xffffffffLL; };
  if (std::any_of(atom->tag, atom->tag + atom->nlocal, beyond))
    refusals_.add("atom IDs beyond 32 bits");
  for (int k = 0; k < group->ngroup; ++k)
    if (group->dynamic[k])
      refusals_.add("dynamic group " + std::string(group->names[k]) + " (instead: a static group)");
}

// A hybrid style is known by its fields: no atom has a body, a line, a triangle, or a state that a
// pair style integrates.
bool ServedCommands::is_known_atom_style() const {
  if (kAtomStyles.count(atom->atom_style)) return true;
  return std::string(atom->atom_style) == "hybrid" && !atom->ellipsoid_flag && !atom->line_flag &&
         !atom->tri_flag && !atom->body_flag && !atom->peri_flag && !atom->electron_flag &&
         !has_wave_packets(*atom) && !atom->sph_flag && !atom->edpd_flag && !atom->tdpd_flag &&
         !atom->mesont_flag && !atom->sp_flag && !atom->smd_flag;
}

void ServedCommands::check_box() {
  if (domain->dimension == 2) check_plane();
  if (domain->nonperiodic == kShrinkWrapped)
    refusals_.add("shrink-wrapped boundary (instead: boundary f)");
}

// In two dimensions nothing leaves its plane, if all are in the same one and no force acts across
// it.
void ServedCommands::check_plane() {
  bool kept = false;
  for (int k = 0; k < modify->nfix; ++k)
    kept =
        kept || (std::string(modify->fix[k]->style) == "enforce2d" && modify->fix[k]->igroup == 0);
  if (!kept) refusals_.add("dimension 2 without fix enforce2d of all atoms");
  double ends[2] = {-HUGE_VAL, -HUGE_VAL};  // the highest, and minus the lowest
  for (int i = 0; i < atom->nlocal; ++i) {
    ends[0] = std::max(ends[0], atom->x[i][2]);
    ends[1] = std::max(ends[1], -atom->x[i][2]);
  }
  refusals_.on_all_ranks([&](MpiCommunicator& communicator) {
    std::vector<double> all(2 * static_cast<std::size_t>(communicator.ranks()));
    communicator.gather(ends, all.data(), sizeof ends);
    for (std::size_t k = 0; k < all.size(); ++k) ends[k % 2] = std::max(ends[k % 2], all[k]);
  });
  if (ends[0] > -ends[1]) refusals_.add("dimension 2 with atoms at different heights");
}
