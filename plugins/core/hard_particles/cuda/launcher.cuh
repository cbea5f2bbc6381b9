// SPDX-License-Identifier: BSD-3-Clause
// Launches for many engines at a time: each cycle of all systems whose threads wait is one launch.
// Trajectories do not depend on who is there.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "../../runtime/device.cuh"
#include "../../runtime/engine_group.h"
#include "../../runtime/gathering.h"
#include "../../runtime/launch.cuh"
#include "../../runtime/parallel_for.h"
#include "../model.h"
#include "engine.cuh"

namespace manymove::hard_particles {

// Kernels of many systems, with a row of blocks for each system and a launch for each cycle:
// systems and draws or rows of histograms are arrays over the systems.
template <class System>
struct KernelsOfSystems {
  void (*cycle)(const System*, const Draw*, int cycle);
  unsigned threads, tiles;  // the largest of any system
  std::size_t shared;       // bytes of a block
  void (*histogram)(const System*, std::uint64_t* const* rows, int cycle);
  unsigned threads_of_histogram, cells;  // the largest of any system
  std::size_t shared_of_histogram;
};

// Engine is a MemberOfGroup, see below, and has
// - System, what kernels read of it;
// - kernels_for(engines), the KernelsOfSystems<System> for all engines of a batch.
template <class Engine>
class Launcher : OnDevice {
  using System = typename Engine::System;
  using All = Gathering<Engine>;
  using Requests = typename All::Requests;

 public:
  explicit Launcher(int device)
      : OnDevice(device),
        gathering_(std::chrono::microseconds(100)),
        pool_(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8)) {}

  void join() { gathering_.join(); }
  void leave() { gathering_.leave(); }
  // Returns once the cycles are over, or those before one after which the engine has to act, and
  // the number of cycles that are left. What the engine's stream has to do must be over.
  std::uint64_t run(Engine& engine, std::uint64_t cycles) {
    return gathering_.run(engine, cycles, [this](const Requests& all) { work(all); });
  }

 private:
  static constexpr std::uint64_t kCycles = 16;  // of a batch; then others may join
  static constexpr int kFew = 16;               // systems for which no other thread is woken

  // What the device needs for a batch, in the host's memory and its own.
  template <class T>
  struct Table {
    PinnedBuffer<T> host;
    DeviceBuffer<T> device;

    void make_room(std::size_t count) {
      if (host.size() >= count) return;
      host = PinnedBuffer<T>(count);
      device = DeviceBuffer<T>(count);
    }
    void copy(std::size_t count, cudaStream_t stream) const {
      copy_in(device.data(), host.data(), count * sizeof(T), stream);
    }
  };
  struct Batch {
    Table<System> systems;
    Table<Draw> draws;           // [kCycles][systems]
    Table<std::uint64_t*> rows;  // the same
    Event copied, over;
  };

  // A batch of cycles is prepared while the device makes the batch before it. A request's mark is
  // the number of its last batch; the request is done when this batch is over.
  void work(const Requests& all) {
    const DeviceGuard here = use();
    Requests present;
    for (auto* const each : all)
      if (!each->mark) present.push_back(each);
    if (!present.empty()) enqueue(present);
    const std::uint64_t over = present.empty() ? batches_ : batches_ - 1;
    batch_[over % 2].over.wait();
    for (auto* const each : all) each->done = each->mark && each->mark <= over;
  }

