// SPDX-License-Identifier: BSD-3-Clause
// Brush Metropolis Monte Carlo on a GPU, device code. Before a sweep hopeless trials are found and
// the ions are put in order, hopeful ones first; then one kernel makes the sweep, a block per group
// of trials (section 3), or one kernel on each of several devices.
#pragma once

#include <cuda/atomic>
#include <type_traits>

#include "../../runtime/device.cuh"
#include "../state.h"
#include "pairs.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kThreads = 256;  // of the kernels that are not the sweep itself
constexpr int kMostDevices = 8;

// Of one sweep; the energy is high 2^32 + low quanta.
struct Tally {
  unsigned long long accepted, evaluated, low;
  long long high;
};

struct Buffers {
  // [N], in the order of the input
  Site* site;
  float4* trial;
  std::int64_t* most;
  std::uint8_t* fate;
  std::uint8_t* hopeful;  // 1 or 0
  const double* radius;
  std::int32_t* head;  // [cells]
  std::int32_t* next;
  std::int32_t* order;   // [N], hopeful ones first and in order
  std::uint32_t* count;  // [1], of hopeful ones
  // By place: hopeful ions, holes up to a whole group, the other ions, holes. The positions include
  // the moves of the groups of this sweep that are decided.
  Site* partner;
  std::int32_t* ion;  // -1 in a hole
  // With a vacuum around the images: [N][3], and [1], as it is after the groups decided so far
  std::int32_t* image;
  Dipole* dipole;
  unsigned* ticket;   // [1], blocks of this sweep begun on this device
  unsigned* decided;  // [1], groups of this sweep decided so far
  Tally* tally;
  int particles;
};

// Where each device that has a share of the chain is told what the others decide: groups are dealt
// out to them in turn.
struct Devices {
  int count, own;
  Site* site[kMostDevices];
  Site* partner[kMostDevices];
  unsigned* decided[kMostDevices];
  std::int32_t* image[kMostDevices];
  Dipole* dipole[kMostDevices];
};

// A charge-free place that no distance to is 0: coordinates of ions are integers.
__device__ Site hole() { return {67108864.0f, 0.5f, 0.5f, 0.0f}; }

__global__ void propose_kernel(Rules r, Buffers b, std::uint64_t sweep) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= b.particles) return;
  const Site s = b.site[i];
  const Trial t = propose(r, static_cast<std::uint32_t>(i), sweep, s);
  b.trial[i] = {t.x, t.y, t.z, 0};
  b.most[i] = t.most;
  b.fate[i] = t.inside ? alive : outside;
  b.next[i] = atomicExch(&b.head[cell_of(r, s.x, s.y, s.z)], i);
}

// stage `blocked`: by ions that are tried later or stay inside; `blocked_by_blocked`: by ions found
// hopeless before. Other threads' new fates count for neither.
template <Fate Stage>
__global__ void fate_kernel(Rules r, Buffers b) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= b.particles) return;
  const float4 t = b.trial[i];
  bool hopeless = b.fate[i] != alive;
  if (!hopeless) {
    hopeless = overlaps(
        r, {b.head, b.next}, [&](int j) { return b.site[j]; }, b.radius, i, t.x, t.y, t.z,
        [&](int j) {
          const auto fate = *static_cast<volatile std::uint8_t*>(b.fate + j);
          return Stage == blocked ? j > i || fate == outside : fate == blocked;
        });
    if (hopeless) b.fate[i] = Stage;
  }
  if (Stage == blocked_by_blocked) b.hopeful[i] = !hopeless;
}

template <int S>
__device__ unsigned groups_of(unsigned count) {
  return (count + S - 1) / S;
}

