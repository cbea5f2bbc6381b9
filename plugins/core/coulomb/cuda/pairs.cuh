// SPDX-License-Identifier: BSD-3-Clause
// The pair terms of a trial: what its ion gains from a partner, and from a tile of them.
#pragma once

#include <type_traits>

#include "../../runtime/device.cuh"
#include "../../runtime/warp.cuh"
#include "../model.h"

namespace manymove::coulomb {
namespace {

// Over the lanes of a warp, or each group of neighbors among the `lanes` that call it.
template <int Lanes = kWarpSize>
__device__ std::int64_t warp_sum_wrapping(std::int64_t sum, unsigned lanes = kWholeWarp) {
  return warp_reduce<Lanes>(
      sum, [](std::int64_t a, std::int64_t b) { return wrapping_sum(a, b); }, lanes);
}

template <bool Double>
struct Partner {
  using Real = std::conditional_t<Double, double, float>;
  Real x, y, z, charge;
};

// The terms of trial i in equation 2: U at its new and at its present position, of ion j.
template <bool Double, Space B>
struct Pairs {
  using Real = typename Partner<Double>::Real;
  const Rules& r;
  const SmoothRest<Real>& rest;  // of Ewald's potential
  Real x, y, z, tx, ty, tz;      // where the ion is, where it would be

  __device__ Pairs(const Rules& r, const SmoothRest<Real>& rest, const Site& s, const Site& t)
      : r(r), rest(rest), x(s.x), y(s.y), z(s.z), tx(t.x), ty(t.y), tz(t.z) {}

  __device__ Separation<Real> from(const Partner<Double>& g) const {
    return separation<B, Real>(r, x - g.x, y - g.y, z - g.z);
  }
  __device__ Separation<Real> to(const Partner<Double>& g) const {
    return separation<B, Real>(r, tx - g.x, ty - g.y, tz - g.z);
  }
  // Potentials of a unit charge at K places: at the new place of the ion and at the present one, in
  // turn.
  template <int K>
  __device__ void potentials(const Partner<Double> (&g)[K], const Separation<Real> (&now)[K],
                             Real (&potential)[2 * K]) const {
    Separation<Real> d[2 * K];
    for (int k = 0; k < K; ++k) {
      d[2 * k] = now[k];
      d[2 * k + 1] = from(g[k]);
    }
    unit_potentials<B>(r, rest, d, potential);
  }
  // The term of a partner, as an integer.
  __device__ std::int64_t as_integer(Real charge, Real at_new, Real at_present) const {
    if constexpr (Double)
      // The low bits of fl(q psi + M) are the rounded integer: the magic number's bits cancel in
      // the difference.
      return static_cast<std::int64_t>(bits_of(fixed_term(charge, at_new, r.magic)) -
                                       bits_of(fixed_term(charge, at_present, r.magic)));
    else
      return wrapping_difference(to_fixed(charge * at_new, r.magic),
                                 to_fixed(charge * at_present, r.magic));
  }
  __device__ std::int64_t change(const Partner<Double>& g, const Separation<Real>& now) const {
    if constexpr (B == Space::ewald) {
      Real potential[2];
      potentials<1>({g}, {now}, potential);
      return as_integer(g.charge, potential[0], potential[1]);
    } else {
      return as_integer(g.charge, inverse_root_in<Real>(now.squared),
                        inverse_root_in<Real>(from(g).squared));
    }
  }
};

// The polynomial's coefficients that a kernel of this precision uses.
template <bool Double>
__device__ const auto& rest_for(const Rules& r) {
  if constexpr (Double)
    return r.rest;
  else
    return r.rest_single;
}

// Times the sign of the charge.
__device__ std::int64_t signed_for(const Site& ion, std::int64_t change) {
  return ion.charge > 0 ? change : wrapping_difference(0, change);
}

template <bool Double>
__device__ Partner<Double> as_partner(const Site& s) {
  using Real = typename Partner<Double>::Real;
  return {Real(s.x), Real(s.y), Real(s.z), Real(s.charge)};
}

// Ewald's polynomial in a device's memory.
template <class S>
struct DeviceRest {
  DeviceBuffer<S> coefficients;
  DeviceBuffer<std::uint8_t> lines;
  SmoothRest<S> here{};

