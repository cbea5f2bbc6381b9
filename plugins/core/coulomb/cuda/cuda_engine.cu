// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine: the devices that share a chain, and what they do in a sweep.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "device_chain.cuh"
#include "brush.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kPace = 16;  // sweeps between polls of several devices; about 26 launches each

template <bool Double, Space B, int S, int Eta>
Schedule walk() {
  return {&walk_kernel<Double, B, S, Eta>, &place_kernel<S>, sizeof(WalkMemory<Double, S>), S,
          S * Eta};
}

// Table 1 of the paper, on an H100 (docs/benchmarks/electrolyte.md). A function of the numbers
// alone. 1,024 threads have no registers for Ewald's potential in float64.
int fastest_eta(std::size_t n, bool exact, Space space) {
  if (n <= 12288 || (exact && space == Space::ewald && n <= 196608)) return 8;
  if (n <= (exact ? 49152u : 98304u)) return 16;
  if (n <= 196608) return 8;
  return 4;
}

template <bool Double, Space B>
Schedule schedule_for(int eta) {
  switch (eta) {
    case 16:
      return walk<Double, B, 64, 16>();
    case 8:
      return walk<Double, B, 64, 8>();
    case 4:
      return walk<Double, B, 128, 4>();
    case 2:
      return walk<Double, B, 128, 2>();
    default:
      return walk<Double, B, 256, 1>();
  }
}

// Devices write into each other's memory.
void connect(const std::vector<int>& devices) {
  for (const int from : devices)
    for (const int to : devices) {
      if (from == to) continue;
      int can = 0;
      check(cudaDeviceCanAccessPeer(&can, from, to), "peer access");
      if (!can)
        throw std::invalid_argument("cuda:" + std::to_string(from) +
                                    " cannot write to cuda:" + std::to_string(to) +
                                    ": one chain needs GPUs with peer access to each other");
      check(select_device(from), "device");
      const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        check(status, "peer access");
    }
}

void check_choice(const State& state, const std::vector<int>& devices) {
  const Method method = state.parameters.method;
  if (method == Method::serial) throw std::invalid_argument("method serial runs on the CPU only");
  if (devices.size() > kMostDevices)
    throw std::invalid_argument("a chain runs on up to " + std::to_string(kMostDevices) +
                                " devices, not on " + std::to_string(devices.size()));
  if (devices.size() > 1 && method == Method::reduction)
    throw std::invalid_argument("method reduction runs on one device only");
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (devices.size() > 1 && method == Method::brush && blocking && blocking != std::string("0"))
    throw std::invalid_argument(
        "CUDA_LAUNCH_BLOCKING is set: kernels of a chain on several devices wait for each other, "
        "so that their launches must not block");
}
// Chains over the same devices must not run at a time: the groups that each waits for might find no
// room on a device that is full of the other's.
std::mutex& one_shared_chain() {
  static std::mutex mutex;
  return mutex;
}

// Shares make their devices current; each function of the engine that uses one begins with use().
class CudaEngine final : OnDevice, public EngineBase {
 public:
  CudaEngine(State state, const std::vector<int>& devices)
      : OnDevice(devices.front()), EngineBase(std::move(state)) {
    const bool exact = state_.parameters.double_precision;
    eta_ = state_.parameters.threads_per_particle;
    if (eta_ == 0) eta_ = fastest_eta(state_.sites.size(), exact, state_.rules.space);
    const Schedule schedule = for_space(state_.rules, [&](auto space) {
      return exact ? schedule_for<true, space()>(eta_) : schedule_for<false, space()>(eta_);
    });
    for (const int device : devices) existing_device(device);
    connect(devices);
    for (const int device : devices)
      shares_.push_back(std::make_unique<DeviceShare>(state_, schedule, device));
    devices_.count = static_cast<int>(shares_.size());
    for (int d = 0; d < devices_.count; ++d) shares_[d]->enter(devices_, d);
    const bool brush = state_.parameters.method == Method::brush;
    if (brush && shares_one_device(devices) && !first().holds(devices_.count))
      throw std::invalid_argument("too many ions for shares of one chain on the same device");
    if (brush && devices_.count > 1) {
      watch_ = std::make_unique<Watch>();
      for (const auto& share : shares_) share->enter(*watch_);
    }
    made();
  }
  // Memory that kernels which do not end still use is left to the end of the process: to free it
  // would be to wait for them.
  ~CudaEngine() override {
    destroy();
    if (failure_.empty() || !watch_ || !watch_->busy()) return;
    for (auto& share : shares_) share.release();
    watch_.release();
  }

  void run(std::uint64_t sweeps) override {
    const DeviceGuard here = use();
    std::unique_lock<std::mutex> alone(one_shared_chain(), std::defer_lock);
    if (devices_.count > 1) alone.lock();
    first();
    try {
      while (sweeps > 0) {
        const int some = static_cast<int>(std::min<std::uint64_t>(sweeps, kRing));
        run_batch(some);
        sweeps -= some;
      }
    } catch (const std::exception& error) {  // some of the sweeps have been made
      failure_ = error.what();
      if (watch_) watch_->stop();
      throw;
    }
  }

