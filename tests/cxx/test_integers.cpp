// SPDX-License-Identifier: BSD-3-Clause
// Integers and roundings at their limits: what makes sums and decisions the same everywhere.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/adsorption/model.h"
#include "core/coulomb/state.h"
#include "core/dpd/cells.h"
#include "core/hard_particles/model.h"
#include "core/runtime/macros.h"
#include "core/runtime/philox.h"
#include "support/test.h"

using namespace manymove;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();

coulomb::Rules rules_of(int bits) {
  coulomb::Rules rules{};
  rules.magic = std::ldexp(1.5, 52 - bits);
  return rules;
}

}  // namespace

TEST("the wide product is the 64-bit product") {
  const std::uint32_t values[] = {0, 1, 2, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};
  for (const std::uint32_t a : values)
    for (const std::uint32_t b : values) {
      std::uint32_t high, low;
      multiply_wide(a, b, high, low);
      CHECK_EQUAL(std::uint64_t{high} << 32 | low, std::uint64_t{a} * b);
    }
}

TEST("the highest bit is found from the first to the last") {
  for (int bit = 0; bit < 32; ++bit) {
    CHECK_EQUAL(highest_bit(1u << bit), bit);
    CHECK_EQUAL(highest_bit((2u << bit) - 1), bit);
  }
}

TEST("bits become numbers and numbers bits") {
  CHECK_EQUAL(bits_of(1.0f), 0x3f800000u);
  CHECK_EQUAL(bits_of(-0.0), 0x8000000000000000u);
  CHECK_EQUAL(as_float(0x00000001u), std::numeric_limits<float>::denorm_min());
  CHECK_EQUAL(as_double(0x7ff0000000000000u), std::numeric_limits<double>::infinity());
  for (const std::uint32_t bits : {0u, 0x80000000u, 0x7f7fffffu, 0x00000001u})
    CHECK_EQUAL(bits_of(as_float(bits)), bits);
}

TEST("a fused product is rounded once, a product and sum twice") {
  const double a = 1 + 0x1p-30, b = 1 - 0x1p-30;  // a b = 1 - 2^-60
  CHECK_EQUAL(fused(a, b, -1.0), -0x1p-60);
  CHECK_EQUAL(multiply_add_unfused(a, b, -1.0), 0.0);
  CHECK_EQUAL(fused(1 + 0x1p-13f, 1 - 0x1p-13f, -1.0f), -0x1p-26f);
  CHECK_EQUAL(add_rn(mul_rn(1 + 0x1p-13f, 1 - 0x1p-13f), -1.0f), 0.0f);
}

TEST("potentials that wrap around come back") {
  using coulomb::wrapping_difference;
  using coulomb::wrapping_sum;
  CHECK_EQUAL(wrapping_sum(kMost, 1), kLeast);
  CHECK_EQUAL(wrapping_sum(kLeast, -1), kMost);
  CHECK_EQUAL(wrapping_difference(kLeast, 1), kMost);
  CHECK_EQUAL(wrapping_difference(0, kLeast), kLeast);
  for (const std::int64_t a : {kLeast, std::int64_t{-1}, std::int64_t{0}, kMost})
    for (const std::int64_t b : {kLeast, std::int64_t{-7}, std::int64_t{1}, kMost})
      CHECK_EQUAL(wrapping_difference(wrapping_sum(a, b), b), a);
}

TEST("energies are rounded to the nearest quantum, ties to even") {
  using manymove::nearest_integer;
  CHECK_EQUAL(nearest_integer(0.5), 0);
  CHECK_EQUAL(nearest_integer(1.5), 2);
  CHECK_EQUAL(nearest_integer(2.5), 2);
  CHECK_EQUAL(nearest_integer(-0.5), 0);
  CHECK_EQUAL(nearest_integer(-1.5), -2);
  CHECK_EQUAL(nearest_integer(std::nextafter(0.5, 1.0)), 1);
  CHECK_EQUAL(nearest_integer(0x1.fffffffffffffp+51), std::int64_t{1} << 52);
  CHECK_EQUAL(nearest_integer(0x1.fffffffffffffp+62), 0x7ffffffffffffc00);
  CHECK_EQUAL(nearest_integer(-0x1p63), kLeast);
}

// The potential of a charge at this distance along x.
std::int64_t potential_at(const coulomb::Rules& rules, double charge, double distance) {
  return coulomb::potential_term<coulomb::Space::cell>(
      rules, charge, coulomb::separation<coulomb::Space::cell, double>(rules, distance, 0.0, 0.0));
}

