// SPDX-License-Identifier: BSD-3-Clause
// Particles of DPD in the arrays of a host program: places, images, and values that do not change.
#include <array>
#include <cmath>
#include <cstdint>

#include "core/dpd/host_particles.h"
#include "support/test.h"

using namespace manymove::dpd;

namespace {

// A host program with one particle, whose mass is 4.
template <class Scalar>
struct Host {
  std::uint32_t index = 0;
  Scalar position[4] = {0, 0, 0, 7}, velocity[4] = {0, 0, 0, 4}, acceleration[3], force[4];
  std::int32_t image[1][3];

  // The tilts are lengths.
  HostParticles arrays(const std::array<double, 3>& edge, const std::array<double, 3>& tilt) {
    return {&index,
            position,
            velocity,
            acceleration,
            force,
            image,
            {edge[0], edge[1], edge[2]},
            {tilt[0] / edge[1], tilt[1] / edge[2], tilt[2] / edge[2]},
            sizeof(Scalar) == sizeof(double)};
  }
};

template <class Scalar>
void check_faces(const std::array<double, 3>& edge, const std::array<double, 3>& tilt) {
  const double almost[] = {0, 0.3, 1 - 0x1p-53};
  for (const double fx : almost)
    for (const double fy : almost)
      for (const double fz : almost) {
        const double x = fx - 0.5, y = fy - 0.5, z = fz - 0.5;
        const double r[3] = {x * edge[0] + y * tilt[0] + z * tilt[1], y * edge[1] + z * tilt[2],
                             z * edge[2]};
        const double v[3] = {1, 2, 3}, f[3] = {8, -4, 2};
        const int n[3] = {5, -6, 0};
        Host<Scalar> host;
        const HostParticles to = host.arrays(edge, tilt);
        write_for_host<Scalar>(to, 1, r, v, f, n);
        // The far faces belong to the next image.
        const auto& place = host.position;
        std::int32_t crossed[3];
        for (int a = 0; a < 3; ++a) crossed[a] = host.image[0][a] - n[a];
        const Scalar wall = Scalar(edge[2]) / 2;
        CHECK(-wall <= place[2] && place[2] < wall);
        CHECK_EQUAL(crossed[2], fz > 0.5 && Scalar(r[2]) == wall ? 1 : 0);
        const double back[3] = {
            place[0] + crossed[0] * edge[0] + crossed[1] * tilt[0] + crossed[2] * tilt[1],
            place[1] + crossed[1] * edge[1] + crossed[2] * tilt[2],
            place[2] + crossed[2] * edge[2]};
        for (int a = 0; a < 3; ++a) {
          CHECK(std::abs(back[a] - r[a]) < 4e-6);
          CHECK_EQUAL(host.velocity[a], Scalar(v[a]));
          CHECK_EQUAL(host.force[a], Scalar(f[a]));
          CHECK_EQUAL(host.acceleration[a], Scalar(f[a] / 4));
        }
        CHECK(host.position[3] == 7 && host.velocity[3] == 4 && host.force[3] == 0);
      }
}

}  // namespace

TEST("a host program gets particles in its box, also where its precision rounds to the far face") {
  check_faces<float>({10, 7, 5}, {0, 0, 0});
  check_faces<float>({10, 7, 5}, {1.5, -0.5, 2});
  check_faces<double>({10, 7, 5}, {0, 0, 0});
  check_faces<double>({10, 7, 5}, {1.5, -0.5, 2});
}

TEST("a host's particle at the far face of its box is put to the near one") {
  Host<float> host;
  const double r[3] = {5 - 1e-12, 3.5 - 1e-12, 2.5 - 1e-12}, zero[3] = {};
  const int n[3] = {};
  write_for_host<float>(host.arrays({10, 7, 5}, {0, 0, 0}), 1, r, zero, zero, n);
  CHECK(host.position[0] == -5 && host.position[1] == -3.5f && host.position[2] == -2.5f);
  CHECK(host.image[0][0] == 1 && host.image[0][1] == 1 && host.image[0][2] == 1);
}
