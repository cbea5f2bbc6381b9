// SPDX-License-Identifier: BSD-3-Clause
// Positions of the resident engines: integers that span the box.
#pragma once

#include <concepts>
#include <type_traits>

#include "../runtime/macros.h"
#include "../runtime/philox.h"
#include "engine.h"
#include "vector.h"

namespace manymove::dpd {

// ---- precision ----

// Pairs in float32, positions in 2^-32 of the frame.
struct Mixed {
  using Real = float;
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
  struct alignas(16) Position {
    Unsigned x, y, z;
    std::uint32_t kind;  // type, flags << 16
  };
  struct alignas(16) Velocity {
    float x, y, z;
    std::uint32_t tag;
  };
};

// The same in double precision.
struct Double {
  using Real = double;
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
  struct alignas(16) Position {
    Unsigned x, y, z;
    std::uint32_t kind, unused = 0;
  };
  struct alignas(16) Velocity {
    double x, y, z;
    std::uint32_t tag, unused = 0;
  };
};

// The same, with scalars (scalar_transport.h) that go where velocities go: scalars(), and in the
// precision of pairs scalars_of_pair().
struct DoubleWithScalars : Double {
  struct alignas(16) Velocity {
    double x, y, z;
    std::uint32_t tag, unused = 0;
    Vector<double> value = {0, 0, 0};

    MM_HD Vector<double> scalars() const { return value; }
    MM_HD Vector<double> scalars_of_pair() const { return value; }
    MM_HD void set_scalars(const Vector<double>& to) { value = to; }
    MM_HD void set_scalars_of_pair(const Vector<double>& to) { value = to; }
  };
};
// Changes of a step can be too small for float32. Scalars have 48 bits, of which pairs read the
// upper half: 32 consecutive bytes with the velocity, of 48, because 64 are slower on a GPU.
struct MixedWithScalars : Mixed {
  struct alignas(16) Velocity {
    float x, y, z;
    std::uint32_t tag;
    Vector<float> high = {0, 0, 0};
    float unused = 0;
    Vector<float> low = {0, 0, 0};
    float unused_too = 0;

    MM_HD Vector<double> scalars() const {
      const auto sum = [](float a, float b) {
        return static_cast<double>(a) + static_cast<double>(b);
      };
      return {sum(high.x, low.x), sum(high.y, low.y), sum(high.z, low.z)};
    }
    MM_HD Vector<float> scalars_of_pair() const { return high; }
    // For ghosts: nothing reads their lower halves.
    MM_HD void set_scalars_of_pair(const Vector<float>& to) {
      high = to;
      low = {0, 0, 0};
    }
    MM_HD void set_scalars(const Vector<double>& to) {
      // The nearest number with the 24 bits of a float, by integers: GCC 12 takes the conversion to
      // float and back for the identity where it vectorizes.
      const auto nearest = [](double a) {
        return as_double((bits_of(a) + 0x10000000u) & ~std::uint64_t{0x1fffffff});
      };
      const auto split = [&](double whole, float& upper, float& lower) {
        const double rounded = nearest(whole);
        upper = static_cast<float>(rounded);
        lower = static_cast<float>(nearest(whole - rounded));
      };
      split(to.x, high.x, low.x);
      split(to.y, high.y, low.y);
      split(to.z, high.z, low.z);
    }
  };
};
template <class P>
constexpr bool has_scalars = requires(typename P::Velocity v) { v.scalars(); };

// What a precision of the engines consists of: numbers of pairs, and integers of positions.
template <class P>
concept Precision =
    std::floating_point<typename P::Real> && std::signed_integral<typename P::Signed> &&
    std::unsigned_integral<typename P::Unsigned> &&
    requires(typename P::Position r, typename P::Velocity v) {
      { r.x } -> std::same_as<typename P::Unsigned&>;
      { r.kind } -> std::same_as<std::uint32_t&>;
      { v.x } -> std::same_as<typename P::Real&>;
      { v.tag } -> std::same_as<std::uint32_t&>;
    };

// make.operator()<P>() with the precision of the engines for these pairs.
auto for_precision(const PairTable& pairs, auto make) {
  if (pairs.scalars)
    return pairs.double_precision ? make.template operator()<DoubleWithScalars>()
                                  : make.template operator()<MixedWithScalars>();
  return pairs.double_precision ? make.template operator()<Double>()
                                : make.template operator()<Mixed>();
}

MM_HD void set_components(auto& to, const double from[3]) {
  using Real = std::remove_cvref_t<decltype(to.x)>;
  to.x = static_cast<Real>(from[0]);
  to.y = static_cast<Real>(from[1]);
  to.z = static_cast<Real>(from[2]);
}

// An upper triangular matrix: that of the edges of a box, or its inverse.
template <class Real>
struct Matrix {
  Real xx, yy, zz, xy, xz, yz;

