// SPDX-License-Identifier: BSD-3-Clause
// What the engine of a rank asks of its GPU: the streams and how its host waits for them, what the
// device finds out and the host has to know, and which particles belong into each of several boxes.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "../../../parallel/transport.cuh"
#include "../../../runtime/device.cuh"
#include "../../../runtime/text.h"
#include "../engine_stream.cuh"
#include "../sort.h"
#include "exchange_kernels.cuh"

namespace manymove::dpd {

// Outer particles come first in memory, near ones next: how many there are of the former, and of
// both.
struct Bounds {
  unsigned outer, near;
};

// Steps t that a particle stays in its sphere if it keeps its velocity: |d + v t| = s, with the
// distance d from the center, has the solution t = (sqrt((d . v)^2 + v^2 (s^2 - d^2)) - d . v) /
// v^2.
template <Precision P>
__device__ float steps_in_sphere(const Cells& cells, const BoundingSphere& sphere, float time_step,
                                 const typename P::Position& r,
                                 const typename P::Velocity& velocity) {
  const Vector<float> d = from_center(cells, sphere, r),
                      v = {static_cast<float>(velocity.x) * time_step,
                           static_cast<float>(velocity.y) * time_step,
                           static_cast<float>(velocity.z) * time_step};
  const float square = list_square(v), along = dot(d, v),
              room = fused(sphere.radius, sphere.radius, -list_square(d));
  if (!(room > 0)) return 0;
  return (sqrtf(fused(along, along, square * room)) - along) / fmaxf(square, 1e-20f);
}
// The fewest of a warp's, as bits; all lanes call it.
__device__ inline void note_soonest(float steps, unsigned* soonest) {
  const unsigned least = __reduce_min_sync(kWholeWarp, __float_as_uint(fmaxf(steps, 0.0f)));
  if (threadIdx.x % 32 == 0 && least < *static_cast<volatile unsigned*>(soonest))
    atomicMin(soonest, least);
}
constexpr float kForever = 3e38f;

// What the ranks have to agree on before they build.
struct RebuildFlags {
  unsigned soonest;     // steps until the first particle leaves its sphere, bits of a float
  unsigned beyond;      // tag of a particle outside the box
  unsigned missing[2];  // tags of particles without a partner here, in a bond and in another term
  unsigned strayed;     // whether a particle has left that was not expected to
};

// One thread per particle: how many steps it takes until the first leaves its sphere, and the tag
// of one outside the box unless `beyond` is null.
struct FirstToLeave {
  unsigned *soonest, *beyond;  // as in RebuildFlags
};
template <Precision P>
__global__ void soonest_kernel(int count, Cells cells, unsigned open, const BoundingSphere* sphere,
                               float time_step, const typename P::Position* position,
                               const typename P::Velocity* velocity, FirstToLeave to) {
  const int i = index_of_thread();
  float steps = kForever;
  if (i < count) {
    const typename P::Position p = position[i];
    if (to.beyond && outside(open, p)) atomicMax(to.beyond, velocity[i].tag);
    steps = steps_in_sphere<P>(cells, sphere[i], time_step, p, velocity[i]);
  }
  note_soonest(steps, to.soonest);
}

// A copy of what the device knows, for the host; and how many particles each box has.
struct Answers {
  DeviceStatus control;
  RebuildFlags flags;
  Bounds bounds;
  unsigned soonest;  // as in RebuildFlags
  unsigned* total;   // [ranks], host memory as well
};

static __global__ void answer_kernel(const DeviceStatus* control, const RebuildFlags* flags,
                                     const Bounds* bounds, Answers* answers) {
  answers->control = *control;
  answers->flags = *flags;
  answers->bounds = *bounds;
}
static __global__ void forget_kernel(DeviceStatus* control, RebuildFlags* flags) {
  if (!given_up(*control)) *control = {kNever, 0, 0};
  *flags = {__float_as_uint(kForever), 0, {0, 0}, 0};
}

// Waiting watches the other ranks, whose kernels those of this rank may wait for: it throws
// RankFailure when one of them is silent or has failed. No call is collective.
class RankStreams {
 public:
  // overlap: whether particles move while ghosts travel.
  RankStreams(Communicator& communicator, const EngineStream& main, bool overlap)
      : main(main), overlap(overlap), work(main), wait(communicator) {}

  const EngineStream& main;
  // Before and after `main`, and for what must not wait behind these.
  const Stream first{Priority::highest, cudaStreamNonBlocking},
      last{Priority::lowest, cudaStreamNonBlocking},
      rescue{Priority::highest, cudaStreamNonBlocking};
  const bool overlap;
  cudaStream_t work;  // of what comes next

  cudaStream_t ahead() const { return overlap ? cudaStream_t(first) : cudaStream_t(main); }

  void finish_all() const {
    for (const cudaStream_t stream : {cudaStream_t(first), cudaStream_t(last), cudaStream_t(main)})
      wait(stream, "step");
  }
  // After a failure: ends what is in the streams, or gives up after a while.
  void settle() const noexcept {
    for (const cudaStream_t stream : {cudaStream_t(first), cudaStream_t(last), cudaStream_t(main)})
      settles(stream);
  }

