// SPDX-License-Identifier: BSD-3-Clause
// Decisions of external fields against the exponential in long double, and energies against exact
// integers (docs/theory/external_fields.md, sections 1 and 2).
#include <cmath>
#include <cstdint>
#include <random>

#include "core/hard_particles/fields.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::hard_particles;

namespace {

// Compares a decision with that of the exact exponential, unless both sides are equal to rounding.
void check_decision(double rise, std::uint32_t word, std::uint32_t second) {
  const long double bound = std::exp(-static_cast<long double>(rise)) * 0x1p64L;
  const long double given = static_cast<long double>(word) * 0x1p32L + second;
  if (std::abs(given - bound) < 2e-15L * bound + 1) return;
  CHECK(accepts_rise(rise, word, [&] { return second; }) == (given < bound));
}

}  // namespace

TEST("a rise of the energy is accepted as the exponential of 64 bits says") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-12, std::log(50.0));
  for (int k = 0; k < 200000; ++k) {
    const double rise = std::exp(exponent(random));
    const auto second = static_cast<std::uint32_t>(random());
    check_decision(rise, static_cast<std::uint32_t>(random()), second);
    // Around the border between acceptance and rejection, where the estimate must not decide alone.
    const double border = std::exp(-rise) * 0x1p32;
    for (const double away : {-3e-4, -1.01e-4, -1e-5, 0.0, 1e-5, 1.01e-4, 3e-4}) {
      const double near = std::floor(border * (1 + away));
      for (const double word : {near - 600, near - 1, near, near + 1, near + 600})
        if (word >= 0 && word < 0x1p32)
          check_decision(rise, static_cast<std::uint32_t>(word), second);
    }
  }
}

TEST("a second word is asked for only where the first one decides nothing") {
  const double rise = std::log(2.0);  // the bound of the first word is about 2^31
  int asked = 0;
  const auto second = [&] { return ++asked, 0u; };
  CHECK(accepts_rise(0.0, 0xffffffffu, second) && accepts_rise(-1.0, 0xffffffffu, second));
  CHECK(accepts_rise(1e-300, 0xffffffffu, second));
  CHECK(!accepts_rise(46.0, 0, second) && !accepts_rise(INFINITY, 0, second));
  CHECK(accepts_rise(rise, 0x7ffffff0u, second) && !accepts_rise(rise, 0x80000010u, second));
  CHECK(asked == 0);
  accepts_rise(44.0, 0, second);
  CHECK(asked == 1);
}

TEST("the energy at a place does not depend on the grid and its tiles") {
  FieldView view{};
  view.number = 1;
  view.terms[0].kind = FieldKind::linear;
  view.terms[0].direction[1] = 1;
  view.terms[0].value = 0.37;
  Geometry g{};
  const double cells[2] = {12, 9};
  for (int a = 0; a < 2; ++a) {
    g.cells[a] = static_cast<int>(cells[a]);
    g.half[a] = 900000.0f;
    view.extent[a] = 2 * 900000.0 * cells[a];
    view.unit[a] = 1.1 / 1.8e6;
  }
  const double place = 12345677,
               expected = mul_rn(0.37, mul_rn(place - view.extent[1] / 2, view.unit[1]));
  for (const double origin : {0.0, 2.0, 12345676.0, 16199998.0})
    for (int first = 0; first < 9; ++first)
      for (int size = 3; size <= 5; ++size) {
        view.origin[1] = origin;
        TileBounds b{};
        b.first[1] = first;
        b.size[0] = b.size[1] = size;
        const TileField<2> field(view, g, b);
        const double away = place - field.center[1];
        for (const double r : {away, away + view.extent[1]}) {
          if (std::abs(r) > 900000.0 * (size + 1)) continue;
          const float at[2] = {0, static_cast<float>(r)};
          bool forbidden = false;
          CHECK(field.energy(0, at, forbidden) == expected && !forbidden);
        }
      }
}
