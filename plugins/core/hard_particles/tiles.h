// SPDX-License-Identifier: BSD-3-Clause
// What default tiles are chosen for.
#pragma once

namespace manymove::hard_particles {

// Multiprocessors of an H100. Default tiles suit this card on all devices, because the trajectory
// must not depend on the device.
inline constexpr int kMultiprocessors = 132;

}  // namespace manymove::hard_particles
