// SPDX-License-Identifier: BSD-3-Clause
// Pair terms on a core, in SIMD registers. Compiled once per SIMD level; nothing here may
// instantiate what other sources also instantiate.
#include "lanes.h"  // first: the templates of model.h must see its operators
//
#include "cpu.h"

namespace manymove::coulomb::MANYMOVE_SIMD {
namespace {

template <class V, class S>
MM_HD V load(const S* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

MM_HD DoubleLanes load_wide(const float* p) { return widened(load<HalfLanes>(p)); }
MM_HD DoubleLanes spread(float a) { return widened(constant<HalfLanes>(a)); }

// Row `first` + lane from kLanes (float32) or kDoubles (float64) on, against all the guests.
template <bool Periodic>
MM_HD void add_double(const Rules& r, const Guests& g, std::size_t begin, std::size_t end, int first,
                      Rows& rows, LongLanes& change, DoubleLanes& nearest2) {
  const DoubleLanes x = load_wide(rows.x + first), y = load_wide(rows.y + first),
                    z = load_wide(rows.z + first), tx = load_wide(rows.trial_x + first),
                    ty = load_wide(rows.trial_y + first), tz = load_wide(rows.trial_z + first);
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  for (std::size_t j = begin; j < end; ++j) {
    const DoubleLanes gx = spread(g.x[j]), gy = spread(g.y[j]), gz = spread(g.z[j]);
    const DoubleLanes charge = spread(g.charge[j]);
    const DoubleLanes now = squared<Periodic, double>(r, tx - gx, ty - gy, tz - gz);
    const DoubleLanes before = squared<Periodic, double>(r, x - gx, y - gy, z - gz);
    nearest2 = min_of(nearest2, now);
    change += integer_bits(fixed_term(charge, now, magic)) -
              integer_bits(fixed_term(charge, before, magic));
  }
}

template <bool Periodic>
MM_HD void add_single(const Rules& r, const Guests& g, std::size_t begin, std::size_t end, int first,
                      Rows& rows, FloatLanes& change, FloatLanes& nearest2) {
  const auto x = load<FloatLanes>(rows.x + first), y = load<FloatLanes>(rows.y + first),
             z = load<FloatLanes>(rows.z + first), tx = load<FloatLanes>(rows.trial_x + first),
             ty = load<FloatLanes>(rows.trial_y + first),
             tz = load<FloatLanes>(rows.trial_z + first);
  for (std::size_t j = begin; j < end; ++j) {
    const FloatLanes charge = broadcast(g.charge[j]);
    const FloatLanes now =
        squared<Periodic, float>(r, tx - g.x[j], ty - g.y[j], tz - g.z[j]);
    const FloatLanes before = squared<Periodic, float>(r, x - g.x[j], y - g.y[j], z - g.z[j]);
    nearest2 = min_of(nearest2, now);
    change = fused(charge, inverse_root_single(now), change);
    change = fused(-charge, inverse_root_single(before), change);
  }
}

template <bool Periodic>
void add(const Rules& r, bool double_precision, const Guests& g, std::size_t begin, std::size_t end,
         int from, int to, Rows& rows) {
  const int width = double_precision ? kDoubles : kLanes;
  for (int first = from / width * width; first < to; first += width) {
    std::int64_t change[kLanes];
    float nearest2[kLanes];
    if (double_precision) {
      LongLanes sum{};
      DoubleLanes near = constant<DoubleLanes>(1e30);
      add_double<Periodic>(r, g, begin, end, first, rows, sum, near);
      for (int lane = 0; lane < width; ++lane) {
        change[lane] = sum[lane];
        nearest2[lane] = static_cast<float>(near[lane]);
      }
    } else {
      FloatLanes sum{}, near = broadcast(1e30f);
      add_single<Periodic>(r, g, begin, end, first, rows, sum, near);
      for (int lane = 0; lane < width; ++lane) {
        change[lane] = to_fixed(sum[lane], r.magic);
        nearest2[lane] = near[lane];
      }
    }
    for (int lane = 0; lane < width; ++lane) {
      const int i = first + lane;
      if (i < from || i >= to) continue;
      rows.change[i] += change[lane];
      if (nearest2[lane] < rows.nearest2[i]) rows.nearest2[i] = nearest2[lane];
    }
  }
}

// What one trial sees, guests in the lanes; the last vector is filled up with ions without charge.
template <bool Periodic>
std::int64_t change_double(const Rules& r, const Guests& g, std::size_t begin, std::size_t end,
                           const Site& from, const Site& to, double& least) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  LongLanes sum{};
  DoubleLanes near = constant<DoubleLanes>(1e30);
  for (std::size_t j = begin; j + kDoubles <= end; j += kDoubles) {
    const DoubleLanes gx = load_wide(g.x + j), gy = load_wide(g.y + j), gz = load_wide(g.z + j),
                      charge = load_wide(g.charge + j);
    const DoubleLanes now = squared<Periodic, double>(
        r, double{to.x} - gx, double{to.y} - gy, double{to.z} - gz);
    const DoubleLanes before = squared<Periodic, double>(
        r, double{from.x} - gx, double{from.y} - gy, double{from.z} - gz);
    near = min_of(near, now);
    sum += integer_bits(fixed_term(charge, now, magic)) -
           integer_bits(fixed_term(charge, before, magic));
  }
  std::int64_t total = 0;
  for (int lane = 0; lane < kDoubles; ++lane) {
    total += sum[lane];
    if (near[lane] < least) least = near[lane];
  }
  for (std::size_t j = end - (end - begin) % kDoubles; j < end; ++j) {
    const Site other{g.x[j], g.y[j], g.z[j], g.charge[j]};
    const double now = squared_distance(r, to.x, to.y, to.z, other);
    if (now < least) least = now;
    total += potential_term(r, other.charge, now) -
             potential_term(r, other.charge, squared_distance(r, from.x, from.y, from.z, other));
  }
  return total;
}

template <bool Periodic>
std::int64_t change_single(const Rules& r, const Guests& g, std::size_t begin, std::size_t end,
                           const Site& from, const Site& to, double& least) {
  // Sixteen float32 sums of 64 terms each, whatever the SIMD level.
  constexpr std::size_t kSums = 16, kChunk = 64 * kSums;
  std::int64_t total = 0;
  for (std::size_t chunk = begin; chunk < end; chunk += kChunk) {
    const std::size_t stop = end < chunk + kChunk ? end : chunk + kChunk;
    FloatLanes sum[kSums / kLanes]{}, near = broadcast(1e30f);
    for (std::size_t first = chunk; first + kSums <= stop; first += kSums)
      MM_UNROLL
      for (std::size_t part = 0; part < kSums / kLanes; ++part) {
        const std::size_t j = first + part * kLanes;
        const auto gx = load<FloatLanes>(g.x + j), gy = load<FloatLanes>(g.y + j),
                   gz = load<FloatLanes>(g.z + j), charge = load<FloatLanes>(g.charge + j);
        const FloatLanes now = squared<Periodic, float>(r, to.x - gx, to.y - gy, to.z - gz);
        const FloatLanes before =
            squared<Periodic, float>(r, from.x - gx, from.y - gy, from.z - gz);
        near = min_of(near, now);
        sum[part] = fused(charge, inverse_root_single(now), sum[part]);
        sum[part] = fused(-charge, inverse_root_single(before), sum[part]);
      }
    for (const FloatLanes& part : sum)
      for (int lane = 0; lane < kLanes; ++lane) total += to_fixed(part[lane], r.magic);
    for (int lane = 0; lane < kLanes; ++lane)
      if (near[lane] < least) least = near[lane];
    for (std::size_t j = stop - (stop - chunk) % kSums; j < stop; ++j) {
      const float now = squared<Periodic, float>(r, to.x - g.x[j], to.y - g.y[j], to.z - g.z[j]);
      const float before =
          squared<Periodic, float>(r, from.x - g.x[j], from.y - g.y[j], from.z - g.z[j]);
      if (now < least) least = now;
      total += potential_term_single(r, g.charge[j], now) -
               potential_term_single(r, g.charge[j], before);
    }
  }
  return total;
}

template <bool Periodic>
std::int64_t potential_at(const Rules& r, const Guests& g, std::size_t begin, std::size_t end,
                          const Site& at) {
  const DoubleLanes magic = constant<DoubleLanes>(r.magic);
  LongLanes sum{};
  std::int64_t total = 0;
  std::size_t j = begin;
  for (; j + kDoubles <= end; j += kDoubles) {
    const DoubleLanes distance2 = squared<Periodic, double>(
        r, double{at.x} - load_wide(g.x + j), double{at.y} - load_wide(g.y + j),
        double{at.z} - load_wide(g.z + j));
    sum += integer_bits(fixed_term(load_wide(g.charge + j), distance2, magic)) -
           integer_bits(r.magic);
  }
  for (int lane = 0; lane < kDoubles; ++lane) total += sum[lane];
  for (; j < end; ++j)
    total += potential_term(r, g.charge[j],
                            squared_distance(r, at.x, at.y, at.z, {g.x[j], g.y[j], g.z[j], 0}));
  return total;
}

// float32 finds candidates, float64 decides.
template <bool Periodic>
void count(const Rules& r, const Bins& b, const Guests& g, const std::int32_t* species,
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
    const FloatLanes distance2 = squared<Periodic, float>(
        r, g.x[i] - load<FloatLanes>(g.x + j), g.y[i] - load<FloatLanes>(g.y + j),
        g.z[i] - load<FloatLanes>(g.z + j));
    for (std::uint32_t near = lane_bits(distance2 < limit); near; near &= near - 1)
      consider(j + __builtin_ctz(near));
  }
  for (; j < end; ++j) consider(j);
}

}  // namespace