  double energy() const override {
    const DeviceGuard here = use();
    const DeviceShare& share = first();
    share.use();
    DeviceBuffer<Tally> tally(1);
    tally.clear(share.stream());
    const auto kernel = for_space(state_.rules, [](auto space) { return &energy_kernel<space()>; });
    kernel<<<share.blocks(), kThreads, 0, share.stream()>>>(
        share.rules(state_.rules), share.sites(), static_cast<int>(particles()), tally.data());
    check_launch();
    Tally sum;
    tally.download(&sum, share.stream());
    return static_cast<double>(quanta(sum)) * state_.rules.strength / 2 +
           energy_beside_pairs(state_.parameters.vacuum ? present() : state_);
  }

  void adopt(const HostParticles& host) override {
    const DeviceGuard here = use();
    first().remember_sites();
    trace_ = first().trace(host);
  }
  bool same_particles(const HostParticles& host) const override {
    const DeviceGuard here = use();
    return first().trace(host) == trace_;
  }
  void write_positions(const HostParticles& host) override {
    const DeviceGuard here = use();
    first().write_positions(state_, host);
    trace_ = first().trace(host);
  }

  void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                   std::uint64_t* interior_ions) const override {
    const DeviceGuard here = use();
    first().count_pairs(state_, bins_of(state_, histogram), counts, interior_ions);
  }

  void set_positions(const double* xyz, const std::int32_t* image) override {
    const DeviceGuard here = use();
    present();
    manymove::coulomb::place(state_, xyz, image);
    for (const auto& share : shares_) share->put(state_);
  }

  int threads_per_particle() const override { return eta_; }

 private:
  DeviceShare& first() const {
    if (!failure_.empty())
      throw std::runtime_error("the engine cannot be used after an error: " + failure_);
    return *shares_.front();
  }

  static bool shares_one_device(const std::vector<int>& devices) {
    return std::set<int>(devices.begin(), devices.end()).size() < devices.size();
  }

  void run_batch(int sweeps) {
    for (const auto& share : shares_) share->clear_tallies();
    for (int k = 0; k < sweeps; ++k) {
      enqueue(k);
      if (watch_ && k % kPace == 0) watch_->pace();
    }
    check_launch();
    fresh_ = false;
    if (watch_) watch_->wait();
    std::vector<std::vector<Tally>> tallies;
    std::vector<std::vector<TreeTally>> of_trees;
    for (const auto& share : shares_) {
      tallies.push_back(share->tallies(sweeps));
      if (state_.parameters.method == Method::tree) of_trees.push_back(share->tree_tallies(sweeps));
    }
    for (int k = 0; k < sweeps; ++k) add(tallies, of_trees, k);
  }

  void enqueue(int slot) {
    const Rules& r = state_.rules;
    const bool brush = state_.parameters.method != Method::reduction;
    for (const auto& share : shares_) {
      share->propose(r, state_.counters.sweeps, slot);
      if (brush) share->place(r, slot);
    }
    ++state_.counters.sweeps;
    if (!brush) {
      first().reduce(state_, slot);
      return;
    }
    if (state_.parameters.method == Method::tree) {
      std::vector<TreePart> parts;
      for (const auto& share : shares_) parts.push_back(share->tree_part(state_, slot));
      sweep_by_trees(parts, slot);
      return;
    }
    synchronize_devices();
    for (int d = 0; d < devices_.count; ++d) {
      Devices devices = devices_;
      devices.own = d;
      shares_[d]->decide(r, devices, slot);
    }
    synchronize_devices();
  }
  // No device continues before all have come here.
  void synchronize_devices() {
    if (devices_.count == 1) return;
    for (const auto& share : shares_) share->mark();
    for (const auto& share : shares_)
      for (const auto& other : shares_)
        if (share != other) share->wait_for(*other);
  }

  static __int128 quanta(const Tally& t) {
    return (static_cast<__int128>(t.high) << 32) + static_cast<__int128>(t.low);
  }
  // Sweep `slot` of the ring; each device has counted what it decided.
  void add(const std::vector<std::vector<Tally>>& tallies,
           const std::vector<std::vector<TreeTally>>& of_trees, int slot) {
    state_.counters.trial_moves += state_.sites.size();
    state_.counters.evaluated_moves += tallies.front()[slot].evaluated;
    for (const auto& of_share : tallies) {
      state_.counters.accepted_moves += of_share[slot].accepted;
      state_.change += quanta(of_share[slot]);
    }
    for (const auto& of_share : of_trees) {
      const TreeTally& t = of_share[slot];
      state_.counters.accepted_moves += t.accepted;
      state_.counters.direct_moves += t.direct;
      state_.change += quanta({0, 0, t.low, t.high});
    }
    note_energy();
  }

  const State& present() const override {
    const DeviceGuard here = use();
    const DeviceShare& share = first();
    if (!fresh_) share.get(state_);
    fresh_ = true;
    return state_;
  }

  std::vector<std::unique_ptr<DeviceShare>> shares_;
  std::unique_ptr<Watch> watch_;  // of several devices
  Devices devices_{};
  int eta_ = 1;
  mutable bool fresh_ = true;  // state_.sites
  std::string failure_;        // the error that ended a run; empty if there was none
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(State state, const std::vector<int>& devices) {
  check_choice(state, devices);
  return std::make_unique<CudaEngine>(std::move(state), devices);
}

}  // namespace manymove::coulomb
