// SPDX-License-Identifier: BSD-3-Clause
// The engine on one GPU: device memory, launches and what comes back.
#pragma once

#include <numeric>
#include <utility>

#include "../../runtime/device.cuh"
#include "../../runtime/waits.cuh"
#include "../../runtime/watchdog.h"
#include "../engine_base.h"
#include "bonded_kernels.cuh"
#include "cell_sort.cuh"
#include "intervals.cuh"
#include "many_body_kernels.cuh"
#include "shear.cuh"
#include "sorted_links.cuh"
#include "transfer_kernels.cuh"
#include "velocity_kernels.cuh"

namespace manymove::dpd {

// Launched ahead of what the GPU is known to have begun: the queue is never empty, and few launches
// have to be repeated when lists expire. While lists are not expected to expire, more are launched,
// so that the GPU has work if the host's thread does not get a core for a while. A step of many
// particles takes longer than the host needs to see that it has begun.
constexpr int kMany = 1'000'000;
constexpr long long kAhead = 3, kAheadOfMany = 1, kFarAhead = 16;

template <class P>
class CudaEngine final : OnDevice, public EngineBase {
  using Real = typename P::Real;
  using Position = typename P::Position;
  using Velocity = typename P::Velocity;
  using Triple = double[3];

 public:
  CudaEngine(const Settings& settings, int device)
      : OnDevice(device),
        EngineBase(settings),
        name_(name_of_device()),
        constants_(settings, stream_),
        bonded_(settings, stream_),
        control_(1),
        in_stride_(settings, moment_units_, 2 * kFarAhead, stream_),
        intervals_(stream_),
        total_(kTallies),
        base_(constants_.step()) {
    base_.watch = {control_.data(), report_.get()};
    if (is_sheared()) shear_box(base_, settings_of_tilted_box());
    made();
  }
  ~CudaEngine() override { destroy(); }

  std::string device() const override { return name_; }

