// SPDX-License-Identifier: GPL-2.0-or-later
// manymoveplugin.so: registers the styles with the LAMMPS that loads it.
#include <regex>
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
#if defined(MANYMOVE_LAYOUTS_CHECKED)
constexpr bool kLayoutsAreChecked = true;  // by layout_check.cpp, with LAMMPS' source tree
#else
constexpr bool kLayoutsAreChecked = false;
#endif

// The update of a release: 4 for "stable_22Jul2025_update4", 0 for "patch_10Sep2025". -1 if LAMMPS
// does not know it, because it was built without git or between releases. Updates have changed the
// layout of LAMMPS' classes.
int update_of_host() {
  static const std::regex release("(stable|patch)_[0-9]+[A-Z][a-z]+[0-9]{4}(_update([0-9]{1,4}))?");
  std::cmatch found;
  if (!std::regex_match(LAMMPS::git_descriptor(), found, release)) return -1;
  return found[3].matched ? std::stoi(found[3]) : 0;
}

std::string name_of(int version, int update) {
  const std::string text = std::to_string(version);
  if (update < 0) return text + " of an unknown update";
  return update > 0 ? text + " update " + std::to_string(update) : text;
}

// Says what does not fit and returns false. Uses no object of LAMMPS: the layout of its classes
// is what may differ.
bool fits(void* lammps) {
  const int version = lammps_version(lammps), update = update_of_host();
  const bool unknown = update < 0 || MANYMOVE_LAMMPS_UPDATE < 0;
  std::string why;
  if (version != MANYMOVE_LAMMPS_VERSION || (unknown && !kLayoutsAreChecked) ||
      (!unknown && update != MANYMOVE_LAMMPS_UPDATE))
    why = "this is " + name_of(version, update);
  else if (lammps_extract_setting(lammps, "bigint") != static_cast<int>(sizeof(bigint)) ||
           lammps_extract_setting(lammps, "tagint") != static_cast<int>(sizeof(tagint)) ||
           lammps_extract_setting(lammps, "imageint") != static_cast<int>(sizeof(imageint)))
    why = "this one has integers of other sizes (LAMMPS_SMALLBIG, LAMMPS_BIGBIG)";
  if (why.empty()) return true;
  why = "The manymove plugin was built for LAMMPS " +
        name_of(MANYMOVE_LAMMPS_VERSION, MANYMOVE_LAMMPS_UPDATE) + ", " + why +
        ". Its styles are not loaded; build it for this LAMMPS (-DLAMMPS_DIR=...)" +
        (unknown ? "; LAMMPS_DIR must be its source tree, because updates change classes" : "");
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
