// SPDX-License-Identifier: BSD-3-Clause
// What one GPU has of a chain: memory, launches and what comes back; the kernels are in trials.cuh
// and observables.cuh.
#pragma once

#include <algorithm>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <memory>
#include <numeric>
#include <vector>

#include "../state.h"
#include "observables.cuh"
#include "tree.h"
#include "chain_watchdog.cuh"

namespace manymove::coulomb {
namespace {

// One schedule of the sweep.
struct Schedule {
  void (*brush)(Rules, Buffers, Devices);
  void (*place)(Buffers);
  std::size_t memory;
  int group, threads;
};

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
    devices.image[place] = image_.data();
    devices.dipole[place] = dipole_.data();
  }
  void enter(Watch& watch) const {
    use();
    watch.add(device_, stream_, progress_.data() + 1);
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
    return {site_.data(),         trial_.data(),        most_.data(),
            fate_.data(),         hopeful_.data(),      radius_.data(),
            head_.data(),         next_.data(),         order_.data(),
            count_.data(),        partner_.data(),      ion_.data(),
            image_.data(),        dipole_.data(),       progress_.data(),
            progress_.data() + 1, tally_.data() + slot, n_};
  }

  int device_;
  Stream stream_;
  Event reached_;
  Schedule schedule_;
  int n_;
  DeviceBuffer<Site> site_, partner_, left_;
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

}  // namespace
}  // namespace manymove::coulomb
