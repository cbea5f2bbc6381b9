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

// What one trial sees, partners in the lanes; the last vector is filled up with ions without
// charge.
template <Space B>
std::int64_t change_double(const Rules& r, const Partners& g, std::size_t begin, std::size_t end,
                           const Site& from, const Site& to, double& least) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  LongLanes sum{};
  DoubleLanes near = constant<DoubleLanes>(1e30);
  for (std::size_t j = begin; j + kDoubles <= end; j += kDoubles) {
    const DoubleLanes gx = load_wide(g.x + j), gy = load_wide(g.y + j), gz = load_wide(g.z + j),
                      charge = load_wide(g.charge + j);
    const auto now =
        separation<B, double>(r, double{to.x} - gx, double{to.y} - gy, double{to.z} - gz);
    const auto before =
        separation<B, double>(r, double{from.x} - gx, double{from.y} - gy, double{from.z} - gz);
    near = min_of(near, now.squared);
    sum += bits_of(fixed_term(charge, unit_potential<B>(r, now), magic)) -
           bits_of(fixed_term(charge, unit_potential<B>(r, before), magic));
  }
  std::uint64_t total = 0;
  for (int lane = 0; lane < kDoubles; ++lane) {
    total += sum[lane];
    if (near[lane] < least) least = near[lane];
  }
  for (std::size_t j = end - (end - begin) % kDoubles; j < end; ++j) {
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
    FloatLanes sum[kSums / kLanes]{}, near = broadcast(1e30f);
    for (std::size_t first = chunk; first + kSums <= stop; first += kSums) MM_UNROLL
    for (std::size_t part = 0; part < kSums / kLanes; ++part) {
      const std::size_t j = first + part * kLanes;
      const auto gx = load<FloatLanes>(g.x + j), gy = load<FloatLanes>(g.y + j),
                 gz = load<FloatLanes>(g.z + j), charge = load<FloatLanes>(g.charge + j);
      const auto now = separation<B, float>(r, to.x - gx, to.y - gy, to.z - gz);
      const auto before = separation<B, float>(r, from.x - gx, from.y - gy, from.z - gz);
      near = min_of(near, now.squared);
      sum[part] = fused(charge, unit_potential_single<B>(r, now), sum[part]);
      sum[part] = fused(-charge, unit_potential_single<B>(r, before), sum[part]);
    }
    for (const FloatLanes& part : sum) total += to_fixed_sum(part, r.magic);
    for (int lane = 0; lane < kLanes; ++lane)
      if (near[lane] < least) least = near[lane];
    for (std::size_t j = stop - (stop - chunk) % kSums; j < stop; ++j) {
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
    sum += bits_of(fixed_term(load_wide(g.charge + j), unit_potential<B>(r, d), magic)) -
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

void use(Kernels& kernels) { kernels = {&change_of, &potential, &count_pairs}; }

}  // namespace manymove::coulomb::MANYMOVE_SIMD
