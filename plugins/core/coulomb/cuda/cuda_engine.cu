// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine: device memory, launches and what comes back; the kernels are in kernels.cuh and
// observables.cuh.
#include <algorithm>
#include <cstdlib>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "../state.h"
#include "group.cuh"
#include "observables.cuh"
#include "tree.h"
#include "walk.cuh"
#include "watch.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kPace = 16;  // sweeps between polls of several devices; about 26 launches each

// One schedule of the sweep.
struct Schedule {
  void (*brush)(Rules, Buffers, Devices);
  void (*place)(Buffers);
  std::size_t memory;
  int group, threads;
};

template <bool Double, Space B, int S, int Eta>
Schedule walk() {
  return {&walk_kernel<Double, B, S, Eta>, &place_kernel<S>, sizeof(WalkMemory<Double, S>), S,
          S * Eta};
}
template <bool Double, Space B, int S, int Eta>
Schedule rounds() {
  return {&rounds_kernel<Double, B, S, Eta>, &place_kernel<S>, sizeof(GroupMemory<Double, B, S>), S,
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

// In rounds, and not one after the other, where this has been measured to be faster
// (docs/benchmarks/electrolyte.md). Both make the same chain.
template <bool Double, Space B>
Schedule schedule_for(std::size_t n, int eta) {
  if constexpr (B != Space::ewald)
    if (eta == 16 && n > 12288 && n <= 24576) return rounds<Double, B, 64, 16>();
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

// All that one GPU holds of the chain: everything.
class DeviceShare {
 public:
  DeviceShare(const State& state, const Schedule& schedule, int device)
      : device_(current(device)),
        // Before what the tree does beside it
        stream_(state.parameters.method == Method::tree ? Priority::highest : Priority::lowest),
        schedule_(schedule),
        n_(static_cast<int>(state.sites.size())) {
    allocate(state.rules);
    std::vector<std::int32_t> index(n_);
    std::iota(index.begin(), index.end(), 0);
    index_.upload(index.data(), stream_);
    radius_.upload(state.radius.data(), stream_);
    species_.upload(state.species.data(), stream_);
    reduction_.clear(stream_);
    if (const EwaldBox* const box = state.ewald.get()) {
      rest_.upload(*box, box->terms, stream_);
      rest_single_.upload(*box, box->terms_single, stream_);
      schedule_.memory += state.parameters.double_precision ? rest_.bytes() : rest_single_.bytes();
    }
    allow_shared_memory(schedule_.brush, schedule_.memory, "shared memory for a group");
    if (state.parameters.vacuum) {
      image_ = DeviceBuffer<std::int32_t>(state.image.size());
      dipole_ = DeviceBuffer<Dipole>(1);
    }
    put(state);
  }
  ~DeviceShare() { select_device(device_); }  // where its members are freed
  DeviceShare(const DeviceShare&) = delete;
  DeviceShare& operator=(const DeviceShare&) = delete;

  void use() const { check(select_device(device_), "device"); }
  cudaStream_t stream() const { return stream_; }
  const Site* sites() const { return site_.data(); }
  // The same, with this device's memory.
  Rules rules(Rules r) const {
    r.rest = rest_.here;
    r.rest_single = rest_single_.here;
    return r;
  }
  int blocks() const { return blocks_for(n_, kThreads); }

  void put(const State& state) {
    use();
    site_.upload(state.sites.data(), stream_);
    if (state.parameters.method == Method::tree) {
      if (!tree_) tree_ = make_device_tree(state, stream_);
      tree_->fill(site_.data());
    }
    if (!state.parameters.vacuum) return;
    image_.upload(state.image.data(), stream_);
    dipole_.upload(&state.dipole, stream_);
  }
  void get(State& state) const {
    use();
    site_.download(state.sites.data(), stream_);
    if (!state.parameters.vacuum) return;
    image_.download(state.image.data(), stream_);
    dipole_.download(&state.dipole, stream_);
  }
  void clear_tallies() {
    use();
    tally_.clear(stream_);
    if (tree_) tree_->clear_tallies();
  }
  std::vector<Tally> tallies(int sweeps) const {
    use();
    std::vector<Tally> tallies(static_cast<std::size_t>(sweeps));
    tally_.download(tallies.data(), stream_, tallies.size());
    return tallies;
  }
  std::vector<TreeTally> tree_tallies(int sweeps) const {
    use();
    return tree_->tallies(sweeps);
  }
  // Where the others write what they decide.
  void enter(Devices& devices, int place) const {
    devices.site[place] = site_.data();
    devices.partner[place] = partner_.data();
    devices.decided[place] = progress_.data() + 1;
    devices.outcome[place] = outcome_.data();
    devices.image[place] = image_.data();
    devices.dipole[place] = dipole_.data();
  }
  void enter(Watch& watch) const {
    use();
    watch.add(device_, stream_, progress_.data() + 1, outcome_.data(),
              outcome_.size() * sizeof(Outcomes));
  }

  // A sweep up to where its groups are decided.
  void propose(const Rules& r, std::uint64_t sweep, int slot) {
    use();
    check(cudaMemsetAsync(head_.data(), 0xff, head_.size() * sizeof(std::int32_t), stream_),
          "clear");
    propose_kernel<<<blocks(), kThreads, 0, stream_>>>(r, buffers(slot), sweep);
  }
  void place(const Rules& r, int slot) {
    const Buffers b = buffers(slot);
    fate_kernel<blocked><<<blocks(), kThreads, 0, stream_>>>(r, b);
    fate_kernel<blocked_by_blocked><<<blocks(), kThreads, 0, stream_>>>(r, b);
    std::size_t bytes = partition_.size();
    check(cub::DevicePartition::Flagged(partition_.data(), bytes, index_.data(), hopeful_.data(),
                                        order_.data(), count_.data(), n_, stream_),
          "partition");
    const int places = n_ + 2 * schedule_.group;
    schedule_.place<<<blocks_for(places, kThreads), kThreads, 0, stream_>>>(b);
    progress_.clear(stream_);
  }
  // This device's share of the groups.
  void decide(const Rules& r, const Devices& devices, int slot) {
    use();
    schedule_
        .brush<<<blocks_of_share(devices.count), schedule_.threads, schedule_.memory, stream_>>>(
            rules(r), buffers(slot), devices);
  }
  void reduce(const State& state, int slot) {
    const Rules r = rules(state.rules);
    for_space(r, [&](auto space) {
      const auto kernel = state.parameters.double_precision ? &reduction_kernel<true, space()>
                                                            : &reduction_kernel<false, space()>;
      constexpr int kWide = reduction_threads(space());
      const int blocks = std::min((n_ + kWide - 1) / kWide, 256);
      for (int i = 0; i < n_; ++i)
        kernel<<<blocks, kWide, 0, stream_>>>(r, buffers(slot), reduction_.data(), i);
    });
  }

  // The same by the tree.
  TreePart tree_part(const State& state, int slot) const {
    const Buffers b = buffers(slot);
    const TreeInput input{b.site, b.trial, b.most,  b.radius, b.head,
                          b.next, b.order, b.count, b.image,  b.dipole};
    return {device_, tree_.get(), rules(state.rules), input};
  }

  // What is enqueued so far, for the other devices to wait for.
  void mark() {
    use();
    reached_.record(stream_);
  }
  void wait_for(const DeviceShare& other) const {
    use();
    other.reached_.hold(stream_);
  }

  // Whether so many shares of a sweep run on this device side by side.
  bool holds(int shares) const {
    use();
    int per_multiprocessor = 0;
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device_), "properties");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, schedule_.brush,
                                                        schedule_.threads, schedule_.memory),
          "occupancy");
    return shares * blocks_of_share(shares) <=
           static_cast<unsigned>(per_multiprocessor * properties.multiProcessorCount);
  }

  void remember_sites() {
    use();
    if (left_.size() == 0) left_ = DeviceBuffer<Site>(n_);
    check(cudaMemcpyAsync(left_.data(), site_.data(), n_ * sizeof(Site), cudaMemcpyDeviceToDevice,
                          stream_),
          "copy");
  }
  std::uint64_t trace(const HostParticles& host) const {
    use();
    DeviceBuffer<unsigned long long> sum(1);
    sum.clear(stream_);
    const auto kernel = host.double_precision ? &trace_kernel<double> : &trace_kernel<float>;
    kernel<<<blocks(), kThreads, 0, stream_>>>(host, n_, sum.data());
    check_launch();
    unsigned long long trace;
    sum.download(&trace, stream_);
    return trace;
  }
  void write_positions(const State& state, const HostParticles& host) {
    use();
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    const double* unit = state.axis_unit;
    kernel<<<blocks(), kThreads, 0, stream_>>>(state.rules, double3{unit[0], unit[1], unit[2]},
                                               host, n_, image_.data(), site_.data(), left_.data());
    check_launch();
  }

  void count_pairs(const State& state, const Bins& b, std::uint64_t* counts,
                   std::uint64_t* interior_ions) const {
    use();
    const int size = b.species * (b.species + 1) / 2 * b.bins;
    DeviceBuffer<unsigned long long> device_counts(size), device_ions(b.species);
    DeviceBuffer<Site> inside(n_);
    DeviceBuffer<unsigned> inside_count(1);
    device_counts.clear(stream_);
    device_ions.clear(stream_);
    inside_count.clear(stream_);
    interior_kernel<<<blocks(), kThreads, 0, stream_>>>(state.rules, b, site_.data(),
                                                        species_.data(), n_, inside.data(),
                                                        inside_count.data(), device_ions.data());
    // Ions near each other side by side, so that tiles of them can be far apart as a whole.
    DeviceBuffer<unsigned> key(n_), sorted_key(n_);
    DeviceBuffer<Site> sorted(n_);
    DeviceBuffer<TileBox> box(blocks());
    near_keys_kernel<<<blocks(), kThreads, 0, stream_>>>(state.rules, inside.data(),
                                                         inside_count.data(), n_, key.data());
    std::size_t bytes = 0;
    const auto sort = [&](void* memory) {
      check(cub::DeviceRadixSort::SortPairs(memory, bytes, key.data(), sorted_key.data(),
                                            reinterpret_cast<const float4*>(inside.data()),
                                            reinterpret_cast<float4*>(sorted.data()), n_, 0, 31,
                                            stream_),
            "sort");
    };
    sort(nullptr);
    const DeviceBuffer<char> memory(bytes);
    sort(memory.data());
    tile_boxes_kernel<<<blocks_for(blocks(), kThreads), kThreads, 0, stream_>>>(
        sorted.data(), inside_count.data(), box.data());
    const auto kernel =
        state.rules.periodic ? &pairs_kernel<Space::nearest> : &pairs_kernel<Space::cell>;
    const int in_shared = size <= 8192 ? size : 0;
    // A block counts at most 2^31 pairs in 32 bits.
    const unsigned slices =
        std::clamp(std::max(4096 / blocks(), blocks() / 65536 + 1), 1, blocks() / 2 + 1);
    kernel<<<dim3(blocks(), slices), kThreads, in_shared * sizeof(unsigned), stream_>>>(
        state.rules, b, sorted.data(), box.data(), inside_count.data(), in_shared,
        device_counts.data());
    check_launch();
    std::vector<unsigned long long> fetched(size), ions(b.species);
    device_counts.download(fetched.data(), stream_);
    device_ions.download(ions.data(), stream_);
    for (int k = 0; k < size; ++k) counts[k] += fetched[k];
    for (int k = 0; k < b.species; ++k) interior_ions[k] += ions[k];
  }

 private:
  static int current(int device) {
    check(select_device(device), "device");
    return device;
  }

  // Blocks: all that a sweep may need, a group for a part of one included.
  unsigned blocks_of_share(int devices) const {
    const int groups = (n_ + schedule_.group - 1) / schedule_.group;
    return static_cast<unsigned>((groups + devices - 1) / devices);
  }

  void allocate(const Rules& r) {
    const std::size_t n = n_, places = n + 2 * schedule_.group;
    site_ = DeviceBuffer<Site>(n);
    trial_ = DeviceBuffer<float4>(n);
    most_ = DeviceBuffer<std::int64_t>(n);
    fate_ = DeviceBuffer<std::uint8_t>(n);
    hopeful_ = DeviceBuffer<std::uint8_t>(n);
    radius_ = DeviceBuffer<double>(n);
    species_ = DeviceBuffer<std::int32_t>(n);
    head_ =
        DeviceBuffer<std::int32_t>(static_cast<std::size_t>(r.cells[0]) * r.cells[1] * r.cells[2]);
    next_ = DeviceBuffer<std::int32_t>(n);
    index_ = DeviceBuffer<std::int32_t>(n);
    order_ = DeviceBuffer<std::int32_t>(n);
    count_ = DeviceBuffer<std::uint32_t>(1);
    partner_ = DeviceBuffer<Site>(places);
    goal_ = DeviceBuffer<Site>(places);
    outcome_ = DeviceBuffer<Outcomes>(places / 32 + 1);
    ion_ = DeviceBuffer<std::int32_t>(places);
    progress_ = DeviceBuffer<unsigned>(2);
    tally_ = DeviceBuffer<Tally>(kRing);
    reduction_ = DeviceBuffer<Reduction>(1);
    std::size_t bytes = 0;
    check(cub::DevicePartition::Flagged(nullptr, bytes, index_.data(), hopeful_.data(),
                                        order_.data(), count_.data(), n_, stream_),
          "partition");
    partition_ = DeviceBuffer<char>(bytes);
  }

  Buffers buffers(int slot) const {
    return {site_.data(),     trial_.data(),        most_.data(),         fate_.data(),
            hopeful_.data(),  radius_.data(),       head_.data(),         next_.data(),
            order_.data(),    count_.data(),        partner_.data(),      goal_.data(),
            ion_.data(),      outcome_.data(),      image_.data(),        dipole_.data(),
            progress_.data(), progress_.data() + 1, tally_.data() + slot, n_};
  }

  int device_;
  Stream stream_;
  Event reached_;
  Schedule schedule_;
  int n_;
  DeviceBuffer<Site> site_, partner_, goal_, left_;
  DeviceBuffer<Outcomes> outcome_;
  DeviceBuffer<float4> trial_;
  DeviceBuffer<std::int64_t> most_;
  DeviceBuffer<std::uint8_t> fate_, hopeful_;
  DeviceBuffer<double> radius_;
  DeviceBuffer<std::int32_t> species_, head_, next_, index_, order_, ion_;
  DeviceBuffer<std::uint32_t> count_;
  DeviceBuffer<unsigned> progress_;  // ticket, decided
  DeviceBuffer<Tally> tally_;
  DeviceBuffer<Reduction> reduction_;
  DeviceBuffer<char> partition_;
  DeviceRest<double> rest_;  // with Ewald's energy
  DeviceRest<float> rest_single_;
  DeviceBuffer<std::int32_t> image_;  // with a vacuum around
  DeviceBuffer<Dipole> dipole_;
  std::unique_ptr<DeviceTree> tree_;
};

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
      const std::size_t n = state_.sites.size();
      return exact ? schedule_for<true, space()>(n, eta_) : schedule_for<false, space()>(n, eta_);
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
