// SPDX-License-Identifier: BSD-3-Clause
// The lists of section 3.1 of the paper: the disks of each cell of a fixed grid, in coordinates
// relative to its center, in diameters. Setup is a type of the program: systems, cells along an
// edge, width of a cell, and seed. A program whose functions run on the device only defines FN.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/philox.h"

#if !defined(__CUDACC__)
#define FN inline
#elif !defined(FN)
#define FN __host__ __device__ inline
#endif
#if defined(__CUDA_ARCH__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

namespace {

constexpr int kSlots = 4;         // disks of a cell that is not wider than the root of 2
constexpr float kNowhere = 1e6f;  // coordinate in empty places of a list, which overlap nothing
constexpr int kBins = 77;         // of pair distances from contact, each 2^-10 wide
constexpr float kPerBin = 1024.0f;

struct alignas(8) Disk {
  float x, y;
};

enum Purpose : std::uint32_t { kMove, kShuffle, kOrder, kShift };

template <class Setup>
FN void draw(std::uint32_t (&word)[4], const Setup& s, int system, std::uint64_t sweep, int cell,
             Purpose purpose, int call) {
  word[0] = static_cast<std::uint32_t>(cell);
  word[1] = static_cast<std::uint32_t>(sweep);
  word[2] = static_cast<std::uint32_t>(sweep >> 32) << 16 | static_cast<std::uint32_t>(call) << 4 |
            purpose;
  word[3] = static_cast<std::uint32_t>(system);
  manymove::philox(word, manymove::PhiloxKey{static_cast<std::uint32_t>(s.seed),
                                             static_cast<std::uint32_t>(s.seed >> 32)});
}

// Uniform in (-1, 1), symmetric.
FN float symmetric(std::uint32_t word) {
  return (static_cast<float>(word >> 8) + 0.5f) * 0x1p-23f - 1.0f;
}

// The order of the four sets of a sweep, two bits each.
template <class Setup>
FN std::uint32_t order_of_sets(const Setup& s, int system, std::uint64_t sweep, bool shuffled) {
  std::uint32_t order = 0xE4, word[4];  // 0, 1, 2, 3
  if (!shuffled) return order;
  draw(word, s, system, sweep, 0, kOrder, 0);
  for (int i = 3; i > 0; --i) {
    const int j =
        static_cast<int>(manymove::uniform_below(word[i], static_cast<std::uint32_t>(i + 1)));
    const std::uint32_t differ = (order >> 2 * i ^ order >> 2 * j) & 3u;
    order ^= differ << 2 * i | differ << 2 * j;
  }
  return order;
}

FN int wrapped(int k, int edge) { return k < 0 ? k + edge : k >= edge ? k - edge : k; }

// The lists of a system.
struct Lists {
  Disk* disk;           // [kSlots][cells]
  std::int32_t* state;  // [cells]: number of disks, and from bit 8 on what a program adds
  int edge;             // cells along an edge
  // Algorithm 3: the slot is the slowest index, and the even columns of a row come before the odd
  // ones, so that the threads of a warp read contiguous memory.
  FN int index(int column, int row) const {
    return row * edge + (column & 1) * (edge / 2) + column / 2;
  }
  FN int count(int cell) const { return state[cell] & 255; }
  FN Disk& at(int cell, int slot) const { return disk[slot * edge * edge + cell]; }
  FN Disk load(int cell, int slot) const { return at(cell, slot); }
};

// Algorithm 4 for one cell: its list after the disks have moved by -distance along an axis. First
// those that stay, then those of the neighbor that enter. Both conditions are the same expression.
template <class Setup, class L>
FN void gather_shifted(const Setup& s, const L& from, const L& to, int column, int row, int axis,
                       float distance, std::int32_t* lost) {
  const int cell = from.index(column, row), towards = distance > 0 ? 1 : -1;
  const float half = 0.5f * s.width;
  const auto leaves = [&](float moved) { return towards > 0 ? moved < -half : moved > half; };
  int n = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const int step = pass * towards;
    const int source = pass == 0
                           ? cell
                           : from.index(axis == 0 ? wrapped(column + step, from.edge) : column,
                                        axis == 1 ? wrapped(row + step, from.edge) : row);
    const int many = from.count(source);
    for (int slot = 0; slot < many; ++slot) {
      Disk p = from.load(source, slot);
      float& x = axis == 0 ? p.x : p.y;
      x -= distance;
      if (leaves(x) != (pass == 1)) continue;
      if (pass == 1) x += static_cast<float>(towards) * s.width;
      if (n == kSlots) {
        *lost = 1;
        break;
      }
      to.at(cell, n++) = p;
    }
  }
  to.state[cell] = n;
  for (; n < kSlots; ++n) to.at(cell, n) = {kNowhere, kNowhere};
}

// Adds the pairs of a cell's disks with each other and with those of four neighbors.
template <class Setup, class L, class Add>
FN void count_pairs(const Setup& s, const L& l, int column, int row, Add add) {
  const int cell = l.index(column, row), n = l.count(cell);
  for (int i = 0; i < n; ++i) {
    const Disk p = l.load(cell, i);
    for (int k = 4; k < 9; ++k) {
      const int dc = k % 3 - 1, dr = k / 3 - 1;
      const int there = l.index(wrapped(column + dc, l.edge), wrapped(row + dr, l.edge));
      const int many = l.count(there);
      for (int j = k == 4 ? i + 1 : 0; j < many; ++j) {
        const Disk q = l.load(there, j);
        const float x = q.x + static_cast<float>(dc) * s.width - p.x;
        const float y = q.y + static_cast<float>(dr) * s.width - p.y;
        const float r2 = x * x + y * y;
        if (r2 < 1.16f) {
          const int bin = static_cast<int>((sqrtf(r2) - 1.0f) * kPerBin);
          if (bin < kBins) add(bin < 0 ? 0 : bin);
        }
      }
    }
  }
}

#if defined(__CUDACC__)
// An array of the host, which may be null, and its copy on the device.
template <class T>
struct OnDevice {
  T* at = nullptr;
  T* host;
  std::size_t bytes;
  OnDevice(T* data, std::size_t n) : host(data), bytes(n * sizeof(T)) {
    if (cudaMalloc(&at, bytes) == cudaSuccess && data)
      cudaMemcpy(at, host, bytes, cudaMemcpyHostToDevice);
  }
  ~OnDevice() { cudaFree(at); }
  void back() { cudaMemcpy(host, at, bytes, cudaMemcpyDeviceToHost); }
};
#endif

}  // namespace