  void upload(const EwaldBox& box, const RestTerms<S>& terms, cudaStream_t stream) {
    coefficients = on_device(terms.coefficients, stream);
    lines = on_device(terms.lines, stream);
    here = rest_of(box, terms, coefficients.data(), lines.data());
  }
  std::size_t bytes() const { return coefficients.size() * sizeof(S) + lines.size(); }
};

// Ewald's polynomial in shared memory, behind a group's own, for all threads after the next
// barrier.
template <class S>
__device__ SmoothRest<S> in_shared_memory(const SmoothRest<S>& rest, void* memory) {
  SmoothRest<S> copy = rest;
  // The coefficients with their two spare ends, then the lines with their one.
  S* const coefficient = static_cast<S*>(memory);
  auto* const line = reinterpret_cast<std::uint8_t*>(coefficient + rest.coefficients + 2);
  for (int k = threadIdx.x; k < rest.coefficients + 2; k += blockDim.x)
    coefficient[k] = rest.coefficient[k];
  for (int k = threadIdx.x; k < rest.lines + 1; k += blockDim.x) line[k] = rest.line[k];
  copy.coefficient = coefficient;
  copy.line = line;
  return copy;
}

// One thread's share of a tile: partners e, e + Eta, ... in sixteen interleaved sums, so that the
// float32 sums are the same for every Eta.
template <bool Check, bool Double, Space B, int S, int Eta>
__device__ void add_tile(const Pairs<Double, B>& pairs, const Partner<Double>* tile, int e,
                         std::int64_t& change, float& nearest2) {
  constexpr int kSums = 16;
  MM_NO_UNROLL
  // Class l has the partners l, l + 16, ...; thread e has the classes e, e + Eta, ...
  for (int l = e; l < kSums; l += Eta) {
    [[maybe_unused]] float sum = 0;
    if constexpr (B == Space::ewald) {
      // As many together as registers hold.
      constexpr int kTogether = Double ? 1 : 2;
      MM_NO_UNROLL
      for (int term = 0; term < S / kSums; term += kTogether) {
        Partner<Double> g[kTogether];
        Separation<typename Partner<Double>::Real> now[kTogether];
        typename Partner<Double>::Real potential[2 * kTogether];
        MM_UNROLL
        for (int k = 0; k < kTogether; ++k) {
          g[k] = tile[l + kSums * (term + k)];
          now[k] = pairs.to(g[k]);
          if constexpr (Check) nearest2 = fminf(nearest2, static_cast<float>(now[k].squared));
        }
        pairs.template potentials<kTogether>(g, now, potential);
        MM_UNROLL
        for (int k = 0; k < kTogether; ++k)
          if constexpr (Double) {
            change = wrapping_sum(
                change, pairs.as_integer(g[k].charge, potential[2 * k], potential[2 * k + 1]));
          } else {
            sum = fused(g[k].charge, potential[2 * k], sum);
            sum = fused(-g[k].charge, potential[2 * k + 1], sum);
          }
      }
    } else {
#pragma unroll 8
      for (int term = 0; term < S / kSums; ++term) {
        const Partner<Double> g = tile[l + kSums * term];
        const auto now = pairs.to(g);
        if constexpr (Check) nearest2 = fminf(nearest2, static_cast<float>(now.squared));
        if constexpr (Double) {
          change = wrapping_sum(change, pairs.change(g, now));
        } else {
          // Equation 2's terms in float32: z_j / |to - x_j| - z_j / |from - x_j|.
          sum = fused(g.charge, inverse_root_single(now.squared), sum);
          sum = fused(-g.charge, inverse_root_single(pairs.from(g).squared), sum);
        }
      }
    }
    // One rounding to an integer per class, from where on the order does not matter.
    if constexpr (!Double) change = wrapping_sum(change, to_fixed(sum, pairs.r.magic));
  }
}

}  // namespace
}  // namespace manymove::coulomb
