// SPDX-License-Identifier: BSD-3-Clause
// What the CUDA engines of point particles and of molecules have in common: the arrays of the state
// in device memory, and when which kernel runs.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../runtime/device.cuh"
#include "../../runtime/text.h"
#include "../engine_base.h"
#include "../molecules/state.h"
#include "warp_team.cuh"

namespace manymove::adsorption {

template <class F, class StateOfEngine>
class CudaEngineBase : protected OnDevice, public EngineBase<StateOfEngine> {
 protected:
  using EngineBase<StateOfEngine>::state_;
  using Arrays = ArraysOf<StateOfEngine, F>;
  static constexpr bool kMolecules = std::is_same_v<StateOfEngine, MoleculeState>;

 public:
  void run(std::uint64_t steps, bool measure) final {
    const DeviceGuard here = use();
    const auto start = [&](bool again) {
      move_counts_.clear(stream_);
      Arrays w = arrays();
      w.measure = measure;
      w.steps = steps;
      w.again = again;
      launch_steps(w);
      return fetch_counts();
    };
    run_whole(state_, steps, measure, start, [&](unsigned full) { enlarge(full); });
  }
  void set_positions(const double* positions, const double* orientations) final {
    const DeviceGuard here = use();
    adopt(state_, positions, orientations);
    upload_molecules();
    counts_.upload(state_.data.counts.data(), stream_);
    sum_energies();
    forget();
  }
  void reset_averages() final {
    const DeviceGuard here = use();
    sums_.clear(stream_);
    if (profile_.size()) profile_.clear(stream_);
    state_.data.counters.samples = 0;
  }
  std::vector<double> insert_test_molecules(std::uint32_t insertions, int species,
                                            bool empty) final {
    const DeviceGuard here = use();
    check_species(state_, species);
    std::vector<double> host(2 * static_cast<std::size_t>(state_.parameters.systems));
    DeviceBuffer<double> sums(host.size());
    launch_tests(
        {arrays(), state_.data.counters.insertions, insertions, species, empty, sums.data()});
    check_launch();
    sums.download(host.data(), stream_);
    state_.data.counters.insertions += insertions;
    return host;
  }

  std::vector<double> energies() final {
    check_whole(state_);
    const DeviceGuard here = use();
    std::vector<double> host;
    if constexpr (kMolecules) {
      DeviceBuffer<double> sums(energies_.size()), waves(waves_.size());
      Arrays w = arrays();
      w.energies = sums.data();
      w.waves = waves.data();
      launch_energies(w);
      check_launch();
      fetch(sums, host);
    } else {
      fetch(energies_, host);
    }
    return host;
  }
  Snapshot snapshot() const final {
    const DeviceGuard here = use();
    check_whole(state_);
    Snapshot s = state_.data;
    each_array(*this, s, [&](const auto& buffer, auto& host) { fetch(buffer, host); });
    return s;
  }
  void framework_energies(const double* xyz, std::size_t count, int species, bool direct,
                          double* energies) const final {
    adsorption::framework_energies<F>(state_, xyz, count, species, direct, energies);
  }

 protected:
  CudaEngineBase(StateOfEngine state, int device)
      : OnDevice(device), EngineBase<StateOfEngine>(std::move(state)), move_counts_(1) {}

  virtual void launch_steps(const Arrays& w) = 0;
  virtual void launch_placing(const Arrays& w) = 0;
  virtual void launch_energies(const Arrays& w) = 0;
  virtual void launch_tests(const TestInsertions<Arrays>& t) = 0;
  virtual void set_tables(Arrays& w) const = 0;  // pointers that are the engine's alone
  virtual void choose_warps() = 0;               // of a block, after the numbers of slots changed

  // Once the grid is there: the molecules, and their energies.
  void start(const Adopt<StateOfEngine>& molecules) {
    choose_warps();
    if (molecules) molecules(state_);
    each_array(*this, state_.data,
               [&](auto& buffer, const auto& host) { buffer = uploaded(host); });
    if (state_.parameters.exchange > 0)
      reached_ = DeviceBuffer<std::uint64_t>(state_.parameters.systems);
    if (!molecules) {
      move_counts_.clear(stream_);
      launch_placing(arrays());
      check_placed(state_, fetch_counts());
    } else if (state_.data.counters.steps == 0) {
      sum_energies();  // a snapshot has its own
    }
    forget();
  }

