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
#include "fix_langevin.h"
#include "fix_momentum.h"
#include "fix_nve_limit.h"
#include "fix_setforce.h"
#include "fix_temp_berendsen.h"
#include "fix_temp_rescale.h"
#include "fix_wall_reflect.h"
#include "irregular.h"
#include "verlet.h"
// The restated classes, in another namespace.
namespace restated {
using namespace LAMMPS_NS;
}
#define LAMMPS_NS restated
#define MANYMOVE_RESTATED
#include "resident/integrate_api.h"
#include "resident/irregular_api.h"
#include "translation/layouts_of_fixes_api.h"
#undef LAMMPS_NS
#undef private
#undef protected

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// These classes are restated for every LAMMPS. An array of ours may be several members of
// theirs in a row.
#define MANYMOVE_AT(type, theirs, ours)                                                      \
  static_assert(                                                                             \
      offsetof(LAMMPS_NS::Fix##type, theirs) == offsetof(restated::Fix##type##Layout, ours), \
      "layouts_of_fixes_api.h does not have the layout of this LAMMPS' Fix" #type)
#define MANYMOVE_SAME(type, theirs, ours)                                                          \
  MANYMOVE_AT(type, theirs, ours);                                                                 \
  static_assert(sizeof(LAMMPS_NS::Fix##type::theirs) == sizeof(restated::Fix##type##Layout::ours), \
                "layouts_of_fixes_api.h does not have the layout of this LAMMPS' Fix" #type)
MANYMOVE_AT(AddForce, xvalue, force[0]);
MANYMOVE_AT(AddForce, yvalue, force[1]);
MANYMOVE_AT(AddForce, zvalue, force[2]);
MANYMOVE_SAME(AddForce, varflag, kind_of_force);
MANYMOVE_SAME(AddForce, xstr, x_variable);
MANYMOVE_SAME(AddForce, ystr, y_variable);
MANYMOVE_SAME(AddForce, zstr, z_variable);
MANYMOVE_SAME(AddForce, estr, energy_variable);
MANYMOVE_SAME(AddForce, idregion, region_id);
MANYMOVE_SAME(AddForce, region, region);

MANYMOVE_AT(SetForce, xvalue, force[0]);
MANYMOVE_AT(SetForce, yvalue, force[1]);
MANYMOVE_AT(SetForce, zvalue, force[2]);
MANYMOVE_SAME(SetForce, varflag, kind_of_force);
MANYMOVE_SAME(SetForce, xstr, x_variable);
MANYMOVE_SAME(SetForce, ystr, y_variable);
MANYMOVE_SAME(SetForce, zstr, z_variable);
MANYMOVE_SAME(SetForce, idregion, region_id);
MANYMOVE_SAME(SetForce, region, region);
MANYMOVE_AT(SetForce, xstyle, style[0]);
MANYMOVE_AT(SetForce, ystyle, style[1]);
MANYMOVE_AT(SetForce, zstyle, style[2]);

MANYMOVE_SAME(WallReflect, nwall, walls);
MANYMOVE_SAME(WallReflect, wallwhich, face);
MANYMOVE_SAME(WallReflect, wallstyle, style);
MANYMOVE_SAME(WallReflect, coord0, position);
static_assert(static_cast<int>(LAMMPS_NS::FixWallReflect::VARIABLE) ==
                  restated::FixWallReflectLayout::kVariable,
              "layouts_of_fixes_api.h does not have the styles of this LAMMPS' FixWallReflect");

MANYMOVE_SAME(Langevin, oflag, rotates);
MANYMOVE_SAME(Langevin, tallyflag, tallies);
MANYMOVE_SAME(Langevin, zeroflag, zeroes);
MANYMOVE_SAME(Langevin, tbiasflag, biased);
MANYMOVE_SAME(Langevin, ascale, angular);
MANYMOVE_SAME(Langevin, t_start, first_temperature);
MANYMOVE_SAME(Langevin, t_stop, last_temperature);
MANYMOVE_SAME(Langevin, t_period, period);
MANYMOVE_SAME(Langevin, gfactor1, friction);
MANYMOVE_SAME(Langevin, gfactor2, noise);
MANYMOVE_SAME(Langevin, ratio, ratio);
MANYMOVE_SAME(Langevin, tstr, temperature_variable);
MANYMOVE_SAME(Langevin, seed, seed);

MANYMOVE_SAME(TempBerendsen, t_start, first_temperature);
MANYMOVE_SAME(TempBerendsen, t_stop, last_temperature);
MANYMOVE_SAME(TempBerendsen, t_period, period);
MANYMOVE_SAME(TempBerendsen, t_target, target);
MANYMOVE_SAME(TempBerendsen, energy, energy);
MANYMOVE_SAME(TempBerendsen, tstr, temperature_variable);
MANYMOVE_SAME(TempBerendsen, id_temp, temperature_id);

MANYMOVE_SAME(TempRescale, t_start, first_temperature);
MANYMOVE_SAME(TempRescale, t_stop, last_temperature);
MANYMOVE_SAME(TempRescale, t_window, window);
MANYMOVE_SAME(TempRescale, t_target, target);
MANYMOVE_SAME(TempRescale, fraction, fraction);
MANYMOVE_SAME(TempRescale, energy, energy);
MANYMOVE_SAME(TempRescale, tstr, temperature_variable);
MANYMOVE_SAME(TempRescale, id_temp, temperature_id);

MANYMOVE_SAME(Momentum, linear, linear);
MANYMOVE_SAME(Momentum, angular, angular);
MANYMOVE_SAME(Momentum, rescale, rescales);
MANYMOVE_AT(Momentum, xflag, axis[0]);
MANYMOVE_AT(Momentum, yflag, axis[1]);
MANYMOVE_AT(Momentum, zflag, axis[2]);
MANYMOVE_SAME(Momentum, masstotal, mass);

MANYMOVE_SAME(NVELimit, dtv, step);
MANYMOVE_SAME(NVELimit, dtf, half_kick);
MANYMOVE_SAME(NVELimit, step_respa, steps_of_levels);
MANYMOVE_SAME(NVELimit, ncount, times_limited);
MANYMOVE_SAME(NVELimit, xlimit, largest_step);
MANYMOVE_SAME(NVELimit, vlimitsq, largest_speed_squared);
#undef MANYMOVE_AT
#undef MANYMOVE_SAME

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
