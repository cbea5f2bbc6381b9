// SPDX-License-Identifier: BSD-3-Clause
// The CUDA engine: device memory, launches and what comes back; the kernels are in kernels.cuh.
#include "cuda.h"

#include <algorithm>
#include <cub/device/device_partition.cuh>
#include <numeric>
#include <utility>

#include "kernels.cuh"

namespace manymove::coulomb {
namespace {

constexpr int kRing = 256;  // sweeps whose tallies the device keeps
constexpr std::size_t kMostEnergies = 1 << 20;

// One schedule of the sweep.
struct Schedule {
  void (*brush)(Rules, Buffers);
  void (*place)(Buffers);
  std::size_t memory;
  int group, threads;
};

template <bool Double, bool Periodic, int S, int Eta>
Schedule schedule() {
  return {&brush_kernel<Double, Periodic, S, Eta>, &place_kernel<S>, sizeof(GroupMemory<Double, S>),
          S, S * Eta};
}

// Table 1 of the paper, on an H100 (docs/benchmarks/electrolyte.md). A function of the numbers
// alone.
int fastest_eta(std::size_t n, bool exact) {
  if (n <= 12288) return 8;
  if (n <= (exact ? 49152u : 98304u)) return 16;
  if (n <= 196608) return 8;
  return 4;
}

template <bool Double, bool Periodic>
Schedule schedule_for(int eta) {
  switch (eta) {
    case 16:
      return schedule<Double, Periodic, 64, 16>();
    case 8:
      return schedule<Double, Periodic, 64, 8>();
    case 4:
      return schedule<Double, Periodic, 128, 4>();
    case 2:
      return schedule<Double, Periodic, 128, 2>();
    default:
      return schedule<Double, Periodic, 256, 1>();
  }
}

class CudaEngine final : public Engine {
 public:
  CudaEngine(State state, int device) : state_(std::move(state)), device_(select(device)) {
    if (state_.parameters.method == Method::serial)
      throw std::invalid_argument("method serial runs on the CPU only");
    const std::size_t n = state_.sites.size();
    // Threads for the whole device, as long as decisions are not what is waited for (Table 1).
    const bool exact = state_.parameters.double_precision;
    eta_ = state_.parameters.threads_per_particle;
    if (eta_ == 0) eta_ = fastest_eta(n, exact);
    schedule_ = state_.rules.periodic
                    ? (exact ? schedule_for<true, true>(eta_) : schedule_for<false, true>(eta_))
                    : (exact ? schedule_for<true, false>(eta_) : schedule_for<false, false>(eta_));
    check(cudaFuncSetAttribute(schedule_.brush, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(schedule_.memory)),
          "shared memory for a group");
    allocate(n);
    upload();
  }
  ~CudaEngine() override { cudaSetDevice(device_); }

  void run(std::uint64_t sweeps) override {
    use();
    while (sweeps > 0) {
      const int some = static_cast<int>(std::min<std::uint64_t>(sweeps, kRing));
      tally_.clear(stream_);
      for (int k = 0; k < some; ++k) enqueue(k);
      check(cudaGetLastError(), "launch");
      std::vector<Tally> tallies(kRing);
      tally_.download(tallies.data(), stream_);
      fresh_ = false;
      for (int k = 0; k < some; ++k) add(tallies[k]);
      sweeps -= some;
    }
  }

  std::vector<double> take_energies() override { return std::exchange(energies_, {}); }
  Counters counters() const override { return state_.counters; }
  std::size_t particles() const override { return state_.sites.size(); }
  double energy_change() const override {
    return static_cast<double>(state_.change) * state_.rules.strength;
  }

  double energy() const override {
    use();
    DeviceBuffer<Tally> tally(1);
    tally.clear(stream_);
    const auto kernel = state_.rules.periodic ? &energy_kernel<true> : &energy_kernel<false>;
    kernel<<<blocks(), kThreads, 0, stream_>>>(state_.rules, site_.data(), count(), tally.data());
    check(cudaGetLastError(), "launch");
    Tally sum;
    tally.download(&sum, stream_);
    return static_cast<double>(quanta(sum)) * state_.rules.strength / 2;
  }

