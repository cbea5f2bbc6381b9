// SPDX-License-Identifier: BSD-3-Clause
// The chain on one GPU: memory, launches and what comes back. Where several GPUs make one chain
// each has all of it, and decides its own trials.
#pragma once

#include <algorithm>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <memory>
#include <numeric>
#include <vector>

#include "../state.h"
#include "chain_watchdog.cuh"
#include "chains_together.cuh"
#include "observables.cuh"
#include "reduction.cuh"
#include "tree.h"

namespace manymove::coulomb {
namespace {

// The kernels of a brush of this precision, space and number of threads per trial.
struct BrushLaunch {
  void (*brush)(Rules, ChainArrays, PeerArrays);
  void (*order)(ChainArrays);
  std::size_t memory;  // shared, of a block
  int group, threads;  // trials and threads of a block
};

// The kernels of many chains at a time, for the same trials in a group and the same shared memory.
struct ChainsLaunch {
  void (*prepare)(const SmallChain*, int sweep) = nullptr;
  void (*decide)(const SmallChain*, int sweep) = nullptr;
  unsigned threads = 0;  // of a block that decides
};

class DeviceChain {
 public:
  DeviceChain(const State& state, const BrushLaunch& brush, int device, const ChangeTree& change)
      : device_(current(device)),
        // Before what the tree does beside it
        stream_(state.parameters.method == Method::tree ? Priority::highest : Priority::lowest),
        brush_(brush),
        n_(static_cast<int>(state.sites.size())),
        head_(cell_count(state.rules)),
        radius_(on_device(state.radius, stream_)),
        species_(on_device(state.species, stream_)) {
    make_arrays();
    std::vector<std::int32_t> index(size(n_));
    std::iota(index.begin(), index.end(), 0);
    index_ = on_device(index, stream_);
    partition_ = DeviceBuffer<char>(partition(nullptr, 0));
    reduction_.clear(stream_);
    if (const EwaldBox* const box = state.ewald.get()) {
      rest_.upload(*box, box->terms, stream_);
      rest_single_.upload(*box, box->terms_single, stream_);
      // The polynomial's coefficients come behind a group's memory.
      brush_.memory += state.parameters.double_precision ? rest_.bytes() : rest_single_.bytes();
    }
    allow_shared_memory(brush_.brush, brush_.memory, "shared memory for a group");
    if (state.parameters.vacuum) {
      image_ = DeviceBuffer<std::int32_t>(state.image.size());
      dipole_ = DeviceBuffer<Dipole>(1);
      arrays_.image = image_.data();
      arrays_.dipole = dipole_.data();
    }
    if (state.parameters.method == Method::tree) tree_ = make_device_tree(state, change, stream_);
    put(state);
  }
  ~DeviceChain() { select_device(device_); }  // where its members are freed
  DeviceChain(const DeviceChain&) = delete;
  DeviceChain& operator=(const DeviceChain&) = delete;

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
    if (tree_) tree_->fill(site_.data());
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
  void clear_counts() {
    use();
    counts_.clear(stream_);
  }
  std::vector<MoveCounts> counts(int sweeps) const {
    use();
    std::vector<MoveCounts> counts(static_cast<std::size_t>(sweeps));
    counts_.download(counts.data(), stream_, counts.size());
    return counts;
  }
  // Where the others write what they decide.
  void enter(PeerArrays& peers, int place) const {
    peers.site[place] = arrays_.site;
    peers.partner[place] = arrays_.partner;
    peers.decided[place] = arrays_.decided;
    peers.image[place] = arrays_.image;
    peers.dipole[place] = arrays_.dipole;
  }
  void enter(ChainWatchdog& watchdog) const {
    use();
    watchdog.add(device_, stream_, arrays_.decided);
  }

