// SPDX-License-Identifier: GPL-2.0-or-later
// manymove_styles.so: all styles. manymoveplugin.so loads it after it has checked LAMMPS and the
// core.
#include <type_traits>

#include "lammps.h"
#include "lammpsplugin.h"
#include "styles/bond_manymove_harmonic.h"
#include "styles/fix_manymove_call.h"
#include "styles/fix_manymove_coulomb.h"
#include "styles/fix_manymove_wall.h"
#include "styles/fix_manymove_wrmc.h"
#include "styles/pair_manymove_dpd.h"
#include "styles/pair_manymove_dpd_coul_slater_long.h"
#include "styles/pair_manymove_dpd_ext.h"
#include "styles/pair_manymove_mdpd.h"
#include "styles/pair_manymove_scalars.h"

#if defined(MANYMOVE_RUN_STYLE)
#include "resident/resident_verlet.h"
#endif

using namespace LAMMPS_NS;

namespace {

template <class Style>
void* create(void* lammps) {
  return new Style(static_cast<LAMMPS*>(lammps));
}

template <class Style>
void* create_with_arguments(void* lammps, int narg, char** arg) {
  return new Style(static_cast<LAMMPS*>(lammps), narg, arg);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void manymove_register_styles(
    void* lammps, void* handle, void* register_function) {
  const auto introduce = reinterpret_cast<lammpsplugin_regfunc>(register_function);
  lammpsplugin_t plugin{};
  plugin.version = MANYMOVE_LAMMPS_DATE;
  plugin.author = "the manymove developers";
  plugin.handle = handle;
  const auto style = [&](const char* category, const char* name, const char* info, auto* creator) {
    plugin.style = category;
    plugin.name = name;
    plugin.info = info;
    if constexpr (std::is_same_v<decltype(creator), lammpsplugin_factory1*>)
      plugin.creator.v1 = creator;
    else
      plugin.creator.v2 = creator;
    introduce(&plugin, lammps);
  };
  style("pair", "manymove/dpd", "manymove: dissipative particle dynamics",
        &create<PairManymoveDPD>);
  style("pair", "manymove/dpd/tstat", "manymove: DPD thermostat", &create<PairManymoveDPDTstat>);
  style("pair", "manymove/dpd/ext", "manymove: DPD with transverse friction and noise",
        &create<PairManymoveDPDExt>);
  style("pair", "manymove/dpd/ext/tstat", "manymove: DPD thermostat with transverse friction",
        &create<PairManymoveDPDExtTstat>);
  style("pair", "manymove/dpd/coul/slater/long", "manymove: DPD with smeared charges",
        &create<PairManymoveDPDCoulSlaterLong>);
  style("pair", "manymove/mdpd", "manymove: many-body dissipative particle dynamics",
        &create<PairManymoveMDPD>);
  // LAMMPS' fix mvv/dpd asks for a pair style whose name begins with mdpd.
  style("pair", "mdpd/manymove", "manymove: another name of pair_style manymove/mdpd",
        &create<PairManymoveMDPD>);
  // LAMMPS' fixes mvv/edpd and mvv/tdpd ask for pair styles with these beginnings.
  for (const char* name : {"manymove/edpd", "edpd/manymove"})
    style("pair", name, "manymove: energy-conserving DPD", &create<PairManymoveEDPD>);
  for (const char* name : {"manymove/tdpd", "tdpd/manymove"})
    style("pair", name, "manymove: transport DPD", &create<PairManymoveTDPD>);
  style("bond", "manymove/harmonic", "manymove: harmonic bonds", &create<BondManymoveHarmonic>);
  style("fix", "manymove/call", "manymove: calls of the program that runs LAMMPS",
        &create_with_arguments<FixManymoveCall>);
  style("fix", "manymove/wall", "manymove: bounce-forward walls",
        &create_with_arguments<FixManymoveWall>);
  style("fix", "manymove/coulomb", "manymove: Monte Carlo of charged hard spheres",
        &create_with_arguments<FixManymoveCoulomb>);
  style("fix", "manymove/wrmc", "manymove: waste-recycling Monte Carlo of adsorbates",
        &create_with_arguments<FixManymoveWRMC>);
  style("fix", "manymove/wrmc/rigid", "manymove: waste-recycling Monte Carlo of rigid molecules",
        &create_with_arguments<FixManymoveWRMC>);
#if defined(MANYMOVE_RUN_STYLE)
  style("run", "manymove/verlet", "manymove: velocity Verlet on the device",
        &create_with_arguments<VerletManymove>);
#endif
}
