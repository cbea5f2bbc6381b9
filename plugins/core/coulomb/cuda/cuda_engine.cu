// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine: the devices that share a chain, and what they do in a sweep.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "../../runtime/engine_group.h"
#include "brush.cuh"
#include "device_chain.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kPace = 16;  // sweeps between polls of several devices; about 26 launches each

// The largest chain that may share launches: it has more groups of 64 trials than a GPU has
// multiprocessors. There are kernels of many chains for one number of threads per ion. A chain for
// which the engine has chosen another number takes them in a group as well: groups of trials and
// float32 sums are the same for 8 and 16 threads (add_tile), and therefore so is the chain.
constexpr std::size_t kMostOfSmall = 16384;  // ions
constexpr int kEtaOfSmall = 8;               // threads per ion
constexpr int kTrialsOfSmall = 64;           // of a group

// Table 1 of the paper, on an H100 (docs/benchmarks/electrolyte.md). A function of the numbers
// alone. 1,024 threads have no registers for Ewald's potential in float64.
int fastest_eta(std::size_t n, bool exact, Space space) {
  if (n <= 12288 || (exact && space == Space::ewald && n <= 196608)) return kEtaOfSmall;
  if (n <= (exact ? 49152u : 98304u)) return 16;
  if (n <= 196608) return 8;
  return 4;
}

template <bool Double, Space B>
BrushLaunch brush_for(int eta) {
  return for_constant<16, 8, 4, 2, 1>(eta, [](auto threads) {
    // S Eta threads: 1,024 for eta = 16, 512 for 8 and 4, 256 for 2 and 1.
    constexpr int Eta = threads(), S = Eta >= 8 ? 64 : Eta >= 2 ? 128 : 256;
    // A block decides S trials with Eta threads each (Fig. 7 of the paper).
    return BrushLaunch{&brush_kernel<Double, B, S, Eta>, &order_kernel<S>,
                       sizeof(GroupMemory<Double, S>), S, S * Eta};
  });
}

template <bool Double, Space B>
ChainsLaunch chains_launch() {
  constexpr int S = kTrialsOfSmall;
  return {&prepare_chains<S>, &decide_chains<Double, B, S, kEtaOfSmall>, S * kEtaOfSmall};
}

