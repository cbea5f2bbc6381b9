// SPDX-License-Identifier: BSD-3-Clause
// What pairs of particles exchange: the same bits in kernels that add it up in other ways.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/dpd/scalar_transport.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::dpd;

namespace {

template <class F>
ScalarLaw<F> law_of_scalars() {
  ScalarCoefficients c;
  for (int k = 0; k < kScalars; ++k) {
    c.weight_exponent[k] = 0.7 * (k + 1);
    c.conductance[k] = 1.1 - 0.3 * k;
    c.noise[k] = 0.1 + 0.05 * k;
  }
  c.series_of_exponent[0] = 0.1;
  c.series_of_conductance[0] = 0.2;
  return scalar_law_of<F>(c);
}

}  // namespace

// A CPU computes the flux of each pair and adds it to the sum, and a GPU hands over the sum.
TEST("the flux of a pair is rounded before it is added to a sum") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> value(0.3, 2.0), normal(-1.5, 1.5);
  const PairLaw<double> law = {18.75, 4.5, 1.0, 1.0, 0.2};
  const ScalarLaw<double> scalars = law_of_scalars<double>();
  for (const ScalarKind kind : {kTemperature, kConcentrations}) {
    Vector<double> in_place = {0, 0, 0}, apart = {0, 0, 0};
    for (int n = 0; n < 1000; ++n) {
      const auto draw = [&](auto& from) {
        return Vector<double>{from(random), from(random), from(random)};
      };
      const ScalarPair<double> pair = {draw(value),    draw(value),    0.3 * value(random),
                                       normal(random), normal(random), draw(normal)};
      scalar_pair(kind, law, scalars, pair, in_place);
      Vector<double> flux = {0, 0, 0};
      scalar_pair(kind, law, scalars, pair, flux);
      apart = apart + flux;
    }
    CHECK(in_place.x != 0);
    CHECK(in_place.x == apart.x && in_place.y == apart.y && in_place.z == apart.z);
  }
}

TEST("in single precision the second particle loses exactly what the first one receives") {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(0.3f, 2.0f), normal(-1.5f, 1.5f);
  const ScalarLaw<float> scalars = law_of_scalars<float>();
  for (int n = 0; n < 1000; ++n) {
    const auto draw = [&](auto& from) {
      return Vector<float>{from(random), from(random), from(random)};
    };
    ScalarPair<float> pair = {draw(value),    draw(value),    0.3f * value(random),
                              normal(random), normal(random), draw(normal)};
    Vector<double> first = {0, 0, 0}, second = {0, 0, 0};
    add_exchange(scalars, pair, first);
    std::swap(pair.mine, pair.other);
    pair.exchanged = Vector<float>{0, 0, 0} - pair.exchanged;
    add_exchange(scalars, pair, second);
    CHECK(first.x == -second.x && first.y == -second.y && first.z == -second.z);
  }
}

// The loops are such that compilers make vectors of them.
TEST("scalars of mixed precision keep 48 bits") {
  std::mt19937 random(9);
  std::normal_distribution<double> value(1.0, 0.1);
  std::vector<Vector<double>> exact(1000);
  std::vector<MixedWithScalars::Velocity> kept(exact.size());
  for (auto& v : exact) v = {value(random), -1e-9 * value(random), 1e20 * value(random)};
  for (std::size_t k = 0; k < exact.size(); ++k) kept[k].set_scalars(exact[k]);
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const Vector<double> is = kept[k].scalars(), was = exact[k];
    const auto near = [](double a, double b) { return std::fabs(a - b) <= 0x1p-48 * std::fabs(b); };
    CHECK(near(is.x, was.x) && near(is.y, was.y) && near(is.z, was.z));
    const Vector<float> pairs = kept[k].scalars_of_pair();
    CHECK(pairs.x == static_cast<float>(was.x));
  }
}
