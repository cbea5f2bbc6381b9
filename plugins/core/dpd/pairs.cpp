// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.h"

#include "../common/simd.h"
#include "cpu.h"

namespace manymove::dpd {
namespace {

auto add_pair_forces_for(SimdLevel level) {
#if defined(MANYMOVE_HAVE_AVX512)
  if (level == SimdLevel::avx512) return &avx512::add_pair_forces;
#endif
#if defined(MANYMOVE_HAVE_AVX2)
  if (level == SimdLevel::avx2) return &avx2::add_pair_forces;
#endif
  (void)level;
  return &baseline::add_pair_forces;
}

}  // namespace

void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     std::uint64_t seed, std::uint64_t step, int reacting, double (*force)[3],
                     const PairTally* tally) {
  static const auto chosen = add_pair_forces_for(simd_level());
  chosen(table, particles, list, noise_key(seed, step), reacting, force, tally);
}

}  // namespace manymove::dpd