  // x = xx a + xy b + xz c, y = yy b + yz c, z = zz c; tilted: whether a component off the diagonal
  // is not 0.
  MM_HD Vector<Real> times(Real a, Real b, Real c, bool tilted = true) const {
    if (!tilted) return {a * xx, b * yy, c * zz};
    return {fused(a, xx, fused(b, xy, c * xz)), fused(b, yy, c * yz), c * zz};
  }
};

// The entry of such a matrix that belongs to Box::tilt[k].
constexpr auto& entry_of_tilt(auto& matrix, int k) {
  return k == 0 ? matrix.xy : k == 1 ? matrix.xz : matrix.yz;
}

// The gradient of a flow u = (xy y + xz z, yz z, 0).
template <class Real>
struct FlowGradient {
  Real xy = 0, xz = 0, yz = 0;
  MM_HD bool any() const { return xy != 0 || xz != 0 || yz != 0; }
  MM_HD FlowGradient times(Real factor) const { return {factor * xy, factor * xz, factor * yz}; }
  // v += u(r)
  MM_HD void add_at(const auto& r, auto& v) const {
    v.x = fused(xy, r.y, fused(xz, r.z, v.x));
    v.y = fused(yz, r.z, v.y);
  }
};
template <class Real>
FlowGradient<Real> flow_gradient(const Shear& shear) {
  FlowGradient<Real> flow;
  if (shear.has_flow) entry_of_tilt(flow, shear.tilt()) = static_cast<Real>(shear.rate);
  return flow;
}

MM_HD std::uint32_t high_word(std::uint32_t a) { return a; }
MM_HD std::uint32_t high_word(std::uint64_t a) { return static_cast<std::uint32_t>(a >> 32); }
MM_HD std::uint32_t low_word(std::uint32_t) { return 0; }
MM_HD std::uint32_t low_word(std::uint64_t a) { return static_cast<std::uint32_t>(a); }

// Outside the box where it is not periodic: the frame's first and last quarters.
MM_HD bool outside(std::uint32_t open, const auto& r) {
  const auto beyond = [](std::uint32_t u) { return u < 0x40000000u || u > 0xc0000000u; };
  return ((open & 1u) && beyond(high_word(r.x))) || ((open & 2u) && beyond(high_word(r.y))) ||
         ((open & 4u) && beyond(high_word(r.z)));
}

// ---- the frame: positions as integers ----

// The integers span the box where it is periodic, and twice the box, in the middle, where it is
// not: differences then wrap to the nearest image, or not at all.
template <Precision P>
struct CoordinateFrame {
  using Real = typename P::Real;
  Matrix<Real> edges;  // from units of the frame to lengths
  Matrix<Real> to;     // the inverse
  std::uint32_t open;  // bit a: not periodic along a
  std::uint32_t tilted;
};

// r_i - r_j of the nearest images, with a matrix from units of the frame to lengths.
template <Precision P, class Real>
MM_HD Vector<Real> separation_in(const Matrix<Real>& edges, bool tilted,
                                 const typename P::Position& i, const typename P::Position& j) {
  const auto difference = [](typename P::Unsigned a, typename P::Unsigned b) {
    // The unsigned difference wraps modulo the box; taken as signed it is that of the nearest
    // image.
    return static_cast<Real>(static_cast<typename P::Signed>(a - b));
  };
  return edges.times(difference(i.x, j.x), difference(i.y, j.y), difference(i.z, j.z), tilted);
}

// The Cartesian vector of a difference in units of the frame.
template <bool upright = false, Precision P>
MM_HD Vector<typename P::Real> length_of(const CoordinateFrame<P>& frame, typename P::Signed x,
                                         typename P::Signed y, typename P::Signed z) {
  using Real = typename P::Real;
  return frame.edges.times(static_cast<Real>(x), static_cast<Real>(y), static_cast<Real>(z),
                           !upright && frame.tilted);
}

// The same of two positions; upright: of a frame that is known to be.
template <bool upright = false, Precision P>
MM_HD Vector<typename P::Real> separation(const CoordinateFrame<P>& frame,
                                          const std::type_identity_t<typename P::Position>& i,
                                          const std::type_identity_t<typename P::Position>& j) {
  return separation_in<P>(frame.edges, !upright && frame.tilted, i, j);
}

// ---- between the host's coordinates and the frame ----

struct BoxFrame {
  Box box;