void add_guests(const Rules& r, bool double_precision, const Guests& g, std::size_t begin,
                std::size_t end, int from, int to, Rows& rows) {
  if (r.periodic)
    add<true>(r, double_precision, g, begin, end, from, to, rows);
  else
    add<false>(r, double_precision, g, begin, end, from, to, rows);
}

std::int64_t change_of(const Rules& r, bool double_precision, const Guests& g, std::size_t begin,
                       std::size_t end, std::size_t self, const Site& from, const Site& to,
                       float& nearest2) {
  const auto part = double_precision
                        ? (r.periodic ? &change_double<true> : &change_double<false>)
                        : (r.periodic ? &change_single<true> : &change_single<false>);
  double least = 1e30;
  std::int64_t change;
  if (self < begin || self >= end)
    change = part(r, g, begin, end, from, to, least);
  else
    change = part(r, g, begin, self, from, to, least) + part(r, g, self + 1, end, from, to, least);
  nearest2 = static_cast<float>(least);
  return change;
}

std::int64_t potential(const Rules& r, const Guests& g, std::size_t begin, std::size_t end,
                       const Site& at) {
  return r.periodic ? potential_at<true>(r, g, begin, end, at)
                    : potential_at<false>(r, g, begin, end, at);
}

void count_pairs(const Rules& r, const Bins& b, const Guests& g, const std::int32_t* species,
                 std::size_t i, std::size_t begin, std::size_t end, std::uint64_t* counts) {
  if (r.periodic)
    count<true>(r, b, g, species, i, begin, end, counts);
  else
    count<false>(r, b, g, species, i, begin, end, counts);
}

}  // namespace manymove::coulomb::MANYMOVE_SIMD
