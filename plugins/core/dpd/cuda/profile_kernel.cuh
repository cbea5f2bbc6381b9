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
    profile_kernel(const __grid_constant__ Profile profile,
                   const __grid_constant__ ProfiledParticles<P> all, const double* units,
                   int copies, std::size_t words, unsigned long long* word) {
  const int i = index_of_thread();
  if (i >= all.count) return;
  word += static_cast<std::size_t>(i / 32 % copies) * words;
  visit_profile(profile, all, i, [&](std::size_t sum, int column, double value) {
    take_value(
        units, sum, column, value,
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

// As EngineBase::own_profile(), in memory that is kept; mass: of the particles, on the host.
template <Precision P>
const ProfileWords& profile_of(const Profile& profile, const double* units,
                               ProfiledParticles<P> all, const std::vector<double>& mass,
                               const EngineStream& stream, DeviceBuffer<unsigned long long>& word,
                               ProfileWords& sums) {
  const std::size_t columns = static_cast<std::size_t>(profile.columns),
                    words = units ? 2 * profile.sums() : columns,
                    copies = std::clamp<std::size_t>(8192 / words, 1, 32);
  if (word.size() < copies * words) word = DeviceBuffer<unsigned long long>(copies * words);
  word.clear(stream);
  const auto masses = on_device(mass, stream);
  all.mass = masses.data();
  DeviceBuffer<double> its_units;
  if (units) its_units = on_device(units, columns, stream);
  launch_each(all.count, stream, &profile_kernel<P>, profile, all, its_units.data(),
              static_cast<int>(copies), words, word.data());
  sums.resize(copies * words);
  stream.fetch(word.data(), reinterpret_cast<unsigned long long*>(sums.data()), sums.size());
  for (std::size_t k = words; k < sums.size(); ++k) {
    std::int64_t& to = sums[k % words];
    to = units ? to + sums[k] : std::max(to, sums[k]);
  }
  sums.resize(words);
  return sums;
}

}  // namespace manymove::dpd
