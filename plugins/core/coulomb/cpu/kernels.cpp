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

// From the partners from j on, in float64 or float32, to a place.
template <Space B, class S,
          class V = std::conditional_t<std::is_same_v<S, double>, DoubleLanes, FloatLanes>>
MM_HD Separation<V> separations(const Rules& r, const Site& to, const Partners& g, std::size_t j) {
  const auto at = [j](const float* coordinate) {
    if constexpr (std::is_same_v<S, double>)
      return load_wide(coordinate + j);
    else
      return load<FloatLanes>(coordinate + j);
  };
  return separation<B, S>(r, S{to.x} - at(g.x), S{to.y} - at(g.y), S{to.z} - at(g.z));
}

// Vectors of partners whose potentials are computed together: Ewald's polynomial waits for its last
// sum, the others' terms overlap without that.
template <Space B>
inline constexpr int kTogether = B == Space::ewald ? 2 : 1;

// Potentials of the unit charges of K vectors of partners at the two ends of a move, the new one
// first, in turn.
template <Space B, int N, class S, class V>
MM_HD void potentials(const Rules& r, const SmoothRest<S>& rest, const Partners& g, std::size_t j,
                      const Move& move, V (&potential)[N], V& least) {
  Separation<V> d[N];
  MM_UNROLL
  for (int n = 0; n < N; n += 2, j += sizeof(V) / sizeof(S)) {
    d[n] = separations<B, S>(r, move.to, g, j);
    d[n + 1] = separations<B, S>(r, move.from, g, j);
    least = min_of(least, d[n].squared);
  }
  unit_potentials<B>(r, rest, d, potential);
}

// The sum over partners j of z_j [psi(to - x_j) - psi(from - x_j)], equation 2 without the trial's
// own charge, each term rounded to an integer. Partners are in the lanes; those that do not fill a
// vector come last, one by one.
template <Space B>
std::int64_t change_double(const Rules& r, const Partners& g, IndexRange range, const Move& move,
                           double& least) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  WideLanes sum{};
  DoubleLanes near = constant<DoubleLanes>(1e30);
  std::size_t j = range.begin;
  const auto add = [&](auto together) __attribute__((always_inline)) {
    constexpr int K = together();
    DoubleLanes potential[2 * K];
    potentials<B>(r, r.rest, g, j, move, potential, near);
    MM_UNROLL
    for (int k = 0; k < K; ++k) {
      // z_j psi(to) - z_j psi(from), each rounded to an integer by the magic number, whose bits
      // cancel.
      const DoubleLanes charge = load_wide(g.charge + j + k * kDoubles);
      sum += bits_of(fixed_term(charge, potential[2 * k], magic)) -
             bits_of(fixed_term(charge, potential[2 * k + 1], magic));
    }
    j += K * kDoubles;
  };
  constexpr int kSome = kTogether<B>;
  while (j + kSome * kDoubles <= range.end) add(std::integral_constant<int, kSome>{});
  if constexpr (kSome > 1)
    while (j + kDoubles <= range.end) add(std::integral_constant<int, 1>{});
  std::uint64_t total = 0;
  for (int lane = 0; lane < kDoubles; ++lane) {
    total += sum[lane];
    if (near[lane] < least) least = near[lane];
  }
  for (; j < range.end; ++j) {
    const Site other{g.x[j], g.y[j], g.z[j], g.charge[j]};
    const auto now = separation<B>(r, move.to, other);
    if (now.squared < least) least = now.squared;
    total +=
        wrapping_difference(potential_term<B>(r, other.charge, now),
                            potential_term<B>(r, other.charge, separation<B>(r, move.from, other)));
  }
  return static_cast<std::int64_t>(total);
}

// to_fixed() of each lane, added up.
MM_HD std::int64_t to_fixed_sum(FloatLanes sums, double magic) {
  HalfLanes half[2];
  __builtin_memcpy(half, &sums, sizeof sums);
  const WideLanes fixed = bits_of(widened(half[0]) + magic) + bits_of(widened(half[1]) + magic) -
                          2 * manymove::bits_of(magic);
  std::uint64_t total = 0;
  for (int lane = 0; lane < kDoubles; ++lane) total += fixed[lane];
  return static_cast<std::int64_t>(total);
}