TEST("a potential is the nearest multiple of its quantum, ties to even") {
  const coulomb::Rules rules = rules_of(2);  // quarters
  const auto term = [&](double charge) { return potential_at(rules, charge, 1.0); };
  CHECK_EQUAL(term(1), 4);
  CHECK_EQUAL(term(-1), -4);
  CHECK_EQUAL(term(0.125), 0);
  CHECK_EQUAL(term(0.375), 2);
  CHECK_EQUAL(term(-0.375), -2);
  CHECK_EQUAL(term(0.376), 2);
  CHECK_EQUAL(term(0.126), 1);
  CHECK_EQUAL(potential_at(rules, 1, 4.0), 1);
}

TEST("a potential of 46 bits and its opposite are integers of one size") {
  for (const int bits : {0, 20, 46}) {
    const coulomb::Rules rules = rules_of(bits);
    for (const double charge : {1.0, 1.0 / 3, 31.9}) {
      const std::int64_t plus = potential_at(rules, charge, 1.0);
      CHECK_EQUAL(plus, std::llrint(std::ldexp(charge, bits)));
      CHECK_EQUAL(potential_at(rules, -charge, 1.0), -plus);
      CHECK_EQUAL(coulomb::to_fixed(static_cast<float>(charge), rules.magic),
                  std::llrint(std::ldexp(static_cast<double>(static_cast<float>(charge)), bits)));
    }
  }
}

TEST("a sum of potentials does not depend on the order, even where it wraps on the way") {
  const coulomb::Rules rules = rules_of(46);
  std::mt19937_64 random(3);
  std::vector<std::int64_t> terms;
  for (int k = 0; k < 1000; ++k) terms.push_back(static_cast<std::int64_t>(random()) | 1);
  for (int k = 0; k < 1000; ++k) terms.push_back(potential_at(rules, k % 2 ? 1 : -1, 1.0 + k));
  std::int64_t forwards = 0, backwards = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    forwards = coulomb::wrapping_sum(forwards, terms[k]);
    backwards = coulomb::wrapping_sum(backwards, terms[terms.size() - 1 - k]);
  }
  CHECK_EQUAL(forwards, backwards);
}

TEST("the energy since the start survives a snapshot, beyond 64 bits and below zero") {
  const __int128 huge = static_cast<__int128>(kMost) * 1000;
  for (const __int128 change : {__int128{0}, __int128{1}, __int128{-1}, __int128{0xffffffff},
                                -(__int128{1} << 32), huge, -huge, static_cast<__int128>(kLeast)}) {
    coulomb::State state;
    state.change = change;
    const coulomb::Snapshot snapshot = coulomb::snapshot_of(state);
    CHECK((static_cast<__int128>(snapshot.change_high) << 32) + snapshot.change_low == change);
    CHECK(snapshot.change_low >= 0 && snapshot.change_low >> 32 == 0);
  }
}

TEST("a trial between ions that hardly interact is accepted, whatever the random number") {
  // The largest change that is accepted has more than 63 bits.
  coulomb::Rules rules{};
  rules.periodic = true;
  for (int a = 0; a < 3; ++a) rules.extent[a] = 2 * coulomb::kHalf;
  rules.step = 1;
  rules.strength = 0x1p-70;
  for (std::uint32_t particle = 0; particle < 1000; ++particle) {
    const coulomb::Trial trial = coulomb::propose(rules, particle, 0, {0, 0, 0, 1});
    CHECK(trial.most > std::int64_t{1} << 56);
    CHECK(coulomb::accepts(std::int64_t{1} << 50, trial.most, 1));
  }
}

TEST("displacements of ions are as likely as their opposites, and reach the largest") {
  for (const std::uint32_t step : {1u, 5u, 4194304u, 8388608u}) {
    CHECK_EQUAL(coulomb::displacement(0x7fffffffu, step), static_cast<float>(step));
    CHECK_EQUAL(coulomb::displacement(0xffffffffu, step), -static_cast<float>(step));
    CHECK_EQUAL(coulomb::displacement(0, step), 0.0f);
    for (std::uint32_t word = 1; word < 0x80000000u - 0x01234567u; word += 0x01234567u)
      CHECK_EQUAL(coulomb::displacement(word, step), -coulomb::displacement(word | 1u << 31, step));
  }
}

TEST("short moves of ions reach their own largest step, and the others theirs") {
  coulomb::Rules rules{};
  rules.periodic = true;
  for (int a = 0; a < 3; ++a) rules.extent[a] = 2 * coulomb::kHalf;
  rules.step = 40;
  rules.short_step = 3;
  rules.strength = 1;
  const auto largest = [&](std::uint32_t below) {
    rules.short_below = below;
    float most = 0;
    for (std::uint32_t particle = 0; particle < 2000; ++particle) {
      const coulomb::Trial t = coulomb::propose(rules, particle, 0, {0, 0, 0, 1});
      most = std::max({most, std::abs(t.x), std::abs(t.y), std::abs(t.z)});
    }
    return most;
  };
  CHECK_EQUAL(largest(0), 40.0f);
  CHECK_EQUAL(largest(0xffffffffu), 3.0f);  // all but one in 2^32
}