  // Fractions of the box's edges.
  MM_HD void to_fractions(const double r[3], double fraction[3]) const {
    const double* e = box.extent;
    fraction[2] = (r[2] - box.low[2]) / e[2];
    fraction[1] = fused(-box.tilt[2], fraction[2], r[1] - box.low[1]) / e[1];
    fraction[0] =
        fused(-box.tilt[0], fraction[1], fused(-box.tilt[1], fraction[2], r[0] - box.low[0])) /
        e[0];
  }
  MM_HD void from_fractions(const double fraction[3], double r[3]) const {
    const double* e = box.extent;
    r[0] = fused(fraction[0], e[0],
                 fused(fraction[1], box.tilt[0], fused(fraction[2], box.tilt[1], box.low[0])));
    r[1] = fused(fraction[1], e[1], fused(fraction[2], box.tilt[2], box.low[1]));
    r[2] = fused(fraction[2], e[2], box.low[2]);
  }
};

MM_HD double fraction_of(std::uint32_t u) { return static_cast<double>(u) * 0x1p-32; }
MM_HD double fraction_of(std::uint64_t u) {
  const double fraction = static_cast<double>(u) * 0x1p-64;
  return fraction < 1 ? fraction : 0x1.fffffffffffffp-1;
}

// Takes a position into the frame, wrapped where periodic (image follows). False if it is not
// finite, or outside where it must not be.
template <Precision P>
MM_HD bool enter_frame(const BoxFrame& frame, const double r[3], typename P::Position& p,
                       int image[3]) {
  using Unsigned = typename P::Unsigned;
  double fraction[3];
  frame.to_fractions(r, fraction);
  Unsigned u[3];
  for (int a = 0; a < 3; ++a) {
    double f = fraction[a];
    if (!(f > -1e6 && f < 1e6)) return false;
    if (!frame.box.periodic[a]) {
      if (f < 0 || f > 1) return false;
      // The box is the middle half of the frame, so that differences never wrap.
      f = 0.25 + 0.5 * f;
    } else {
      const double whole = __builtin_floor(f);
      image[a] += static_cast<int>(whole);
      f -= whole;
    }
    if constexpr (sizeof(Unsigned) == 4) {
      // Up to 2^32, of which the upper word is another image.
      const auto wide = static_cast<std::uint64_t>(nearest_integer(f * 0x1p32));
      image[a] += static_cast<int>(wide >> 32);
      u[a] = static_cast<Unsigned>(wide);
    } else {
      // f - floor(f) of a tiny negative f rounds to 1, which is the last integer here.
      u[a] = f < 1 ? static_cast<Unsigned>(f * 0x1p64) : ~Unsigned(0);
    }
  }
  p.x = u[0];
  p.y = u[1];
  p.z = u[2];
  return true;
}

// The largest number below a.
MM_HD double below(double a) {
#if defined(__CUDA_ARCH__)
  return nextafter(a, -1e308);
#else
  return __builtin_nextafter(a, -1e308);
#endif
}

// A particle exactly at the upper face of a box that is not periodic stays inside: LAMMPS takes
// that face for outside.
template <Precision P>
MM_HD void leave_frame(const BoxFrame& frame, const typename P::Position& p, double r[3]) {
  const double inner[3] = {fraction_of(p.x), fraction_of(p.y), fraction_of(p.z)};
  double fraction[3];
  for (int a = 0; a < 3; ++a)
    // The inverse of f -> 1/4 + f / 2.
    fraction[a] = frame.box.periodic[a] ? inner[a] : 2 * (inner[a] - 0.25);
  frame.from_fractions(fraction, r);
  const double* tilt = frame.box.tilt;
  for (int a = tilt[0] == 0 && tilt[1] == 0 && tilt[2] == 0 ? 0 : 2; a < 3; ++a)
    if (fraction[a] == 1) r[a] = below(frame.box.low[a] + frame.box.extent[a]);
}

}  // namespace manymove::dpd
