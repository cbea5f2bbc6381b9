// SPDX-License-Identifier: BSD-3-Clause
// HOOMD-blue's particles, bonds and angles as the engine of DPD takes them.
#pragma once

#include <vector>

#include "DPD.h"
#include "HostArray.h"

namespace manymove::host {

inline std::uint32_t engine_tag(unsigned int tag) { return tag + 1; }

// Calls visit(members, type) with each of HOOMD-blue's bonds, angles or other groups that this rank
// has; members is an array.
template <class Groups, class Visit>
void for_each_group(const Groups& groups, Visit&& visit) {
  const HostArray<typename Groups::members_t> members(groups.getMembersArray());
  const HostArray<hoomd::typeval_t> type(groups.getTypeValArray());
  for (unsigned int k = 0; k < groups.getN(); ++k)
    visit(members.data[k].tag, static_cast<unsigned int>(type.data[k].type));
}

// In HOOMD-blue's order.
struct DPD::Particles {
  explicit Particles(std::size_t count)
      : position(3 * count),
        velocity(3 * count),
        force(3 * count),
        image(3 * count),
        type(count),
        tag(count),
        flags(count) {}

  dpd::HostArrays arrays() {
    return {static_cast<int>(tag.size()), reinterpret_cast<double (*)[3]>(position.data()),
            reinterpret_cast<double (*)[3]>(velocity.data()),
            reinterpret_cast<double (*)[3]>(force.data()),
            reinterpret_cast<int (*)[3]>(image.data())};
  }

  std::vector<double> position, velocity, force;  // [count][3]
  std::vector<int> image;                         // [count][3]
  std::vector<int> type;                          // from 1, an index of kinds plus 1
  std::vector<std::uint32_t> tag, flags;
  std::vector<Kind> kinds;
};

// Bonds, angles and excluded pairs, seen from all of their particles, as in dpd::Topology.
struct DPD::Links {
  dpd::Topology topology(const Particles& particles,
                         const std::vector<std::uint32_t>& flags) const {
    dpd::Topology topology{};
    topology.type = particles.type.data();
    topology.tag = particles.tag.data();
    topology.flags = flags.data();
    if (!bonded_partner.empty()) {
      topology.first_bond = first_bonded.data();
      topology.bond_partner = bonded_partner.data();
      topology.bond_type = bonded_kind.data();
    }
    if (!excluded_partner.empty()) {
      topology.first_special = first_excluded.data();
      topology.special_partner = excluded_partner.data();
      topology.special_kind = excluded_kind.data();
    }
    return topology;
  }

  std::vector<int> first_bonded, bonded_kind, first_excluded;
  std::vector<std::uint32_t> bonded_partner, excluded_partner;
  std::vector<std::uint8_t> excluded_kind;
};

}  // namespace manymove::host
