// SPDX-License-Identifier: BSD-3-Clause
// What the two policies, `EqualDisks` (equal_disks.h) and `Particles` (particles.h), share: random
// numbers, trial displacements, the tiles of a grid, and what a policy says to the choice of its
// grid (grid.cpp).
//
// Massively parallel Monte Carlo (MPMC): J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C.
// Glotzer, J. Comput. Phys. 254, 27 (2013), "the paper" in this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <vector>

#include "../runtime/macros.h"
#include "../runtime/philox.h"

namespace manymove::hard_particles {

inline constexpr int kMaxRounds = 16;

template <class T>
MM_HD void exchange(T& a, T& b) {
  const T c = a;
  a = b;
  b = c;
}

// ---- random numbers ----

// What a random number decides; a number is used once only.
enum class Purpose : std::uint32_t {
  displacement = 0,
  shuffle = 1,  // of equal disks in a cell
  shift = 2,
  set_order = 3,
  volume = 4,
  swap = 5,
  swap_order = 6,
  offset = 7,
  field = 8,
  insertion = 9,
  transfer = 10
};

MM_HD std::uint32_t counter_of(Purpose purpose, int round, int call) {
  return static_cast<std::uint32_t>(purpose) << 28 | static_cast<std::uint32_t>(round) << 16 |
         static_cast<std::uint32_t>(call);
}

// Four words, of a cell (`where`) in a cycle or of all cells together (0). Either policy's geometry
// has the key.
template <class Geometry, class U>
MM_HD void random_words(U word[4], const Geometry& g, U where, std::uint64_t cycle, Purpose purpose,
                        int round, int call) {
  // The counter of the generator: cell, cycle (64 bits), purpose | round | call.
  word[0] = where;
  word[1] = U{} + static_cast<std::uint32_t>(cycle);
  word[2] = U{} + static_cast<std::uint32_t>(cycle >> 32);
  word[3] = U{} + counter_of(purpose, round, call);
  philox(word, g.key);
}

// A permutation of 0..n-1, `Bits` bits each, by Fisher-Yates from n - 1 random words.
template <int Bits>
MM_HD std::uint32_t permutation(int n, const std::uint32_t* word) {
  static_assert(Bits == 2 || Bits == 3);
  constexpr std::uint32_t kMask = (1u << Bits) - 1;
  std::uint32_t order = Bits == 2 ? 0xe4u : 076543210u;  // ... 3 2 1 0
  for (int i = n - 1; i > 0; --i) {
    // Places i and j change places: a xor b in both.
    const int j = static_cast<int>(uniform_below(word[i - 1], static_cast<std::uint32_t>(i + 1)));
    const std::uint32_t a = order >> (Bits * i) & kMask, b = order >> (Bits * j) & kMask;
    order ^= (a ^ b) << (Bits * i);
    order ^= (a ^ b) << (Bits * j);
  }
  return order;
}

// Uniform over 0..n-1, from the first two words.
inline std::uint64_t uniform_below_wide(const std::uint32_t* word, std::uint64_t n) {
  const std::uint64_t random = static_cast<std::uint64_t>(word[0]) << 32 | word[1];
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(random) * n >> 64);
}

// The shift of the grid along an axis, uniform over the even integers of the box (Algorithm 4): the
// whole cells of it, and what is left of a cell.
inline void draw_shift(const std::uint32_t word[2], float half, int cells, int& shift_cells,
                       float& shift_rest) {
  const auto width = static_cast<std::uint64_t>(half);  // even positions in a cell
  const std::uint64_t even = uniform_below_wide(word, width * static_cast<std::uint64_t>(cells));
  shift_cells = static_cast<int>(even / width);
  shift_rest = 2.0f * static_cast<float>(even % width);
}

// ---- trial displacements: even integers, symmetric about zero, the same bits everywhere
// (docs/theory/hard_disks.md, section 1.4) ----

// A move needs two displacements: bits 8..22 of a random word make one, bits 25..31 and 0..7 the
// other.
template <class U>
MM_HD U other_half(U word) {
  return word << 15 | word >> 17;
}

// The float 2^15 + 1/2, whose bits 8..22 take those of a random word.
inline constexpr std::uint32_t kDrawnBits = 0x47000080u;

// A displacement, an even integer, symmetric about zero, from bits 8..22 of a random word. They
// become the float 2^15 + r + 1/2; its distance from 2^15 + 2^14 times the step has at most 24
// bits, and what is added before it in an fma is representable too (the step is a multiple of
// 2^-13), so both are exact. Adding 1.5 * 2^24 rounds to an even integer, ties to even: the only
// rounding, the same with and without fma.
MM_HD auto displacement(auto word, float step) {
  const float shift = 25165824.0f;
  const auto r = as_float((word & 0x007fff00u) | kDrawnBits);
  return add_rn(exact_multiply_add(r, -49152.0f, step, shift), -shift);
}

