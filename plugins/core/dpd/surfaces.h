// SPDX-License-Identifier: BSD-3-Clause
// Forces of planes, cylinders and spheres on particles, as functions of the distance from them.
#pragma once

#include "fixed_point.h"
#include "pair_potentials.h"

namespace manymove::dpd {

// Surface in the numbers of a step.
template <Precision P>
struct SurfaceOfStep {
  using Real = typename P::Real;
  // The center is at an offset from this place: what is left of its rounding to units of the frame,
  // and of a distance from the frame.
  typename P::Position near_center;
  Vector<Real> offset;
  Real radius, cutoff, first, second;
  int law;
  unsigned axes;
  Real side;  // 1 or -1
  std::uint32_t flag;
};

// The force away from a surface at a distance from it, which is negative behind it.
template <class Real>
MM_HD Real surface_force(int law, Real first, Real second, Real cutoff, Real distance) {
  if (law == Surface::kIndenter) return distance < Real(0) ? first * distance * distance : Real(0);
  if (!(distance < cutoff)) return Real(0);
  if (!(distance > Real(0))) return static_cast<Real>(kForbidden);
  if (law == Surface::kHarmonic) return first * (cutoff - distance);
  const Real x = Real(1) / distance, square = x * x, fourth = square * square;
  if (law == Surface::kPowers93) return fourth * fused(first * fourth, square, -second);
  const Real sixth = square * fourth;
  return sixth * x * fused(first, sixth, -second);
}

// The same as a vector over `apart`, the vector from the center of the surface along its axes.
template <class Real>
MM_HD Real surface_force_over(const auto& surface, const Vector<Real>& apart) {
  const bool flat = (surface.axes & (surface.axes - 1)) == 0;
  const Real from_center =
      flat ? apart.x + apart.y + apart.z
           : square_root(fused(apart.x, apart.x, fused(apart.y, apart.y, apart.z * apart.z)));
  // On a plane, or on the axis of a cylinder, where the force has no direction.
  if (from_center == Real(0))
    return flat && surface.law != Surface::kIndenter ? static_cast<Real>(kForbidden) : Real(0);
  const Real distance = surface.side * (from_center - surface.radius);
  return surface.side *
         surface_force(surface.law, surface.first, surface.second, surface.cutoff, distance) /
         from_center;
}

// r - center in units of the frame along one axis. Where the box is not periodic (`open`), the
// difference does not wrap, wherever in the frame the two are.
template <Precision P>
MM_HD typename P::Real apart_along(bool open, typename P::Unsigned r, typename P::Unsigned center) {
  using Real = typename P::Real;
  if (!open) return static_cast<Real>(static_cast<typename P::Signed>(r - center));
  return r >= center ? static_cast<Real>(r - center) : -static_cast<Real>(center - r);
}

// Adds the force of a surface on a particle in an upright box.
template <Precision P>
MM_HD void add_surface(const CoordinateFrame<P>& frame, const SurfaceOfStep<P>& surface,
                       const typename P::Position& r, Vector<typename P::Real>& force) {
  using Real = typename P::Real;
  if (!(r.kind >> 16 & surface.flag)) return;
  const typename P::Position& center = surface.near_center;
  Vector<Real> apart = frame.edges.times(apart_along<P>(frame.open & 1u, r.x, center.x),
                                         apart_along<P>(frame.open & 2u, r.y, center.y),
                                         apart_along<P>(frame.open & 4u, r.z, center.z), false) -
                       surface.offset;
  if (!(surface.axes & 1u)) apart.x = 0;
  if (!(surface.axes & 2u)) apart.y = 0;
  if (!(surface.axes & 4u)) apart.z = 0;
  add_scaled(force, apart, surface_force_over(surface, apart));
}

}  // namespace manymove::dpd