// The same in float32, whose sums of some terms are rounded to integers.
template <Space B>
std::int64_t change_single(const Rules& r, const Partners& g, IndexRange range, const Move& move,
                           double& least) {
  // Sixteen float32 sums of 64 terms each, whatever the SIMD level.
  constexpr std::size_t kSums = 16, kChunk = 64 * kSums;
  const Site &from = move.from, &to = move.to;
  std::uint64_t total = 0;
  for (std::size_t chunk = range.begin; chunk < range.end; chunk += kChunk) {
    const std::size_t stop = range.end < chunk + kChunk ? range.end : chunk + kChunk;
    constexpr int kParts = kSums / kLanes, kSome = kTogether<B>;
    FloatLanes sum[kParts]{}, near = broadcast(1e30f);
    std::size_t j = chunk;
    const auto add = [&](auto together, FloatLanes* to_sum) __attribute__((always_inline)) {
      constexpr int K = together();
      FloatLanes potential[2 * K];
      potentials<B>(r, r.rest_single, g, j, move, potential, near);
      MM_UNROLL
      for (int k = 0; k < K; ++k) {
        const auto charge = load<FloatLanes>(g.charge + j + k * kLanes);
        FloatLanes& one = to_sum[kParts == 1 ? 0 : k];
        // In float32, and an integer after 64 terms: the order of the terms does not depend on the
        // level.
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

// sum_j z_j psi(x - x_j), the potential of all partners at a place, with the rounding of
// change_double().
template <Space B>
std::int64_t potential_at(const Rules& r, const Partners& g, IndexRange range, const Site& at) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  WideLanes sum{};
  std::uint64_t total = 0;
  std::size_t j = range.begin;
  for (; j + kDoubles <= range.end; j += kDoubles) {
    const auto d = separations<B, double>(r, at, g, j);
    sum += bits_of(fixed_term(load_wide(g.charge + j), unit_potential<B>(r, r.rest, d), magic)) -
           bits_of(r.magic);
  }
  for (int lane = 0; lane < kDoubles; ++lane) total += sum[lane];
  for (; j < range.end; ++j)
    total += potential_term<B>(r, g.charge[j], separation<B>(r, at, {g.x[j], g.y[j], g.z[j], 0}));
  return static_cast<std::int64_t>(total);
}

// float32 finds candidates, float64 decides.
template <Space B>
void count(const Rules& r, const Bins& b, const Partners& g, const std::int32_t* species,
           std::size_t i, IndexRange range, std::uint64_t* counts) {
  const Site at{g.x[i], g.y[i], g.z[i], 0};
  const auto consider = [&](std::size_t j) {
    const Site other{g.x[j], g.y[j], g.z[j], 0};
    const int bin = bin_of(b, squared_distance(r, at, other));
    if (bin >= 0 && interior(r, b, other))
      ++counts[static_cast<std::size_t>(species_pair(species[i], species[j], b.species)) * b.bins +
               bin];
  };
  const FloatLanes limit = broadcast(static_cast<float>(b.farthest2 * (1 + 1e-6)));
  std::size_t j = range.begin;
  for (; j + kLanes <= range.end; j += kLanes) {
    const FloatLanes distance2 = separations<B, float>(r, at, g, j).squared;
    // The bits of the lanes that may be within the last bin, one after the other.
    for (std::uint32_t near = lane_bits(distance2 < limit); near; near &= near - 1)
      consider(j + __builtin_ctz(near));
  }
  for (; j < range.end; ++j) consider(j);
}

std::int64_t change_of(const Rules& r, bool double_precision, const Partners& g, IndexRange range,
                       std::size_t self, const Move& move, float& nearest2) {
  const auto part = for_space(r, [&](auto space) {
    return double_precision ? &change_double<space()> : &change_single<space()>;
  });
  double least = 1e30;
  std::int64_t change;
  if (self < range.begin || self >= range.end)
    change = part(r, g, range, move, least);
  else
    // Without the ion itself: the partners before it, then those behind.
    change = wrapping_sum(part(r, g, {range.begin, self}, move, least),
                          part(r, g, {self + 1, range.end}, move, least));
  nearest2 = static_cast<float>(least);
  return change;
}

std::int64_t potential(const Rules& r, const Partners& g, IndexRange range, const Site& at) {
  return for_space(r, [&](auto space) { return potential_at<space()>(r, g, range, at); });
}

void count_pairs(const Rules& r, const Bins& b, const Partners& g, const std::int32_t* species,
                 std::size_t i, IndexRange range, std::uint64_t* counts) {
  const auto count_in = r.periodic ? &count<Space::nearest> : &count<Space::cell>;
  count_in(r, b, g, species, i, range, counts);
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