  void count_pairs(const Histogram& histogram, std::uint64_t* counts,
                   std::uint64_t* interior_ions) const override {
    use();
    const Bins b = bins_of(state_, histogram);
    const int size = b.species * (b.species + 1) / 2 * b.bins;
    DeviceBuffer<unsigned long long> device_counts(size), device_ions(b.species);
    DeviceBuffer<Site> inside(count());
    DeviceBuffer<unsigned> inside_count(1);
    device_counts.clear(stream_);
    device_ions.clear(stream_);
    inside_count.clear(stream_);
    interior_kernel<<<blocks(), kThreads, 0, stream_>>>(state_.rules, b, site_.data(),
                                                        species_.data(), count(), inside.data(),
                                                        inside_count.data(), device_ions.data());
    const auto kernel = state_.rules.periodic ? &pairs_kernel<true> : &pairs_kernel<false>;
    const int in_shared = size <= 8192 ? size : 0;
    const unsigned slices = std::clamp(4096 / blocks(), 1, blocks() / 2 + 1);
    kernel<<<dim3(blocks(), slices), kThreads, in_shared * sizeof(unsigned), stream_>>>(
        state_.rules, b, inside.data(), inside_count.data(), in_shared, device_counts.data());
    check(cudaGetLastError(), "launch");
    std::vector<unsigned long long> fetched(size), ions(b.species);
    device_counts.download(fetched.data(), stream_);
    device_ions.download(ions.data(), stream_);
    for (int k = 0; k < size; ++k) counts[k] += fetched[k];
    for (int k = 0; k < b.species; ++k) interior_ions[k] += ions[k];
  }

  void positions(double* xyz) const override { export_positions(fetched(), xyz); }
  Snapshot snapshot() const override { return snapshot_of(fetched()); }
  double max_overlap() const override { return deepest_overlap(fetched()); }
  std::uint64_t state_hash() const override { return hash_of(fetched()); }
  void set_positions(const double* xyz) override {
    fetched();
    place(state_, xyz);
    use();
    site_.upload(state_.sites.data(), stream_);
  }

  double max_displacement() const override { return state_.rules.step * state_.unit; }
  double short_displacement() const override { return state_.rules.short_step * state_.unit; }
  double unit() const override { return state_.unit; }
  int threads_per_particle() const override { return eta_; }

 private:
  static int select(int device) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) {
      cudaGetLastError();
      devices = 0;
    }
    if (device >= devices)
      throw std::invalid_argument("no device cuda:" + std::to_string(device) + " (" +
                                  std::to_string(devices) + " CUDA devices)");
    check(cudaSetDevice(device), "device");
    return device;
  }
  void use() const { check(cudaSetDevice(device_), "device"); }
  int count() const { return static_cast<int>(state_.sites.size()); }
  int blocks() const { return (count() + kThreads - 1) / kThreads; }
  // All that a sweep may need, a group for a part of one included.
  unsigned grid() const { return (count() + schedule_.group - 1) / schedule_.group; }

  void allocate(std::size_t n) {
    const Rules& r = state_.rules;
    const std::size_t places = n + 2 * schedule_.group;
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
    guest_ = DeviceBuffer<Site>(places);
    ion_ = DeviceBuffer<std::int32_t>(places);
    progress_ = DeviceBuffer<unsigned long long>(2);
    tally_ = DeviceBuffer<Tally>(kRing);
    reduction_ = DeviceBuffer<Reduction>(1);
    std::size_t bytes = 0;
    check(cub::DevicePartition::Flagged(nullptr, bytes, index_.data(), hopeful_.data(),
                                        order_.data(), count_.data(), count(), stream_),
          "partition");
    partition_ = DeviceBuffer<char>(bytes);
  }

  void upload() {
    std::vector<std::int32_t> index(state_.sites.size());
    std::iota(index.begin(), index.end(), 0);
    index_.upload(index.data(), stream_);
    site_.upload(state_.sites.data(), stream_);
    radius_.upload(state_.radius.data(), stream_);
    species_.upload(state_.species.data(), stream_);
    progress_.clear(stream_);
    reduction_.clear(stream_);
  }

