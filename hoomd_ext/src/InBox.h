// SPDX-License-Identifier: BSD-3-Clause
// Coordinates in HOOMD-blue's precision.
#pragma once

#include <hoomd/HOOMDMath.h>

#include <cmath>

namespace manymove::host {

// HOOMD-blue's precision may round a coordinate up to the edge of the box, which is outside.
inline hoomd::Scalar in_box(double r, hoomd::Scalar length) {
  const hoomd::Scalar edge = length / 2, rounded = static_cast<hoomd::Scalar>(r);
  return rounded < edge ? rounded : std::nextafter(edge, hoomd::Scalar(0));
}

}  // namespace manymove::host
