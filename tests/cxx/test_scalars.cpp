// SPDX-License-Identifier: BSD-3-Clause
// What pairs of particles exchange: the same bits in kernels that add it up in other ways.
#include <random>

#include "core/dpd/scalar_transport.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::dpd;

// A CPU computes the flux of each pair and adds it to the sum, and a GPU hands over the sum.
TEST("the flux of a pair is rounded before it is added to a sum") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> value(0.3, 2.0), normal(-1.5, 1.5);
  const PairLaw<double> law = {18.75, 4.5, 1.0, 1.0, 0.2};
  const ScalarLaw<double> scalars = {
      1.0, {1.0, 0.7, 2.0}, {1.1, 0.9, 0.3}, {0.1, 0.2, 0.05}, {0.1, 0, 0, 0}, {0.2, 0, 0, 0}, 1.0};
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