  template <class T>
  DeviceBuffer<T> uploaded(const T* host, std::size_t count) {
    DeviceBuffer<T> buffer(count);
    if (count) buffer.upload(host, stream_);
    return buffer;
  }
  template <class T>
  DeviceBuffer<T> uploaded(const std::vector<T>& host) {
    return uploaded(host.data(), host.size());
  }
  template <class T>
  void fetch(const DeviceBuffer<T>& from, std::vector<T>& to) const {
    to.resize(from.size());
    if (from.size()) from.download(to.data(), stream_);
  }

  Arrays arrays() const {
    Arrays w = make_arrays(state_, static_cast<const F*>(grid_.data()));
    w.sites = reinterpret_cast<Site*>(sites_.data());
    w.counts = counts_.data();
    w.energies = energies_.data();
    w.sums = sums_.data();
    w.profile = profile_.data();
    w.reached = reached_.data();
    if constexpr (kMolecules) {
      w.turns = reinterpret_cast<Quaternion*>(turns_.data());
      w.waves = waves_.data();
      w.shapes = shapes_.data();
    }
    set_tables(w);
    return w;
  }
  int blocks() const {
    const int warps = threads_ / 32;
    return (state_.parameters.systems + warps - 1) / warps;
  }
  std::size_t device_limit(cudaDeviceAttr attribute) const {
    int most = 0;
    check(cudaDeviceGetAttribute(&most, attribute, device_), "device");
    return static_cast<std::size_t>(most);
  }
  template <class... Kernel>
  void allow_memory(Kernel... kernels) const {
    (allow_shared_memory(kernels, shared_, "shared memory of a kernel"), ...);
  }

  Stream stream_;
  DeviceBuffer<F> grid_;
  DeviceBuffer<DeviceMoveCounts> move_counts_;
  int threads_ = 0;  // of a block
  std::size_t shared_ = 0;

 private:
  // visit(array on the device, array of the snapshot)
  template <class Self, class Data, class Visit>
  static void each_array(Self& self, Data& d, const Visit& visit) {
    visit(self.sites_, d.sites);
    visit(self.counts_, d.counts);
    visit(self.energies_, d.energies);
    visit(self.sums_, d.sums);
    visit(self.profile_, d.profile);
    visit(self.turns_, d.orientations);
    visit(self.waves_, d.waves);
    visit(self.shapes_, d.shapes);
  }
  void upload_molecules() {
    const Snapshot& d = state_.data;
    sites_ = uploaded(d.sites);
    turns_ = uploaded(d.orientations);
    shapes_ = uploaded(d.shapes);
  }
  // The device has what the state would hold.
  void forget() {
    Snapshot& d = state_.data;
    d = {d.counters, d.max_displacement, {}, {}, {}, {}, {}, {}, {}, {}};
  }
  void sum_energies() {
    launch_energies(arrays());
    check_launch();
    check(cudaStreamSynchronize(stream_), "kernel");
  }
  void enlarge(unsigned full) {
    Snapshot& d = state_.data;
    fetch(sites_, d.sites);
    fetch(turns_, d.orientations);
    fetch(shapes_, d.shapes);
    grow(state_, full);
    choose_warps();
    upload_molecules();
    forget();
  }
  MoveCounts fetch_counts() {
    check_launch();
    DeviceMoveCounts t;
    move_counts_.download(&t, stream_);
    return {t.accepted, t.exchanges, t.accepted_exchanges, t.full, t.stuck != 0};
  }

  DeviceBuffer<std::uint32_t> sites_;
  DeviceBuffer<std::int32_t> counts_;
  DeviceBuffer<double> energies_, sums_, turns_, waves_, shapes_;
  DeviceBuffer<std::uint64_t> profile_, reached_;
};

}  // namespace manymove::adsorption
