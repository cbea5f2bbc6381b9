// SPDX-License-Identifier: BSD-3-Clause
// The number of particles, which the engine changes at given fugacities.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "HardParticles.h"
#include "HostArray.h"

namespace manymove::host {
using hoomd::Scalar4;

void HardParticles::set_muvt(std::shared_ptr<MuVT> muvt) {
  set(insertion_attempts_, muvt ? muvt->attempts() : 0);
  muvt_ = std::move(muvt);
  if (muvt_) muvt_->begin();
  fugacities_.assign(muvt_ ? m_pdata->getNTypes() : 0, 0);  // until a step is triggered
}

// The engine gives the indices of particles that are gone to new ones, in ascending order, and then
// to those with the highest indices. HOOMD-blue gives the tag that was removed last to the next
// particle. Tags and indices therefore agree if those with the highest indices take their new tags
// first and tags are then removed in descending order.
bool HardParticles::follow_number() {
  const std::vector<std::uint32_t> former = engine_->take_former_indices();
  const auto before = m_pdata->getNGlobal();
  const auto after = static_cast<unsigned int>(former.size());
  const auto is_new = [&](unsigned int now) { return former[now] == hard_particles::kNewcomer; };
  bool changed = before != after;
  for (unsigned int now = 0; now < after; ++now) changed |= is_new(now);
  if (!changed) return false;
  on_each_rank([&] {
    const HostArray<unsigned int> tag(m_pdata->getTags(), hoomd::access_mode::readwrite);
    const HostArray<unsigned int> index(m_pdata->getRTags(), hoomd::access_mode::readwrite);
    for (unsigned int now = 0; now < after; ++now) {
      const std::uint32_t then = former[now];
      if (then == now || is_new(now)) continue;
      std::swap(index.data[now], index.data[then]);
      for (const unsigned int each : {now, then})
        if (index.data[each] != hoomd::NOT_LOCAL) tag.data[index.data[each]] = each;
    }
  });
  for (unsigned int now = before; now-- > 0;)
    if (now >= after || is_new(now)) m_pdata->removeParticle(now);
  const std::vector<std::int32_t> types = engine_->types();
  for (unsigned int now = 0; now < after; ++now)
    if (is_new(now) &&
        m_pdata->addParticle(types.empty() ? 0u : static_cast<unsigned>(types[now])) != now)
      throw std::runtime_error("HOOMD-blue gave a new particle another tag than the free one");
  check_system();
  if (one_size()) return true;
  std::vector<double> diameters;
  for (const std::int32_t type : types)
    diameters.push_back(diameter_.at(static_cast<std::size_t>(type)));
  mean_diameter_ = mean_diameter(diameters);
  return true;
}

// The diameter of a particle with the mean area, or the mean volume in three dimensions.
double HardParticles::mean_diameter(const std::vector<double>& diameters) const {
  double sum = 0;
  for (const double diameter : diameters) sum += std::pow(diameter, dimensions_);
  const auto number = static_cast<double>(std::max<std::size_t>(diameters.size(), 1));
  return std::pow(sum / number, 1.0 / dimensions_);
}

std::map<std::string, std::uint64_t> HardParticles::numbers() const {
  std::vector<std::uint64_t> number(m_pdata->getNTypes());
  {
    const HostArray<Scalar4> position(m_pdata->getPositions());
    for (unsigned int i = 0; i < m_pdata->getN(); ++i)
      ++number[static_cast<std::size_t>(hoomd::__scalar_as_int(position.data[i].w))];
  }
  among_ranks([&](Communicator& ranks) { ranks.sum(number.data(), number.size()); });
  std::map<std::string, std::uint64_t> by_name;
  for (unsigned int type = 0; type < number.size(); ++type)
    by_name[m_pdata->getNameByType(type)] = number[type];
  return by_name;
}

}  // namespace manymove::host
