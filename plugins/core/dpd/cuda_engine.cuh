// SPDX-License-Identifier: BSD-3-Clause
// The resident engine on a GPU: device memory, launches and what comes back; the kernels are in
// kernels.cuh.
#pragma once

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <numeric>
#include <unordered_map>

#include "../runtime/device.cuh"
#include "../runtime/waits.cuh"
#include "kernels.cuh"

namespace manymove::dpd {

// Launched ahead of what the GPU is known to have begun: the queue is never empty, and few launches
// are in vain when lists expire.
constexpr long long kAhead = 3;

constexpr int blocks_for(int count, int threads = kThreads) {
  return manymove::blocks_for(count, threads);
}

template <class P>
class CudaEngine : public ResidentBase {
 protected:
  using Real = typename P::Real;
  using Position = typename P::Position;
  using Velocity = typename P::Velocity;
  using Triple = double[3];

 public:
  explicit CudaEngine(const Settings& settings)
      : ResidentBase(settings),
        unit_(kIntegers<P> ? force_unit(settings) : 1),
        laws_(on_device(in_units(laws_of<P>(settings.pairs)), stream_)),
        half_kicks_(on_device(half_kicks_of<P>(settings), stream_)),
        bond_laws_(on_device(bond_laws_of<P>(settings), stream_)),
        control_(1),
        total_(kTallies) {
    int device;
    check(cudaGetDevice(&device), "device");
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "device");
    name_ = properties.name;
    base_.forces = forces_of<P>(settings, laws_.data());
    base_.forces.law = in_units({base_.forces.law})[0];
    base_.unit = static_cast<Real>(unit_);
    base_.motion = motion_of<P>(settings, half_kicks_.data());
    base_.shorts = shorts_of(settings);
    base_.bond_laws = bond_laws_.data();
    base_.watch = {control_.data(), report_.get()};
  }

  std::string device() const override { return name_; }

