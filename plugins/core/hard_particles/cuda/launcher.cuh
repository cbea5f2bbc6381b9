// SPDX-License-Identifier: BSD-3-Clause
// Launches for many engines at a time: each cycle of all systems whose threads wait is one launch.
// Trajectories do not depend on who is there.
#pragma once

#include <algorithm>
#include <array>
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

// A kernel of many systems, with a row of blocks for each. Numbers are the largest of any system.
template <class... Arguments>
struct KernelOfSystems {
  void (*run)(Arguments...);  // null: nothing is to be done
  unsigned blocks, threads;
  std::size_t shared;  // bytes of a block

  void make_room(std::size_t blocks_of_one, std::size_t shared_of_one = 0) {
    blocks = std::max(blocks, static_cast<unsigned>(blocks_of_one));
    shared = std::max(shared, shared_of_one);
  }
};

// The kernels for a batch of cycles; systems and draws or rows of histograms are arrays over the
// systems.
template <class System>
struct KernelsOfSystems {
  KernelOfSystems<const System*> rescale;                  // before the first cycle
  KernelOfSystems<const System*, const Draw*, int> cycle;  // these three for each cycle
  KernelOfSystems<const System*, const Draw*, int> swap;
  KernelOfSystems<const System*, std::uint64_t* const*, int> histogram;
  KernelOfSystems<const System*> search;  // after the last one
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
  // Returns when the cycles are complete. The work in the engine's stream must be complete before.
  void run(Engine& engine, std::uint64_t cycles) {
    gathering_.run(engine, cycles, [this](const Requests& all) { work(all); });
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

  // Calls task(i) for each of the requests.
  void for_all(const Requests& requests, auto task) {
    const int count = static_cast<int>(requests.size());
    if (count < kFew)
      for (int i = 0; i < count; ++i) task(static_cast<std::size_t>(i));
    else
      for_each_item(pool_, count, [&](int i, int) { task(static_cast<std::size_t>(i)); });
  }

  // A batch of cycles is prepared while the device makes the batch before it. A request's mark is
  // the number of its last batch, or of one after which the engine has to act: when this batch is
  // over, the request goes on or is done.
  void work(const Requests& all) {
    const DeviceGuard here = use();
    Requests present, ended;
    for (auto* const each : all)
      if (!each->mark) present.push_back(each);
    // Where all have to act after each batch, the device works for one half of them meanwhile.
    if (present.size() > kFew && present.front()->member->changes_box())
      present.resize(std::min(present.size(), (all.size() + 1) / 2));
    // Enqueued before the wait for the batch before: the device always has work.
    if (!present.empty()) enqueue(present);
    const std::uint64_t over = present.empty() ? batches_ : batches_ - 1;
    batch_[over % 2].over.wait();
    for (auto* const each : all)
      if (each->mark && each->mark <= over) ended.push_back(each);
    for_all(ended, [&](std::size_t i) {
      auto& request = *ended[i];
      request.mark = 0;
      try {
        request.member->act(request.left > 0);
      } catch (...) {
        request.error = std::current_exception();
      }
      request.done = request.left == 0 || request.error;
    });
  }

  void enqueue(const Requests& present) {
    const std::size_t systems = present.size(), most = systems * kCycles;
    Batch& batch = batch_[++batches_ % 2];  // that before the last one, which is over
    batch.systems.make_room(systems);
    batch.draws.make_room(most);
    batch.rows.make_room(most);
    for_all(present, [&](std::size_t i) {
      auto& request = *present[i];
      request.left -=
          request.member->make_draws(std::min(kCycles, request.left), batch.systems.host[i],
                                     &batch.draws.host[i], &batch.rows.host[i], systems);
    });

    std::vector<const Engine*> engines;
    int cycles = 0;
    for (std::size_t i = 0; i < systems; ++i) {
      auto& request = *present[i];
      engines.push_back(request.member);
      cycles = std::max(cycles, batch.systems.host[i].cycles);
      if (request.left == 0 || request.member->has_to_act()) request.mark = batches_;
    }
    // Whether something is to be done for any system after a cycle.
    const auto any = [&](int cycle, auto is) {
      for (std::size_t i = 0; i < systems; ++i)
        if (cycle < batch.systems.host[i].cycles &&
            is(batch.systems.host[i], static_cast<std::size_t>(cycle) * systems + i))
          return true;
      return false;
    };
    batch.systems.copy(systems, copying_);
    batch.draws.copy(static_cast<std::size_t>(cycles) * systems, copying_);
    batch.rows.copy(static_cast<std::size_t>(cycles) * systems, copying_);
    batch.copied.record(copying_);
    // Tables are copied beside the kernels of the batch before, and are complete when their own
    // begin.
    batch.copied.hold(stream_);
    const KernelsOfSystems<System> kernels = Engine::kernels_for(engines);
    const auto launch = [&](const auto& kernel, bool overlap, auto... arguments) {
      if (kernel.run)
        launch_kernel(kernel.run, dim3(kernel.blocks, static_cast<unsigned>(systems)),
                      kernel.threads, kernel.shared, stream_, overlap, batch.systems.device.data(),
                      arguments...);
    };
    for (const auto* kernel : std::array{&kernels.cycle, &kernels.swap})
      if (kernel->run) allow_shared_memory(kernel->run, kernel->shared, "shared memory for tiles");
    const bool overlap = waits_for_former_kernel(kernels.cycle.run);
    launch(kernels.rescale, false);
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const std::size_t first = static_cast<std::size_t>(cycle) * systems;
      const Draw* const draws = batch.draws.device.data() + first;
      launch(kernels.cycle, overlap, draws, cycle);
      if (any(cycle, [&](const System& each, std::size_t at) {
            return each.swaps_after(batch.draws.host[at].cycle + 1);
          }))
        launch(kernels.swap, false, draws, cycle);
      if (any(cycle, [&](const System&, std::size_t at) { return batch.rows.host[at] != nullptr; }))
        launch(kernels.histogram, false, batch.rows.device.data() + first, cycle);
    }
    launch(kernels.search, false);
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
// - kernel(), which it has in common with those that launch for it;
// - system(), what kernels read of it from the present cycle on, but for the number of cycles, and
//   search(), what they do after a cycle before trial changes of its box;
// - change_box(cycles_follow), these changes, after which kernels may rescale what cycles need.
template <class Member>
class MemberOfGroup : public CudaEngine {
 public:
  // A system with a tile for each multiprocessor has its own launches, with kernels that are
  // chosen for its size.
  bool join(const std::shared_ptr<EngineGroup>& group) final {
    std::shared_ptr<Launcher<Member>> to;
    if (group && !state_.strip && !state_.has_energies() && !state_.number_changes() &&
        !state_.swaps_types() && state_.tiles() < multiprocessors()) {
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
  // after the last one, when the launches are over.
  std::uint64_t make_draws(std::uint64_t most, auto& system, Draw* draws, std::uint64_t** rows,
                           std::size_t apart) {
    system = self().system();
    std::uint64_t made = 0;
    while (made < most && !has_to_act()) {
      // Draws depend on the seed, the cycle and the grid alone: they are made ahead of the cycles.
      draws[made * apart] = begin_cycle();
      now_ = 1 - now_;
      const std::uint64_t cycle = state_.data.counters.cycles;
      box_waits_ = changes_box() && cycle % state_.parameters.volume_every == 0;
      rows[made * apart] = !box_waits_ && wants_sample(cycle) ? present_row() : nullptr;
      ++made;
      if (box_waits_) {
        self().search(system);
        continue;
      }
      if (changes_box()) record_volume();
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
  bool has_to_act() const { return row_waits_ || box_waits_; }
  void act(bool cycles_follow) {
    if (!has_to_act()) return;
    const DeviceGuard here = use();
    if (std::exchange(box_waits_, false)) {
      self().change_box(cycles_follow && !wants_sample(state_.data.counters.cycles));
      end_cycle();
    }
    if (std::exchange(row_waits_, false)) end_row_of_cycle();
    stream_.wait();
  }
  bool changes_box() const { return state_.constant_pressure(); }

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
    if (cycles > 0) launcher_->run(self(), cycles);
  }
  Member& self() { return static_cast<Member&>(*this); }

  std::shared_ptr<Launcher<Member>> launcher_;  // null: the engine launches for itself
  // What is left to act(): a row has ended, which end_row() must be told before the next cycle; or
  // trial changes of the box, with the rest of their cycle.
  bool row_waits_ = false, box_waits_ = false;
};

}  // namespace manymove::hard_particles
