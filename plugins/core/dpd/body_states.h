// SPDX-License-Identifier: BSD-3-Clause
// Rigid bodies of an engine: what the host gives, and gets back.
#pragma once

#include <vector>

#include "../runtime/api.h"
#include "rigid_motion.h"
#include "settings.h"

namespace manymove::dpd {

class BodyStates {
 public:
  explicit BodyStates(const Settings& settings);

  // Null: none. Throws std::invalid_argument for bodies that cannot be.
  void take(const RigidBodies* bodies, const BoxFrame& frame);
  std::vector<RigidBody> leave(const BoxFrame& frame) const;
  // Of all bodies, after a step that ends at rest.
  EnergySum constraints() const;

  bool any() const { return !constants_.empty(); }
  bool excluded() const { return host_.excluded; }
  std::size_t count() const { return constants_.size(); }
  const std::vector<RigidParticle>& particles() const { return host_.particles; }
  const std::vector<BodyConstants>& constants() const { return constants_; }
  std::vector<BodyState>& state() { return state_; }
  const std::vector<BodyState>& state() const { return state_; }
  BodyStep step_in(const BoxFrame& box) const {
    return {settings_.time_step, half_kick_, box, frame_of<Double>(box.box), scale_};
  }

 private:
  const Settings settings_;
  const double half_kick_;
  BodyScale scale_;
  RigidBodies host_;
  std::vector<BodyConstants> constants_;
  std::vector<BodyState> state_;
};

}  // namespace manymove::dpd