  // A sweep up to where its groups are decided.
  void propose(const Rules& r, std::uint64_t sweep, int slot) {
    use();
    // -1 in each cell: it has no ion yet.
    head_.clear(stream_, 0xff);
    // A trial of each ion, by random numbers of the ion and the sweep alone.
    propose_kernel<<<blocks(), kThreads, 0, stream_>>>(r, arrays(slot), sweep);
  }
  void put_in_order(const Rules& r, int slot) {
    const ChainArrays a = arrays(slot);
    // Two launches, because the second stage reads all decisions of the first (theory, section 3).
    reject_kernel<blocked><<<blocks(), kThreads, 0, stream_>>>(r, a);
    reject_kernel<blocked_by_blocked><<<blocks(), kThreads, 0, stream_>>>(r, a);
    partition(partition_.data(), partition_.size());
    brush_.order<<<blocks_for(places_, kThreads), kThreads, 0, stream_>>>(a);
    // No block of this sweep has begun, and no group is decided.
    progress_.clear(stream_);
  }
  // This device's groups.
  void decide(const Rules& r, const PeerArrays& peers, int slot) {
    use();
    brush_.brush<<<blocks_of_groups(peers.count), brush_.threads, brush_.memory, stream_>>>(
        rules(r), arrays(slot), peers);
  }
  void reduce(const State& state, int slot) {
    const Rules r = rules(state.rules);
    for_space(r, [&](auto space) {
      const auto kernel = state.parameters.double_precision ? &reduction_kernel<true, space()>
                                                            : &reduction_kernel<false, space()>;
      constexpr int kWide = reduction_threads(space());
      const int blocks = std::min((n_ + kWide - 1) / kWide, 256);
      for (int i = 0; i < n_; ++i)
        // The order of the stream makes the chain: trial i sees all moves before it.
        kernel<<<blocks, kWide, 0, stream_>>>(r, arrays(slot), reduction_.data(), i);
    });
  }

  // For a launcher, which is told when the work of this chain's stream is over.
  WaitingChain waiting(const State& state, const ChainsLaunch& launch) const {
    use();
    stream_.wait();
    PeerArrays own{};
    own.count = 1;
    enter(own, 0);
    return {{rules(state.rules), arrays(0), own, state.counters.sweeps, 0},
            launch.prepare,
            launch.decide,
            launch.threads,
            blocks_of_groups(1),
            brush_.memory};
  }

  // For sweep_by_trees().
  TreeDevice tree_device(const State& state, int slot) const {
    return {device_, tree_.get(), rules(state.rules), arrays(slot)};
  }

  // What is enqueued so far, for the other devices to wait for.
  void mark() {
    use();
    reached_.record(stream_);
  }
  void wait_for(const DeviceChain& other) const {
    use();
    other.reached_.hold(stream_);
  }

  // Whether the groups of so many devices that are all this one run side by side.
  bool holds(int devices) const {
    use();
    // Groups wait for each other, so that all of them must have room at a time.
    return devices * blocks_of_groups(devices) <=
           static_cast<unsigned>(multiprocessors() *
                                 blocks_side_by_side(brush_.brush, brush_.threads, brush_.memory));
  }

  void remember_sites() {
    use();
    if (left_.size() == 0) left_ = DeviceBuffer<Site>(n_);
    copy_on_device(left_.data(), site_.data(), n_ * sizeof(Site), stream_);
  }
  std::uint64_t trace(const HostParticles& host) const {
    use();
    DeviceBuffer<unsigned long long> sum(1);
    sum.clear(stream_);
    const auto kernel = host.double_precision ? &trace_kernel<double> : &trace_kernel<float>;
    kernel<<<blocks(), kThreads, 0, stream_>>>(host, n_, sum.data());
    check_launch();
    return sum.first_value(stream_);
  }
  void write_positions(const State& state, const HostParticles& host) {
    use();
    const auto kernel = host.double_precision ? &write_kernel<double> : &write_kernel<float>;
    const double* unit = state.axis_unit;
    kernel<<<blocks(), kThreads, 0, stream_>>>(state.rules, double3{unit[0], unit[1], unit[2]},
                                               host, n_, image_.data(), site_.data(), left_.data());
    check_launch();
  }

