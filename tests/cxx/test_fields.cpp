// SPDX-License-Identifier: BSD-3-Clause
// Each member of a snapshot and of its counters has a name in checkpoints, and each array of a host
// of dissipative particles comes back.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/adsorption/engine.h"
#include "core/coulomb/engine.h"
#include "core/dpd/particle_records.h"
#include "support/fields.h"
#include "support/fluid.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace support;

TEST("a checkpoint of an electrolyte has each field of its snapshot") {
  CHECK(visited_members<coulomb::Counters>() == members<coulomb::Counters>());
  CHECK(visited_members<coulomb::Snapshot>() == members<coulomb::Snapshot>());
}

TEST("a checkpoint of adsorbates has each field of its snapshot") {
  CHECK(visited_members<adsorption::Counters>() == members<adsorption::Counters>());
  CHECK(visited_members<adsorption::Snapshot>() == members<adsorption::Snapshot>());
}

TEST("each array of a host has a field in what ranks send each other of its particles") {
  const dpd::HostArrays arrays{};
  std::size_t visited = 2;             // count and axes of velocities
  std::size_t bytes = sizeof(double);  // the index and its padding
  dpd::for_each_field(arrays, [&](const char*, auto*, auto field) {
    ++visited;
    bytes += sizeof(dpd::Arrival{}.*field.of);
  });
  CHECK_EQUAL(visited, members<dpd::HostArrays>());
  CHECK_EQUAL((bytes + 7) / 8 * 8, sizeof(dpd::Arrival));
}

TEST("each array of a host survives an upload, and the way of its particles to other ranks") {
  constexpr double kEdge = 8;
  constexpr int kCount = 64;
  for (const bool double_precision : {false, true})
    test::run_communicators(2, [&](Communicator& communicator) {
      const std::vector<dpd::PairCoefficients> coefficients(4, {0, 0, 0, 1, 1});
      dpd::Settings s = test::fluid_in_cube(kEdge, coefficients);
      s.pairs.double_precision = double_precision;
      s.grid.cut[0] = {0, 0.5, 1};
      s.grid.cut[1] = s.grid.cut[2] = {0, 1};
      s.grid.rank = {0, 1};
      std::vector<std::array<double, 3>> r, v, f(kCount, {1, 2, 3});
      std::vector<std::array<int, 3>> image;
      std::vector<std::uint32_t> tag;
      for (int i = 0; i < kCount; ++i) {
        tag.push_back(static_cast<std::uint32_t>(kCount * communicator.rank() + i + 1));
        r.push_back({kEdge * (i + 0.5) / kCount, 2.0 + i % 4, 4.0 - 2.0 * communicator.rank()});
        v.push_back({1, -0.5 * i, 0.25});
        image.push_back({i, -i, communicator.rank()});
      }
      const auto r0 = r, v0 = v;
      const auto image0 = image;
      const std::vector<int> type(kCount, 1);
      const std::vector<std::uint32_t> flags(kCount, 0);  // they stay where they are
      const auto engine = dpd::make_engine(s, "cpu", 1, &communicator);
      const dpd::HostArrays arrays{kCount, reinterpret_cast<double (*)[3]>(r.data()),
                                   reinterpret_cast<double (*)[3]>(v.data()),
                                   reinterpret_cast<double (*)[3]>(f.data()),
                                   reinterpret_cast<int (*)[3]>(image.data())};
      dpd::Topology topology{};
      topology.type = type.data();
      topology.tag = tag.data();
      topology.flags = flags.data();
      engine->upload(arrays, topology, {0, 0});
      const auto lose_all = [&] {
        for (auto* each : {&r, &v, &f}) each->assign(kCount, {});
        image.assign(kCount, {});
      };
      const auto check = [&](const std::array<double, 3>& force) {
        for (std::size_t i = 0; i < kCount; ++i)
          for (std::size_t a = 0; a < 3; ++a) CHECK(std::abs(r[i][a] - r0[i][a]) < 1e-8);
        CHECK(v == v0);
        CHECK(image == image0);
        for (const auto& each : f) CHECK(each == force);
      };
      lose_all();
      engine->download(arrays);
      check({1, 2, 3});
      engine->advance(1);  // half of the particles are on the other rank now, without forces
      lose_all();
      engine->download(arrays);
      check({0, 0, 0});
    });
}

TEST("a rank does not answer for particles that its host does not have") {
  test::run_communicators(1, [](Communicator& communicator) {
    const double values[2][3] = {{1, 2, 3}, {4, 5, 6}};
    CHECK_EQUAL(fetch_from_origins(communicator, {{0, 1}}, values, 2)[0][2], 6.0);
    for (const std::int32_t index : {-1, 2})
      CHECK_THROWS(fetch_from_origins(communicator, {{0, index}}, values, 2), std::runtime_error,
                   "of a host that has 2 particles");
  });
}
