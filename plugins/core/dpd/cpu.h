// SPDX-License-Identifier: BSD-3-Clause
// What cpu.cpp defines once per SIMD level.
#pragma once

#include "model.h"
#include "pairs.h"

namespace manymove::dpd {

namespace baseline {
void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     const NoiseKey& key, int reacting, double (*force)[3], const PairTally* tally);
void draw_noise(const NoiseKey& key, int count, const std::uint32_t* tag_i,
                const std::uint32_t* tag_j, float* noise);
void draw_tea_noise(const NoiseKey& key, int count, const std::uint32_t* signature_i,
                    const std::uint32_t* signature_j, float* noise);
void raise(int count, const float* base, float exponent, float* result);
void raise(int count, const double* base, double exponent, double* result);
}  // namespace baseline
namespace avx2 {
void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     const NoiseKey& key, int reacting, double (*force)[3], const PairTally* tally);
void draw_noise(const NoiseKey& key, int count, const std::uint32_t* tag_i,
                const std::uint32_t* tag_j, float* noise);
void draw_tea_noise(const NoiseKey& key, int count, const std::uint32_t* signature_i,
                    const std::uint32_t* signature_j, float* noise);
void raise(int count, const float* base, float exponent, float* result);
void raise(int count, const double* base, double exponent, double* result);
}  // namespace avx2
namespace avx512 {
void add_pair_forces(const PairTable& table, const Particles& particles, const NeighbourList& list,
                     const NoiseKey& key, int reacting, double (*force)[3], const PairTally* tally);
void draw_noise(const NoiseKey& key, int count, const std::uint32_t* tag_i,
                const std::uint32_t* tag_j, float* noise);
void draw_tea_noise(const NoiseKey& key, int count, const std::uint32_t* signature_i,
                    const std::uint32_t* signature_j, float* noise);
void raise(int count, const float* base, float exponent, float* result);
void raise(int count, const double* base, double exponent, double* result);
}  // namespace avx512

}  // namespace manymove::dpd