  // Makes room for `count` values and keeps those that are there; new ones are zero. Freeing memory
  // waits for all kernels, and the other ranks would not be watched meanwhile: this waits first.
  template <class T, class Count>
  void ensure(DeviceBuffer<T>& buffer, Count count) const {
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted <= buffer.size()) return;
    finish_all();
    DeviceBuffer<T> larger(wanted + wanted / 16);
    larger.clear(main);
    copy_on_device(larger.data(), buffer.data(), buffer.size() * sizeof(T), main);
    main.finish("copy");
    buffer.swap(larger);
  }

  const RankWaits wait;  // for a stream or an event
};

class RankReport {
 public:
  RankReport(std::size_t ranks, const RankStreams& streams)
      : streams_(streams), device_status_(1), flags_(1), bounds_(1), totals_(ranks) {
    answers_->total = totals_.data();
    device_status_.clear(streams.main);  // not given up, whatever the memory was used for before
    bounds_.clear(streams.main);
    forget();
    streams.main.finish("start");
  }

  StepStatus status() const { return {device_status_.data(), host_status_.get()}; }
  DeviceStatus* control() const { return device_status_.data(); }
  RebuildFlags* flags() const { return flags_.data(); }
  const DeviceBuffer<Bounds>& bounds() const { return bounds_; }
  DeviceBuffer<Bounds>& bounds() { return bounds_; }

  // No lists have expired, no particle is lost; a rank that has been given up stays so.
  void forget() {
    forget_kernel<<<1, 1, 0, streams_.main>>>(device_status_.data(), flags_.data());
    check_launch();
  }
  // Kernels do nothing from now on, and leave what should have come from other ranks alone.
  void give_up() noexcept {
    cudaMemsetAsync(&device_status_.data()->expired, 0xff, sizeof(DeviceStatus::expired),
                    streams_.rescue);
    settles(streams_.rescue);
  }

  // After what is in streams.work: answers() is complete once the event answered() is there.
  void answer() {
    answer_kernel<<<1, 1, 0, streams_.work>>>(device_status_.data(), flags_.data(), bounds_.data(),
                                              answers_.get());
    check_launch();
    answered_.record(streams_.work);
  }
  cudaEvent_t answered() const { return answered_; }
  void ask() {
    answer();
    streams_.wait(answered(), "answer");
  }
  Answers& answers() const { return *answers_; }

 private:
  const RankStreams& streams_;
  DeviceBuffer<DeviceStatus> device_status_;
  MappedMemory<HostStatus> host_status_;
  DeviceBuffer<RebuildFlags> flags_;
  DeviceBuffer<Bounds> bounds_;
  MappedMemory<Answers> answers_;
  PinnedBuffer<unsigned> totals_;
  Event answered_;
};

class Selection {
 public:
  Selection(const RankStreams& streams, const RankReport& report)
      : streams_(streams), answers_(report.answers()) {}

  // How many of the first particles are in each box; in answers().total once streams.work is
  // through.
  template <class Test>
  void count(int count, int boxes, const Test& test) {
    unsigned* const number = room_for_numbers(count, boxes);
    launch_each(boxes > 0 ? count : 0, streams_.work, &count_kernel<Test>, count, boxes, test,
                number);
    sum(count, boxes);
  }
  // After count() of the same particles: their indices, box after box.
  template <class Test>
  void pick(int count, int boxes, const Test& test, const DeviceBuffer<unsigned>& picked) {
    launch_each(boxes > 0 ? count : 0, streams_.work, &pick_kernel<Test>, count, boxes, test,
                block_offset_.data(), picked.data());
  }
  // In all boxes, after the wait for count().
  int total(int boxes) const {
    return static_cast<int>(
        std::accumulate(answers_.total, answers_.total + boxes, std::uint64_t(0)));
  }

 private:
  // Of each block in each box.
  unsigned* room_for_numbers(int count, int boxes) {
    const std::int64_t numbers = std::int64_t{boxes} * blocks_for(count) + 1;
    if (numbers > std::numeric_limits<int>::max())
      throw std::runtime_error(text_of(count, " particles on one of ", boxes,
                                       " ranks: a 256th of their product must be below 2^31"));
    streams_.ensure(block_number_, numbers);
    streams_.ensure(block_offset_, numbers);
    return block_number_.data();
  }
  void sum(int count, int boxes) {
    // Block k has its number for box b at b blocks + k; the sum behind the last one is that of all.
    const int blocks = blocks_for(count), numbers = boxes * blocks + 1;
    if (numbers == 1) {
      streams_.wait(streams_.work, "count");
      std::fill_n(answers_.total, boxes, 0u);
      return;
    }
    std::size_t bytes = 0;
    const auto sum_up = [&](void* memory) {
      exclusive_sum(memory, bytes, block_number_.data(), block_offset_.data(), numbers,
                    streams_.work);
    };
    sum_up(nullptr);
    streams_.ensure(scratch_, bytes);
    sum_up(scratch_.data());
    launch_each(boxes, streams_.work, &totals_kernel, boxes, static_cast<unsigned>(blocks),
                block_offset_.data(), answers_.total);
  }

  const RankStreams& streams_;
  Answers& answers_;
  DeviceBuffer<unsigned> block_number_, block_offset_;
  DeviceBuffer<char> scratch_;
};

}  // namespace manymove::dpd
