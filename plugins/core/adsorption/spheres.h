// SPDX-License-Identifier: BSD-3-Clause
// The atoms of a crystal as spheres: the closest pair, and the surface that no other sphere covers.
//
// fractional: [atoms][3], of the unit cell. edges: its edges in angstrom as rows, [3][3], with the
// first along x and the second in the plane of x and y.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "../runtime/api.h"

namespace manymove::adsorption {

// The closest atoms and the distance of their nearest images in angstrom, infinite without a pair.
using ClosestPair = std::tuple<std::size_t, std::size_t, double>;
MANYMOVE_API ClosestPair closest_pair(const double* fractional, std::size_t atoms,
                                      const double* edges);

// For each of the first own.size() atoms, how many random points on its sphere are in no other
// sphere. own: the numbers of these atoms. radii: of all spheres in angstrom, [atoms]. An atom's
// points are those from `first` to before `first` + `count` of a sequence that follows from the
// seed and its number.
MANYMOVE_API std::vector<double> free_points(const double* fractional, std::size_t atoms,
                                             const double* edges, const double* radii,
                                             const std::vector<std::uint32_t>& own,
                                             std::uint32_t first, std::uint32_t count,
                                             std::uint64_t seed);

}  // namespace manymove::adsorption
