// SPDX-License-Identifier: BSD-3-Clause
// Positions of disks in the box, and the sum by which a host program's disks are known again.
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "core/hard_particles/host_particles.h"
#include "support/test.h"

using namespace manymove::hard_particles;

namespace {

template <class Real>
std::uint64_t trace(const std::vector<HostPair<Real>>& positions) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < positions.size(); ++i)
    sum += trace_of(static_cast<std::uint32_t>(i), positions[i].x, positions[i].y);
  return sum;
}

// Many disks, some of them at coordinates whose last bits are zero.
template <class Real>
std::vector<HostPair<Real>> disks() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> anywhere(-50, 50);
  std::vector<HostPair<Real>> r;
  for (int i = 0; i < 500; ++i)
    r.push_back({static_cast<Real>(anywhere(random)), static_cast<Real>(anywhere(random))});
  for (int i = 0; i < 500; ++i) r.push_back({Real(0.5) * Real(i % 25), Real(-0.25) * Real(i)});
  return r;
}

// All traces of disks after one change differ from each other and from that before it.
template <class Real>
void check_changes() {
  const auto before = disks<Real>();
  std::set<std::uint64_t> seen{trace(before)};
  std::size_t changes = 1;
  const auto note = [&](const std::vector<HostPair<Real>>& after) {
    seen.insert(trace(after));
    ++changes;
  };
  const Real infinity = HUGE_VAL;
  for (std::size_t i = 0; i < before.size(); ++i)
    for (Real HostPair<Real>::* axis : {&HostPair<Real>::x, &HostPair<Real>::y}) {
      const Real value = before[i].*axis;
      for (const Real other :
           {std::nextafter(value, infinity), std::nextafter(value, -infinity), value + Real(1),
            value - Real(100), Real(3) * value + Real(64.125)}) {
        auto after = before;
        after[i].*axis = other;
        note(after);
      }
    }
  for (std::size_t i = 0; i + 1 < 500; ++i) {  // two disks exchange places; one mirrors its own
    auto after = before;
    std::swap(after[i], after[i + 1]);
    note(after);
    after = before;
    std::swap(after[i].x, after[i].y);
    note(after);
  }
  for (const Real shift : {Real(1), Real(0.5), Real(-1024)}) {
    auto after = before;
    for (auto& r : after) r.x += shift;
    note(after);
  }
  CHECK_EQUAL(seen.size(), changes);
}

}  // namespace

TEST("a disk that a host program has moved changes the trace") {
  check_changes<double>();
  check_changes<float>();
}

TEST("the place of a disk in the box is exact in double precision") {
  equal_disks::Geometry g{};
  g.half[0] = g.half[1] = 2097151;
  Frame f{};
  const std::int64_t extent = std::int64_t{30000} * 2 * 2097151;
  std::mt19937_64 random(6);
  for (int i = 0; i < 100000; ++i) {
    const auto origin = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent));
    const int cell = static_cast<int>(random() % 30000);
    const std::int64_t local = static_cast<std::int64_t>(random() % 4194301) - 2097150;
    f.origin[0] = static_cast<double>(origin);
    f.extent[0] = static_cast<double>(extent);
    const std::int64_t place = (origin + (2 * std::int64_t{cell} + 1) * 2097151 + local) % extent;
    CHECK_EQUAL(static_cast<std::int64_t>(place_in_box(g, f, 0, cell, static_cast<float>(local))),
                place);
  }
}
