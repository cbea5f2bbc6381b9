// SPDX-License-Identifier: GPL-2.0-or-later
// fix nvt or nvt/sllod of all atoms, as an engine has it.
#pragma once

#include "core/dpd/engine.h"
#include "pointers.h"
#include "translation/shearing_box.h"

namespace LAMMPS_NS {

class Fix;
class FixNH;

class ChainThermostat : protected Pointers {
 public:
  explicit ChainThermostat(class LAMMPS* lmp) : Pointers(lmp) {}

  // The fix as one of these; null if it is another one, or one of a part of the atoms.
  static FixNH* of(Fix* fix);
  static bool is_sllod(const FixNH* fix);
  // Whether fix nvt/sllod has the time-reversible integrator, which is the default since LAMMPS
  // 11 Feb 2026 and which no engine has. Earlier releases have the other one only.
  static bool is_reversible(FixNH* fix);
  // Whether the state of the fix is stored as set_state() restores it. For the first rank: the fix
  // stores nothing on the others.
  static bool has_known_layout(FixNH* fix);
  // Whether an engine can do what the fix does in this shear (none for fix nvt), with a constant
  // temperature: it has to act as expected on the atoms, which are restored. The layout must be
  // known. Collective; ranks may disagree.
  bool take(FixNH* fix, const ShearingBox& shearing);
  bool present() const { return fix_ != nullptr; }
  void describe(manymove::dpd::Settings& settings) const { settings.thermostat = settings_; }

  // The state of the fix.
  manymove::dpd::NoseHooverState state() const;
  void set_state(const manymove::dpd::NoseHooverState& state) const;
  // Gives an atom the velocity that it had before a half step with this factor.
  void undo_half_step(double factor, const ShearingBox& shearing, const double x[3],
                      double v[3]) const;
  // Gives the fix what follows from its state, so that it can make a step on the atoms.
  void set_up() const;

 private:
  bool read();
  bool acts_as_read(const ShearingBox& shearing) const;
  bool half_step_acts_as_read(const manymove::dpd::NoseHooverState& before,
                              const ShearingBox& shearing) const;

  FixNH* fix_ = nullptr;
  manymove::dpd::NoseHoover settings_;
};

}  // namespace LAMMPS_NS