  void upload(const HostArrays& arrays, const Topology& topology, Clock clock) override {
    const DeviceGuard here = use();
    check_topology(arrays.count, topology);
    count_ = arrays.count;
    lists_end();
    set_clock(clock);
    set_tilt(step_);
    energy_and_virial_ = {};
    const auto n = static_cast<std::size_t>(count_);
    allocate(n);
    std::vector<unsigned> kind(n);
    for (std::size_t i = 0; i < n; ++i)
      kind[i] = static_cast<unsigned>(topology.type[i]) | topology.flags[i] << 16;
    const auto kinds = on_device(kind, stream_);
    const auto tags = on_device(topology.tag, n, stream_);
    const unsigned none = ~0u;
    bad_.upload(&none, stream_);
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
                                                      origin_[0].data(), bad_.data());
    check_launch();
    send(arrays.velocity);
    enter_velocity_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), tags.data(),
                                                               velocity_[0].data(), bad_.data());
    check_launch();
    if (arrays.force) {
      send(arrays.force);
      enter_force_kernel<<<blocks, kThreads, 0, stream_>>>(count_, staging_.data(), force_.data());
      check_launch();
    } else {
      force_.clear(stream_);
    }
    links_.take(n, topology, bonded_.wanted(), stream_);
    if (links_.any_bonds()) bonded_.reserve(n, kThreads / 4);
    look_at_laws();
    unsigned first_bad;
    bad_.download(&first_bad, stream_);
    if (first_bad != none) {
      count_ = 0;
      refuse_particle(topology.tag[first_bad], arrays.position[first_bad]);
    }
    for (int i = 0; is_sheared() && i < count_; ++i)
      if (!(topology.flags[i] & kIntegrated)) {
        count_ = 0;
        refuse_at_rest(topology.tag[i]);
      }
  }

  void download(const HostArrays& arrays) override {
    const DeviceGuard here = use();
    if (count_ == 0) return;
    const int blocks = blocks_for(count_);
    const unsigned* origin = origin_[origin_now_].data();
    if (arrays.position) {
      leave_kernel<P><<<blocks, kThreads, 0, stream_>>>(count_, frame_, origin,
                                                        position_[now_].data(), staging_.data());
      receive(arrays.position);
    }
    if (arrays.velocity) {
      leave_vector_kernel<<<blocks, kThreads, 0, stream_>>>(count_, origin, velocity_[now_].data(),
                                                            staging_.data());
      receive(arrays.velocity);
    }
    if (arrays.force) {
      leave_vector_kernel<<<blocks, kThreads, 0, stream_>>>(count_, origin, force_.data(),
                                                            staging_.data());
      receive(arrays.force);
    }
    if (arrays.image) {
      copy_out(arrays.image, image_.data(), sizeof(int3) * static_cast<unsigned>(count_), stream_);
      finish("download");
    }
  }

  void set_particles(int count, const std::uint32_t* tag, const Triple* position,
                     const Triple* velocity) override {
    const DeviceGuard here = use();
    check_velocities(count, tag, velocity);
    if (count_ == 0) return;
    if (position) {
      const unsigned none = ~0u;
      bad_.upload(&none, stream_);
      send(position);
      set_position_kernel<P><<<blocks_for(count_), kThreads, 0, stream_>>>(
          count_, frame_, origin_[origin_now_].data(), staging_.data(), position_[now_].data(),
          bad_.data());
      check_launch();
      unsigned index;
      fetch(bad_, &index, 1);
      if (index != none) refuse_particle(tag[index], position[index]);
    }
    send(velocity);
    set_velocity_kernel<<<blocks_for(count_), kThreads, 0, stream_>>>(
        count_, origin_[origin_now_].data(), staging_.data(), velocity_[now_].data());
    check_launch();
    finish("upload");
  }

  // The only host has its particles where they were.
  void set_origins(int, const std::uint32_t*) override {
    throw std::logic_error("particles of one rank stay where they are");
  }

  EngineCounters counters() const override {
    const DeviceGuard here = use();
    EngineCounters counters = counters_;
    std::vector<int> number(lists_hold_ ? static_cast<std::size_t>(count_) : 0);
    if (!number.empty()) fetch(number_, number.data(), number.size());
    counters.neighbors = std::accumulate(number.begin(), number.end(), std::int64_t{0});
    return counters;
  }

 private:
  void finish(const char* what) const { check(cudaStreamSynchronize(stream_), what); }

  template <class T>
  void fetch(const DeviceBuffer<T>& from, T* host, std::size_t count) const {
    copy_out(host, from.data(), count * sizeof(T), stream_);
    finish("download");
  }

  void send(const Triple* host) {
    copy_in(staging_.data(), host, sizeof(Triple) * static_cast<unsigned>(count_), stream_);
  }
  void receive(Triple* host) {
    check_launch();
    copy_out(host, staging_.data(), sizeof(Triple) * static_cast<unsigned>(count_), stream_);
    finish("download");
  }

  void allocate(std::size_t n) {
    cells_ = cells_of(settings_of_tilted_box(), count_, nullptr);
    find_balls(cells_, 0);
    base_.cells = cells_;
    lanes_ = lanes_of(count_);
    if (n != position_[0].size()) {
      for (int k = 0; k < 2; ++k) {
        position_[k] = DeviceBuffer<Position>(n);
        velocity_[k] = DeviceBuffer<Velocity>(n);
        short_[k] = DeviceBuffer<Short>(n);
        origin_[k] = DeviceBuffer<unsigned>(n);
      }
      image_ = DeviceBuffer<int3>(n);
      force_ = DeviceBuffer<Vector<Real>>(n);
      ball_ = DeviceBuffer<Ball>(n);
      ball_.clear(stream_);  // the first step looks, though lists are built after it anyway
      number_ = DeviceBuffer<int>(n);
      density_ = DeviceBuffer<Real>(settings_.pairs.has_densities() ? n : 0);
      staging_ = DeviceBuffer<Triple>(n);
      partial_ =
          DeviceBuffer<double>(static_cast<std::size_t>(blocks_for(count_ * lanes_)) * kTallies);
      capacity_ = 0;
    }
    sorter_.reserve(n, cells_, stream_);
    origin_now_ = 0;
    make_room(expected_entries(settings_, static_cast<double>(n)));
  }

  void make_room(int entries) {
    const int capacity = whole_groups(entries);
    if (capacity <= capacity_) return;
    entry_ = {};
    entry_ =
        DeviceBuffer<unsigned>(static_cast<std::size_t>(capacity) * static_cast<unsigned>(count_));
    capacity_ = capacity;
  }

  // ---- steps ----

  void take(std::int64_t steps, bool (*interrupted)()) override {
    const DeviceGuard here = use();
    if (count_ == 0) {
      step_ += steps;
      return;
    }
    start_watching();
    if (!temperature_drops_.empty()) in_stride_.drops().upload(temperature_drops_.data(), stream_);
    bonded_.forget(stream_);
    if (steps > 1 && !std::exchange(knows_interval_, true)) find_interval();
    if (!lists_hold_) set_expired(step_ + 1);
    Step<P> first = step_arguments(step_, table_of(step_));
    first.ends_lists = first.ends_lists && lists_hold_;
    const auto kernel = is_sheared() ? &first_kernel<P, true> : &first_kernel<P>;
    kernel<<<blocks_for(count_), kThreads, 0, stream_>>>(first);
    check_launch();
    now_ ^= 1;
    if (!lists_hold_) build(step_ + 1);
    run_to(step_ + 1, step_ + steps, interrupted);
  }

  Moments moments(std::uint32_t flag, const std::vector<double>& units) override {
    const DeviceGuard here = use();
    return velocity_sums_.of(count_, flag, units, position_[now_].data(), velocity_[now_].data(),
                             stream_, [this] { finish("download"); });
  }
  void apply_map(const VelocityMap& map, std::uint32_t flag) override {
    const DeviceGuard here = use();
    velocity_sums_.apply(count_, map, flag, position_[now_].data(), velocity_[now_].data(),
                         stream_);
  }

  void take_coefficients() override {
    const DeviceGuard here = use();
    const std::vector<Settings> all = settings_of_tables();
    constants_.take(all, stream_);
    bonded_.take(all, stream_);
    look_at_laws();
  }
  // Which kernels serve.
  void look_at_laws() {
    plain_ = is_plain_with(links_.any_specials(), extra_of(settings_) == Extra::shear);
    knows_interval_ = false;
  }

  void start_watching() {
    report_->started = step_;
    report_->expired = handled_ = -1;
    report_->wanted = 0;
    report_->lost = 0;
    report_->refused = 0;
    report_->overfull = 0;
    const Control control{kNever, 0, 0};
    control_.upload(&control, stream_);
  }
  void set_expired(std::int64_t step) {
    const Control control{step, 0, 0};
    control_.upload(&control, stream_);
  }

  Step<P> step_arguments(std::int64_t number, std::size_t table) {
    Step<P> s = base_;
    s.count = count_;
    s.number = number;
    constants_.choose(s, table);
    set_noise(s.forces, number);
    set_time(s.motion, number);
    if (is_sheared()) {
      tilt_step(s, number);
      s.ends_lists = lists_end_after(built_, number);
    }
    s.bonds = links_.bonds();
    s.lists = lists();
    s.ball = ball_.data();
    s.image = image_.data();
    s.origin = origin_[origin_now_].data();
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

  void launch_step(std::int64_t number, bool reading) {
    const std::size_t table = table_of(number);
    Step<P> s = step_arguments(number, table);
    bonded_.launch(s, table, 0, kThreads / lanes_, reading, stream_);
    const int change = reading || !changes_in_stride() ? -1 : only_change_of(number);
    if (change >= 0)
      s.meter = in_stride_.meter(settings_.velocity_changes[change], number, stream_);
    const int blocks = blocks_for(count_ * lanes_);
    if (settings_.pairs.has_densities()) {
      const auto kernel = density_kernel_of<P, AllParticles>(plain_, lanes_);
      kernel<<<blocks, kThreads, 0, stream_>>>(s, AllParticles{}, density_.data());
      check_launch();
      s.density = density_.data();
    }
    const auto kernel =
        step_kernel_of<P, AllParticles>(extra_of(settings_), plain_, reading, lanes_);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(kThreads);
    config.stream = stream_;
    cudaLaunchAttribute overlap[1];
    overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap[0].val.programmaticStreamSerializationAllowed = 1;
    config.attrs = overlap;
    // What a build wrote is read before the kernel waits for the one before it.
    config.numAttrs = overlap_ && number != built_ ? 1 : 0;
    if (change < 0) return check(cudaLaunchKernelEx(&config, kernel, s, AllParticles{}), "launch");
    const auto metered = metered_kernel_of<P>(plain_, lanes_);
    check(cudaLaunchKernelEx(&config, metered, s, AllMetered{}), "launch");
    const auto k = static_cast<std::size_t>(change);
    drive_kernel<P><<<blocks_for(count_), kThreads, 0, stream_>>>(
        s, {settings_.velocity_changes[k], moment_units_.scale(), target_of(k, number),
            in_stride_.drops().data() + k});
    check_launch();
  }

  // ---- all steps between two builds in one kernel ----

  // Whether such a kernel serves the particles and their forces.
  void find_interval() {
    intervals_.give_up();
    const bool simple = plain_ && !is_sheared() && !settings_.pairs.has_densities() &&
                        !settings_.pairs.transverse && !links_.any_bonds() && !bonded_.wanted() &&
                        settings_.velocity_changes.empty() && settings_.body_forces.empty() &&
                        tables().size() == 1;
    if constexpr (kIntegers<P>)
      if (simple) intervals_.look(device_, count_, lanes_);
  }

  // Steps from `begin` on until lists expire, but only those before the step that is returned.
  std::int64_t launch_interval(std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kMost = Intervals<P>::kMostSteps;
    static_assert(kMost > kFarAhead, "the next one must not be launched before this one ends");
    end = std::min(end, begin + kMost);
    if constexpr (kIntegers<P>) {
      Interval a{step_arguments(begin, table_of(begin)),
                 {position_[now_].data(), position_[now_ ^ 1].data()},
                 {velocity_[now_].data(), velocity_[now_ ^ 1].data()},
                 {short_[now_].data(), short_[now_ ^ 1].data()}};
      a.seed = settings_.seed;
      a.draw = draw_of(begin);
      intervals_.launch(a, end - begin, stream_);
      ++counters_.intervals;
    }
    return end;
  }

  // ---- changes of velocities in stride ----

  bool changes_in_stride() const override {
    return !settings_.pairs.has_densities() && !settings_.pairs.transverse;
  }
  // The host makes the change that the device could not make, which throws.
  [[noreturn]] void refuse_change(std::int64_t number) {
    const Moments sums = in_stride_.fetch(number, stream_, [this] { finish("download"); });
    const auto k = static_cast<std::size_t>(only_change_of(number));
    map_of(settings_.velocity_changes[k], moment_units_.scale(), sums, target_of(k, number),
           temperature_drops_[k]);
    throw BadVelocityChange("a velocity change was impossible");
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
        const long long near = count_ < kMany ? kAhead : kAheadOfMany,
                        ahead = next < expected_ ? kFarAhead : near;
        const auto may_launch = [&] { return trouble() || report_->started >= next - ahead; };
        wait_alone(may_launch, stream_, limit_, "step", interrupted);
        if (trouble()) {
          next = repair(buffer_of);
          continue;
        }
        const bool whole = intervals_.serve() && next < to;
        if (interrupted && next < to && (whole || next % 16 == 0) && interrupted()) to = next;
        now_ = buffer_of(next);
        if (whole && next < to) {
          next = launch_interval(next, to);
          continue;
        }
        launch_step(next, next == to);
        ++next;
      }
      wait_alone([&] { return has_ended(cudaStream_t(stream_), "step"); }, stream_, limit_, "step",
                 interrupted);
      if (!trouble()) break;
      next = repair(buffer_of);
    }
    // The last one left positions where they were.
    velocity_[0].swap(velocity_[1]);
    counters_.steps += to - step_;
    step_ = to;
    frame_.box.tilt[0] = tilt(step_);
    now_ = buffer_of(to);
    lists_hold_ = true;
    const int blocks = blocks_for(count_ * lanes_);
    const auto wait = [this] { finish("download"); };
    energy_and_virial_ = energy_and_virial_of(blocks, partial_.data(), total_, stream_, wait);
    if (!temperature_drops_.empty())
      fetch(in_stride_.drops(), temperature_drops_.data(), temperature_drops_.size());
    if (links_.any_bonds() && bonded_.wanted())
      bonded_.add_to(energy_and_virial_, blocks, stream_, wait);
    look_at_bonds();
  }

  void lists_end() {
    lists_hold_ = false;
    expected_ = -1;
  }

  void look_at_bonds() {
    const StretchReport stretch = bonded_.stretch(stream_, [this] { finish("download"); });
    judge_bonds(stretch.stretched, stretch.broken);
  }

  bool trouble() const {
    return report_->expired > handled_ || report_->wanted > static_cast<unsigned>(capacity_) ||
           report_->lost || report_->refused || report_->overfull;
  }

  template <class BufferOf>
  std::int64_t repair(const BufferOf& buffer_of) {
    if (report_->overfull) {
      check(cudaStreamSynchronize(stream_), "step");
      report_->overfull = 0;
      --counters_.intervals;  // it has done nothing
      intervals_.give_up();   // until other particles or coefficients come
      set_expired(kNever);
      return intervals_.begin();
    }
    if (report_->refused) {
      check(cudaStreamSynchronize(stream_), "step");
      step_ = report_->refused;
      now_ = buffer_of(step_);
      lists_end();
      refuse_change(step_);
    }
    if (report_->lost) {
      check(cudaStreamSynchronize(stream_), "step");
      step_ = report_->expired;
      now_ = buffer_of(step_);
      lists_end();
      look_at_bonds();
      lose_particle(report_->lost);
    }
    if (report_->wanted > static_cast<unsigned>(capacity_)) {
      check(cudaStreamSynchronize(stream_), "step");
      const unsigned wanted = report_->wanted;
      report_->wanted = 0;
      make_room(static_cast<int>(wanted + wanted / 8));
      set_expired(built_);
    } else {
      const std::int64_t held = report_->expired - built_;
      find_balls(cells_, held);
      built_ = report_->expired;
      expected_ = built_ + held - 2;
    }
    now_ = buffer_of(built_);
    build(built_);
    return built_;
  }

  // Warps for each cell: as many as keep a GPU busy where there are few cells.
  int list_shares() const {
    constexpr std::size_t kWarps = 3000, kMost = 4;
    return static_cast<int>(std::clamp<std::size_t>(kWarps / sorter_.cells(), 1, kMost));
  }
  dim3 list_grid() const {
    return {static_cast<unsigned>(blocks_for(cells_.here[0] * list_shares(), kThreads / 32)),
            static_cast<unsigned>(cells_.here[1]), static_cast<unsigned>(cells_.here[2])};
  }

  // Sorts the particles and lists their neighbors; positions are those of step.
  void build(std::int64_t step) {
    handled_ = built_ = step;
    if (is_sheared()) {
      replace_box(step, [&](bool smaller) {
        change_tilts<P>(count_, smaller, origin_[origin_now_], image_, position_[now_], stream_);
      });
      tilt_cells(cells_, step);
    }
    const int there = now_ ^ 1, origin_there = origin_now_ ^ 1;
    sorter_.sort(
        count_, step, cells_, base_,
        {position_[now_].data(), velocity_[now_].data(), nullptr, origin_[origin_now_].data()},
        {position_[there].data(), velocity_[there].data(), short_[there].data(),
         origin_[origin_there].data()},
        ball_.data(), links_.where(), stream_);
    position_[0].swap(position_[1]);
    velocity_[0].swap(velocity_[1]);
    short_[0].swap(short_[1]);
    origin_now_ = origin_there;
    const auto kernel = links_.any_specials() ? &list_kernel<P, true> : &list_kernel<P, false>;
    ListArguments arguments{cells_,
                            !base_.motion.frame.tilted,
                            base_.watch,
                            sorter_.range(),
                            lists(),
                            origin_[origin_now_].data(),
                            links_.specials(excluded_kinds(settings_.pairs)),
                            ball_.data()};
    arguments.shares = list_shares();
    kernel<<<list_grid(), kThreads, 0, stream_>>>(arguments, velocity_[now_].data());
    check_launch();
    links_.follow(count_, origin_[origin_now_].data(), stream_);
    ++counters_.builds;
  }

  Stream stream_;
  const double limit_ = Watchdog::timeout();  // without an answer of the GPU
  const std::string name_;
  // Overlap of a step's kernel with the end of the one before it.
  const bool overlap_ = waits_for_former_kernel(step_kernel_of<P, true, true, AllParticles>(1));
  StepConstants<P> constants_;
  BondedSums<P> bonded_;
  VelocitySums velocity_sums_;
  StrideChanges in_stride_;
  DeviceBuffer<Control> control_;
  DeviceBuffer<double> total_;
  MappedMemory<Report> report_;
  Step<P> base_;  // what does not change from step to step
  Cells cells_;
  int count_ = 0, lanes_ = 1, capacity_ = 0;
  Intervals<P> intervals_;
  bool knows_interval_ = false;
  int now_ = 0, origin_now_ = 0;  // buffers of the present state
  bool lists_hold_ = false, plain_ = true;
  std::int64_t handled_ = -1, built_ = -1, expected_ = -1;  // expected_: lists hold until then
  DeviceBuffer<Position> position_[2];
  DeviceBuffer<Velocity> velocity_[2];
  DeviceBuffer<Short> short_[2];
  DeviceBuffer<int3> image_;  // by index of the host
  DeviceBuffer<unsigned> origin_[2];
  CellSorter<P> sorter_;
  SortedLinks links_;
  DeviceBuffer<Vector<Real>> force_;
  DeviceBuffer<Real> density_;  // of many-body forces
  DeviceBuffer<Ball> ball_;
  DeviceBuffer<unsigned> entry_;
  DeviceBuffer<int> number_;
  DeviceBuffer<Triple> staging_;
  DeviceBuffer<unsigned> bad_{1};  // the smallest index of a particle without a place
  DeviceBuffer<double> partial_;
};

}  // namespace manymove::dpd
