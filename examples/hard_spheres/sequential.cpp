// SPDX-License-Identifier: BSD-3-Clause
// Sequential Monte Carlo of polydisperse hard spheres in a cubic box, with swap moves as in the
// literature: one trial after the other, of a sphere drawn at random, which is moved or exchanges
// its diameter with any other sphere of the system. It shares nothing with the engine.
//
// Positions are 32-bit fractions of the edge, so that differences belong to the nearest images.
// Distances are compared in float32 in units of 2^-32 edges. Each sphere has copies of the spheres
// that it can reach before it has gone too far from its reference position. Then its reference
// position and its copies alone are replaced.
//
// swap_moves.py compiles this file as a library.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr int kMost = 96;  // neighbors of a sphere

struct Random {  // xoshiro256++ of D. Blackman and S. Vigna
  std::uint64_t* s;
  static std::uint64_t rotated(std::uint64_t x, int k) { return x << k | x >> (64 - k); }
  std::uint64_t operator()() {
    const std::uint64_t r = rotated(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return r;
  }
};

// The high half of a word as a number below n.
int below(std::uint64_t word, int n) {
  return static_cast<int>((word >> 32) * static_cast<std::uint64_t>(n) >> 32);
}

float difference(std::uint32_t a, std::uint32_t b) {
  return static_cast<float>(static_cast<std::int32_t>(a - b));
}
float square(float x, float y, float z) { return std::fma(x, x, std::fma(y, y, z * z)); }

// The spheres near one: their positions and radii, their indices, and at which place of their own
// neighborhoods this one is.
struct Neighborhood {
  std::uint32_t x[kMost], y[kMost], z[kMost];
  float radius[kMost];
  int index[kMost], place[kMost];
  int count = 0;
};

struct Neighborhoods {
  int n;
  std::uint32_t* const* at;
  const float* radius;
  float skin, largest;  // radius, if every sphere may become the largest; otherwise 0
  std::vector<std::uint32_t> reference[3];
  std::vector<Neighborhood> of;
  bool full = false;

  Neighborhoods(int spheres, std::uint32_t* const* positions, const float* radii, float beyond,
                float most)
      : n(spheres), at(positions), radius(radii), skin(beyond), largest(most), of(spheres) {
    for (int a = 0; a < 3; ++a) reference[a].assign(at[a], at[a] + n);
    for (int i = 0; i < n; ++i) connect(i, i);
  }

  // Sphere i with all that are near it and come before `end`.
  void connect(int i, int end) {
    const std::uint32_t *x = reference[0].data(), *y = reference[1].data(),
                        *z = reference[2].data();
    for (int j = 0; j < end; ++j) {
      const float reach = (largest > 0 ? 2 * largest : radius[i] + radius[j]) + skin;
      const float r2 =
          square(difference(x[j], x[i]), difference(y[j], y[i]), difference(z[j], z[i]));
      if (r2 >= reach * reach || j == i) continue;
      if (of[i].count == kMost || of[j].count == kMost) {
        full = true;
        return;
      }
      const int mine = of[i].count, its = of[j].count;
      enter(i, j, its);
      enter(j, i, mine);
    }
  }
  void enter(int i, int j, int place) {
    Neighborhood& own = of[i];
    own.index[own.count] = j;
    own.place[own.count++] = place;
    copy(i, own.count - 1);
  }
  void copy(int i, int k) {
    Neighborhood& own = of[i];
    const int j = own.index[k];
    own.x[k] = at[0][j];
    own.y[k] = at[1][j];
    own.z[k] = at[2][j];
    own.radius[k] = radius[j];
  }

  // Sphere i has moved or has another radius.
  void changed(int i) {
    const Neighborhood& own = of[i];
    for (int k = 0; k < own.count; ++k) copy(own.index[k], own.place[k]);
  }

  void renew(int i) {
    Neighborhood& own = of[i];
    for (int k = 0; k < own.count; ++k) {
      Neighborhood& other = of[own.index[k]];
      const int place = own.place[k], last = --other.count;
      if (place == last) continue;
      other.index[place] = other.index[last];
      other.place[place] = other.place[last];
      copy(own.index[k], place);
      of[other.index[place]].place[other.place[place]] = place;
    }
    own.count = 0;
    for (int a = 0; a < 3; ++a) reference[a][i] = at[a][i];
    connect(i, n);
  }