  void positions(const State& state, double* xyz) const {
    use();
    const double* unit = state.axis_unit;
    positions_kernel<<<blocks(), kThreads, 0, stream_>>>(double3{unit[0], unit[1], unit[2]},
                                                         site_.data(), n_, xyz);
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
    // 30 bits of the curve, and one that puts places without an ion last.
    sort(nullptr);
    const DeviceBuffer<char> memory(bytes);
    sort(memory.data());
    tile_boxes_kernel<<<blocks_for(blocks(), kThreads), kThreads, 0, stream_>>>(
        sorted.data(), inside_count.data(), box.data());
    const auto kernel =
        state.rules.periodic ? &pairs_kernel<Space::nearest> : &pairs_kernel<Space::cell>;
    // A block's own histogram in at most 32 KiB of shared memory, or the device's one at once.
    const int in_shared = size <= 8192 ? size : 0;
    // A block counts at most 2^31 pairs in 32 bits.
    const unsigned slices =
        std::clamp(std::max(4096 / blocks(), blocks() / 65536 + 1), 1, blocks() / 2 + 1);
    kernel<<<dim3(blocks(), slices), kThreads, in_shared * sizeof(unsigned), stream_>>>(
        state.rules, b, sorted.data(), box.data(), inside_count.data(), in_shared,
        device_counts.data());
    check_launch();
    const auto fetched = device_counts.values(stream_), ions = device_ions.values(stream_);
    // Sums of integers do not depend on the order in which blocks have added them.
    for (int k = 0; k < size; ++k) counts[k] += fetched[k];
    for (int k = 0; k < b.species; ++k) interior_ions[k] += ions[k];
  }

 private:
  static std::size_t size(int count) { return static_cast<std::size_t>(count); }
  static int current(int device) {
    check(select_device(device), "device");
    return device;
  }

  // Blocks: all that a sweep may need, a group for a part of one included.
  unsigned blocks_of_groups(int devices) const {
    const int groups = (n_ + brush_.group - 1) / brush_.group;
    return static_cast<unsigned>((groups + devices - 1) / devices);
  }

  // Candidates first, in order. Returns how much memory CUB needs, without which it does nothing.
  std::size_t partition(void* memory, std::size_t bytes) const {
    check(cub::DevicePartition::Flagged(memory, bytes, index_.data(), arrays_.candidate,
                                        arrays_.order, arrays_.count, n_, stream_),
          "partition");
    return bytes;
  }

  ChainArrays arrays(int slot) const {
    ChainArrays arrays = arrays_;
    arrays.counts += slot;
    return arrays;
  }
  void make_arrays() {
    ChainArrays& a = arrays_;
    made_.make(size(n_), a.trial, a.most, a.decision, a.candidate, a.next, a.order);
    made_.make(size(places_), a.partner, a.ion);
    made_.make(1, a.count);
    a.site = site_.data();
    a.radius = radius_.data();
    a.head = head_.data();
    // Side by side, so that one call clears both.
    a.ticket = progress_.data();
    a.decided = progress_.data() + 1;
    a.counts = counts_.data();
    a.ions = n_;
  }

  int device_;
  Stream stream_;
  Event reached_;
  BrushLaunch brush_;
  int n_, places_ = n_ + 2 * brush_.group;
  ChainArrays arrays_{};
  DeviceArrays made_;  // those that the host neither reads nor writes
  DeviceBuffer<Site> site_{size(n_)}, left_;
  DeviceBuffer<std::int32_t> head_;
  DeviceBuffer<double> radius_;
  DeviceBuffer<std::int32_t> species_, index_;
  DeviceBuffer<unsigned> progress_{2};  // ticket, decided
  DeviceBuffer<MoveCounts> counts_{kRing};
  DeviceBuffer<Reduction> reduction_{1};
  DeviceBuffer<char> partition_;
  DeviceRest<double> rest_;  // with Ewald's energy
  DeviceRest<float> rest_single_;
  DeviceBuffer<std::int32_t> image_;  // with a vacuum around
  DeviceBuffer<Dipole> dipole_;
  std::unique_ptr<DeviceTree> tree_;
};

}  // namespace
}  // namespace manymove::coulomb
