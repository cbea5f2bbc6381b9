// SPDX-License-Identifier: BSD-3-Clause
// Steps under shear on a GPU.
#pragma once

#include "step_constants.cuh"

namespace manymove::dpd {

// What all steps under shear have. tilted: the settings with the box that is tilted most.
template <class P>
void shear_box(Step<P>& base, const Settings& tilted) {
  base.shorts = shorts_of(tilted);
  base.density_shorts = shorts_of_densities(tilted);
  base.motion.frame.tilted = 1;
}

// One thread per particle: its place in the equivalent box of smaller or larger tilt. image: by
// index of the host, which is origin, or by slot.
template <class P>
__global__ void change_tilt_kernel(int count, bool smaller, const unsigned* origin, int3* image,
                                   typename P::Position* position) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  typename P::Position r = position[i];
  int3& at = image[origin[i]];
  at.x += change_tilt(r, smaller, at.y);
  position[i] = r;
}
template <class P>
void change_tilts(int count, bool smaller, const DeviceBuffer<unsigned>& origin,
                  const DeviceBuffer<int3>& image,
                  const DeviceBuffer<typename P::Position>& position, cudaStream_t stream) {
  if (count == 0) return;
  change_tilt_kernel<P><<<blocks_for(count), kThreads, 0, stream>>>(count, smaller, origin.data(),
                                                                    image.data(), position.data());
  check_launch();
}

}  // namespace manymove::dpd