// Devices write into each other's memory.
void connect(const std::vector<int>& devices) {
  for (const int from : devices)
    for (const int to : devices) {
      if (from == to) continue;
      int can = 0;
      check(cudaDeviceCanAccessPeer(&can, from, to), "peer access");
      if (!can)
        refuse("cuda:", from, " cannot write to cuda:", to,
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
  if (method == Method::serial) refuse("method serial runs on the CPU only");
  if (devices.size() > kMostDevices)
    refuse("a chain runs on up to ", kMostDevices, " devices, not on ", devices.size());
  if (devices.size() > 1 && method == Method::reduction)
    refuse("method reduction runs on one device only");
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (devices.size() > 1 && method == Method::brush && blocking && blocking != std::string("0"))
    refuse(
        "CUDA_LAUNCH_BLOCKING is set: kernels of a chain on several devices wait for each other, "
        "so that their launches must not block");
}
// Chains over the same devices must not run at a time: the groups that each waits for might find no
// room on a device that is full of the other's.
std::mutex& one_shared_chain() {
  static std::mutex mutex;
  return mutex;
}

// Chains make their devices current; each function of the engine that uses one begins with use().
class CudaEngine final : OnDevice, public EngineBase {
 public:
  CudaEngine(State state, const std::vector<int>& devices, const ChangeTree& change)
      : OnDevice(devices.front()), EngineBase(std::move(state)) {
    const DeviceGuard here = use();
    const bool exact = state_.parameters.double_precision;
    int& eta = state_.parameters.threads_per_particle;
    const bool chosen = eta == 0;
    if (chosen) eta = fastest_eta(state_.sites.size(), exact, state_.rules.space);
    const BrushLaunch brush = for_space(state_.rules, [&](auto space) {
      return exact ? brush_for<true, space()>(eta) : brush_for<false, space()>(eta);
    });
    if (method() == Method::brush && devices.size() == 1 && state_.sites.size() <= kMostOfSmall &&
        (chosen || eta == kEtaOfSmall) && brush.group == kTrialsOfSmall)
      together_ = for_space(state_.rules, [&](auto space) {
        return exact ? chains_launch<true, space()>() : chains_launch<false, space()>();
      });
    for (const int device : devices) existing_device(device);
    connect(devices);
    for (const int device : devices)
      chains_.push_back(std::make_unique<DeviceChain>(state_, brush, device, change));
    peers_.count = static_cast<int>(chains_.size());
    for (int d = 0; d < peers_.count; ++d) chains_[d]->enter(peers_, d);
    if (method() == Method::brush && peers_.count > 1) {
      const bool same = std::set<int>(devices.begin(), devices.end()).size() < devices.size();
      if (same && !first().holds(peers_.count))
        refuse("too many ions for shares of one chain on the same device");
      watchdog_ = std::make_unique<ChainWatchdog>();
      for (const auto& chain : chains_) chain->enter(*watchdog_);
    }
  }
  // Memory that kernels which do not end still use is left to the end of the process: to free it
  // would be to wait for them.
  ~CudaEngine() override {
    if (launcher_) launcher_->leave();
    if (failure_.empty() || !watchdog_) return;
    const DeviceGuard here;
    if (select_device(device_) != cudaSuccess || !watchdog_->busy()) return;
    for (auto& chain : chains_) chain.release();
    watchdog_.release();
  }

  void run(std::uint64_t sweeps) override {
    const DeviceGuard here = use();
    std::unique_lock<std::mutex> alone(one_shared_chain(), std::defer_lock);
    if (peers_.count > 1) alone.lock();
    first();
    try {
      while (sweeps > 0) {
        const int some = static_cast<int>(std::min<std::uint64_t>(sweeps, kRing));
        run_batch(some);
        sweeps -= some;
      }
    } catch (const std::exception& error) {  // some of the sweeps have been made
      failure_ = error.what();
      if (watchdog_) watchdog_->stop();
      throw;
    }
  }

  bool join(const std::shared_ptr<EngineGroup>& group) override {
    std::shared_ptr<ChainLauncher> to;
    if (group && together_.decide) {
      const DeviceGuard here = use();
      const auto kernel = reinterpret_cast<const void*>(together_.decide);
      to = group->launcher<ChainLauncher>(device_, kernel);
      to->join();
    }
    if (launcher_) launcher_->leave();
    launcher_ = std::move(to);
    return launcher_ != nullptr;
  }

  double energy() const override {
    const DeviceGuard here = use();
    const DeviceChain& chain = first();
    chain.use();
    DeviceBuffer<MoveCounts> counts(1);
    counts.clear(chain.stream());
    const auto kernel = for_space(state_.rules, [](auto space) { return &energy_kernel<space()>; });
    kernel<<<chain.blocks(), kThreads, 0, chain.stream()>>>(
        chain.rules(state_.rules), chain.sites(), static_cast<int>(particles()), counts.data());
    check_launch();
    // The kernel sums each pair at both ends.
    return static_cast<double>(counts.first_value(chain.stream()).energy()) *
               state_.rules.strength / 2 +
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

  void positions_on_device(double* xyz) const override {
    const DeviceGuard here = use();
    first().positions(state_, xyz);
  }

  void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                   std::uint64_t* interior_ions) const override {
    const DeviceGuard here = use();
    first().count_pairs(state_, bins_of(state_, histogram), counts, interior_ions);
  }

  void set_positions(const double* xyz, const std::int32_t* image) override {
    const DeviceGuard here = use();
    present();
    manymove::coulomb::set_positions(state_, xyz, image);
    for (const auto& chain : chains_) chain->put(state_);
  }

 private:
  DeviceChain& first() const {
    if (!failure_.empty())
      throw std::runtime_error("the engine cannot be used after an error: " + failure_);
    return *chains_.front();
  }

  void run_batch(int sweeps) {
    // Each sweep of the batch counts in a place of its own, so that the host reads all at the end.
    for (const auto& chain : chains_) chain->clear_counts();
    fresh_ = false;
    if (launcher_) {
      WaitingChain waiting = first().waiting(state_, together_);
      launcher_->run(waiting, static_cast<std::uint64_t>(sweeps));
      state_.counters.sweeps += static_cast<std::uint64_t>(sweeps);
    } else {
      for (int k = 0; k < sweeps; ++k) {
        enqueue(k);
        // Launches block when about a thousand of them are queued.
        if (watchdog_ && k % kPace == 0) watchdog_->pace();
      }
      check_launch();
      if (watchdog_) watchdog_->wait();
    }
    std::vector<std::vector<MoveCounts>> counts;
    // Waits for the stream of each device in turn.
    for (const auto& chain : chains_) counts.push_back(chain->counts(sweeps));
    for (int k = 0; k < sweeps; ++k) add(counts, k);
  }

  void enqueue(int slot) {
    const Rules& r = state_.rules;
    const bool reduction = method() == Method::reduction;
    for (const auto& chain : chains_) {
      // Every device prepares all trials, because it needs all ions; only decisions are divided.
      chain->propose(r, state_.counters.sweeps, slot);
      if (!reduction) chain->put_in_order(r, slot);
    }
    ++state_.counters.sweeps;
    if (reduction) {
      first().reduce(state_, slot);
    } else if (method() == Method::tree) {
      std::vector<TreeDevice> devices;
      for (const auto& chain : chains_) devices.push_back(chain->tree_device(state_, slot));
      sweep_by_trees(devices);
    } else {
      synchronize_devices();
      for (int d = 0; d < peers_.count; ++d) {
        // Kernels of all devices, each with its own number; none begins before all ions are in
        // place.
        PeerArrays peers = peers_;
        peers.own = d;
        chains_[d]->decide(r, peers, slot);
      }
      synchronize_devices();
    }
  }
  // No device continues before all have come here.
  void synchronize_devices() {
    if (peers_.count == 1) return;
    // Streams wait for events of the others; the host waits for none.
    for (const auto& chain : chains_) chain->mark();
    for (const auto& chain : chains_)
      for (const auto& other : chains_)
        if (chain != other) chain->wait_for(*other);
  }

  // Sweep `slot` of the ring. Each device has found all candidates and counted what it decided.
  void add(const std::vector<std::vector<MoveCounts>>& counts, int slot) {
    Counters& c = state_.counters;
    c.trial_moves += state_.sites.size();
    c.evaluated_moves += counts.front()[slot].evaluated;
    for (const auto& of_device : counts) {
      c.accepted_moves += of_device[slot].accepted;
      c.direct_moves += of_device[slot].direct;
      state_.change += of_device[slot].energy();
    }
    note_energy();
  }

  const State& present() const override {
    const DeviceGuard here = use();
    const DeviceChain& chain = first();
    if (!fresh_) chain.get(state_);
    fresh_ = true;
    return state_;
  }

  std::vector<std::unique_ptr<DeviceChain>> chains_;
  std::unique_ptr<ChainWatchdog> watchdog_;  // of several devices
  ChainsLaunch together_;                    // empty: the chain does not share launches
  std::shared_ptr<ChainLauncher> launcher_;  // null: the chain launches for itself
  PeerArrays peers_{};
  mutable bool fresh_ = true;  // state_.sites
  std::string failure_;        // the error that ended a run; empty if there was none
  OnDevice::BetweenCalls between_calls_{*this};
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(State state, const std::vector<int>& devices,
                                         const ChangeTree& change) {
  check_choice(state, devices);
  return std::make_unique<CudaEngine>(std::move(state), devices, change);
}

}  // namespace manymove::coulomb
