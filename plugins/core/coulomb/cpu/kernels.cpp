// SPDX-License-Identifier: BSD-3-Clause
// Pair terms on a core, in SIMD registers. Compiled once per SIMD level; nothing here may
// instantiate what other sources also instantiate.
#include "../../runtime/vec.h"  // first: the templates of model.h must see its operators
//
#include "kernels.h"

namespace manymove::coulomb::MANYMOVE_SIMD {
namespace {

template <class V, class S>
MM_HD V load(const S* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

MM_HD DoubleLanes load_wide(const float* p) { return widened(load<HalfLanes>(p)); }

// Vectors of partners whose potentials are computed together: Ewald's polynomial waits for its last
// sum, the others' terms overlap without that.
template <Space B>
inline constexpr int kTogether = B == Space::ewald ? 2 : 1;

// Potentials of a unit charge of K vectors of partners: at `to` and at `from`, in turn.
template <Space B, class S, class V, int K>
MM_HD void potentials(const Rules& r, const SmoothRest<S>& rest, const V (&x)[K], const V (&y)[K],
                      const V (&z)[K], const Site& from, const Site& to, V (&potential)[2 * K],
                      V& least) {
  Separation<V> d[2 * K];
  MM_UNROLL
  for (int k = 0; k < K; ++k) {
    d[2 * k] = separation<B, S>(r, S{to.x} - x[k], S{to.y} - y[k], S{to.z} - z[k]);
    d[2 * k + 1] = separation<B, S>(r, S{from.x} - x[k], S{from.y} - y[k], S{from.z} - z[k]);
    least = min_of(least, d[2 * k].squared);
  }
  unit_potentials<B>(r, rest, d, potential);
}

// What one trial sees, partners in the lanes; the last vector is filled up with ions without
// charge.
template <Space B>
std::int64_t change_double(const Rules& r, const Partners& g, std::size_t begin, std::size_t end,
                           const Site& from, const Site& to, double& least) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  LongLanes sum{};
  DoubleLanes near = constant<DoubleLanes>(1e30);
  std::size_t j = begin;
  const auto add = [&](auto together) __attribute__((always_inline)) {
    constexpr int K = together();
    DoubleLanes x[K], y[K], z[K], potential[2 * K];
    MM_UNROLL
    for (int k = 0; k < K; ++k) {
      x[k] = load_wide(g.x + j + k * kDoubles);
      y[k] = load_wide(g.y + j + k * kDoubles);
      z[k] = load_wide(g.z + j + k * kDoubles);
    }
    potentials<B>(r, r.rest, x, y, z, from, to, potential, near);
    MM_UNROLL
    for (int k = 0; k < K; ++k) {
      const DoubleLanes charge = load_wide(g.charge + j + k * kDoubles);
      sum += bits_of(fixed_term(charge, potential[2 * k], magic)) -
             bits_of(fixed_term(charge, potential[2 * k + 1], magic));
    }
    j += K * kDoubles;
  };
  constexpr int kSome = kTogether<B>;
  while (j + kSome * kDoubles <= end) add(std::integral_constant<int, kSome>{});
  if constexpr (kSome > 1)
    while (j + kDoubles <= end) add(std::integral_constant<int, 1>{});
  std::uint64_t total = 0;
  for (int lane = 0; lane < kDoubles; ++lane) {
    total += sum[lane];
    if (near[lane] < least) least = near[lane];
  }
  for (; j < end; ++j) {
    const Site other{g.x[j], g.y[j], g.z[j], g.charge[j]};
    const auto now = separation<B>(r, to.x, to.y, to.z, other);
    if (now.squared < least) least = now.squared;
    total += wrapping_difference(
        potential_term<B>(r, other.charge, now),
        potential_term<B>(r, other.charge, separation<B>(r, from.x, from.y, from.z, other)));
  }
  return static_cast<std::int64_t>(total);
}

// to_fixed() of each lane, added up.
MM_HD std::int64_t to_fixed_sum(FloatLanes sums, double magic) {
  HalfLanes half[2];
  __builtin_memcpy(half, &sums, sizeof sums);
  const LongLanes fixed = bits_of(widened(half[0]) + magic) + bits_of(widened(half[1]) + magic) -
                          2 * manymove::bits_of(magic);
  std::uint64_t total = 0;
  for (int lane = 0; lane < kDoubles; ++lane) total += fixed[lane];
  return static_cast<std::int64_t>(total);
}

template <Space B>
std::int64_t change_single(const Rules& r, const Partners& g, std::size_t begin, std::size_t end,
                           const Site& from, const Site& to, double& least) {
  // Sixteen float32 sums of 64 terms each, whatever the SIMD level.
  constexpr std::size_t kSums = 16, kChunk = 64 * kSums;
  std::uint64_t total = 0;
  for (std::size_t chunk = begin; chunk < end; chunk += kChunk) {
    const std::size_t stop = end < chunk + kChunk ? end : chunk + kChunk;
    constexpr int kParts = kSums / kLanes, kSome = kTogether<B>;
    FloatLanes sum[kParts]{}, near = broadcast(1e30f);
    std::size_t j = chunk;
    const auto add = [&](auto together, FloatLanes* to_sum) __attribute__((always_inline)) {
      constexpr int K = together();
      FloatLanes x[K], y[K], z[K], potential[2 * K];
      MM_UNROLL
      for (int k = 0; k < K; ++k) {
        x[k] = load<FloatLanes>(g.x + j + k * kLanes);
        y[k] = load<FloatLanes>(g.y + j + k * kLanes);
        z[k] = load<FloatLanes>(g.z + j + k * kLanes);
      }
      potentials<B>(r, r.rest_single, x, y, z, from, to, potential, near);
      MM_UNROLL
      for (int k = 0; k < K; ++k) {
        const auto charge = load<FloatLanes>(g.charge + j + k * kLanes);
        FloatLanes& one = to_sum[kParts == 1 ? 0 : k];
        one = fused(charge, potential[2 * k], one);
        one = fused(-charge, potential[2 * k + 1], one);
      }
      j += K * kLanes;
    };
    constexpr int kStep = kSome > kParts ? kSome : kParts;
    while (j + kStep * kLanes <= stop) MM_UNROLL
    for (int part = 0; part < kStep; part += kSome)
      add(std::integral_constant<int, kSome>{}, sum + (kParts == 1 ? 0 : part));
    if constexpr (kStep > kParts)
      if (j + kLanes <= stop) add(std::integral_constant<int, 1>{}, sum);
    for (const FloatLanes& part : sum) total += to_fixed_sum(part, r.magic);
    for (int lane = 0; lane < kLanes; ++lane)
      if (near[lane] < least) least = near[lane];
    for (; j < stop; ++j) {
      const auto now = separation<B, float>(r, to.x - g.x[j], to.y - g.y[j], to.z - g.z[j]);
      const auto before =
          separation<B, float>(r, from.x - g.x[j], from.y - g.y[j], from.z - g.z[j]);
      if (now.squared < least) least = now.squared;
      total += wrapping_difference(potential_term_single<B>(r, g.charge[j], now),
                                   potential_term_single<B>(r, g.charge[j], before));
    }
  }
  return static_cast<std::int64_t>(total);
}

template <Space B>
std::int64_t potential_at(const Rules& r, const Partners& g, std::size_t begin, std::size_t end,
                          const Site& at) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  LongLanes sum{};
  std::uint64_t total = 0;
  std::size_t j = begin;
  for (; j + kDoubles <= end; j += kDoubles) {
    const auto d =
        separation<B, double>(r, double{at.x} - load_wide(g.x + j),
                              double{at.y} - load_wide(g.y + j), double{at.z} - load_wide(g.z + j));
    sum += bits_of(fixed_term(load_wide(g.charge + j), unit_potential<B>(r, r.rest, d), magic)) -
           bits_of(r.magic);
  }
  for (int lane = 0; lane < kDoubles; ++lane) total += sum[lane];
  for (; j < end; ++j)
    total += potential_term<B>(r, g.charge[j],
                               separation<B>(r, at.x, at.y, at.z, {g.x[j], g.y[j], g.z[j], 0}));
  return static_cast<std::int64_t>(total);
}

// float32 finds candidates, float64 decides.
template <Space B>
void count(const Rules& r, const Bins& b, const Partners& g, const std::int32_t* species,
           std::size_t i, std::size_t begin, std::size_t end, std::uint64_t* counts) {
  const auto consider = [&](std::size_t j) {
    const Site other{g.x[j], g.y[j], g.z[j], 0};
    const int bin = bin_of(b, squared_distance(r, g.x[i], g.y[i], g.z[i], other));
    if (bin >= 0 && interior(r, b, other))
      ++counts[static_cast<std::size_t>(species_pair(species[i], species[j], b.species)) * b.bins +
               bin];
  };
  const FloatLanes limit = broadcast(static_cast<float>(b.farthest2 * (1 + 1e-6)));
  std::size_t j = begin;
  for (; j + kLanes <= end; j += kLanes) {
    const FloatLanes distance2 =
        separation<B, float>(r, g.x[i] - load<FloatLanes>(g.x + j),
                             g.y[i] - load<FloatLanes>(g.y + j), g.z[i] - load<FloatLanes>(g.z + j))
            .squared;
    for (std::uint32_t near = lane_bits(distance2 < limit); near; near &= near - 1)
      consider(j + __builtin_ctz(near));
  }
  for (; j < end; ++j) consider(j);
}

std::int64_t change_of(const Rules& r, bool double_precision, const Partners& g, std::size_t begin,
                       std::size_t end, std::size_t self, const Site& from, const Site& to,
                       float& nearest2) {
  const auto part = for_space(r, [&](auto space) {
    return double_precision ? &change_double<space()> : &change_single<space()>;
  });
  double least = 1e30;
  std::int64_t change;
  if (self < begin || self >= end)
    change = part(r, g, begin, end, from, to, least);
  else
    change = wrapping_sum(part(r, g, begin, self, from, to, least),
                          part(r, g, self + 1, end, from, to, least));
  nearest2 = static_cast<float>(least);
  return change;
}

std::int64_t potential(const Rules& r, const Partners& g, std::size_t begin, std::size_t end,
                       const Site& at) {
  return for_space(r, [&](auto space) { return potential_at<space()>(r, g, begin, end, at); });
}

void count_pairs(const Rules& r, const Bins& b, const Partners& g, const std::int32_t* species,
                 std::size_t i, std::size_t begin, std::size_t end, std::uint64_t* counts) {
  if (r.periodic)
    count<Space::nearest>(r, b, g, species, i, begin, end, counts);
  else
    count<Space::cell>(r, b, g, species, i, begin, end, counts);
}

}  // namespace
}  // namespace manymove::coulomb::MANYMOVE_SIMD

#include "mesh_kernels.h"

namespace manymove::coulomb::MANYMOVE_SIMD {

void use(Kernels& kernels) {
  kernels = {&change_of, &potential,  &count_pairs,   &forward_z,      &along_y,        &along_x,
             &inverse_z, &add_charge, &far_potential, &near_potential, &follow_accepted};
}

}  // namespace manymove::coulomb::MANYMOVE_SIMD
