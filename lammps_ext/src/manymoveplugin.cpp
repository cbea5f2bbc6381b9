// SPDX-License-Identifier: GPL-2.0-or-later
// manymoveplugin.so: registers the styles with the LAMMPS that loads it.
#include <cstdio>
#include <cstring>
#include <string>

#include "bond_manymove_harmonic.h"
#include "fix_manymove_coulomb.h"
#include "fix_manymove_wall.h"
#include "fix_manymove_wrmc.h"
#include "lammps.h"
#include "lmptype.h"
#include "pair_manymove_dpd.h"
#include "plugin_api.h"

#if defined(MANYMOVE_RUN_STYLE)
#include "resident_verlet.h"
#endif

using namespace LAMMPS_NS;
using manymove::lammps_plugin::Register;
using manymove::lammps_plugin::StyleRegistration;

namespace {

constexpr int kWarning = 0;  // LMP_ERROR_WARNING

// The update of a stable release ("stable_22Jul2025_update4"), -1 where LAMMPS does not know it.
// Updates have changed the layout of LAMMPS' classes.
int update_of_host() {
  const char* text = LAMMPS::git_descriptor();
  int update;
  if (std::strncmp(text, "stable_", 7) != 0) return -1;
  const char* at = std::strstr(text, "_update");
  return at && std::sscanf(at, "_update%d", &update) == 1 ? update : 0;
}

std::string name_of(int version, int update) {
  return std::to_string(version) + (update > 0 ? " update " + std::to_string(update) : "");
}

// Says what does not fit and returns false. Uses no object of LAMMPS: the layout of its classes
// is what may differ.
bool fits(void* lammps) {
  const int version = lammps_version(lammps), update = update_of_host();
  std::string why;
  if (version != MANYMOVE_LAMMPS_VERSION ||
      (update != MANYMOVE_LAMMPS_UPDATE && update >= 0 && MANYMOVE_LAMMPS_UPDATE >= 0))
    why = "this is " + name_of(version, update);
  else if (lammps_extract_setting(lammps, "bigint") != static_cast<int>(sizeof(bigint)) ||
           lammps_extract_setting(lammps, "tagint") != static_cast<int>(sizeof(tagint)) ||
           lammps_extract_setting(lammps, "imageint") != static_cast<int>(sizeof(imageint)))
    why = "this one has integers of other sizes (LAMMPS_SMALLBIG, LAMMPS_BIGBIG)";
  if (why.empty()) return true;
  why = "The manymove plugin was built for LAMMPS " +
        name_of(MANYMOVE_LAMMPS_VERSION, MANYMOVE_LAMMPS_UPDATE) + ", " + why +
        ". Its styles are not loaded; build it for this LAMMPS (-DLAMMPS_DIR=...)";
  lammps_error(lammps, kWarning, why.c_str());
  return false;
}

template <class Style>
void* create(LAMMPS* lammps) {
  return new Style(lammps);
}

template <class Style>
void* create_with_arguments(LAMMPS* lammps, int narg, char** arg) {
  return new Style(lammps, narg, arg);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void* lammps, void* handle,
                                                                         void* register_function) {
  if (!fits(lammps)) return;
  const auto introduce = reinterpret_cast<Register>(register_function);
  const auto style = [&](const char* category, const char* name, const char* info, void* creator) {
    StyleRegistration plugin{MANYMOVE_LAMMPS_DATE,      category, name,  info,
                             "the manymove developers", creator,  handle};
    introduce(&plugin, lammps);
  };
  style("pair", "manymove/dpd", "manymove: dissipative particle dynamics",
        reinterpret_cast<void*>(&create<PairManymoveDPD>));
  style("bond", "manymove/harmonic", "manymove: harmonic bonds",
        reinterpret_cast<void*>(&create<BondManymoveHarmonic>));
  style("fix", "manymove/wall", "manymove: bounce-forward walls",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveWall>));
  style("fix", "manymove/coulomb", "manymove: Monte Carlo of charged hard spheres",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveCoulomb>));
  style("fix", "manymove/wrmc", "manymove: waste-recycling Monte Carlo of adsorbates",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveWRMC>));
#if defined(MANYMOVE_RUN_STYLE)
  style("run", "manymove/verlet", "manymove: velocity Verlet on the device",
        reinterpret_cast<void*>(&create_with_arguments<VerletManymove>));
#endif
}