// The step, a maximum displacement (in units) over 16383.5. At most eight significant bits and no
// finer than 2^-13 keep displacement() exact; an odd multiple, so that moves do not keep the
// particles on a coarser lattice.
inline float displacement_step(double max_displacement) {
  const double wanted = max_displacement / 16383.5;
  int exponent;
  std::frexp(wanted, &exponent);
  const double quantum = std::ldexp(1.0, std::max(exponent - 8, -13));
  return static_cast<float>((2 * std::floor(wanted / quantum / 2) + 1) * quantum);
}

// ---- exact squares of distances ----

// Differences of coordinates are integers below 2^24, so that their squares and the sum are exact
// in float64.
MM_HD double exact_square(float dx, float dy) {
  const double x = static_cast<double>(dx), y = static_cast<double>(dy);
  return x * x + y * y;
}
MM_HD double exact_square(float dx, float dy, float dz) {
  const double x = static_cast<double>(dx), y = static_cast<double>(dy),
               z = static_cast<double>(dz);
  return x * x + y * y + z * z;
}

// ---- the grid ----

// A particle in its slot of a cell, relative to the cell's center; z is 0 in two dimensions.
struct alignas(16) Sphere {
  float x, y, z;
  std::uint32_t id;
};

// Slots of all cells in local storage, [cells][slots], and the number of particles in each cell. Of
// equal disks the order in a cell is part of the state; others are in the order of their indices,
// except that a GPU may have any.
struct Cells {
  std::vector<Sphere> spheres;
  std::vector<std::uint32_t> counts;
};

// What all tiles of one cycle share: the shift of the grid and the order of the sets in each round.
struct Draw {
  std::uint64_t cycle;
  int shift_cells[3];
  float shift_rest[3];  // even, in [0, 2H)
  // First set lowest: four sets of equal disks, two bits each; otherwise three bits each.
  std::uint32_t order[kMaxRounds];
};

// What a rank has of a system that ranks divide (strip.h): a strip of the rows of cells along y in
// two dimensions, or a slab of the layers along z in three; these are the grid's rows along its
// last axis. All zero where nothing is divided.
struct StripView {
  int whole;       // rows of the whole grid, of which cells[] has those of the local storage
  int rows;        // of the strip
  int first_row;   // of the strip in the whole grid
  int first_tile;  // of the tiles that are at work
};

struct TileBounds {
  int first[3];  // its first cell along each axis, frozen
  int size[3];   // cells that it owns; the next tile's first ones are its far frozen border
};

// A grid of cells that is cut into tiles: the Geometry of either policy.
template <class G>
concept TiledGrid = requires(const G& g) {
  { g.cells[0] } -> std::convertible_to<int>;
  { g.tiles[0] } -> std::convertible_to<int>;
  { g.half[0] } -> std::convertible_to<float>;
  { g.key } -> std::convertible_to<PhiloxKey>;
  { g.part } -> std::convertible_to<StripView>;
};

// The tile of the whole grid that is the `item`-th of those at work.
template <int D, TiledGrid Geometry>
MM_HD int tile_of(const Geometry& g, int item) {
  const int tile = g.part.first_tile + item;
  const int tiles = D == 3 ? g.tiles[0] * g.tiles[1] * g.tiles[D - 1] : g.tiles[0] * g.tiles[1];
  return tile < tiles ? tile : tile - tiles;
}

// Rows of a strip count from its first.
template <int D, TiledGrid Geometry>
MM_HD TileBounds tile_bounds(const Geometry& g, int tile) {
  TileBounds b{};
  MM_UNROLL
  for (int a = 0; a < D; ++a) {
    const int at = tile % g.tiles[a];
    tile /= g.tiles[a];
    const bool divided = a == D - 1 && g.part.whole > 0;
    const int cells = divided ? g.part.whole : g.cells[a];
    // Tile i of t begins at cell floor(i n / t): sizes differ by one cell at most.
    const auto cut = [&](int i) {
      return static_cast<int>(static_cast<unsigned>(i) * static_cast<unsigned>(cells) /
                              static_cast<unsigned>(g.tiles[a]));
    };
    b.first[a] = cut(at);
    b.size[a] = cut(at + 1) - b.first[a];
    if (!divided) continue;
    b.first[a] -= g.part.first_row;
    if (b.first[a] < 0) b.first[a] += cells;
  }
  return b;
}

// ---- policies ----

// What the threads of a CPU or the blocks of a GPU count.
struct MoveCounts {
  unsigned long long trial_moves, accepted_moves;
  unsigned int corrupt;  // not 0: a cell holds more particles than fit
};

// What a policy says to the choice of its grid; lengths in largest contact distances.
struct GridRules {
  std::int64_t most_half_width;  // H of the widest edge of a cell
  double widest_cell;
  double displacement;  // default of the maximum displacement
  int moves_per_cell;   // default
  int narrowest_tile, widest_tile;
};
template <class P>
concept Policy = requires {
  { P::kDimensions } -> std::convertible_to<int>;
  { P::kGrid } -> std::convertible_to<GridRules>;
};

}  // namespace manymove::hard_particles
