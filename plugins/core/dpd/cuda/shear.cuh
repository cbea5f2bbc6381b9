// SPDX-License-Identifier: BSD-3-Clause
// Steps under shear on a GPU.
#pragma once

#include "../particle_records.h"
#include "step_constants.cuh"

namespace manymove::dpd {

// Positions in 16 bits for the box of these settings.
template <Precision P>
void fit_shorts(Step<P>& base, const Settings& settings) {
  base.shorts = shorts_of(settings, settings.cutoff);
  base.density_shorts = shorts_of(settings, settings.pairs.many_body.cutoff);
}
// What all steps under shear have. tilted: the settings with the box that is tilted most.
template <Precision P>
void shear_box(Step<P>& base, const Settings& tilted) {
  fit_shorts(base, tilted);
  base.motion.frame.tilted = 1;
}

// One thread per particle: its place in the equivalent box of smaller or larger tilt. image: by
// index of the host, which is origin, or by slot.
template <Precision P>
__global__ void change_tilt_kernel(int count, Shear shear, bool smaller, const unsigned* origin,
                                   Image* image, typename P::Position* position) {
  const int i = index_of_thread();
  if (i < count) change_tilt(shear, smaller, position[i], image[origin[i]]);
}
template <Precision P>
void change_tilts(int count, const Shear& shear, bool smaller, const DeviceBuffer<unsigned>& origin,
                  const DeviceBuffer<Image>& image,
                  const DeviceBuffer<typename P::Position>& position, cudaStream_t stream) {
  launch_each(count, stream, &change_tilt_kernel<P>, count, shear, smaller, origin.data(),
              image.data(), position.data());
}

}  // namespace manymove::dpd
