// SPDX-License-Identifier: BSD-3-Clause
// Values of all particles by tag, of several ranks together.
#include <algorithm>

#include "HardParticles.h"
#include "HostArray.h"

namespace manymove::host {
using hoomd::Scalar;
using hoomd::Scalar4;

std::vector<double> HardParticles::positions_on_first() const {
  struct Placed {
    std::uint32_t tag;
    Scalar r[3];
  };
  const auto D = static_cast<std::size_t>(dimensions_);
  std::vector<double> all;
  on_all_ranks([&] {
    const bool first = !ranks_ || ranks_->rank() == 0;
    if (first) all.resize(D * m_pdata->getNGlobal());
    const auto place = [&](const Placed& each) { std::copy_n(each.r, D, &all[D * each.tag]); };
    std::vector<std::vector<Placed>> sent(ranks_ ? static_cast<std::size_t>(ranks_->ranks()) : 0);
    const HostArray<Scalar4> position(m_pdata->getPositions());
    const HostArray<unsigned int> tag(m_pdata->getTags());
    for (unsigned int i = 0; i < m_pdata->getN(); ++i) {
      const Scalar4& r = position.data[i];
      const Placed mine{tag.data[i], {r.x, r.y, r.z}};
      first ? place(mine) : sent[0].push_back(mine);
    }
    if (!ranks_) return;
    for (const Placed& each : deliver(*ranks_, std::move(sent))) place(each);
  });
  return all;
}

std::vector<double> HardParticles::diameters_by_tag() const {
  return by_tag([&](std::size_t type) { return diameter_.at(type); });
}

std::vector<std::int32_t> HardParticles::types_by_tag() const {
  const std::vector<double> types =
      by_tag([](std::size_t type) { return static_cast<double>(type); });
  return {types.begin(), types.end()};
}

std::vector<std::uint8_t> HardParticles::pinned_by_tag() const {
  const std::vector<double> pinned =
      by_tag([&](std::size_t type) { return max_displacement_.at(type) == 0; });
  return {pinned.begin(), pinned.end()};
}

std::vector<hard_particles::ExternalField> HardParticles::fields_by_tag() const {
  std::vector<hard_particles::ExternalField> fields = fields_;
  for (hard_particles::ExternalField& field : fields) {
    std::vector<double> of_types = field.values;
    if (field.kind == hard_particles::FieldKind::wall) {
      of_types = diameter_;
      for (double& diameter : of_types) diameter *= 0.5;
    }
    field.value = of_types.at(0);
    field.values.clear();
    if (std::all_of(of_types.begin(), of_types.end(),
                    [&](double value) { return value == of_types[0]; }))
      continue;
    if (muvt_)
      refuse(
          ": update.MuVT cannot be combined with external potentials that differ between particle "
          "types; walls differ between types of different diameters");
    field.values = by_tag([&](std::size_t type) { return of_types.at(type); });
  }
  return fields;
}

template <class OfType>
std::vector<double> HardParticles::by_tag(OfType&& of_type) const {
  std::vector<double> all;
  on_each_rank([&] {
    all.resize(m_pdata->getNGlobal());
    const HostArray<Scalar4> position(m_pdata->getPositions());
    const HostArray<unsigned int> tag(m_pdata->getTags());
    for (unsigned int i = 0; i < m_pdata->getN(); ++i)
      all[tag.data[i]] =
          of_type(static_cast<std::size_t>(hoomd::__scalar_as_int(position.data[i].w)));
  });
  among_ranks([&](Communicator& ranks) { ranks.merge(all.data(), all.size()); });
  return all;
}

}  // namespace manymove::host
