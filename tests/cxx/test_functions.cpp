// SPDX-License-Identifier: BSD-3-Clause
// Logarithms, exponentials, roots and normal variables against the standard library's in long
// double, over the whole range in which they are used, with the errors that their comments state.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/adsorption/model.h"
#include "core/coulomb/model.h"
#include "core/dpd/model.h"
#include "support/test.h"

using namespace manymove;

namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;

// Random words and those at the ends.
std::vector<std::uint32_t> words(int count) {
  std::vector<std::uint32_t> result = {0,          1,          2,          3,         0x7ffffffe,
                                       0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (int bit = 0; bit < 32; ++bit) result.push_back(1u << bit);
  std::mt19937 random(4);
  for (int k = 0; k < count; ++k) result.push_back(static_cast<std::uint32_t>(random()));
  return result;
}

long double relative(long double value, long double exact) {
  return std::abs((value - exact) / exact);
}

// Numbers from first to last, each by the same factor larger, and their neighbors.
template <class F, class Check>
void for_range(F first, F last, int count, Check check) {
  const long double factor = std::pow(static_cast<long double>(last) / first, 1.0L / count);
  long double x = first;
  for (int k = 0; k < count; ++k, x *= factor) check(static_cast<F>(x));
  check(last);
}

}  // namespace

TEST("the logarithm of a uniform random number is exact to 1e-15") {
  for (const std::uint32_t word : words(200000)) {
    const double u = (word + 0.5) * 0x1p-32;  // 2^-33 ... 1 - 2^-33
    CHECK(relative(logarithm(u), std::log(static_cast<long double>(u))) < 1e-15L);
  }
}

TEST("the logarithm is exact to 1e-15 from the smallest normal number to the largest below one") {
  const auto check = [](double a) {
    const long double exact = std::log(static_cast<long double>(a));
    CHECK(relative(logarithm(a), exact) < 1e-15L);
  };
  for_range(std::numeric_limits<double>::min(), 0.99, 100000, check);
  for (int k = 1; k <= 53; ++k) check(1 - std::ldexp(1.0, -k));
  for (const double turn : {std::sqrt(0.5), 0.5, 0.25})
    for (const double a : {turn, std::nextafter(turn, 0.0), std::nextafter(turn, 1.0)}) check(a);
}

TEST("no logarithm lets a trial's limit be negative") {
  coulomb::Rules rules{};
  rules.strength = 1e-10;
  rules.wall2 = 1;
  for (std::uint32_t particle = 0; particle < 100000; ++particle)
    CHECK(coulomb::propose(rules, particle, 0, {0, 0, 0, -2}).most >= 0);
}

TEST("the guess of an inverse root is good to 9.1e-7, and to 9e-8 after a step in float32") {
  const auto check = [](float a) {
    const long double exact = 1 / std::sqrt(static_cast<long double>(a));
    CHECK(relative(coulomb::guessed_inverse_root(a), exact) < 9.1e-7L);
    CHECK(relative(coulomb::inverse_root_single(a), exact) < 9e-8L);
  };
  // The error is periodic over two octaves.
  for (std::uint32_t bits = bits_of(1.0f); bits < bits_of(4.0f); bits += 5) check(as_float(bits));
  for_range(1e-30f, 1e30f, 1000, check);
}

TEST("an inverse root in float64 is good to about an ulp") {
  for_range(1e-30, 1e30, 500000, [](double a) {
    const long double exact = 1 / std::sqrt(static_cast<long double>(a));
    CHECK(relative(coulomb::inverse_root(a), exact) < 2.3e-16L);
  });
}

TEST("the nearest image is at most half the box away") {
  for (const float extent : {1024.0f, 16777216.0f, 10000000.0f}) {
    std::mt19937 random(5);
    for (int k = 0; k < 100000; ++k) {
      const auto d = static_cast<float>(
          std::nearbyint((static_cast<double>(random()) * 0x1p-32 - 0.5) * 2 * extent));
      const float near = coulomb::nearest<float>(d, extent, 1 / extent);
      CHECK(std::abs(near) <= extent / 2);
      CHECK_EQUAL(std::fmod(near - d, extent), 0.0f);
    }
  }
}

