// SPDX-License-Identifier: BSD-3-Clause
#include "pairs.h"

#include "../common/simd.h"
#include "cpu.h"
#include "functions.h"
#include "tea.h"

namespace manymove::dpd {
namespace {

struct Kernels {
  decltype(&baseline::add_pair_forces) add_pair_forces;
  decltype(&baseline::draw_noise) draw_noise;
  decltype(&baseline::draw_tea_noise) draw_tea_noise;
  void (*raise_float)(int, const float*, float, float*);
  void (*raise_double)(int, const double*, double, double*);
};

Kernels kernels() {
  const SimdLevel level = simd_level();
#if defined(MANYMOVE_HAVE_AVX512)
  if (level == SimdLevel::avx512)
    return {&avx512::add_pair_forces, &avx512::draw_noise, &avx512::draw_tea_noise, &avx512::raise,
            &avx512::raise};
#endif
#if defined(MANYMOVE_HAVE_AVX2)
  if (level == SimdLevel::avx2)
    return {&avx2::add_pair_forces, &avx2::draw_noise, &avx2::draw_tea_noise, &avx2::raise,
            &avx2::raise};
#endif
  (void)level;
  return {&baseline::add_pair_forces, &baseline::draw_noise, &baseline::draw_tea_noise,
          &baseline::raise, &baseline::raise};
}

}  // namespace

void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     std::uint64_t seed, std::uint64_t step, int reacting, double (*force)[3],
                     const PairTally* tally) {
  kernels().add_pair_forces(table, particles, list, noise_key(seed, step), reacting, force, tally);
}

void draw_noise(std::uint64_t seed, std::uint64_t step, int count, const std::uint32_t* tag_i,
                const std::uint32_t* tag_j, float* noise) {
  kernels().draw_noise(noise_key(seed, step), count, tag_i, tag_j, noise);
}

void make_signatures(std::uint64_t seed, std::uint64_t step, int count, const std::uint32_t* tag,
                     const double* velocity, std::uint32_t* signature) {
  const NoiseKey key = noise_key(seed, step);
  const std::uint32_t words[4] = {key.mask[1], key.mask[0], ~key.key, key.key};
  for (int n = 0; n < count; ++n) {
    const double* v = velocity + 3 * n;
    signature[n] = tea_signature(tag[n], v[0], v[1], v[2], words);
  }
}

void draw_tea_noise(std::uint64_t seed, std::uint64_t step, int count,
                    const std::uint32_t* signature_i, const std::uint32_t* signature_j,
                    float* noise) {
  kernels().draw_tea_noise(noise_key(seed, step), count, signature_i, signature_j, noise);
}

void raise(int count, const float* base, float exponent, float* result) {
  kernels().raise_float(count, base, exponent, result);
}

void raise(int count, const double* base, double exponent, double* result) {
  kernels().raise_double(count, base, exponent, result);
}

}  // namespace manymove::dpd
