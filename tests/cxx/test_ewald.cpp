// SPDX-License-Identifier: BSD-3-Clause
// The polynomial of Ewald's pair potential: its stated error in every shape of box.
#include <algorithm>
#include <cmath>

#include "core/coulomb/ewald.h"
#include "support/test.h"

using namespace manymove::coulomb;

TEST("the polynomial has its stated error in every box up to 2:1") {
  constexpr float kLong = 16777216;
  const float shapes[][2] = {{1, 1},       {1, 0.5f},     {0.5f, 0.5f}, {0.75f, 0.5f},
                             {0.9f, 0.5f}, {0.6f, 0.55f}, {1, 0.7f},    {0.8f, 0.9f}};
  for (const auto& shape : shapes) {
    const float edge[3] = {kLong * shape[1], kLong, kLong * shape[0]};
    const auto box = make_ewald_box(edge);
    CHECK(box->terms.error * kLong <= 1e-10);
    CHECK(box->terms_single.error * kLong <= 5e-7);
  }
}

TEST("a charge and its images in a cube have the potential of the simple cubic lattice") {
  constexpr float kEdge = 1048576;
  const float edge[3] = {kEdge, kEdge, kEdge};
  const auto box = make_ewald_box(edge);
  // The energy of a simple cubic lattice of charges in a uniform background, per charge and edge.
  CHECK(std::abs(box->at_origin * kEdge + 2.837297479480619) < 1e-11);
}