TEST("a normal variable is that of Box and Muller from u in float32, to 2e-6") {
  const auto check = [](std::uint32_t a, std::uint32_t b) {
    const auto n = static_cast<float>(a >> 1 | 1u);
    const long double u = n * 0x1p-31L,
                      y = static_cast<long double>(static_cast<std::int32_t>(b | 1u)) * 0x1p-31L;
    const long double exact = std::sqrt(-2 * std::log(u)) * std::sin(kPi / 2 * y);
    CHECK(std::abs(dpd::gaussian(a, b) - exact) < 2e-6L);
  };
  const auto some = words(300);
  for (const std::uint32_t a : some)
    for (const std::uint32_t b : some) check(a, b);
  // The smallest radii, down to zero, where u is rounded most.
  for (std::uint32_t below = 0; below < 100000; ++below) check(~below, 0x7fffffffu);
}

TEST("a normal variable is finite, at most 6.56, and as likely as its opposite") {
  float most = 0;
  for (const std::uint32_t a : words(1000)) {
    for (const std::uint32_t b : words(30)) {
      const float x = dpd::gaussian(a, b);
      CHECK(std::abs(x) < 6.56f);
      CHECK_EQUAL(dpd::gaussian(a, 0u - (b | 1u)), -x);
      most = std::max(most, x);
    }
  }
  CHECK(most > 6.55f);
}

TEST("the mean of normal variables is 0, of their squares 1, of their fourth powers 3") {
  // At five standard errors each, with the seed fixed; false alarms: two in a million.
  constexpr int n = 1000000;
  const dpd::NoiseKey key = dpd::noise_key(6, 7);
  double sum = 0, squares = 0, fourth = 0;
  for (int k = 0; k < n; ++k) {
    const double x = dpd::pair_noise(key, static_cast<std::uint32_t>(k), 0xffffffffu);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::abs(fourth / n - 3) < 5 * std::sqrt(96.0 / n));
}

// Powers of bases down to the spacing of F below one, against the standard library's, and their
// limits: the relative error, that for each unit of the exponent, and the least power of two.
template <class F>
static void check_powers(long double error, long double slope, int least) {
  const auto check = [&](F base, F exponent) {
    const long double exact = std::pow(static_cast<long double>(base), exponent);
    const F value = dpd::power(base, exponent);
    if (exact > std::ldexp(1.0L, 1 - least))
      CHECK(relative(value, exact) < error + slope * exponent);
    else
      CHECK(value <= std::ldexp(F(1), 2 - least));
  };
  for (const double each : {0.0, 0.01, 0.25, 0.5, 1.0, 2.0, 7.5, 100.0}) {
    const F exponent = static_cast<F>(each);
    CHECK_EQUAL(dpd::power(F(0), exponent), F(0));
    check(F(1), exponent);
    check(std::nextafter(F(1), F(0)), exponent);
    for_range(std::numeric_limits<F>::epsilon() / 2, F(1), 2000,
              [&](F base) { check(base, exponent); });
  }
  CHECK_EQUAL(dpd::power(F(0.5), F(least + 1)), F(0));
}

TEST("a power is that of the standard library, and 0 at the cutoff and below 2^-120") {
  check_powers<float>(1.5e-7L, 5e-8L, 120);
}

TEST("a power in float64 is that of the standard library, and 0 below 2^-1000") {
  check_powers<double>(2.5e-16L, 1e-16L, 1000);
}

TEST("an exponential in float32 has a relative error of 2e-7, and is 0 up to e^-87") {
  for (float x = std::nextafter(-87.0f, 0.0f); x < 80; x += 0.00037f)
    CHECK(relative(adsorption::exponential(x), std::exp(static_cast<long double>(x))) < 2e-7L);
  CHECK_EQUAL(adsorption::exponential(0.0f), 1.0f);
  CHECK_EQUAL(adsorption::exponential(-87.0f), 0.0f);
  CHECK_EQUAL(adsorption::exponential(-std::numeric_limits<float>::infinity()), 0.0f);
  CHECK_EQUAL(adsorption::exponential(1e30f), adsorption::exponential(80.0f));
}

TEST("an exponential in float64 has a relative error of 5e-16, and is 0 below e^-700") {
  for (double x = -699.9; x < 80; x += 0.0017)
    CHECK(relative(adsorption::exponential(x), std::exp(static_cast<long double>(x))) < 5e-16L);
  CHECK_EQUAL(adsorption::exponential(0.0), 1.0);
  CHECK_EQUAL(adsorption::exponential(-701.0), 0.0);
  CHECK_EQUAL(adsorption::exponential(-std::numeric_limits<double>::infinity()), 0.0);
  CHECK_EQUAL(adsorption::exponential(1e300), adsorption::exponential(80.0));
}