  // Whether a sphere of radius r at p, in place of sphere i, overlaps one other than `but`. All
  // neighbors are compared, because compilers vectorize loops without an exit.
  bool overlaps(int i, const std::uint32_t p[3], float r, int but) const {
    const Neighborhood& own = of[i];
    const std::uint32_t px = p[0], py = p[1], pz = p[2];
    int hits = 0;
    for (int k = 0; k < own.count; ++k) {
      const float reach = r + own.radius[k];
      const float r2 =
          square(difference(own.x[k], px), difference(own.y[k], py), difference(own.z[k], pz));
      hits += (own.index[k] != but) & (r2 < reach * reach);
    }
    return hits > 0;
  }
};

}  // namespace

// Makes `sweeps` times n trials. A trial is a swap with the probability `share`; otherwise a sphere
// is moved by at most `step` along each axis. Neighborhoods reach `skin` beyond contact, which is
// more than the diagonal of a step. Lengths are in units of 2^-32 edges.
//
// positions: three arrays of n, changed; radii: n, changed; state: of the random number generator,
// changed; counters: trial moves, accepted moves, trial swaps and accepted swaps are added.
// Returns 0, or 1 if a neighborhood is full.
extern "C" int sequential(int n, std::uint32_t* const* positions, float* radii, double step,
                          double share, double skin, long long sweeps, std::uint64_t* state,
                          std::uint64_t* counters) {
  Random random{state};
  float largest = 0;
  for (int i = 0; i < n; ++i) largest = radii[i] > largest ? radii[i] : largest;
  Neighborhoods near(n, positions, radii, static_cast<float>(skin), share > 0 ? largest : 0.0f);
  const std::int64_t half = 1 << 20;  // of the values of 21 bits
  const double width = step / static_cast<double>(half);
  // A trial position is at most this and the diagonal of a step from the reference position.
  const double farthest = (static_cast<float>(skin) - std::sqrt(3.0) * step) / 2;
  const auto farthest2 = static_cast<float>(farthest * farthest);
  const auto swaps_below = static_cast<std::uint64_t>(share * 0x1p32);
  for (long long trial = 0; trial < sweeps * n && !near.full; ++trial) {
    const std::uint64_t word = random();
    const int i = below(word, n);
    if ((word & 0xffffffffu) < swaps_below) {
      const int j = below(random(), n);
      ++counters[2];
      if (i == j) continue;
      // The larger of the two has room for the smaller diameter in any case. Their own distance
      // matters to neither, because the sum of the radii stays.
      const int grows = radii[i] < radii[j] ? i : j, shrinks = grows == i ? j : i;
      const std::uint32_t p[3] = {positions[0][grows], positions[1][grows], positions[2][grows]};
      if (near.overlaps(grows, p, radii[shrinks], shrinks)) continue;
      const float larger = radii[shrinks];
      radii[shrinks] = radii[grows];
      radii[grows] = larger;
      near.changed(i);
      near.changed(j);
      ++counters[3];
      continue;
    }
    const std::uint64_t by = random();
    std::uint32_t p[3];
    for (int a = 0; a < 3; ++a) {
      const auto bits = static_cast<std::int64_t>(by >> 21 * a & 0x1fffff);
      const double d = (static_cast<double>(bits - half) + 0.5) * width;
      p[a] = positions[a][i] + static_cast<std::uint32_t>(static_cast<std::int32_t>(d));
    }
    ++counters[0];
    if (near.overlaps(i, p, radii[i], -1)) continue;
    ++counters[1];
    for (int a = 0; a < 3; ++a) positions[a][i] = p[a];
    near.changed(i);
    const float away2 =
        square(difference(p[0], near.reference[0][i]), difference(p[1], near.reference[1][i]),
               difference(p[2], near.reference[2][i]));
    if (away2 > farthest2) near.renew(i);
  }
  return near.full ? 1 : 0;
}
