// SPDX-License-Identifier: BSD-3-Clause
// The polynomial of Ewald's pair potential: its stated error in every shape of box.
#include <algorithm>
#include <cmath>

#include "core/coulomb/ewald.h"
#include "core/coulomb/model.h"
#include "support/test.h"

using namespace manymove::coulomb;

namespace {

template <class S>
double rest_at(const EwaldBox& box, const RestTerms<S>& terms, const double (&at)[3]) {
  const S a[1] = {static_cast<S>(at[0])}, b[1] = {static_cast<S>(at[1])},
          c[1] = {static_cast<S>(at[2])};
  S value[1] = {0};
  add_rest(rest_of(box, terms, terms.coefficients.data(), terms.lines.data()), a, b, c, value);
  return static_cast<double>(value[0]);
}

}  // namespace

TEST("the polynomial has its stated error in every box up to 2:1") {
  constexpr float kLong = 16777216;
  const float shapes[][2] = {{1, 1},       {1, 0.5f},     {0.5f, 0.5f}, {0.75f, 0.5f},
                             {0.9f, 0.5f}, {0.6f, 0.55f}, {1, 0.7f},    {0.8f, 0.9f}};
  for (const auto& shape : shapes) {
    const float edge[3] = {kLong * shape[1], kLong, kLong * shape[0]};
    const auto box = make_ewald_box(edge);
    CHECK(box->terms.error * kLong <= 1e-10);
    CHECK(box->terms_single.error * kLong <= 5e-7);
    // With the rounding of float32, as `boundary` of manymove.Electrolyte states it.
    for (int k = 0; k < 1000; ++k) {
      const double at[3] = {k % 10 / 9.0, k / 10 % 10 / 9.0, k / 100 / 9.0};
      const double difference =
          rest_at(*box, box->terms, at) - rest_at(*box, box->terms_single, at);
      CHECK(std::abs(difference) * kLong <= 2e-6);
    }
  }
}

TEST("a charge and its images in a cube have the potential of the simple cubic lattice") {
  constexpr float kEdge = 1048576;
  const float edge[3] = {kEdge, kEdge, kEdge};
  const auto box = make_ewald_box(edge);
  // The energy of a simple cubic lattice of charges in a uniform background, per charge and edge.
  CHECK(std::abs(box->at_origin * kEdge + 2.837297479480619) < 1e-11);
}
