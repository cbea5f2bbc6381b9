// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of a sweep have in the memory of one device, and how they read it.
#pragma once

#include <cuda_runtime.h>

#include "../dipole.h"
#include "../model.h"

namespace manymove::coulomb {

inline constexpr int kRing = 256;  // sweeps whose counts a device keeps
inline constexpr int kMostDevices = 8;

// Counts of one sweep; the energy is high 2^32 + low quanta.
struct MoveCounts {
  unsigned long long accepted, evaluated, direct, low;
  long long high;

  MM_HD void add_accepted(std::int64_t energy) {
    // The low 32 bits are added without sign, so that 2^32 energies fit before `low` overflows.
    ++accepted;
    low += static_cast<unsigned long long>(energy) & 0xffffffffu;
    high += energy >> 32;
  }
  __int128 energy() const { return (static_cast<__int128>(high) << 32) + low; }
};

struct ChainArrays {
  // [N], in the order of the input
  Site* site;
  float4* trial;
  std::int64_t* most;
  std::uint8_t* decision;   // EarlyDecision
  std::uint8_t* candidate;  // 1 or 0
  const double* radius;
  std::int32_t* head;  // [cells]
  std::int32_t* next;
  std::int32_t* order;   // [N], candidates first and in order
  std::uint32_t* count;  // [1], of candidates
  // By place: candidates, holes up to a whole group, the other ions, holes. The positions include
  // the moves of the groups of this sweep that are decided.
  Site* partner;
  std::int32_t* ion;  // -1 in a hole
  // With a vacuum around the images: [N][3], and [1], as it is after the groups decided so far
  std::int32_t* image;
  Dipole* dipole;
  unsigned* ticket;    // [1], blocks of this sweep begun on this device
  unsigned* decided;   // [1], groups of this sweep decided so far
  MoveCounts* counts;  // [1]
  int ions;

  MM_HD CellListView lists() const { return {head, next}; }
};

// Where each of the devices that make one chain together receives what the others decide: groups
// are dealt out to them in turn.
struct PeerArrays {
  int count, own;
  Site* site[kMostDevices];
  Site* partner[kMostDevices];
  unsigned* decided[kMostDevices];
  std::int32_t* image[kMostDevices];
  Dipole* dipole[kMostDevices];
};

namespace {

constexpr int kThreads = 256;  // of the kernels that are not the sweep itself

__device__ Site site_of(const float4& v, float charge) { return {v.x, v.y, v.z, charge}; }
__device__ Site site_at(const Site* sites, std::size_t k) {
  const float4 v = reinterpret_cast<const float4*>(sites)[k];
  return site_of(v, v.w);
}
// A charge-free place that no distance to is 0: coordinates of ions are integers.
__device__ Site hole() { return {67108864.0f, 0.5f, 0.5f, 0.0f}; }

__device__ void add_energy(MoveCounts* all, const MoveCounts& some) {
  atomicAdd(&all->low, some.low);
  atomicAdd(reinterpret_cast<unsigned long long*>(&all->high),
            static_cast<unsigned long long>(some.high));
}

}  // namespace
}  // namespace manymove::coulomb
