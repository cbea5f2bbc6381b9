// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles only if the classes that this plugin restates have the layout of LAMMPS' own. It is part
// of the build if LAMMPS' source tree is given, and generates no code.
#include <mpi.h>

#include <cstddef>
#include <vector>

#include "fix.h"
#include "lmptype.h"
#include "pointers.h"
// The members are not public; only their offsets are read.
#define private public
#define protected public
#include "fix_addforce.h"
#include "irregular.h"
#include "verlet.h"
// The restated classes, in another namespace.
namespace restated {
using namespace LAMMPS_NS;
}
#define LAMMPS_NS restated
#define MANYMOVE_RESTATED
#include "addforce_api.h"
#include "integrate_api.h"
#include "irregular_api.h"
#undef LAMMPS_NS
#undef private
#undef protected

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// The class of fix addforce is restated for every LAMMPS.
namespace {

using Theirs = LAMMPS_NS::FixAddForce;
using Ours = restated::FixAddForceLayout;
#define MANYMOVE_SAME(theirs, ours)                                 \
  static_assert(offsetof(Theirs, theirs) == offsetof(Ours, ours) && \
                    sizeof(Theirs::theirs) == sizeof(Ours::ours),   \
                "addforce_api.h does not have the layout of this LAMMPS' fix addforce")
static_assert(offsetof(Theirs, yvalue) == offsetof(Theirs, xvalue) + sizeof(double) &&
                  offsetof(Theirs, zvalue) == offsetof(Theirs, xvalue) + 2 * sizeof(double) &&
                  offsetof(Theirs, xvalue) == offsetof(Ours, force) &&
                  sizeof(Theirs::xvalue) == sizeof(double),
              "addforce_api.h does not have the layout of this LAMMPS' fix addforce");
MANYMOVE_SAME(varflag, kind_of_force);
MANYMOVE_SAME(xstr, x_variable);
MANYMOVE_SAME(ystr, y_variable);
MANYMOVE_SAME(zstr, z_variable);
MANYMOVE_SAME(estr, energy_variable);
MANYMOVE_SAME(idregion, region_id);
MANYMOVE_SAME(region, region);
#undef MANYMOVE_SAME

}  // namespace

// The other classes replace headers that an installed LAMMPS of this release does not have.
#if MANYMOVE_LAMMPS_VERSION == 20250722
#define MANYMOVE_SAME(type, member)                                                      \
  static_assert(offsetof(LAMMPS_NS::type, member) == offsetof(restated::type, member) && \
                    sizeof(LAMMPS_NS::type::member) == sizeof(restated::type::member),   \
                "integrate_api.h does not have the layout of this LAMMPS' " #type)
MANYMOVE_SAME(Integrate, eflag);
MANYMOVE_SAME(Integrate, vflag);
MANYMOVE_SAME(Integrate, virial_style);
MANYMOVE_SAME(Integrate, external_force_clear);
MANYMOVE_SAME(Integrate, elist_global);
MANYMOVE_SAME(Integrate, elist_atom);
MANYMOVE_SAME(Integrate, vlist_global);
MANYMOVE_SAME(Integrate, vlist_atom);
MANYMOVE_SAME(Integrate, cvlist_atom);
MANYMOVE_SAME(Integrate, pair_compute_flag);
MANYMOVE_SAME(Integrate, kspace_compute_flag);
MANYMOVE_SAME(Verlet, triclinic);
MANYMOVE_SAME(Verlet, torqueflag);
MANYMOVE_SAME(Verlet, extraflag);
static_assert(sizeof(LAMMPS_NS::Integrate) == sizeof(restated::Integrate) &&
                  sizeof(LAMMPS_NS::Verlet) == sizeof(restated::Verlet),
              "integrate_api.h does not have the size of this LAMMPS' Verlet");
static_assert(sizeof(LAMMPS_NS::Irregular) <= sizeof(restated::Irregular) &&
                  alignof(LAMMPS_NS::Irregular) <= alignof(restated::Irregular),
              "irregular_api.h has no room for this LAMMPS' Irregular");
#endif