  Buffers buffers(int slot) const {
    return {site_.data(),     trial_.data(),        most_.data(),  fate_.data(),
            hopeful_.data(),  radius_.data(),       head_.data(),  next_.data(),
            order_.data(),    count_.data(),        guest_.data(), ion_.data(),
            progress_.data(), progress_.data() + 1, launched_,     tally_.data() + slot,
            count()};
  }

  // One sweep.
  void enqueue(int slot) {
    const Rules& r = state_.rules;
    const Buffers b = buffers(slot);
    check(cudaMemsetAsync(head_.data(), 0xff, head_.size() * sizeof(std::int32_t), stream_),
          "clear");
    propose_kernel<<<blocks(), kThreads, 0, stream_>>>(r, b, state_.counters.sweeps);
    ++state_.counters.sweeps;
    if (state_.parameters.method == Method::reduction) {
      reduce(b);
      return;
    }
    fate_kernel<blocked><<<blocks(), kThreads, 0, stream_>>>(r, b);
    fate_kernel<blocked_by_blocked><<<blocks(), kThreads, 0, stream_>>>(r, b);
    std::size_t bytes = partition_.size();
    check(cub::DevicePartition::Flagged(partition_.data(), bytes, index_.data(), hopeful_.data(),
                                        order_.data(), count_.data(), count(), stream_),
          "partition");
    const int places = count() + 2 * schedule_.group;
    schedule_.place<<<(places + kThreads - 1) / kThreads, kThreads, 0, stream_>>>(b);
    // More blocks than groups, whose number only the device knows: the ticket runs ahead.
    check(cudaMemcpyAsync(progress_.data() + 1, progress_.data(), sizeof(unsigned long long),
                          cudaMemcpyDeviceToDevice, stream_),
          "progress");
    schedule_.brush<<<grid(), schedule_.threads, schedule_.memory, stream_>>>(r, b);
    launched_ += grid();
  }

  void reduce(const Buffers& b) {
    const bool exact = state_.parameters.double_precision, periodic = state_.rules.periodic;
    const auto kernel =
        exact ? (periodic ? &reduction_kernel<true, true> : &reduction_kernel<true, false>)
              : (periodic ? &reduction_kernel<false, true> : &reduction_kernel<false, false>);
    constexpr int kWide = 1024;
    const int wide_blocks = std::min((count() + kWide - 1) / kWide, 256);
    for (int i = 0; i < count(); ++i)
      kernel<<<wide_blocks, kWide, 0, stream_>>>(state_.rules, b, reduction_.data(), i);
  }

  static __int128 quanta(const Tally& t) {
    return (static_cast<__int128>(t.high) << 32) + static_cast<__int128>(t.low);
  }
  void add(const Tally& t) {
    state_.counters.trial_moves += state_.sites.size();
    state_.counters.accepted_moves += t.accepted;
    state_.counters.evaluated_moves += t.evaluated;
    state_.change += quanta(t);
    if (energies_.size() == kMostEnergies) energies_.erase(energies_.begin());
    energies_.push_back(energy_change());
  }

  // The state with the device's positions.
  const State& fetched() const {
    if (!fresh_) {
      use();
      site_.download(state_.sites.data(), stream_);
      fresh_ = true;
    }
    return state_;
  }

  mutable State state_;
  int device_;
  Stream stream_;
  Schedule schedule_{};
  int eta_ = 1;
  DeviceBuffer<Site> site_, guest_;
  DeviceBuffer<float4> trial_;
  DeviceBuffer<std::int64_t> most_;
  DeviceBuffer<std::uint8_t> fate_, hopeful_;
  DeviceBuffer<double> radius_;
  DeviceBuffer<std::int32_t> species_, head_, next_, index_, order_, ion_;
  DeviceBuffer<std::uint32_t> count_;
  DeviceBuffer<unsigned long long> progress_;  // ticket, decided
  DeviceBuffer<Tally> tally_;
  DeviceBuffer<Reduction> reduction_;
  DeviceBuffer<char> partition_;
  unsigned long long launched_ = 0;
  mutable bool fresh_ = true;  // state_.sites
  std::vector<double> energies_;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(State state, int device) {
  return std::make_unique<CudaEngine>(std::move(state), device);
}

}  // namespace manymove::coulomb
