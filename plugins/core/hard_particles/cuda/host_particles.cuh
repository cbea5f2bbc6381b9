// SPDX-License-Identifier: BSD-3-Clause
// A host program's particles, on a GPU: a kernel compares them with what was left there, or a cycle
// of equal disks does so, and another kernel writes their positions.
#pragma once

#include <algorithm>
#include <utility>

#include "../../runtime/launch.cuh"
#include "../../runtime/waits.cuh"
#include "../../runtime/warp.cuh"
#include "../../runtime/watchdog.h"
#include "../hand_over_passes.h"
#include "../host_particles.h"
#include "glances.cuh"

namespace manymove::hard_particles {
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
  double reach;       // of move_host_particle(), for equal disks
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

// The sum over the threads of a block; only the first thread gets it.
__device__ Sum sum_of_block(Sum mine) {
  __shared__ Sum part[32];
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) mine += part[warp];
  return mine;
}

// This thread's part of a comparison.
constexpr int kCompared = 4;  // particles at a time
template <class Real>
__device__ Found look_at_particles(const HostParticles& host, int particles, bool all) {
  const auto* const position = static_cast<const HostPair<Real>*>(host.position);
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  Found found{};
  for (int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); first < particles;
       first += kCompared * threads) {
    HostPair<Real> r[kCompared], others[kCompared];
    std::uint32_t tag[kCompared];
#pragma unroll
    for (int k = 0; k < kCompared; ++k) {
      // Neighboring threads read neighboring particles.
      const int at = first + k * threads;
      if (at >= particles) continue;
      r[k] = position[2 * at];
      others[k] = position[2 * at + 1];
      tag[k] = host.tag[at];
    }
#pragma unroll
    for (int k = 0; k < kCompared; ++k) {
      if (first + k * threads >= particles) continue;
      found.trace += trace_of(tag[k], r[k].x, r[k].y);
      if (all) found.trace += trace_of(~tag[k], others[k].x, others[k].y);
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
  const Found mine = look_at_particles<Real>(work.particles, work.compared, work.frame.traces_all);
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

// For one thread, after a comparison: tells the result to the host, and to kernels that do nothing
// if `differs` is not 0.
__global__ void decide_kernel(const Comparison comparison, unsigned* differs) {
  const bool same = same_traces(comparison);
  *differs = !same;
  *comparison.answer = 2 * comparison.question + same;
}

// Rows of a strip's local storage in the whole grid.
struct OwnRows {
  int margin, first, whole;

  explicit OwnRows(const State& s)
      : margin(s.first_row()),
        first(s.strip ? s.strip->first_row() : 0),
        whole(s.geometry.cells[s.dimensions() - 1]) {}
  __device__ int in_grid(int row) const {
    row += first - margin;
    return row < whole ? row : row - whole;
  }
};

constexpr int kHostThreads = 256;
inline unsigned host_blocks(std::size_t threads) {
  return static_cast<unsigned>(blocks_for(threads, std::size_t{kHostThreads}));
}

// Coordinates of a place in a cell of the whole grid.
__device__ inline void coordinates_in(const TiledGrid auto& g, const Frame& f, const int cell[3],
                                      const float local[3], double r[3]) {
#pragma unroll
  for (int a = 0; a < 3; ++a)
    r[a] = a < f.dimensions ? coordinate(f, a, place_in_box(g, f, a, cell[a], local[a])) : 0;
}

// Hands over the particles of this rank's cells, by threads for kHandedOver cells each:
//   void place(std::int64_t i, int cell[3]);     of the i-th cell in the whole grid
//   Sphere first(std::int64_t i, int& particles);
//   Sphere other(std::int64_t i, int slot);
// A thread reads the first particles of its cells together, so that it waits for memory once. Cells
// with several particles are listed and shared among all threads, because few threads of a warp
// have any.
constexpr int kHandedOver = 4;
template <class Real, Part kPart, TiledGrid AnyGeometry, class Contents>
__device__ void hand_over_cells(const AnyGeometry& g, const Frame& f, const HandOverWork& work,
                                std::int64_t cells, const Contents& contents) {
  constexpr unsigned kCells = kHandedOver * kHostThreads;
  __shared__ unsigned crowded, list[kCells];  // cells of the block, and their particles above
  if (threadIdx.x == 0) crowded = 0;
  __syncthreads();
  const bool whole = work.writes_whole();
  Arrivals sums;
  const auto give = [&](const Sphere& particle, const int cell[3], std::uint32_t at) {
    Traveler traveler{particle.id, -1, {}, false, false};
    const float local[3] = {particle.x, particle.y, particle.z};
    coordinates_in(g, f, cell, local, traveler.r);
    for (std::int32_t type = 0; type < f.types; ++type)
      if (f.of_types[type] == f.of_particles[traveler.particle]) traveler.type = type;
    hand_over<Real, kPart>(work, traveler, at, whole, sums);
  };
  const std::int64_t base = std::int64_t{blockIdx.x} * kCells;
  int cell[kHandedOver][3], particles[kHandedOver];
  Sphere first[kHandedOver];
  std::uint32_t at[kHandedOver];
#pragma unroll
  for (int k = 0; k < kHandedOver; ++k) {
    const unsigned mine = k * kHostThreads + threadIdx.x;
    particles[k] = 0;
    if (base + mine >= cells) continue;
    contents.place(base + mine, cell[k]);
    if (kPart == Part::border) {
      // Half of a cell, and more than the roundings.
      const float center[3] = {0, 0, 0};
      double r[3], slack[3] = {0, 0, 0};
      coordinates_in(g, f, cell[k], center, r);
#pragma unroll
      for (int a = 0; a < 3; ++a)
        if (a < f.dimensions) slack[a] = 1.001 * g.half[a] * f.unit[a] + 1e-6 * f.box[a];
      if (work.is_inner(r, slack)) continue;
    }
    first[k] = contents.first(base + mine, particles[k]);
    if (particles[k] > 1) list[atomicAdd(&crowded, 1u)] = mine | particles[k] * kCells;
  }
#pragma unroll
  for (int k = 0; k < kHandedOver; ++k)
    if (particles[k]) at[k] = work.held.arrays.index[first[k].id];
#pragma unroll
  for (int k = 0; k < kHandedOver; ++k)
    if (particles[k]) give(first[k], cell[k], at[k]);
  __syncthreads();
  for (unsigned n = threadIdx.x; n < crowded; n += kHostThreads) {
    const std::int64_t i = base + list[n] % kCells;
    contents.place(i, cell[0]);
#pragma unroll 1
    for (unsigned slot = 1; slot < list[n] / kCells; ++slot) {
      const Sphere other = contents.other(i, static_cast<int>(slot));
      give(other, cell[0], work.held.arrays.index[other.id]);
    }
  }
  add_to(&work.findings->written, sums);
}

// What an engine has left in the arrays of a host program. All calls need the engine's device.
class HostTraces {
 public:
  explicit HostTraces(cudaStream_t stream) : stream_(stream), traces_(1) { traces_.clear(stream); }

  // What was written last: which of the traces, and after which cycle. An engine that undoes what
  // it has enqueued puts the former one back.
  struct Written {
    int trace = 0;
    std::uint64_t cycle = kNever;
  };
  Written written;

  // The works of kernels.
  HostWork comparing(const State& s, const HostParticles& host) {
    Traces& traces = *traces_.data();
    question_ = (question_ + 1) % kQuestions;
    return {.particles = host,
            .compared = static_cast<int>(s.particles),
            .found = &traces.found[question_ % 2],
            .frame = host_frame(s),
            .next_written = &traces.written[1 - written.trace],
            .next_found = &traces.found[1 - question_ % 2]};
  }
  HostWork writing(const State& s, const HostParticles& host, const Sum* others) {
    const std::uint64_t cycle = s.data.counters.cycles;
    written.trace = 1 - written.trace;
    return {.particles = host,
            .frame = host_frame(s),
            .reach = reach_of(s, std::exchange(written.cycle, cycle), cycle),
            .written = &traces_.data()->written[written.trace],
            .others = others};
  }
  // Before writing(), where no comparison is on its way.
  void prepare_to_write() {
    check(cudaMemsetAsync(&traces_.data()->written[1 - written.trace], 0, sizeof(Sum), stream_),
          "traces");
  }

  // Enqueues a comparison.
  void compare(const State& s, const HostParticles& host, bool overlap) {
    const auto kernel = host.double_precision ? &compare_kernel<double> : &compare_kernel<float>;
    // Also without particles the kernel prepares the next comparison.
    const std::size_t threads = std::max<std::size_t>(1, blocks_for(s.particles, kCompared));
    launch_kernel(kernel, host_blocks(threads), kHostThreads, 0, stream_, overlap,
                  comparing(s, host));
  }
  // For the kernels that come after it.
  Comparison last_comparison() const {
    const Traces& traces = *traces_.data();
    const Found& found = traces.found[question_ % 2];
    return {&traces.written[written.trace], &found.trace, &found.others, question_, answer_.get()};
  }
  // The result of the last comparison.
  bool same() {
    const Traces traces = traces_.first_value(stream_);
    const Found& found = traces.found[question_ % 2];
    saw_plane_ = found.others == 0;
    return traces.written[written.trace] == found.trace;
  }
  bool saw_plane() const { return saw_plane_; }
  // The same, from the kernel that tells it. It comes through mapped memory, because an event
  // between two kernels would not let the second one start early. `pending` cycles that were
  // enqueued earlier are made first. Therefore the time limit holds for each hundred of them.
  bool answer(std::uint64_t pending) const {
    const volatile unsigned* const answer = answer_.get();
    const double limit = limit_ * (1 + static_cast<double>(pending / 100));
    wait_alone([&] { return *answer / 2 == question_; }, stream_, limit, "comparison", nullptr);
    return *answer % 2;
  }

 private:
  static constexpr unsigned kQuestions = 1u << 31;
  const cudaStream_t stream_;
  DeviceBuffer<Traces> traces_;
  MappedMemory<unsigned> answer_;
  unsigned question_ = 0;
  bool saw_plane_ = false;
  const double limit_ = Watchdog::timeout();  // longest wait for the GPU, in seconds
};

}  // namespace
}  // namespace manymove::hard_particles
