// SPDX-License-Identifier: BSD-3-Clause
// When the lists of all ranks have to be rebuilt, and what a rank's device tells its host.
#pragma once

#include "exchange_kernels.cuh"

namespace manymove::dpd {

// Outer particles come first in memory, near ones next: how many there are of the former, and of
// both.
struct Bounds {
  unsigned outer, near;
};

// Steps that a particle stays in its ball if it keeps its velocity.
template <class P>
__device__ float steps_in_ball(const Cells& cells, const Ball& ball, float time_step,
                               const typename P::Position& r,
                               const typename P::Velocity& velocity) {
  const ListPlace d = list_place(cells, high_word(r.x) - ball.x, high_word(r.y) - ball.y,
                                 high_word(r.z) - ball.z),
                  v = {static_cast<float>(velocity.x) * time_step,
                       static_cast<float>(velocity.y) * time_step,
                       static_cast<float>(velocity.z) * time_step};
  const float square = list_square(v), along = fused(d.x, v.x, fused(d.y, v.y, d.z * v.z)),
              room = fused(ball.radius, ball.radius, -list_square(d));
  if (!(room > 0)) return 0;
  return (sqrtf(fused(along, along, square * room)) - along) / fmaxf(square, 1e-20f);
}
// The fewest of a warp's, as bits; all lanes call it.
__device__ inline void note_soonest(float steps, unsigned* soonest) {
  const unsigned least = __reduce_min_sync(kWarp, __float_as_uint(fmaxf(steps, 0.0f)));
  if (threadIdx.x % 32 == 0 && least < *static_cast<volatile unsigned*>(soonest))
    atomicMin(soonest, least);
}
constexpr float kForever = 3e38f;

// What the ranks have to agree on before they build.
struct RebuildFlags {
  unsigned soonest;  // steps until the first particle leaves its ball, bits of a float
  unsigned beyond;   // tag of a particle outside the box
  unsigned missing;  // tag of a particle whose bond has no partner here
  unsigned strayed;  // whether a particle has left that was not expected to
};

// One thread per particle.
template <class P>
__global__ void rebuild_flags_kernel(int count, Cells cells, unsigned open,
                                     const typename P::Position* position,
                                     const typename P::Velocity* velocity, const Ball* ball,
                                     float time_step, RebuildFlags* flags) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  float steps = kForever;
  if (i < count) {
    const typename P::Position p = position[i];
    if (outside(open, high_word(p.x), high_word(p.y), high_word(p.z)))
      atomicMax(&flags->beyond, velocity[i].tag);
    steps = steps_in_ball<P>(cells, ball[i], time_step, p, velocity[i]);
  }
  note_soonest(steps, &flags->soonest);
}

// One thread per particle: how many steps it takes until the first leaves its ball.
template <class P>
__global__ void soonest_kernel(int count, Cells cells, const Ball* ball, float time_step,
                               const typename P::Position* position,
                               const typename P::Velocity* velocity, unsigned* soonest) {
  const int i = static_cast<int>(blockIdx.x * kSorters + threadIdx.x);
  note_soonest(
      i < count ? steps_in_ball<P>(cells, ball[i], time_step, position[i], velocity[i]) : kForever,
      soonest);
}

// A copy of what the device knows, for the host; and how many particles each box has.
struct Answers {
  Control control;
  RebuildFlags flags;
  Bounds bounds;
  unsigned soonest;  // as in RebuildFlags
  unsigned* total;   // [ranks], host memory as well
};

static __global__ void answer_kernel(const Control* control, const RebuildFlags* flags,
                                     const Bounds* bounds, Answers* answers) {
  answers->control = *control;
  answers->flags = *flags;
  answers->bounds = *bounds;
}
static __global__ void forget_kernel(Control* control, RebuildFlags* flags) {
  if (!given_up(*control)) *control = {kNever, 0, 0};
  *flags = {__float_as_uint(kForever), 0, 0, 0};
}

}  // namespace manymove::dpd
