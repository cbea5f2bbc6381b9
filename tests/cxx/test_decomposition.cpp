// SPDX-License-Identifier: BSD-3-Clause
// DPD's box shared among ranks.
#include "core/dpd/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "core/dpd/settings.h"
#include "core/parallel/origins.h"
#include "support/ranks.h"
#include "support/test.h"

using namespace manymove;
using namespace manymove::dpd;
using test::run_communicators;

namespace {

struct Place {
  std::uint32_t x, y, z;
};

Settings settings_of(const int (&parts)[3], bool periodic_z, double tilt, unsigned seed) {
  Settings s{};
  s.box = {{-1, -2, -3}, {10, 12, 8}, {tilt, 0, 0}, {true, true, periodic_z}};
  s.cutoff = 1;
  s.skin = 0.3;
  std::mt19937 random(seed);
  int ranks = 1;
  for (int a = 0; a < 3; ++a) {
    s.grid.cut[a] = {0, 1};
    // Parts of unequal widths, narrower than the reach among them.
    for (int k = 1; k < parts[a]; ++k)
      s.grid.cut[a].push_back(0.02 + 0.96 * static_cast<double>(random()) * 0x1p-32);
    std::sort(s.grid.cut[a].begin(), s.grid.cut[a].end());
    ranks *= parts[a];
  }
  for (int r = 0; r < ranks; ++r) s.grid.rank.push_back((r + 1) % ranks);
  return s;
}

constexpr int kGrids[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 2}, {5, 1, 3}, {1, 7, 1}};

// Calls check(decomposition, settings, random) on all ranks of several grids.
template <class Check>
void for_each_decomposition(Check check) {
  for (const auto& parts : kGrids)
    for (const bool periodic : {true, false})
      for (const double tilt : {0.0, 3.0})
        run_communicators(parts[0] * parts[1] * parts[2], [&](Communicator& communicator) {
          const Settings settings = settings_of(parts, periodic, tilt, 7);
          const BrickDecomposition decomposition = decomposition_of(settings, communicator);
          std::mt19937 random(8);  // on all ranks the same
          check(decomposition, settings, random);
        });
}

