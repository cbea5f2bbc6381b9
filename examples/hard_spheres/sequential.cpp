// SPDX-License-Identifier: BSD-3-Clause
// Sequential Monte Carlo of polydisperse hard spheres in a cubic box, with swap moves as in the
// literature: one trial after the other, of a sphere drawn at random, which is moved or exchanges
// its diameter with any other sphere of the system. It shares nothing with the engine.
//
// Positions are 32-bit fractions of the edge, so that differences are those of the nearest images.
// Distances are compared in float32 in units of 2^-32 edges. Each sphere has a list of those that
// it can reach before it has gone too far from its reference position; then its reference position
// and its entries in the lists of others are replaced, and no other list is made.
//
// swap_moves.py compiles this file as a library.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr int kMost = 128;  // neighbors of a sphere, less one place for the loop below

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

struct Lists {
  int n;
  const std::uint32_t* at[3];
  const float* radius;
  float skin, largest;  // radius, if every sphere may become the largest; otherwise 0
  std::vector<std::uint32_t> reference[3];
  std::vector<int> near, count;
  bool full = false;

  Lists(int spheres, std::uint32_t* const* positions, const float* radii, float skin_, float most)
      : n(spheres), radius(radii), skin(skin_), largest(most) {
    for (int a = 0; a < 3; ++a) {
      at[a] = positions[a];
      reference[a].assign(at[a], at[a] + n);
    }
    near.resize(static_cast<std::size_t>(n) * kMost);
    count.resize(n);
    for (int i = 0; i < n; ++i) count[i] = neighbors(i);
  }

  int* list(int i) { return near.data() + static_cast<std::size_t>(i) * kMost; }

  int neighbors(int i) {
    int c = 0;
    int* const mine = list(i);
    const std::uint32_t *x = reference[0].data(), *y = reference[1].data(),
                        *z = reference[2].data();
    for (int j = 0; j < n; ++j) {
      const float reach = (largest > 0 ? 2 * largest : radius[i] + radius[j]) + skin;
      mine[c] = j;
      const float r2 =
          square(difference(x[j], x[i]), difference(y[j], y[i]), difference(z[j], z[i]));
      c += (j != i) & (r2 < reach * reach);
      if (c == kMost) {
        full = true;
        return c - 1;
      }
    }
    return c;
  }

  void renew(int i) {
    for (int k = 0; k < count[i]; ++k) {
      const int j = list(i)[k];
      int* const other = list(j);
      int place = 0;
      while (other[place] != i) ++place;
      other[place] = other[--count[j]];
    }
    for (int a = 0; a < 3; ++a) reference[a][i] = at[a][i];
    count[i] = neighbors(i);
    for (int k = 0; k < count[i]; ++k) {
      const int j = list(i)[k];
      if (count[j] == kMost - 1) {
        full = true;
        return;
      }
      list(j)[count[j]++] = i;
    }
  }

  // Whether a sphere of radius r at p, in place of sphere i, overlaps one other than `but`. All of
  // the list is compared, because compilers vectorize loops without an exit.
  bool overlaps(int i, const std::uint32_t p[3], float r, int but) {
    const int c = count[i];
    const int* const mine = list(i);
    const std::uint32_t *x = at[0], *y = at[1], *z = at[2], px = p[0], py = p[1], pz = p[2];
    const float* const radii = radius;
    int hits = 0;
    for (int k = 0; k < c; ++k) {
      const int j = mine[k];
      const float reach = r + radii[j];
      const float r2 = square(difference(x[j], px), difference(y[j], py), difference(z[j], pz));
      hits += (j != but) & (r2 < reach * reach);
    }
    return hits > 0;
  }
};

}  // namespace

// Makes `sweeps` times n trials. A trial is a swap with the probability `share`; otherwise a sphere
// is moved by at most `step` along each axis. The lists reach `skin` beyond contact, which is more
// than the diagonal of a step. Lengths are in units of 2^-32 edges.
//
// positions: three arrays of n, changed; radii: n, changed; state: of the random number generator,
// changed; counters: trial moves, accepted moves, trial swaps and accepted swaps are added.
// Returns 0, or 1 if a list of neighbors is full.
extern "C" int sequential(int n, std::uint32_t* const* positions, float* radii, double step,
                          double share, double skin, long long sweeps, std::uint64_t* state,
                          std::uint64_t* counters) {
  Random random{state};
  float largest = 0;
  for (int i = 0; i < n; ++i) largest = radii[i] > largest ? radii[i] : largest;
  Lists lists(n, positions, radii, static_cast<float>(skin), share > 0 ? largest : 0.0f);
  const std::int64_t half = 1 << 20;  // of the values of 21 bits
  const double width = step / static_cast<double>(half);
  // A trial position is at most this and the diagonal of a step from the reference position.
  const double farthest = (static_cast<float>(skin) - std::sqrt(3.0) * step) / 2;
  const auto farthest2 = static_cast<float>(farthest * farthest);
  const auto swaps_below = static_cast<std::uint64_t>(share * 0x1p32);
  for (long long trial = 0; trial < sweeps * n && !lists.full; ++trial) {
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
      if (lists.overlaps(grows, p, radii[shrinks], shrinks)) continue;
      const float larger = radii[shrinks];
      radii[shrinks] = radii[grows];
      radii[grows] = larger;
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
    if (lists.overlaps(i, p, radii[i], -1)) continue;
    ++counters[1];
    for (int a = 0; a < 3; ++a) positions[a][i] = p[a];
    const float away2 =
        square(difference(p[0], lists.reference[0][i]), difference(p[1], lists.reference[1][i]),
               difference(p[2], lists.reference[2][i]));
    if (away2 > farthest2) lists.renew(i);
  }
  return lists.full ? 1 : 0;
}
