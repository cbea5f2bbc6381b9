// SPDX-License-Identifier: BSD-3-Clause
// The kernels that find the partners of bonds among the particles and ghosts of a rank.
#pragma once

#include "../link_rows.h"
#include "rebuild_kernels.cuh"

namespace manymove::dpd {

// Takes an empty entry of a TagIndex, for which many threads compete.
struct ClaimEntry {
  __device__ bool operator()(std::uint64_t* entry, std::uint64_t value) const {
    static_assert(sizeof(unsigned long long) == sizeof *entry);
    return atomicCAS(reinterpret_cast<unsigned long long*>(entry), 0ull,
                     static_cast<unsigned long long>(value)) == 0;
  }
};
// Bonds as the steps read them: in the order of particles, with as much room for each particle as
// in the rows. Partners are indices here; in the rows they are tags.
struct BondsInOrder {
  int2* range;  // of each particle in the others
  unsigned* index;
  int* type;
};
// One thread per particle of this rank. Only those with bonds of their own can be partners, since
// bonds are in the rows of both ends.
static __global__ void know_bonded_kernel(int count, LinkRows links, const unsigned* slot,
                                          const unsigned* tag, int2* range, TagIndex known) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const LinkSpan bonds = links.bonds_of(slot[i]);
  const int first = i * static_cast<int>(links.bonds);
  range[i] = {first, first + static_cast<int>(bonds.count)};
  if (bonds.count > 0) known.add(tag[i], static_cast<unsigned>(i), ClaimEntry{});
}
// One thread per ghost; the rows of ghosts are elsewhere.
template <class P>
__global__ void know_ghosts_kernel(int first, int number, const typename P::Velocity* velocity,
                                   TagIndex known) {
  const int k = static_cast<int>(blockIdx.x * kSorters + threadIdx.x), i = first + k;
  if (k < number) known.add(velocity[i].tag, static_cast<unsigned>(i), ClaimEntry{});
}
// One thread per particle of this rank, when all are known. A partner that is not here is taken for
// the particle itself, and reported.
static __global__ void partner_kernel(int count, LinkRows links, const unsigned* slot,
                                      const unsigned* tag, TagIndex known, BondsInOrder to,
                                      RebuildFlags* flags) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  if (i >= count) return;
  const int2 range = to.range[i];
  if (range.x == range.y) return;
  const LinkWord* bond = links.bonds_of(slot[i]).first;
  for (int k = range.x; k < range.y; ++k, ++bond) {
    const unsigned j = known.find(partner_of(*bond));
    to.index[k] = j == TagIndex::kMissing ? static_cast<unsigned>(i) : j;
    to.type[k] = static_cast<int>(kind_of(*bond));
    if (j == TagIndex::kMissing) atomicMax(&flags->missing, tag[i]);
  }
}

}  // namespace manymove::dpd