bool knows(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

TEST("the parts of all ranks fill the frame") {
  for_each_decomposition(
      [](const BrickDecomposition& decomposition, const Settings&, std::mt19937&) {
        unsigned __int128 volume = 0;
        for (const Brick& part : decomposition.parts()) {
          unsigned __int128 product = 1;
          for (int a = 0; a < 3; ++a) product *= std::uint64_t{part.beyond[a]} + 1;
          volume += product;
        }
        CHECK(volume == static_cast<unsigned __int128>(1) << 96);
      });
}

TEST("every position is in one part, that of its owner, on both sides of each cut") {
  for_each_decomposition([](const BrickDecomposition& decomposition, const Settings&,
                            std::mt19937& random) {
    std::vector<std::uint32_t> edges[3];
    for (const Brick& part : decomposition.parts())
      for (int a = 0; a < 3; ++a)
        for (const std::uint32_t u : {part.low[a], part.low[a] - 1, part.low[a] + part.beyond[a],
                                      static_cast<std::uint32_t>(random())})
          edges[a].push_back(u);
    for (int k = 0; k < 300; ++k) {
      std::uint32_t at[3];
      for (int a = 0; a < 3; ++a) at[a] = edges[a][random() % edges[a].size()];
      int owners = 0;
      for (const Brick& part : decomposition.parts()) owners += is_in(part, at[0], at[1], at[2]);
      CHECK_EQUAL(owners, 1);
      const int owner = decomposition.owner(at[0], at[1], at[2]);
      CHECK(is_in(decomposition.parts()[static_cast<std::size_t>(owner)], at[0], at[1], at[2]));
      // All ranks say the same.
      CHECK_EQUAL(decomposition.sum(owner), std::int64_t{owner} * decomposition.ranks());
    }
  });
}

TEST("a rank knows what is within cutoff and skin of its part, and its owner is a neighbor") {
  for_each_decomposition(
      [](const BrickDecomposition& decomposition, const Settings& settings, std::mt19937& random) {
        BoxFrame straight{settings.box};
        std::fill_n(straight.box.low, 3, 0.0);
        const auto self = static_cast<std::size_t>(decomposition.rank());
        const Brick& part = decomposition.parts()[self];
        const auto uniform = [&] { return static_cast<double>(random()) * 0x1p-32; };
        for (int k = 0; k < 1000; ++k) {
          double way[3], norm = 0, fraction[3];
          for (double& x : way) {
            x = 2 * uniform() - 1;
            norm += x * x;
          }
          for (double& x : way) x *= (settings.cutoff + settings.skin) / std::sqrt(norm);
          straight.to_fractions(way, fraction);
          std::uint32_t at[3];
          for (int a = 0; a < 3; ++a) {
            const auto inside = static_cast<std::uint32_t>(k % 2 ? uniform() * part.beyond[a]
                                                           : random() % 2 ? 0
                                                                          : part.beyond[a]);
            const double frame = settings.box.periodic[a] ? fraction[a] : fraction[a] / 2;
            at[a] = part.low[a] + inside + static_cast<std::uint32_t>(std::llrint(frame * 0x1p32));
          }
          CHECK(is_in(decomposition.here(), at[0], at[1], at[2]));
          const int owner = decomposition.owner(at[0], at[1], at[2]);
          CHECK(owner == decomposition.rank() || knows(decomposition.neighbors(), owner));
        }
      });
}

TEST("if a rank is another one's neighbor, the other is its neighbor too") {
  for_each_decomposition(
      [](const BrickDecomposition& decomposition, const Settings&, std::mt19937&) {
        const int ranks = decomposition.ranks(), self = decomposition.rank();
        std::vector<std::int64_t> mine(static_cast<std::size_t>(ranks)), theirs(mine);
        for (const int r : decomposition.neighbors()) {
          CHECK(r != self);
          mine[static_cast<std::size_t>(r)] += 1;
        }
        decomposition.communicator().transpose(mine.data(), theirs.data());
        CHECK(mine == theirs);
      });
}

TEST("every resident particle finds its origin, wherever the hosts have it") {
  for (const int ranks : {1, 2, 5})
    run_communicators(ranks, [&](Communicator& communicator) {
      // Particle `tag` is with host tag % 7 % ranks and resident on rank tag % 11 % ranks; rank 0
      // of several hosts none at all.
      const auto host = [&](std::uint32_t tag) {
        const int r = static_cast<int>(tag % 7) % ranks;
        return ranks > 1 && r == 0 ? 1 : r;
      };
      std::vector<std::uint32_t> all, hosted, resident;
      for (std::uint32_t tag = 1; tag < 1000; ++tag) all.push_back(tag * tag);
      all.push_back(0xffffffffu);
      std::vector<std::int32_t> index(all.size()), next(static_cast<std::size_t>(ranks));
      for (std::size_t k = 0; k < all.size(); ++k) {
        index[k] = next[static_cast<std::size_t>(host(all[k]))]++;
        if (host(all[k]) == communicator.rank()) hosted.push_back(all[k]);
      }
      std::vector<std::size_t> which;
      for (std::size_t k = all.size(); k-- > 0;)
        if (static_cast<int>(all[k] % 11) % ranks == communicator.rank()) {
          resident.push_back(all[k]);
          which.push_back(k);
        }
      const auto origins =
          find_origins(communicator, resident, static_cast<int>(hosted.size()), hosted.data());
      CHECK_EQUAL(origins.size(), resident.size());
      for (std::size_t i = 0; i < origins.size(); ++i) {
        CHECK_EQUAL(origins[i].rank, host(resident[i]));
        CHECK_EQUAL(origins[i].index, index[which[i]]);
      }
    });
}

TEST("a grid that does not fit the ranks is refused, and so are parts without width") {
  run_communicators(2, [](Communicator& communicator) {
    Settings settings = settings_of({3, 1, 1}, true, 0, 7);
    CHECK_THROWS(decomposition_of(settings, communicator), std::invalid_argument,
                 "a grid of 3 parts for 2 ranks");
    settings = settings_of({2, 1, 1}, true, 0, 7);
    for (const double cut : {0.0, 1.0, -0.5, 1e-11}) {
      settings.grid.cut[0][1] = cut;
      CHECK_THROWS(decomposition_of(settings, communicator), std::invalid_argument,
                   "the parts of ranks along x have no width");
    }
  });
}

TEST("a particle enters the frame and leaves it where it was, in both precisions") {
  const auto check = [](auto precision, double error) {
    using P = decltype(precision);
    const BoxFrame frame{{{-1, -2, -3}, {10, 12, 8}, {3, -2, 1}, {true, true, false}}};
    std::mt19937 random(9);
    for (int k = 0; k < 10000; ++k) {
      double fraction[3], r[3], back[3];
      for (double& f : fraction) f = static_cast<double>(random()) * 0x1p-32;
      frame.from_fractions(fraction, r);
      typename P::Position p{};
      int image[3] = {};
      CHECK(enter_frame<P>(frame, r, p, image));
      leave_frame<P>(frame, p, back);
      for (int a = 0; a < 3; ++a) back[a] += image[a] * (a == 0 ? 10 : 12) * (a < 2);
      back[0] += image[1] * 3;
      for (int a = 0; a < 3; ++a) CHECK(std::abs(back[a] - r[a]) < error);
    }
  };
  check(Mixed{}, 1e-8);
  check(Double{}, 1e-14);
}

TEST("a position at a face, or not finite, enters the frame or is refused") {
  const BoxFrame frame{{{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {true, true, false}}};
  const auto enters = [&](double x, double z, int image_x) {
    const double r[3] = {x, 0.5, z};
    Mixed::Position p{};
    Double::Position q{};
    int image[3] = {}, image_of_double[3] = {};
    const bool both = enter_frame<Mixed>(frame, r, p, image);
    CHECK_EQUAL(both, enter_frame<Double>(frame, r, q, image_of_double));
    if (both) CHECK_EQUAL(image_of_double[0] + fraction_of(q.x), x);
    if (both) CHECK_EQUAL(image[0], image_x);
    return both;
  };
  CHECK(enters(0, 0, 0));
  CHECK(enters(1, 1, 1));
  CHECK(enters(-0.25, 0.5, -1));
  CHECK(enters(1 - 0x1p-53, 0.5, 1));  // in 32 bits it is on the face
  CHECK(!enters(0.5, -1e-9, 0));
  CHECK(!enters(0.5, 1 + 1e-9, 0));
  CHECK(!enters(1e7, 0.5, 0));
  CHECK(!enters(std::nan(""), 0.5, 0));
  CHECK(!enters(0.5, HUGE_VAL, 0));
}
