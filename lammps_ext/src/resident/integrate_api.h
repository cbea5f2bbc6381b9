// SPDX-License-Identifier: GPL-2.0-only
// LAMMPS' velocity-Verlet run style, which its installed headers leave out: the layout is that of
// the release of 22 Jul 2025; a source tree's own header is taken where there is one.
#pragma once

#if __has_include("verlet.h") && !defined(MANYMOVE_RESTATED)
#include "verlet.h"
#else

#include <vector>

#include "lmptype.h"
#include "pointers.h"

namespace LAMMPS_NS {

class Compute;

class Integrate : protected Pointers {
 public:
  Integrate(class LAMMPS* lmp, int narg, char** arg);
  ~Integrate() override;
  virtual void init();
  virtual void setup(int flag) = 0;
  virtual void setup_minimal(int flag) = 0;
  virtual void run(int steps) = 0;
  virtual void force_clear() = 0;
  virtual void cleanup() {}
  virtual void reset_dt() {}
  virtual double memory_usage() { return 0; }

 protected:
  int eflag, vflag;  // what is tallied in this step, bits of force.h
  int virial_style;
  int external_force_clear;
  std::vector<Compute*> elist_global, elist_atom, vlist_global, vlist_atom, cvlist_atom;
  int pair_compute_flag, kspace_compute_flag;

  void ev_setup();
  void ev_set(bigint step);
};

class Verlet : public Integrate {
 public:
  Verlet(class LAMMPS* lmp, int narg, char** arg);
  ~Verlet() override = default;
  void init() override;
  void setup(int flag) override;
  void setup_minimal(int flag) override;
  void run(int steps) override;
  void force_clear() override;
  void cleanup() override;

 protected:
  int triclinic;
  int torqueflag, extraflag;
};

}  // namespace LAMMPS_NS
#endif