  void upload(const HostArrays& arrays, const Topology& topology, Clock clock) override {
    check_topology(arrays.count, topology);
    count_ = arrays.count;
    set_clock(clock);
    tally_ = {};
    const auto n = static_cast<std::size_t>(count_);
    allocate(n);
    std::vector<unsigned> kind(n);
    for (std::size_t i = 0; i < n; ++i)
      kind[i] = static_cast<unsigned>(topology.type[i]) | topology.flags[i] << 16;
    const auto kinds = on_device(kind, stream_);
    const auto tags = on_device(topology.tag, n, stream_);
    DeviceBuffer<unsigned> bad(1);
    const unsigned none = ~0u;
    bad.upload(&none, stream_);
    if (count_ == 0) return;
    if (arrays.image)
      copy_in(image_.data(), arrays.image, n * sizeof(int3), stream_);
    else
      image_.clear(stream_);
    now_ = 0;
    const int blocks = blocks_for(count_);
    send(arrays.position);
    enter_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, frame_, staging_.data(), kinds.data(),
                                                      image_.data(), position_[0].data(),
                                                      home_[0].data(), bad.data());
    check_launch();
    send(arrays.velocity);
    enter_velocity_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), tags.data(),
                                                               velocity_[0].data(), bad.data());
    check_launch();
    if (arrays.force) {
      send(arrays.force);
      enter_force_kernel<<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), force_.data());
      check_launch();
    } else {
      force_.clear(stream_);
    }
    take_topology(topology);
    unsigned first_bad;
    bad.download(&first_bad, stream_);
    if (first_bad != none) {
      count_ = 0;
      refuse_particle(topology.tag[first_bad], arrays.position[first_bad]);
    }
    lists_hold_ = false;
  }

  void advance(std::int64_t steps, bool (*interrupted)()) override {
    if (steps <= 0) return;
    if (count_ == 0) {
      step_ += steps;
      return;
    }
    start_watching();
    if (!lists_hold_) set_expired(step_ + 1);
    Step<P> first = step_arguments(step_);
    first_kernel<P><<<blocks_for(count_), kThreads, 0, stream_>>>(first);
    check_launch();
    now_ ^= 1;
    if (!lists_hold_) build(step_ + 1);
    run_to(step_ + 1, step_ + steps, interrupted);
  }

  void download(const HostArrays& arrays) override {
    if (count_ == 0) return;
    const int blocks = blocks_for(count_);
    const unsigned* home = home_[home_now_].data();
    if (arrays.position) {
      leave_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, frame_, home,
                                                        position_[now_].data(), staging_.data());
      receive(arrays.position);
    }
    if (arrays.velocity) {
      leave_vector_kernel<<<blocks, kThreads, 0, stream_>>>(count_, home, velocity_[now_].data(),
                                                            staging_.data());
      receive(arrays.velocity);
    }
    if (arrays.force) {
      leave_vector_kernel<<<blocks, kThreads, 0, stream_>>>(count_, home, force_.data(),
                                                            staging_.data());
      receive(arrays.force);
    }
    if (arrays.image) {
      copy_out(arrays.image, image_.data(), sizeof(int3) * static_cast<unsigned>(count_), stream_);
      finish("download");
    }
  }

  void set_velocities(int count, const std::uint32_t* tag, const Triple* velocity) override {
    check_velocities(count, tag, velocity);
    if (count_ == 0) return;
    send(velocity);
    set_velocity_kernel<<<blocks_for(count_), kThreads, 0, stream_>>>(
        count_, home_[home_now_].data(), staging_.data(), velocity_[now_].data());
    check_launch();
    finish("upload");
  }

  // The only host has its particles where they were.
  void rehome(int, const std::uint32_t*) override {
    throw std::logic_error("particles of one rank stay where they are");
  }

  EngineCounters counters() const override {
    EngineCounters counters = counters_;
    std::vector<int> number(lists_hold_ ? static_cast<std::size_t>(count_) : 0);
    if (!number.empty()) fetch(number_, number.data(), number.size());
    counters.neighbours = std::accumulate(number.begin(), number.end(), std::int64_t{0});
    return counters;
  }

 protected:
  std::vector<PairLaw<Real>> in_units(std::vector<PairLaw<Real>> laws) const {
    for (auto& law : laws) {
      law.a = static_cast<Real>(law.a / unit_);
      law.gamma = static_cast<Real>(law.gamma / unit_);
      law.sigma = static_cast<Real>(law.sigma / unit_);
    }
    return laws;
  }

  // Waits for what is in stream_. An engine of several ranks watches the others meanwhile.
  virtual void finish(const char* what) const { check(cudaStreamSynchronize(stream_), what); }

  template <class T>
  void fetch(const DeviceBuffer<T>& from, T* host, std::size_t count) const {
    copy_out(host, from.data(), count * sizeof(T), stream_);
    finish("download");
  }

  void send(const Triple* host) {
    copy_in(staging_.data(), host, sizeof(Triple) * static_cast<unsigned>(count_), stream_);
  }
  void receive(Triple* host) { receive(host, count_); }
  void receive(Triple* host, int count) {
    check_launch();
    copy_out(host, staging_.data(), sizeof(Triple) * static_cast<unsigned>(count), stream_);
    finish("download");
  }

  void allocate(std::size_t n) {
    cells_ = cells_of(settings_, count_, nullptr);
    base_.cells = cells_;
    lanes_ = lanes_of(count_);
    if (n != position_[0].size()) {
      for (int k = 0; k < 2; ++k) {
        position_[k] = DeviceBuffer<Position>(n);
        velocity_[k] = DeviceBuffer<Velocity>(n);
        short_[k] = DeviceBuffer<Short>(n);
        home_[k] = DeviceBuffer<unsigned>(n);
        key_[k] = DeviceBuffer<unsigned>(n);
        order_[k] = DeviceBuffer<unsigned>(n);
      }
      image_ = DeviceBuffer<int3>(n);
      force_ = DeviceBuffer<Vector<Real>>(n);
      ball_ = DeviceBuffer<Ball>(n);
      ball_.clear(stream_);  // the first step looks, though lists are built after it anyway
      number_ = DeviceBuffer<int>(n);
      staging_ = DeviceBuffer<Triple>(n);
      partial_ =
          DeviceBuffer<double>(static_cast<std::size_t>(blocks_for(count_ * lanes_)) * kTallies);
      sort_bytes_ = 0;
      cub::DoubleBuffer<unsigned> keys(key_[0].data(), key_[1].data()),
          orders(order_[0].data(), order_[1].data());
      check(cub::DeviceRadixSort::SortPairs(nullptr, sort_bytes_, keys, orders, count_, 0, 30),
            "sort");
      sort_memory_ = DeviceBuffer<char>(sort_bytes_);
      capacity_ = 0;
    }
    range_ = DeviceBuffer<int2>(total_cells());
    home_now_ = 0;
    const double volume =
        settings_.box.extent[0] * settings_.box.extent[1] * settings_.box.extent[2];
    const double reach = settings_.cutoff + settings_.skin;
    const double expected = 4.18879 * reach * reach * reach * static_cast<double>(n) / volume;
    make_room(static_cast<int>(std::min(1.4 * expected + 16, static_cast<double>(n) + kGroup)));
  }

  std::size_t total_cells() const {
    return static_cast<std::size_t>(cells_.here[0]) * cells_.here[1] * cells_.here[2];
  }

  void make_room(int entries) {
    const int capacity = (entries + kGroup - 1) / kGroup * kGroup;
    if (capacity <= capacity_) return;
    entry_ = {};
    entry_ =
        DeviceBuffer<unsigned>(static_cast<std::size_t>(capacity) * static_cast<unsigned>(count_));
    capacity_ = capacity;
  }

  void take_topology(const Topology& t) {
    const auto n = static_cast<std::size_t>(count_);
    bond_first_ = {};
    bond_partner_ = {};
    special_first_ = {};
    bond_ends_ = 0;
    has_special_ = t.first_special && t.first_special[n] > 0;
    plain_ = is_plain(settings_, has_special_);
    if (has_special_) {
      const auto ends = static_cast<std::size_t>(t.first_special[n]);
      std::vector<LinkWord> links(ends);
      for (std::size_t k = 0; k < ends; ++k)
        links[k] = link_word(t.special_partner[k], t.special_kind[k]);
      special_first_ = on_device(t.first_special, n + 1, stream_);
      special_link_ = on_device(links, stream_);
    }
    if (t.first_bond && t.first_bond[n] > 0) {
      const auto ends = static_cast<std::size_t>(t.first_bond[n]);
      std::unordered_map<unsigned, unsigned> index;
      index.reserve(n);
      for (std::size_t i = 0; i < n; ++i) index[t.tag[i]] = static_cast<unsigned>(i);
      std::vector<unsigned> partner(ends);
      for (std::size_t k = 0; k < ends; ++k) partner[k] = index.at(t.bond_partner[k]);
      bond_first_ = on_device(t.first_bond, n + 1, stream_);
      bond_partner_ = on_device(partner, stream_);
      bond_type_ = on_device(t.bond_type, ends, stream_);
      bond_index_ = DeviceBuffer<unsigned>(ends);
      bond_range_ = DeviceBuffer<int2>(n);
      where_ = DeviceBuffer<unsigned>(n);
      bond_ends_ = static_cast<int>(ends);
      base_.bonds = {bond_range_.data(), bond_index_.data(), bond_type_.data()};
    } else {
      base_.bonds = {};
    }
  }

  // ---- steps ----

  void start_watching() {
    report_->started = step_;
    report_->expired = handled_ = -1;
    report_->wanted = 0;
    report_->lost = 0;
    const Control control{kNever, 0, 0};
    control_.upload(&control, stream_);
  }
  void set_expired(std::int64_t step) {
    const Control control{step, 0, 0};
    control_.upload(&control, stream_);
  }

  Step<P> step_arguments(std::int64_t number) {
    Step<P> s = base_;
    s.count = count_;
    s.number = number;
    s.forces.noise = key_of(number);
    s.lists = lists();
    s.ball = ball_.data();
    s.image = image_.data();
    s.home = home_[home_now_].data();
    s.position = position_[now_].data();
    s.velocity = velocity_[now_].data();
    s.next_position = position_[now_ ^ 1].data();
    s.next_velocity = velocity_[now_ ^ 1].data();
    s.short_position = short_[now_].data();
    s.next_short = short_[now_ ^ 1].data();
    s.force = force_.data();
    s.partial = partial_.data();
    return s;
  }
  Lists lists() const {
    return {entry_.data(), number_.data(), capacity_, count_, kIntegers<P> ? kThreads / lanes_ : 0};
  }

  using Kernel = void (*)(const Step<P>, const Everybody);
  template <bool plain, bool reading>
  static Kernel kernel_of(int lanes) {
    switch (lanes) {
      case 1:
        return &step_kernel<P, plain, reading, 1>;
      case 2:
        return &step_kernel<P, plain, reading, 2>;
      default:
        return &step_kernel<P, plain, reading, 4>;
    }
  }

  void launch_step(std::int64_t number, bool reading) {
    const Step<P> s = step_arguments(number);
    const Kernel kernel =
        plain_ ? (reading ? kernel_of<true, true>(lanes_) : kernel_of<true, false>(lanes_))
               : (reading ? kernel_of<false, true>(lanes_) : kernel_of<false, false>(lanes_));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks_for(count_ * lanes_)));
    config.blockDim = dim3(kThreads);
    config.stream = stream_;
    cudaLaunchAttribute overlap[1];
    overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = overlap;
    config.numAttrs = overlap_ ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, s, Everybody{}), "launch");
  }

  // Forces and motion of steps from..to. Kernels are launched ahead; when lists turn out to have
  // expired at some step, those from there on do nothing and are launched again.
  void run_to(std::int64_t from, std::int64_t to, bool (*interrupted)()) {
    const int parity = now_;  // of positions for step `from`
    const auto buffer_of = [&](std::int64_t step) {
      return static_cast<int>((step - from) & 1) ^ parity;
    };
    std::int64_t next = from;
    for (;;) {
      while (next <= to) {
        const auto may_launch = [&] { return trouble() || report_->started >= next - kAhead; };
        wait_alone(may_launch, stream_, limit_, "step", interrupted);
        if (trouble()) {
          next = mend(buffer_of);
          continue;
        }
        if (interrupted && next < to && next % 16 == 0 && interrupted()) to = next;
        now_ = buffer_of(next);
        launch_step(next, next == to);
        ++next;
      }
      wait_alone([&] { return has_ended(cudaStream_t(stream_), "step"); }, stream_, limit_, "step",
                 interrupted);
      if (!trouble()) break;
      next = mend(buffer_of);
    }
    // The last one left positions where they were.
    velocity_[0].swap(velocity_[1]);
    counters_.steps += to - step_;
    step_ = to;
    now_ = buffer_of(to);
    lists_hold_ = true;
    read_tally(blocks_for(count_ * lanes_));
  }

  // Sums of the blocks of the last step.
  void read_tally(int blocks) {
    total_kernel<<<1, 64 * kTallies, 0, stream_>>>(blocks, partial_.data(), total_.data());
    check_launch();
    double total[kTallies];
    fetch(total_, total, kTallies);
    tally_.pair_energy = total[0];
    tally_.bond_energy = total[7];
    std::copy_n(total + 1, 6, tally_.pair_virial);
    std::copy_n(total + 8, 6, tally_.bond_virial);
  }

  bool trouble() const {
    return report_->expired > handled_ || report_->wanted > static_cast<unsigned>(capacity_) ||
           report_->lost;
  }

  template <class BufferOf>
  std::int64_t mend(const BufferOf& buffer_of) {
    if (report_->lost) {
      check(cudaStreamSynchronize(stream_), "step");
      step_ = report_->expired;
      now_ = buffer_of(step_);
      lists_hold_ = false;
      lose_particle(report_->lost);
    }
    if (report_->wanted > static_cast<unsigned>(capacity_)) {
      check(cudaStreamSynchronize(stream_), "step");
      const unsigned wanted = report_->wanted;
      report_->wanted = 0;
      make_room(static_cast<int>(wanted + wanted / 8));
      set_expired(built_);
    } else {
      look_ahead(cells_, settings_.time_step, report_->expired - built_);
      built_ = report_->expired;
    }
    now_ = buffer_of(built_);
    build(built_);
    return built_;
  }

  dim3 list_grid() const {
    return {static_cast<unsigned>(blocks_for(cells_.here[0], kThreads / 32)),
            static_cast<unsigned>(cells_.here[1]), static_cast<unsigned>(cells_.here[2])};
  }

  // Sorts the particles and lists their neighbours; positions are those of step.
  void build(std::int64_t step) {
    handled_ = built_ = step;
    const int blocks = blocks_for(count_, 256);
    cub::DoubleBuffer<unsigned> keys(key_[0].data(), key_[1].data()),
        orders(order_[0].data(), order_[1].data());
    key_kernel<P><<<blocks, 256, 0, stream_>>>(count_, step, cells_, base_.motion, base_.watch,
                                               position_[now_].data(), velocity_[now_].data(),
                                               key_[0].data(), order_[0].data());
    check_launch();
    check(cub::DeviceRadixSort::SortPairs(sort_memory_.data(), sort_bytes_, keys, orders, count_, 0,
                                          3 * cells_.bits, stream_),
          "sort");
    range_.clear(stream_);
    const int there = now_ ^ 1, home_there = home_now_ ^ 1;
    reorder_kernel<P><<<blocks, 256, 0, stream_>>>(
        count_, cells_, base_.motion, base_.shorts, keys.Current(), orders.Current(),
        Particle<P>{position_[now_].data(), velocity_[now_].data(), nullptr,
                    home_[home_now_].data()},
        Particle<P>{position_[there].data(), velocity_[there].data(), short_[there].data(),
                    home_[home_there].data()},
        ball_.data(), bond_ends_ ? where_.data() : nullptr, range_.data());
    check_launch();
    position_[0].swap(position_[1]);
    velocity_[0].swap(velocity_[1]);
    short_[0].swap(short_[1]);
    home_now_ = home_there;
    unsigned excluded = 0;
    for (unsigned k = 1; k < 4; ++k)
      if (settings_.pairs.special[k] == 0) excluded |= 1u << k;
    const Specials specials{special_first_.data(), special_link_.data(), {}, excluded};
    const auto kernel = has_special_ ? &list_kernel<P, true> : &list_kernel<P, false>;
    kernel<<<list_grid(), kThreads, 0, stream_>>>(
        ListArguments{cells_, !base_.motion.frame.tilted, base_.watch, range_.data(), lists(),
                      home_[home_now_].data(), specials, ball_.data()},
        velocity_[now_].data());
    check_launch();
    if (bond_ends_) {
      bond_range_kernel<<<blocks, 256, 0, stream_>>>(count_, home_[home_now_].data(),
                                                     bond_first_.data(), bond_range_.data());
      check_launch();
      bond_index_kernel<<<blocks_for(bond_ends_, 256), 256, 0, stream_>>>(
          bond_ends_, bond_partner_.data(), where_.data(), bond_index_.data());
      check_launch();
    }
    ++counters_.builds;
  }

  Stream stream_;
  const double limit_ = Watchdog::timeout();  // without an answer of the GPU
  std::string name_;
  double unit_;  // of forces
  // Overlap of a step's kernel with the end of the one before it.
  const bool overlap_ = waits_for_former_kernel(kernel_of<true, true>(1));
  DeviceBuffer<PairLaw<Real>> laws_;
  DeviceBuffer<Real> half_kicks_;
  DeviceBuffer<BondLaw<Real>> bond_laws_;
  DeviceBuffer<Control> control_;
  MappedMemory<Report> report_;
  Step<P> base_{};  // what does not change from step to step
  Cells cells_;
  int count_ = 0, lanes_ = 1, capacity_ = 0;
  int now_ = 0, home_now_ = 0;  // buffers of the present state
  bool lists_hold_ = false, plain_ = true, has_special_ = false;
  std::int64_t handled_ = -1, built_ = -1;
  DeviceBuffer<Position> position_[2];
  DeviceBuffer<Velocity> velocity_[2];
  DeviceBuffer<Short> short_[2];
  DeviceBuffer<int3> image_;  // by index of the host
  DeviceBuffer<unsigned> home_[2], key_[2], order_[2];
  DeviceBuffer<Vector<Real>> force_;
  DeviceBuffer<Ball> ball_;
  DeviceBuffer<unsigned> entry_;
  DeviceBuffer<int> number_;
  DeviceBuffer<int2> range_;  // of each cell
  DeviceBuffer<char> sort_memory_;
  std::size_t sort_bytes_ = 0;
  DeviceBuffer<Triple> staging_;
  DeviceBuffer<double> partial_, total_;
  int bond_ends_ = 0;
  DeviceBuffer<int> bond_first_, bond_type_, special_first_;
  DeviceBuffer<unsigned> bond_partner_, bond_index_, where_;
  DeviceBuffer<LinkWord> special_link_;
  DeviceBuffer<int2> bond_range_;
};

}  // namespace manymove::dpd
