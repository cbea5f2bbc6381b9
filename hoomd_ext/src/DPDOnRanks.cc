// SPDX-License-Identifier: BSD-3-Clause
// DPD of particles that are spread over several ranks.
#include <algorithm>

#include "DPD.h"
#include "HostArray.h"

namespace manymove::host {
using hoomd::Scalar;
using hoomd::Scalar4;

// HOOMD-blue's domains, so that few particles change their rank when HOOMD-blue gets them.
dpd::Grid DPD::grid() const {
  dpd::Grid grid;
#if defined(ENABLE_MPI)
  const auto decomposition = m_pdata->getDomainDecomposition();
  const uint3 number = decomposition->getGridSize();
  const unsigned int numbers[3] = {number.x, number.y, number.z};
  for (unsigned int a = 0; a < 3; ++a)
    for (unsigned int k = 0; k <= numbers[a]; ++k)
      grid.cut[a].push_back(static_cast<double>(decomposition->getCumulativeFraction(a, k)));
  const HostArray<unsigned int> rank(decomposition->getCartRanks());
  for (unsigned int z = 0; z < number.z; ++z)
    for (unsigned int y = 0; y < number.y; ++y)
      for (unsigned int x = 0; x < number.x; ++x)
        grid.rank.push_back(
            static_cast<int>(rank.data[decomposition->getDomainIndexer()(x, y, z)]));
#endif
  return grid;
}

// A rank knows the particles of others at most this far, if bonds or angles need them.
double DPD::bonded_reach() const {
  if (bonds_.empty() && angles_.empty()) return 0;
  const hoomd::BoxDim global = m_pdata->getGlobalBox();
  const auto width = global.getNearestPlaneDistance();
  return 0.5 * static_cast<double>(std::min({width.x, width.y, width.z}));
}

// After an error that all ranks know of they begin again.
void DPD::recover() {
  if (!ranks_ || ranks_->watchdog().can_go_on()) return;
  engine_.reset();
  pending_ = 0;
  ranks_ = peers_of(*m_exec_conf);
}

void DPD::follow_migration() {
  if (!ranks_) return;
  const unsigned int N = m_pdata->getN();
  std::int64_t changed = tag_.size() != N;
  const HostArray<unsigned int> index(m_pdata->getRTags());
  for (std::size_t k = 0; k < tag_.size() && !changed; ++k) changed = index.data[tag_[k] - 1] >= N;
  among_ranks([&](Communicator& ranks) { ranks.maximum(&changed, 1); });
  if (!changed) return;
  const HostArray<unsigned int> tag(m_pdata->getTags());
  tag_.resize(N);
  std::transform(tag.data, tag.data + N, tag_.begin(), [](unsigned int tag) { return tag + 1; });
  guarded([&] { engine_->set_origins(static_cast<int>(N), tag_.data()); });
}

void DPD::migrate() {
#if defined(ENABLE_MPI)
  if (!ranks_) return;
  const uint3 number = m_pdata->getDomainDecomposition()->getGridSize();
  // Each migration brings a particle to an adjacent domain along each axis.
  for (unsigned int hop = 0; hop < number.x + number.y + number.z; ++hop) {
    std::int64_t outside = 0;
    {
      const HostArray<Scalar4> position(m_pdata->getPositions());
      const hoomd::BoxDim domain = m_pdata->getBox();
      for (unsigned int i = 0; i < m_pdata->getN() && !outside; ++i) {
        const Scalar4& r = position.data[i];
        const auto f = domain.makeFraction(hoomd::Scalar3{r.x, r.y, r.z});
        outside = (number.x > 1 && !(f.x >= 0 && f.x < 1)) ||
                  (number.y > 1 && !(f.y >= 0 && f.y < 1)) ||
                  (number.z > 1 && !(f.z >= 0 && f.z < 1));
      }
    }
    among_ranks([&](Communicator& ranks) { ranks.maximum(&outside, 1); });
    if (!outside) return;
    m_comm->forceMigrate();
    m_comm->communicate(timestep_);
  }
#endif
}

}  // namespace manymove::host