TEST("coordinates of ions wrap to the lower edge of the box") {
  CHECK_EQUAL(coulomb::wrapped(8.0f, 16.0f), -8.0f);
  CHECK_EQUAL(coulomb::wrapped(-8.0f, 16.0f), -8.0f);
  CHECK_EQUAL(coulomb::wrapped(7.0f, 16.0f), 7.0f);
  CHECK_EQUAL(coulomb::wrapped(-9.0f, 16.0f), 7.0f);
}

TEST("displacements of disks are even integers, as likely as their opposites") {
  // The largest step of eight bits, and one of a single bit.
  for (const float step : {1.0f, 127.5f, 0x1p-13f}) {
    double sum = 0, most = 0;
    for (std::uint32_t r = 0; r < 0x8000u; ++r) {
      const float d = hard_particles::displacement(r << 8, step);
      CHECK_EQUAL(std::fmod(d, 2.0f), 0.0f);
      CHECK_EQUAL(hard_particles::displacement((0x7fffu - r) << 8, step), -d);
      sum += d;
      most = std::max<double>(most, std::abs(d));
    }
    CHECK_EQUAL(sum, 0.0);
    CHECK(std::abs(most - 16383.5 * step) <= 1);
  }
}

TEST("the two displacements of a random word do not share bits") {
  for (int bit = 0; bit < 32; ++bit) {
    const std::uint32_t word = 1u << bit;
    const bool first = word & 0x007fff00u, second = hard_particles::other_half(word) & 0x007fff00u;
    CHECK(!(first && second));
  }
}

TEST("displacements of molecules are as likely as their opposites, and below half the reach") {
  using adsorption::displacement;
  for (const std::uint32_t reach : {1u, 2u, 1000u, 0x80000000u, 0xffffffffu}) {
    for (const std::uint32_t word : {0u, 2u, 12345678u, 0x7ffffffeu}) {
      const std::uint32_t d = displacement(word, reach);
      CHECK(d <= reach / 2);
      // The word whose odd number is the opposite.
      CHECK_EQUAL(displacement(0u - (word | 1u), reach), 0u - d);
    }
    CHECK(displacement(0x7fffffffu, reach) + 1 >= reach / 2);
  }
}

TEST("DPD's positions are rounded to the nearest integer, ties to even") {
  CHECK_EQUAL(manymove::nearest_integer(0.5f), 0);
  CHECK_EQUAL(manymove::nearest_integer(1.5f), 2);
  CHECK_EQUAL(manymove::nearest_integer(-2.5f), -2);
  CHECK_EQUAL(manymove::nearest_integer(2.5), std::int64_t{2});
  CHECK_EQUAL(manymove::nearest_integer(0x1p62), std::int64_t{1} << 62);
}

TEST("a step over a periodic face counts the crossing, in both precisions") {
  const auto check = [](auto precision) {
    using P = decltype(precision);
    using U = typename P::Unsigned;
    constexpr U last = ~U{0};
    const auto step = [](U from, typename P::Real by, U to, int crossed) {
      CHECK_EQUAL(dpd::advance_coordinate<P>(from, by), crossed);
      CHECK_EQUAL(from, to);
    };
    step(last, 1, 0, 1);
    step(0, -1, last, -1);
    step(0, 0, 0, 0);
    step(last, 0, last, 0);
    step(5, -5, 0, 0);
    step(last - 5, 5, last, 0);
    step(5, -6, last, -1);
    const U half = U{1} << (8 * sizeof(U) - 1), quarter = half / 2;
    step(half, static_cast<typename P::Real>(quarter), half + quarter, 0);
    step(half + quarter, static_cast<typename P::Real>(quarter), 0, 1);
    step(0, -static_cast<typename P::Real>(quarter), half + quarter, -1);
  };
  check(dpd::Mixed{});
  check(dpd::Double{});
}

TEST("ten bits spread to every third are gathered again") {
  std::uint32_t all = 0;
  for (std::uint32_t a = 0; a < 1024; ++a) {
    const std::uint32_t s = dpd::spread(a);
    CHECK_EQUAL(s & ~0x09249249u, 0u);
    CHECK_EQUAL(std::popcount(s), std::popcount(a));
    CHECK_EQUAL(dpd::gather(s), a);
    CHECK_EQUAL(dpd::gather(s | s << 1 | s << 2), a);
    all |= s;
  }
  CHECK_EQUAL(all, 0x09249249u);
}
