// SPDX-License-Identifier: BSD-3-Clause
// HOOMD-blue's own arrays of particles, for the engine.
#pragma once

#include "Compat.h"
#include "HardParticles.h"

namespace manymove::host {

class HardParticles::Arrays {
 public:
  // Accesses the arrays in the memory of HOOMD-blue's device.
  Arrays(const HardParticles& self, hoomd::access_mode::Enum mode)
      : Arrays(self, mode, home_of(*self.m_exec_conf)) {}
  Arrays(const HardParticles& self, hoomd::access_mode::Enum mode,
         hoomd::access_location::Enum where)
      : position_(self.m_pdata->getPositions(), where, mode),
        image_(self.m_pdata->getImages(), where, mode),
        index_(self.m_pdata->getRTags(), where, hoomd::access_mode::read),
        tag_(self.m_pdata->getTags(), where, hoomd::access_mode::read) {}

  hard_particles::HostParticles particles() const {
    return {position_.data, sizeof(hoomd::Scalar) == sizeof(double),
            reinterpret_cast<std::int32_t*>(image_.data), index_.data, tag_.data};
  }

 private:
  hoomd::ArrayHandle<hoomd::Scalar4> position_;
  hoomd::ArrayHandle<int3> image_;
  hoomd::ArrayHandle<unsigned int> index_, tag_;
};

}  // namespace manymove::host
