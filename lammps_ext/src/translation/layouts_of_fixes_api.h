// SPDX-License-Identifier: GPL-2.0-only
// The private parts of some of LAMMPS' fixes, in the order of the release of 22 Jul 2025. What is
// read from them is compared with what the fixes do before it is used (DeckForces).
#pragma once

#include <string>
#include <typeinfo>

#include "fix.h"

namespace LAMMPS_NS {

// Whether the fix is of LAMMPS' own class, and not of one derived from it. name: mangled.
inline bool is_class(const Fix* fix, const char* name) {
  return std::string(typeid(*fix).name()) == name;
}

class FixAddForceLayout : public Fix {
 public:
  static constexpr int kConstant = 1, kEqual = 2;  // kind_of_force; others vary between atoms

  double force[3];
  int kind_of_force;
  char *x_variable, *y_variable, *z_variable, *energy_variable;
  char* region_id;
  class Region* region;
};

class FixSetForceLayout : public Fix {
 public:
  static constexpr int kConstant = 1, kEqual = 2;  // kind_of_force; others vary between atoms

  double force[3];
  int kind_of_force;
  char *x_variable, *y_variable, *z_variable;
  char* region_id;
  class Region* region;
  int variable[3];
  int style[3];  // of each component; 0: left alone
};

class FixWallReflectLayout : public Fix {
 public:
  static constexpr int kVariable = 3;  // style

  int walls;
  int face[6], style[6];  // face: xlo, xhi, ylo, ...
  double position[6];
};

class FixLangevinLayout : public Fix {
 public:
#if defined(MANYMOVE_LANGEVIN_WITH_GJF)  // later it is a fix of its own
  int gjf;
#endif
  int values, half_step, rotates, tallies, zeroes, biased;
  int allocated;
  double angular;
  double first_temperature, last_temperature, period, temperature;
  double *friction, *noise, *ratio;  // by type
  double energy, energy_of_step;
  double root;
  int kind_of_temperature, variable;
#if defined(MANYMOVE_LANGEVIN_WITH_GJF)
  double gjf_factors[2];
#endif
  char* temperature_variable;
  void* ellipsoids;
  int room[2];
  double** forces;
  double* temperatures;
  double **former, **half_step_velocities;
  char* bias_id;
  class Compute* bias;
  int levels;
  class RanMars* random;
  int seed;
};

class FixTempBerendsenLayout : public Fix {
 public:
  int biased;
  double first_temperature, last_temperature, period, target;
  double energy;
  int kind_of_temperature, variable;
  char* temperature_variable;
  char* temperature_id;
};

class FixTempRescaleLayout : public Fix {
 public:
  int biased;
  double first_temperature, last_temperature, window, target;
  double fraction, energy, energy_factor;
  int kind_of_temperature, variable;
  char* temperature_variable;
  char* temperature_id;
};

class FixMomentumLayout : public Fix {
 public:
  int linear, angular, rescales;
  int axis[3];
  double mass;
};

class FixNVELimitLayout : public Fix {
 public:
  double step, half_kick;
  double* steps_of_levels;
  int times_limited;
  double largest_step, largest_speed_squared;
};

}  // namespace LAMMPS_NS