template <int S>
__global__ void place_kernel(Buffers b) {
  const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned count = *b.count, others = groups_of<S>(count) * S;
  if (place >= static_cast<unsigned>(b.particles) + 2 * S) return;
  int ion = -1;
  if (place < count)
    ion = b.order[place];
  else if (place >= others && place - (others - count) < static_cast<unsigned>(b.particles))
    ion = b.order[place - (others - count)];
  b.ion[place] = ion;
  b.partner[place] = ion < 0 ? hole() : b.site[ion];
  if (place == 0) b.tally->evaluated = count;
}

__device__ bool exact_overlap(const Rules& r, const Buffers& b, const Site& trial, int i,
                              const Site& other, int j) {
  return i >= 0 && j >= 0 &&
         too_close(squared_distance(r, trial.x, trial.y, trial.z, other), b.radius[i], b.radius[j]);
}

// Blocks on a multiprocessor. In float64 Ewald's potential needs registers more than it needs other
// blocks.
constexpr int blocks_side_by_side(bool exact, Space space, int threads) {
  if (space == Space::ewald && exact) return threads < 512 ? 512 / threads : 1;
  return threads == 256 ? (exact ? 3 : 4) : 1024 / threads;
}

// ---- section 4: one launch per trial ------------------------------------------------------------

struct Reduction {
  unsigned long long change;
  unsigned overlap, blocks;
};

// Threads of a block: Ewald's potential needs more registers than 1,024 threads leave it.
constexpr int reduction_threads(Space space) { return space == Space::ewald ? 256 : 1024; }

template <bool Double, Space B>
__global__ void __launch_bounds__(reduction_threads(B))
    reduction_kernel(const __grid_constant__ Rules r, const __grid_constant__ Buffers b,
                     Reduction* whole, int i) {
  if (b.fate[i] == outside) return;
  const float4 t = b.trial[i];
  const Site from = b.site[i], to{t.x, t.y, t.z, from.charge};
  const Pairs<Double, B> pairs(r, rest_for<Double>(r), from, to);
  std::int64_t change = 0;
  bool hit = false;
  for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < b.particles;
       j += gridDim.x * blockDim.x) {
    if (j == i) continue;
    const Site other = b.site[j];
    const Partner<Double> g = as_partner<Double>(other);
    const auto now = pairs.to(g);
    change = wrapping_sum(change, pairs.change(g, now));
    if (static_cast<float>(now.squared) < r.surely_free)
      hit = hit || exact_overlap(r, b, to, i, other, j);
  }
  for (int step = 16; step > 0; step /= 2)
    change = wrapping_sum(change, __shfl_xor_sync(0xffffffffu, change, step));
  hit = __any_sync(0xffffffffu, hit);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&whole->change, static_cast<unsigned long long>(change));
    if (hit) atomicOr(&whole->overlap, 1u);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomicAdd(&whole->blocks, 1u) + 1 < gridDim.x) return;
  __threadfence();  // the last block decides
  auto sum = static_cast<std::int64_t>(atomicExch(&whole->change, 0ull));
  const unsigned overlap = atomicExch(&whole->overlap, 0u);
  whole->blocks = 0;
  ++b.tally->evaluated;
  [[maybe_unused]] Dipole gain{};
  if constexpr (B == Space::ewald)
    if (r.vacuum != 0) {
      gain = dipole_gain(r, from, to, b.image + 3 * static_cast<std::size_t>(i));
      sum = wrapping_sum(sum, dipole_term(r, from.charge, *b.dipole, gain));
    }
  if (overlap || !accepts(sum, b.most[i], from.charge)) return;
  if constexpr (B == Space::ewald)
    if (r.vacuum != 0) {
      *b.dipole = *b.dipole + gain;
      follow(r, from, to, b.image + 3 * static_cast<std::size_t>(i));
    }
  b.site[i] = to;
  const std::int64_t energy = nearest_integer(from.charge * static_cast<double>(sum));
  ++b.tally->accepted;
  b.tally->low += static_cast<unsigned long long>(energy) & 0xffffffffu;
  b.tally->high += energy >> 32;
}

}  // namespace
}  // namespace manymove::coulomb