  void enqueue(const Requests& present) {
    const std::size_t systems = present.size(), most = systems * kCycles;
    Batch& batch = batch_[++batches_ % 2];  // that before the last one, which is over
    batch.systems.make_room(systems);
    batch.draws.make_room(most);
    batch.rows.make_room(most);
    const auto draw = [&](int item, int) {
      const auto i = static_cast<std::size_t>(item);
      auto& request = *present[i];
      request.left -=
          request.member->make_draws(std::min(kCycles, request.left), batch.systems.host[i],
                                     &batch.draws.host[i], &batch.rows.host[i], systems);
    };
    if (systems < kFew)
      for (int i = 0; i < static_cast<int>(systems); ++i) draw(i, 0);
    else
      for_each_item(pool_, static_cast<int>(systems), draw);

    std::vector<const Engine*> engines;
    int cycles = 0;
    for (std::size_t i = 0; i < systems; ++i) {
      auto& request = *present[i];
      engines.push_back(request.member);
      cycles = std::max(cycles, batch.systems.host[i].cycles);
      if (request.left == 0 || request.member->has_to_act()) request.mark = batches_;
    }
    const auto samples = [&](int cycle) {
      for (std::size_t i = 0; i < systems; ++i)
        if (cycle < batch.systems.host[i].cycles &&
            batch.rows.host[static_cast<std::size_t>(cycle) * systems + i])
          return true;
      return false;
    };
    batch.systems.copy(systems, copying_);
    batch.draws.copy(static_cast<std::size_t>(cycles) * systems, copying_);
    batch.rows.copy(static_cast<std::size_t>(cycles) * systems, copying_);
    batch.copied.record(copying_);
    batch.copied.hold(stream_);
    const KernelsOfSystems<System> kernels = Engine::kernels_for(engines);
    allow_shared_memory(kernels.cycle, kernels.shared, "shared memory for tiles");
    const bool overlap = waits_for_former_kernel(kernels.cycle);
    const auto rows = static_cast<unsigned>(systems);
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const std::size_t first = static_cast<std::size_t>(cycle) * systems;
      launch_kernel(kernels.cycle, dim3(kernels.tiles, rows), kernels.threads, kernels.shared,
                    stream_, overlap, batch.systems.device.data(),
                    batch.draws.device.data() + first, cycle);
      if (!samples(cycle)) continue;
      const unsigned blocks = blocks_for(kernels.cells, kernels.threads_of_histogram);
      launch_kernel(kernels.histogram, dim3(blocks, rows), kernels.threads_of_histogram,
                    kernels.shared_of_histogram, stream_, false, batch.systems.device.data(),
                    batch.rows.device.data() + first, cycle);
    }
    batch.over.record(stream_);
  }

  All gathering_;
  ThreadPool pool_;
  Stream stream_, copying_;
  Batch batch_[2];
  std::uint64_t batches_ = 0;
  BetweenCalls between_calls_{*this};
};

// An engine that can make its cycles together with others. Member, which is derived from it, has
// - make_cycles(cycles), by launches of its own;
// - can_share(), whether others may launch for it, and kernel(), which it then has in common with
//   them;
// - system(), what kernels read of it from the present cycle on, but for the number of cycles.
template <class Member>
class MemberOfGroup : public CudaEngine {
 public:
  // A system with a tile for each multiprocessor has its own launches, with kernels that are
  // chosen for its size.
  bool join(const std::shared_ptr<EngineGroup>& group) final {
    std::shared_ptr<Launcher<Member>> to;
    if (group && !state_.strip && state_.tiles() < multiprocessors() && self().can_share()) {
      const DeviceGuard here = use();
      to = group->launcher<Launcher<Member>>(device_, self().kernel());
    }
    if (to) to->join();
    if (launcher_) launcher_->leave();
    launcher_ = std::move(to);
    return launcher_ != nullptr;
  }

  // ---- for the launcher ----
  // Fills in at most that many cycles: their draws, and the rows of histograms (null without a
  // sample) that they add to. Returns their number, which is smaller if the engine has to act
  // after the last one.
  template <class System>
  std::uint64_t make_draws(std::uint64_t most, System& system, Draw* draws, std::uint64_t** rows,
                           std::size_t apart) {
    system = self().system();
    std::uint64_t made = 0;
    while (made < most && !row_waits_) {
      draws[made * apart] = begin_cycle();
      now_ = 1 - now_;
      rows[made * apart] = wants_sample(state_.data.counters.cycles) ? present_row() : nullptr;
      ++made;
      if (!row_ends()) continue;
      if (row_needs_ring())
        row_waits_ = true;
      else
        end_row_of_cycle();
    }
    system.cycles = static_cast<int>(made);
    pending_ += made;
    return made;
  }
  bool has_to_act() const { return row_waits_; }

 protected:
  using CudaEngine::CudaEngine;
  ~MemberOfGroup() override {
    if (launcher_) launcher_->leave();
  }
  bool in_group() const { return launcher_ != nullptr; }

 private:
  void advance(std::uint64_t cycles) final {
    const DeviceGuard here = use();
    if (!launcher_) return self().make_cycles(cycles);
    stream_.wait();
    while (cycles > 0) {
      cycles = launcher_->run(self(), cycles);
      if (std::exchange(row_waits_, false)) end_row_of_cycle();
      stream_.wait();
    }
  }
  Member& self() { return static_cast<Member&>(*this); }

  std::shared_ptr<Launcher<Member>> launcher_;  // null: the engine launches for itself
  bool row_waits_ = false;  // a row has ended, which end_row() must be told before the next cycle
};

}  // namespace manymove::hard_particles