TEST("a forbidden place has weight zero, and Metropolis never goes there") {
  CHECK_EQUAL(adsorption::weight(1 / 300.0f, 1e15f), 0.0f);
  CHECK_EQUAL(adsorption::weight(1 / 300.0, 1e15), 0.0);
  CHECK(!adsorption::metropolis(1 / 300.0, 1e15, 0u));
  CHECK(adsorption::metropolis(1 / 300.0, 0.0, 0x7fffffffu));
  // exp(-1) of the words accept a cost of kT.
  const auto limit = static_cast<std::uint32_t>(std::exp(-1.0) * 0x1p32);
  CHECK(adsorption::metropolis(1.0, 1.0, limit - 2));
  CHECK(!adsorption::metropolis(1.0, 1.0, limit + 2));
}

TEST("the weights of the cubic spline add up to one, anywhere between two points") {
  for (double t = 0; t < 1; t += 1e-4) {
    double w[4];
    adsorption::cubic_weights(t, w);
    CHECK(std::abs(w[0] + w[1] + w[2] + w[3] - 1) < 1e-15);
    // Their center is the place.
    CHECK(std::abs(-w[0] + w[2] + 2 * w[3] - t) < 1e-15);
  }
}

TEST("a place of the grid is between its points, at both ends of the cell") {
  for (const int points : {4, 100, 1000}) {
    CHECK_EQUAL(adsorption::grid_place<float>(0, points).point, 0);
    CHECK_EQUAL(adsorption::grid_place<float>(0, points).fraction, 0.0f);
    CHECK_EQUAL(adsorption::grid_place<float>(0xffffffffu, points).point, points - 1);
    for (const std::uint32_t place : words(1000)) {
      const auto at = adsorption::grid_place<double>(place, points);
      CHECK(at.fraction >= 0 && at.fraction < 1);
      CHECK(std::abs((at.point + at.fraction) / points - place * 0x1p-32) < 0x1p-24 / points);
    }
  }
}

TEST("no lane of weight zero is chosen, wherever the random number falls") {
  // Sums as a butterfly over 32 lanes leaves them.
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    float level[6][32];
    bool any = false;
    for (float& w : level[0]) {
      w = random() % 4 ? 0.0f : static_cast<float>(random()) * (random() % 2 ? 1e-30f : 1.0f);
      any |= w > 0;
    }
    if (!any) continue;
    for (int n = 0; n < 5; ++n)
      for (int lane = 0; lane < 32; ++lane)
        level[n + 1][lane] = level[n][lane] + level[n][lane ^ (16 >> n)];
    const auto partial = [&](int n, int lane) { return level[n][lane]; };
    for (const double share : {0.0, 0.3, 0.999999, 1.0}) {
      auto rest = static_cast<float>(share) * level[5][0];
      CHECK(level[0][adsorption::choose_lane(rest, partial)] > 0);
    }
  }
}

TEST("lanes are chosen as often as their weights say") {
  // Small integers, so that the sums are exact: each lane has as many of the numbers as its weight.
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    double level[6][32];
    for (double& w : level[0]) w = random() % 2 ? 0.0 : static_cast<double>(random() % 7);
    for (int n = 0; n < 5; ++n)
      for (int lane = 0; lane < 32; ++lane)
        level[n + 1][lane] = level[n][lane] + level[n][lane ^ (16 >> n)];
    std::vector<int> chosen(32);
    for (int k = 0; k < level[5][0]; ++k) {
      double rest = k;
      const int lane = adsorption::choose_lane(rest, [&](int n, int l) { return level[n][l]; });
      CHECK(rest >= 0 && rest < level[0][lane]);
      ++chosen[lane];
    }
    for (int lane = 0; lane < 32; ++lane) CHECK_EQUAL(chosen[lane], level[0][lane]);
  }
}

TEST("of a lane's own weights the last that is not zero takes what rounding leaves over") {
  const float weights[] = {0, 1, 2, 0};
  CHECK_EQUAL(adsorption::choose_own(0.0f, weights, 4), 1);
  CHECK_EQUAL(adsorption::choose_own(0.999f, weights, 4), 1);
  CHECK_EQUAL(adsorption::choose_own(1.0f, weights, 4), 2);
  CHECK_EQUAL(adsorption::choose_own(3.5f, weights, 4), 2);
}
