// SPDX-License-Identifier: BSD-3-Clause
// The float32 estimate of contact against exact integers, in pairs that the engine can meet.
// Before model.h, which finds the operators of vectors there.
#include "core/runtime/vec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "core/hard_particles/particles.h"
#include "support/level.h"

using namespace manymove;
using namespace manymove::hard_particles;

namespace {

constexpr int kPairs = 500000;  // of each kind
constexpr double kUlp = 0x1p-24;
// The bound of docs/theory/hard_spheres.md, section 1.3.
static_assert(213 * kUlp < kEstimateError);

// A pair: where the neighbor is and where the particle goes, from where it is; odd coordinates
// relative to the cell's center make both even.
struct Pair {
  std::int64_t d[3], u[3];
};

// The estimate less the exact value, in squares of the largest contact distance.
template <int D>
double error_of(const Pair (&pairs)[kLanes], double largest, const double (&sigma)[kLanes],
                const float (&sigma_single)[kLanes]) {
  FloatLanes d[D], minus_2u[D], u[D], s;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int a = 0; a < D; ++a) {
      d[a][lane] = static_cast<float>(pairs[lane].d[a]);
      u[a][lane] = static_cast<float>(pairs[lane].u[a]);
    }
    s[lane] = sigma_single[lane];
  }
  for (int a = 0; a < D; ++a) minus_2u[a] = -2.0f * u[a];
  const FloatLanes gap = squared_length<D>(d) - s * s;
  // As the CPU engine compares: with the margin less |u|^2.
  const FloatLanes found = gap_after<D>(gap, d, minus_2u), square = squared_length<D>(u);
  double worst = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::int64_t exact = 0;
    for (int a = 0; a < D; ++a) {
      const std::int64_t by = pairs[lane].d[a] - pairs[lane].u[a];
      exact += by * by;
    }
    const double truth = static_cast<double>(exact) - sigma[lane] * sigma[lane];
    const double estimate = static_cast<double>(found[lane]) + static_cast<double>(square[lane]);
    worst = std::max(worst, std::abs(estimate - truth) / (largest * largest));
  }
  return worst;
}

// Neighbors anywhere in the cells around, or `near` contact, for contact distances from `ratio`
// times the smaller of two sizes on.
template <int D>
double worst_error(double width, double ratio, bool near) {
  std::mt19937_64 random(D);
  const auto uniform = [&] { return static_cast<double>(random()) * 0x1p-64; };
  const auto half = static_cast<std::int64_t>(kMaxHalfWidth);
  const double largest = 2 * static_cast<double>(half) / width;
  const auto place = [&](int cell) {  // odd, relative to the particle's cell
    return 2 * half * cell + 2 * static_cast<std::int64_t>(uniform() * static_cast<double>(half)) -
           half + 1;
  };
  double worst = 0;
  for (int n = 0; n < kPairs; n += kLanes) {
    Pair pairs[kLanes];
    double sigma[kLanes];
    float single[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const double a = largest * (uniform() < 0.5 ? 1 : (ratio + (1 - ratio) * uniform())),
                   b = largest * (uniform() < 0.5 ? 1 : (ratio + (1 - ratio) * uniform()));
      sigma[lane] = 0.5 * (a + b);
      single[lane] = static_cast<float>(0.5 * a) + static_cast<float>(0.5 * b);
      for (;;) {
        double direction[3] = {0, 0, 0}, length = 0;
        for (int axis = 0; axis < D; ++axis) {
          direction[axis] = 2 * uniform() - 1;
          length += direction[axis] * direction[axis];
        }
        const double distance = sigma[lane] * (1 + 2e-5 * (uniform() - 0.5));
        bool inside = length > 0;
        for (int axis = 0; axis < D; ++axis) {
          // Corners of the cell, too, where the errors are largest.
          const bool corner = uniform() < 0.3;
          const std::int64_t from = corner ? (random() & 1 ? half - 1 : 1 - half) : place(0);
          const std::int64_t to = corner ? -from : place(0);
          std::int64_t other;
          if (near) {
            other = to + 2 * static_cast<std::int64_t>(std::nearbyint(
                                 0.5 * distance * direction[axis] / std::sqrt(length)));
            inside = inside && std::abs(other) < 3 * half;
          } else {
            other = corner ? (from > 0 ? 1 - 3 * half : 3 * half - 1)
                           : place(static_cast<int>(random() % 3) - 1);
          }
          pairs[lane].d[axis] = other - from;
          pairs[lane].u[axis] = to - from;
        }
        if (inside) break;
      }
    }
    worst = std::max(worst, error_of<D>(pairs, largest, sigma, single));
  }
  return worst;
}

template <int D>
void check_margins() {
  for (const double width : {1.0, 4.0 / 3})
    for (const double ratio : {1.0, 1 / 8.0}) {
      // The largest that were found are 41 and 63.
      CHECK(worst_error<D>(width, ratio, true) < 60 * kUlp);
      CHECK(worst_error<D>(width, ratio, false) < 90 * kUlp);
    }
}

}  // namespace

TEST_LEVEL("the estimate of contact of spheres is wrong by less than its margin") {
  check_margins<3>();
}

TEST_LEVEL("the estimate of contact of disks of a mixture is wrong by less than its margin") {
  check_margins<2>();
}
