// SPDX-License-Identifier: BSD-3-Clause
// The box, which the engine changes at constant pressure and a host program in a compression.
#include <algorithm>
#include <cmath>
#include <utility>

#include "Compat.h"
#include "HardParticles.h"
#include "HostArray.h"
#include "InBox.h"
#include "core/runtime/text.h"

namespace manymove::host {
using hoomd::Scalar;
using hoomd::Scalar4;

std::array<double, 3> HardParticles::box() const {
  const auto size = m_pdata->getGlobalBox().getL();
  return {static_cast<double>(size.x), static_cast<double>(size.y),
          dimensions_ == 2 ? 1.0 : static_cast<double>(size.z)};
}

void HardParticles::follow_pressure() {
  if (!pressure_) return;
  const double now = (*pressure_)(timestep_);
  if (!(now > 0 && std::isfinite(now)))
    refuse(text_of(": box_moves['betaP'] must be positive and finite, got ", now, " at step ",
                   timestep_));
  set(beta_pressure_, now);
}

void HardParticles::follow_box(bool scale) {
  if (beta_pressure_ == 0) return;
  const hard_particles::Grid grid = engine_->grid();
  const std::array<double, 3> before = box_;
  set_box({grid.box[0], grid.box[1], dimensions_ == 3 ? grid.box[2] : 1.0});
  box_ = box();
  if (scale && box_ != before) scale_held_positions(before);
}

void HardParticles::set_box(const std::array<double, 3>& edges) {
  hoomd::BoxDim global = m_pdata->getGlobalBox();
  auto size = global.getL();
  size.x = static_cast<Scalar>(edges[0]);
  size.y = static_cast<Scalar>(edges[1]);
  if (dimensions_ == 3) size.z = static_cast<Scalar>(edges[2]);
  global.setL(size);
  m_pdata->setGlobalBox(global);
}

void HardParticles::scale_positions(const std::array<double, 3>& before) {
  const std::array<double, 3> now = box();
  const auto size = m_pdata->getGlobalBox().getL();
  const HostArray<Scalar4> position(m_pdata->getPositions(), hoomd::access_mode::readwrite);
  for (unsigned int i = 0; i < m_pdata->getN(); ++i) {
    Scalar4& here = position.data[i];
    here.x = in_box(static_cast<double>(here.x) * (now[0] / before[0]), size.x);
    here.y = in_box(static_cast<double>(here.y) * (now[1] / before[1]), size.y);
    if (dimensions_ == 3)
      here.z = in_box(static_cast<double>(here.z) * (now[2] / before[2]), size.z);
  }
}

bool HardParticles::resize(const std::array<double, 3>& edges, double depth, double most_overlaps) {
  if (beta_pressure_ != 0) refuse(" has box_moves: set them to None to compress");
  prepare();
  const std::array<double, 3> before = box();
  std::vector<Scalar4> places;
  std::vector<unsigned int> tags;
  {
    const HostArray<Scalar4> position(m_pdata->getPositions());
    const HostArray<unsigned int> tag(m_pdata->getTags());
    places.assign(position.data, position.data + m_pdata->getN());
    tags.assign(tag.data, tag.data + m_pdata->getN());
  }
  const double repair_depth = std::exchange(repair_depth_, std::max(repair_depth_, depth));
  const bool noticed = std::exchange(noticed_, true);  // these repairs are expected
  const auto go_back = [&] {
    set_box(before);
    const HostArray<Scalar4> position(m_pdata->getPositions(), hoomd::access_mode::readwrite);
    const HostArray<unsigned int> index(m_pdata->getRTags());
    for (std::size_t i = 0; i < places.size(); ++i)  // an error may come after a migration
      if (const unsigned int here = index.data[tags[i]]; here < m_pdata->getN())
        position.data[here] = places[i];
  };
  bool fits = false;
  try {
    set_box(edges);
    scale_positions(before);
    fits = static_cast<double>(overlaps()) <=
               most_overlaps * static_cast<double>(m_pdata->getNGlobal()) &&
           try_engine().empty();
  } catch (...) {
    go_back();
    repair_depth_ = repair_depth;
    throw;
  }
  if (!fits) go_back();
  repair_depth_ = repair_depth;
  noticed_ = noticed;
  return fits;
}

}  // namespace manymove::host
