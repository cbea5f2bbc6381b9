// SPDX-License-Identifier: GPL-2.0-or-later
// manymove_styles.so: all styles. manymoveplugin.so loads it after it has checked LAMMPS and the
// core.
#include "plugin_api.h"
#include "styles/bond_manymove_harmonic.h"
#include "styles/fix_manymove_coulomb.h"
#include "styles/fix_manymove_wall.h"
#include "styles/fix_manymove_wrmc.h"
#include "styles/pair_manymove_dpd.h"
#include "styles/pair_manymove_dpd_ext.h"
#include "styles/pair_manymove_mdpd.h"

#if defined(MANYMOVE_RUN_STYLE)
#include "resident/resident_verlet.h"
#endif

using namespace LAMMPS_NS;
using manymove::lammps_plugin::Register;
using manymove::lammps_plugin::StyleRegistration;

namespace {

template <class Style>
void* create(LAMMPS* lammps) {
  return new Style(lammps);
}

template <class Style>
void* create_with_arguments(LAMMPS* lammps, int narg, char** arg) {
  return new Style(lammps, narg, arg);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void manymove_register_styles(
    void* lammps, void* handle, void* register_function) {
  const auto introduce = reinterpret_cast<Register>(register_function);
  const auto style = [&](const char* category, const char* name, const char* info, void* creator) {
    StyleRegistration plugin{MANYMOVE_LAMMPS_DATE,      category, name,  info,
                             "the manymove developers", creator,  handle};
    introduce(&plugin, lammps);
  };
  style("pair", "manymove/dpd", "manymove: dissipative particle dynamics",
        reinterpret_cast<void*>(&create<PairManymoveDPD>));
  style("pair", "manymove/dpd/tstat", "manymove: DPD thermostat",
        reinterpret_cast<void*>(&create<PairManymoveDPDTstat>));
  style("pair", "manymove/dpd/ext", "manymove: DPD with transverse friction and noise",
        reinterpret_cast<void*>(&create<PairManymoveDPDExt>));
  style("pair", "manymove/dpd/ext/tstat", "manymove: DPD thermostat with transverse friction",
        reinterpret_cast<void*>(&create<PairManymoveDPDExtTstat>));
  style("pair", "manymove/mdpd", "manymove: many-body dissipative particle dynamics",
        reinterpret_cast<void*>(&create<PairManymoveMDPD>));
  style("bond", "manymove/harmonic", "manymove: harmonic bonds",
        reinterpret_cast<void*>(&create<BondManymoveHarmonic>));
  style("fix", "manymove/wall", "manymove: bounce-forward walls",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveWall>));
  style("fix", "manymove/coulomb", "manymove: Monte Carlo of charged hard spheres",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveCoulomb>));
  style("fix", "manymove/wrmc", "manymove: waste-recycling Monte Carlo of adsorbates",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveWRMC>));
  style("fix", "manymove/wrmc/rigid", "manymove: waste-recycling Monte Carlo of rigid molecules",
        reinterpret_cast<void*>(&create_with_arguments<FixManymoveWRMC>));
#if defined(MANYMOVE_RUN_STYLE)
  style("run", "manymove/verlet", "manymove: velocity Verlet on the device",
        reinterpret_cast<void*>(&create_with_arguments<VerletManymove>));
#endif
}
