// SPDX-License-Identifier: BSD-3-Clause
// A host program's disks, on a GPU: a kernel compares them with what was left there, or a cycle's
// kernel does so and another one writes their positions.
#pragma once

#include "../../runtime/launch.cuh"
#include "../host_particles.h"
#include "block_sum.cuh"

namespace manymove::hard_particles::equal_disks {
namespace {

using Sum = unsigned long long;

// What a comparison finds in a host program's particles: the sum of trace_of(), and whether a bit
// is set in the components of positions that are not coordinates.
struct Found {
  Sum trace, others;
};

// The traces of what was written and found, and their places the next time.
struct Traces {
  Sum written[2];
  Found found[2];
};

// What a kernel does with the particles of a host program. It compares, or it writes positions.
struct HostWork {
  HostParticles particles;
  int compared;  // their number, or 0
  Found* found;  // by the comparison
  Frame frame;
  double reach;       // of move_host_particle()
  Sum* written;       // the trace is added to it
  const Sum* others;  // null, or: positions are written whole, with zeros, if no bit is set. Parts
                      // of a sector (32 bytes) would make the memory read the rest of it.
  // Set to zero by a comparison, for the next ones.
  Sum* next_written;
  Found* next_found;
};

// A comparison in a former kernel. If positions differ, this kernel does nothing.
struct Comparison {
  const Sum *written, *found;  // null, or traces of the particles
  const Sum* others;           // of Found
  // The first kernel after the comparison tells the result: twice the number of the question, plus
  // one if the positions are the same. It also counts the moves that wait in the second counts.
  unsigned question;
  volatile unsigned* answer;
};
__device__ bool same_traces(const Comparison& c) {
  return !c.written || __ldcg(c.written) == __ldcg(c.found);
}
// By one thread.
__device__ void answer_host(const Comparison& c, bool same, MoveCounts* counts) {
  if (!c.answer) return;
  if (same) {
    atomicAdd(&counts[0].trial_moves, __ldcg(&counts[1].trial_moves));
    atomicAdd(&counts[0].accepted_moves, __ldcg(&counts[1].accepted_moves));
  }
  counts[1] = {};
  *c.answer = 2 * c.question + same;
}

// A disk goes to place `at` of the host program's arrays; returns its part of the trace.
template <class Real>
__device__ Sum write_disk(const Geometry& g, const HostWork& to, int column, int row, Position p,
                          std::int32_t id, std::uint32_t at, bool whole) {
  auto* const position = static_cast<HostPair<Real>*>(to.particles.position);
  const HostPair<Real> r = host_position<Real>(g, to.frame, column, row, p);
  move_host_particle(to.frame, to.reach, position, to.particles.image, at, r);
  if (whole) position[2 * at + 1] = {0, 0};
  return trace_of(id, r);
}

// This thread's part of a comparison.
constexpr int kCompared = 4;  // particles at a time
template <class Real>
__device__ Found look_at_particles(const HostParticles& host, int particles) {
  const auto* const position = static_cast<const HostPair<Real>*>(host.position);
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  Found found{};
  for (int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); first < particles;
       first += kCompared * threads) {
    HostPair<Real> r[kCompared], others[kCompared];
    std::uint32_t tag[kCompared];
#pragma unroll
    for (int k = 0; k < kCompared; ++k) {
      const int at = first + k * threads;
      if (at >= particles) continue;
      r[k] = position[2 * at];
      others[k] = position[2 * at + 1];
      tag[k] = host.tag[at];
    }
#pragma unroll
    for (int k = 0; k < kCompared; ++k) {
      if (first + k * threads >= particles) continue;
      found.trace += trace_of(tag[k], r[k]);
      found.others |= Sum{bits_of(others[k].x)} | Sum{bits_of(others[k].y)};
    }
  }
  return found;
}

__device__ void end_writing(const HostWork& work, Sum mine) {
  const Sum sum = sum_of_block(mine);
  if (threadIdx.x == 0) atomicAdd(work.written, sum);
}

template <class Real>
__device__ void compare_particles(const HostWork& work) {
  const Found mine = look_at_particles<Real>(work.particles, work.compared);
  const Sum sum = sum_of_block(mine.trace);
  const int others = __syncthreads_or(mine.others != 0);
  if (threadIdx.x != 0) return;
  atomicAdd(&work.found->trace, sum);
  if (others) work.found->others = 1;
  if (blockIdx.x != 0) return;
  *work.next_written = 0;
  *work.next_found = {};
}

// A thread for every kCompared particles of a host program.
template <class Real>
__global__ void compare_kernel(const HostWork host) {
  let_next_kernel_start();
  wait_for_former_kernel();
  compare_particles<Real>(host);
}

}  // namespace
}  // namespace manymove::hard_particles::equal_disks
