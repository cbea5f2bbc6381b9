// SPDX-License-Identifier: BSD-3-Clause
// What the CUDA engines of point particles and of molecules have in common: the arrays of the state
// in device memory, and when which kernel runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../runtime/device.cuh"
#include "../../runtime/text.h"
#include "../../runtime/waits.cuh"
#include "../engine_base.h"
#include "kernels.cuh"

namespace manymove::adsorption {

// The arrays of a Snapshot.
struct DeviceArrays {
  DeviceBuffer<std::uint32_t> sites;
  DeviceBuffer<std::int32_t> counts;
  DeviceBuffer<double> energies, sums, orientations, waves, shapes;
  DeviceBuffer<std::uint64_t> profile;
};

// Page-locked memory for the counts of a launch. It is kept for later engines, because freeing it
// would wait for the kernels of all engines.
using PinnedCounts = std::unique_ptr<DeviceMoveCounts, void (*)(DeviceMoveCounts*)>;
inline PinnedCounts pinned_counts() {
  static std::mutex mutex;
  static auto& kept = *new std::vector<DeviceMoveCounts*>;
  const std::lock_guard lock(mutex);
  if (kept.empty()) {
    const auto& more = *new PinnedBuffer<DeviceMoveCounts>(128);
    for (std::size_t i = 0; i < more.size(); ++i) kept.push_back(&more[i]);
  }
  DeviceMoveCounts* const one = kept.back();
  kept.pop_back();
  return {one, [](DeviceMoveCounts* counts) {
            const std::lock_guard again(mutex);
            kept.push_back(counts);
          }};
}

template <class Arrays>
class CudaEngineBase : protected OnDevice, public EngineBase {
 protected:
  using F = typename Arrays::Real;
  static constexpr bool kMolecules = std::is_same_v<Arrays, MoleculeArrays<F>>;

 public:
  void run(std::uint64_t steps, bool measure) final {
    const DeviceGuard here = use();
    const auto start = [&](bool again) {
      Arrays w = arrays();
      w.measure = measure;
      w.steps = steps;
      w.again = again;
      counts_->ended = 0;
      launch_steps(w);
      check_launch();
      return counted();
    };
    // Systems whose insertion found no free slot have stopped before that step; they go on after
    // the arrays have grown.
    run_whole(state_, steps, measure, start, [&](unsigned full) { enlarge(full); });
  }
  void set_positions(const double* positions, const double* orientations) final {
    const DeviceGuard here = use();
    adopt(state_, positions, orientations);
    upload_molecules();
    data_.counts.upload(state_.data.counts.data(), stream_);
    sum_energies(arrays());
    forget();
  }
  void reset_averages() final {
    const DeviceGuard here = use();
    data_.sums.clear(stream_);
    if (data_.profile.size()) data_.profile.clear(stream_);
    stream_.wait();
    state_.data.counters.samples = 0;
  }
  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) final {
    const DeviceGuard here = use();
    check_species(state_, species);
    if (!tests_.size())
      tests_ = array<double>(2 * static_cast<std::size_t>(state_.parameters.systems));
    kernels_.insert_tests<<<blocks(), threads_, shared_, stream_>>>(
        {arrays(), state_.data.counters.insertions, insertions, species, empty, tests_.data()});
    check_launch();
    // A copy behind a kernel stands in front of the work of other streams that have the same queue
    // of the hardware. Therefore a stream is idle when a copy is requested.
    stream_.wait();
    state_.data.counters.insertions += insertions;
    return tests_.values(stream_);
  }

  std::vector<double> energies() final {
    check_whole(state_);
    const DeviceGuard here = use();
    if constexpr (kMolecules) {
      const auto sums = array<double>(data_.energies.size()),
                 waves = array<double>(data_.waves.size());
      Arrays w = arrays();
      // Into arrays of its own: the state keeps what the moves have added up.
      w.energies = sums.data();
      w.waves = waves.data();
      sum_energies(w);
      return sums.values(stream_);
    } else {
      return data_.energies.values(stream_);
    }
  }
  Snapshot snapshot() const final {
    const DeviceGuard here = use();
    check_whole(state_);
    Snapshot s = state_.data;
    each_array(data_, s, [&](const auto& buffer, auto& host) { host = buffer.values(stream_); });
    return s;
  }
  std::vector<double> sums() const final {
    const DeviceGuard here = use();
    check_whole(state_);
    return data_.sums.values(stream_);
  }
  std::vector<std::int32_t> counts() const final {
    const DeviceGuard here = use();
    check_whole(state_);
    return data_.counts.values(stream_);
  }

 protected:
  // By reference, so that a caller may look into the state for the kernels.
  CudaEngineBase(State&& state, int device, const WarpKernels<Arrays>& kernels)
      : OnDevice(device),
        EngineBase(std::move(state)),
        move_counts_(array<DeviceMoveCounts>(1)),
        kernels_(kernels) {}

  // Arrays of the pool, because many engines share a GPU. All functions of an engine wait for its
  // kernels, so that none uses an array that is freed.
  template <class T>
  static DeviceBuffer<T> array(std::size_t count) {
    return DeviceBuffer<T>(count, Memory::pool);
  }
  template <class T>
  DeviceBuffer<T> copy(const std::vector<T>& host) const {
    return on_device(host, stream_, Memory::pool);
  }

