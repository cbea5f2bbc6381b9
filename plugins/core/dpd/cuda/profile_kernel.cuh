// SPDX-License-Identifier: BSD-3-Clause
// Sums over the bins of a profile on a GPU.
#pragma once

#include <algorithm>
#include <vector>

#include "../profiles.h"
#include "device_particles.cuh"
#include "engine_stream.cuh"

namespace manymove::dpd {

// One thread per particle: take_value(). Warps add to one of several copies of the sums.
template <Precision P>
__global__ void __launch_bounds__(kThreads)
    profile_kernel(int count, const __grid_constant__ Profile profile, const double* units,
                   const double* mass, BoxFrame frame, const typename P::Position* position,
                   const typename P::Velocity* velocity, const Vector<typename P::Real>* force,
                   int copies, std::size_t words, unsigned long long* word) {
  const int i = index_of_thread();
  if (i >= count) return;
  word += static_cast<std::size_t>(i / 32 % copies) * words;
  visit_profile<P>(profile, mass, frame, position[i], velocity[i], force[i],
                   [&](std::size_t at, int column, double value) {
                     take_value(
                         units, at, column, value,
                         [&](int c, std::int64_t size) {
                           const auto bits = static_cast<unsigned long long>(size);
                           const volatile unsigned long long* const now = word + c;
                           if (bits > *now) atomicMax(word + c, bits);
                         },
                         [&](std::size_t at, std::int64_t part) {
                           atomicAdd(word + at, static_cast<unsigned long long>(part));
                         });
                   });
}

// As EngineBase::own_profile(); velocity: at rest.
template <Precision P>
std::vector<std::int64_t> profile_of(const DeviceParticles<P>& particles,
                                     const typename P::Velocity* velocity, const Profile& profile,
                                     const double* units, const std::vector<double>& mass,
                                     const BoxFrame& frame, const EngineStream& stream) {
  const std::size_t columns = static_cast<std::size_t>(profile.columns),
                    words = units ? 2 * profile.sums() : columns,
                    copies = std::clamp<std::size_t>(8192 / words, 1, 32);
  DeviceBuffer<unsigned long long> word(copies * words);
  word.clear(stream);
  const auto masses = on_device(mass, stream);
  DeviceBuffer<double> its_units;
  if (units) its_units = on_device(units, columns, stream);
  launch_each(particles.count, stream, &profile_kernel<P>, particles.count, profile,
              its_units.data(), masses.data(), frame, particles.present().position.data(), velocity,
              particles.force.data(), static_cast<int>(copies), words, word.data());
  std::vector<std::int64_t> all(copies * words);
  stream.fetch(word.data(), reinterpret_cast<unsigned long long*>(all.data()), all.size());
  for (std::size_t k = words; k < all.size(); ++k) {
    std::int64_t& to = all[k % words];
    to = units ? to + all[k] : std::max(to, all[k]);
  }
  all.resize(words);
  return all;
}

}  // namespace manymove::dpd
