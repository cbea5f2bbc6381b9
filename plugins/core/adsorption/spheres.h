// SPDX-License-Identifier: BSD-3-Clause
// The atoms of a crystal as spheres: the closest pair, and the surface that no other sphere covers.
//
// fractional: [atoms][3], of the unit cell. edges: its edges in angstrom as rows, [3][3], with the
// first along x and the second in the plane of x and y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../runtime/api.h"

namespace manymove::adsorption {

struct ClosestPair {
  std::size_t first = 0, second = 0;
  double distance = 0;  // of nearest images, in angstrom; infinite without a pair
};
MANYMOVE_API ClosestPair closest_pair(const double* fractional, std::size_t atoms,
                                      const double* edges);

// Numbers of random points on the sphere around each atom that are in no other sphere, [atoms].
// radii: of the spheres in angstrom, [atoms]. The points are the ones from `first` to
// `first` + `count` of an infinite sequence of each atom, which follows from the seed.
MANYMOVE_API std::vector<double> free_points(const double* fractional, std::size_t atoms,
                                             const double* edges, const double* radii,
                                             std::uint32_t first, std::uint32_t count,
                                             std::uint64_t seed);

}  // namespace manymove::adsorption