  virtual void launch_steps(const Arrays& w) = 0;
  virtual void set_tables(Arrays& w) const = 0;  // pointers that are the engine's alone
  virtual void choose_warps() = 0;               // of a block, after the numbers of slots changed

  // Engines share the copy of their grid on a device, which its cache then holds once.
  void copy_grid() {
    const Grids& grids = *state_.grid;
    const std::lock_guard lock(grids.mutex);
    std::weak_ptr<const void>& known = grids.copies[device_];
    grid_ = std::static_pointer_cast<const DeviceBuffer<F>>(known.lock());
    if (!grid_) {
      grid_ = std::make_shared<const DeviceBuffer<F>>(copy(grids.template in<F>()));
      known = grid_;
    }
  }
  // Once the grid is there: the molecules, and their energies.
  void begin(const Start& start) {
    choose_warps();
    if (start.molecules) start.molecules(state_);
    const DeviceMoveCounts none{.systems = static_cast<unsigned>(state_.parameters.systems),
                                .host = counts_.get()};
    move_counts_.upload(&none, stream_);
    each_array(data_, state_.data, [&](auto& buffer, const auto& host) { buffer = copy(host); });
    if (state_.parameters.exchange > 0) reached_ = array<std::uint64_t>(state_.parameters.systems);
    if (!start.molecules) {
      // Random places below the hill, like those that place_molecules() chooses.
      kernels_.place<<<blocks(), threads_, shared_, stream_>>>(arrays(), move_counts_.data());
      check_launch();
      stream_.wait();
      check_placed(state_, {.stuck = move_counts_.first_value(stream_).stuck != 0});
    } else if (state_.data.counters.steps == 0) {
      sum_energies(arrays());  // a snapshot has its own
    }
    forget();
  }

  Arrays arrays() const {
    auto w = make_arrays<Arrays>(state_, static_cast<const F*>(grid_->data()));
    point_to(w, data_);
    w.reached = reached_.data();
    set_tables(w);
    return w;
  }
  int blocks() const {
    // A warp has one system.
    const int warps = threads_ / 32;
    return (state_.parameters.systems + warps - 1) / warps;
  }
  // Lets the kernels of a warp, those of the steps included, use the shared memory of a block.
  void allow_memory(auto... steps) const {
    const auto allow = [&](auto... kernels) {
      (allow_shared_memory(kernels, shared_, "shared memory of a kernel"), ...);
    };
    allow(steps..., kernels_.place, kernels_.sum_energies, kernels_.insert_tests);
  }

  Stream stream_{Priority::highest};  // all engines have the same
  std::shared_ptr<const DeviceBuffer<F>> grid_;
  DeviceBuffer<DeviceMoveCounts> move_counts_;
  int threads_ = 0;  // of a block
  std::size_t shared_ = 0;

  void resize_scratch() final {
    const DeviceGuard here = use();
    choose_warps();
  }

 private:
  // visit(array on the device, array of the snapshot)
  static void each_array(auto& device, auto& host, const auto& visit) {
    visit(device.counts, host.counts);
    visit(device.energies, host.energies);
    visit(device.sums, host.sums);
    visit(device.profile, host.profile);
    visit(device.waves, host.waves);
    each_molecule_array(device, host, visit);
  }
  // Of those that have a place for each slot.
  static void each_molecule_array(auto& device, auto& host, const auto& visit) {
    visit(device.sites, host.sites);
    visit(device.orientations, host.orientations);
    visit(device.shapes, host.shapes);
  }
  void upload_molecules() {
    each_molecule_array(data_, state_.data,
                        [&](auto& buffer, const auto& host) { buffer = copy(host); });
  }
  // The device has what the state would hold.
  void forget() {
    Snapshot& d = state_.data;
    d = {d.counters, d.max_displacement, {}, {}, {}, {}, {}, {}, {}, {}};
  }
  void sum_energies(const Arrays& w) {
    kernels_.sum_energies<<<blocks(), threads_, shared_, stream_>>>(w);
    check_launch();
    check(cudaStreamSynchronize(stream_), "kernel");
  }
  void enlarge(unsigned full) {
    each_molecule_array(data_, state_.data,
                        [&](const auto& buffer, auto& host) { host = buffer.values(stream_); });
    // Molecules move to other places, as each species has its slots in a row.
    grow(state_, full);
    choose_warps();
    upload_molecules();
    forget();
  }
  // The counts of a launch, from the page-locked memory. Calls of CUDA before or after a kernel
  // would wait for the kernels of other engines whose streams have the same queue.
  MoveCounts counted() const {
    using std::chrono_literals::operator""us;
    const volatile DeviceMoveCounts& t = *counts_;
    const auto began = std::chrono::steady_clock::now();
    for (unsigned looks = 1; !t.ended; ++looks) {
      // Threads sleep in longer waits, because there may be more threads than cores.
      const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - began;
      if (waited > 100us)
        std::this_thread::sleep_for(std::min<decltype(waited)>(waited / 16, 1000us));
      if (looks % 1024 == 0) has_ended(cudaStream_t{stream_}, "steps");  // throws a fault
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return {t.accepted, t.exchanges, t.accepted_exchanges, t.full, false};
  }

  const WarpKernels<Arrays> kernels_;
  const PinnedCounts counts_ = pinned_counts();
  DeviceArrays data_;
  DeviceBuffer<std::uint64_t> reached_;
  DeviceBuffer<double> tests_;  // sums over test molecules, [systems][2]
};

}  // namespace manymove::adsorption
