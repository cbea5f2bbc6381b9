// SPDX-License-Identifier: BSD-3-Clause
// The engine on one GPU: device memory, launches and what comes back.
#pragma once

#include <utility>

#include "../../runtime/launch.cuh"
#include "../../runtime/waits.cuh"
#include "../../runtime/watchdog.h"
#include "../charges/cuda/device_charges.cuh"
#include "cell_sort.cuh"
#include "device_bodies.cuh"
#include "device_engine.cuh"
#include "intervals.cuh"
#include "sorted_links.cuh"

namespace manymove::dpd {

// Launched ahead of what the GPU is known to have begun: the queue is never empty, and few launches
// have to be repeated when lists expire. While lists are not expected to expire, more are launched,
// so that the GPU has work if the host's thread does not get a core for a while. With charges or
// many particles (fewer if they have bonded terms), a step takes longer than the host needs to see
// that it has begun.
constexpr int kMany = 1'000'000, kManyBonded = 100'000;
constexpr long long kAhead = 3, kAheadOfMany = 1, kFarAhead = 16;

template <Precision P>
class CudaEngine final : public DeviceEngine<P> {
  using Base = DeviceEngine<P>;
  using typename Base::Misplaced, typename Base::State;
  using Triple = double[3];
  using Base::base_, Base::bonded_, Base::built_, Base::choose_plain, Base::bonded_terms,
      Base::counters_, Base::dilation_ends_lists, Base::draw_of, Base::energy_and_virial_,
      Base::find_bounding_spheres, Base::fit_cells, Base::frame_, Base::is_dilated,
      Base::is_sheared, Base::launch_first, Base::lists_end_after, Base::lists_hold_,
      Base::look_at_bonds, Base::lose_particle, Base::moment_units_, Base::only_change_of,
      Base::plain_, Base::read_sums, Base::refuse_particle, Base::replace_box, Base::settings_,
      Base::settings_of_tilted_box, Base::step_, Base::step_to, Base::stream_, Base::table_of,
      Base::tables, Base::target_of, Base::temperature_drops_, Base::tilt_cells, Base::use,
      Base::velocity_sums_;

 public:
  CudaEngine(const Settings& settings, int device)
      : Base(settings, device, nullptr),
        device_status_(1),
        drops_(settings.velocity_changes.size()),
        intervals_(stream_),
        bodies_(settings) {
    const DeviceGuard here = use();
    if (settings.charges.any()) charges_.emplace(settings_of_tilted_box(), stream_, nullptr);
    base_.status = {device_status_.data(), host_status_.get()};
  }

  void download(const HostArrays& arrays) override {
    const DeviceGuard here = use();
    leave_particles<P>(arrays, p_.count, resting_particles(), frame_, p_, stream_);
  }
  void write(const HostParticles& host) override {
    const DeviceGuard here = use();
    check(cudaStreamSynchronize(cudaStreamLegacy), "write");
    launch_each(p_.count, stream_,
                host.double_precision ? &write_kernel<P, double> : &write_kernel<P, float>,
                p_.count, frame_, resting_particles(), host);
    stream_.finish("write");
  }

  std::vector<RigidBody> rigid_bodies() const override { return bodies_.bodies(frame_); }

  void set_box(const Box& way, const Box& next) override {
    Base::set_box(way, next);
    knows_interval_ = false;  // a kernel of many steps has one box
  }

  // The only host has its particles where they were.
  void set_origins(int, const std::uint32_t*) override {
    throw std::logic_error("particles of one rank stay where they are");
  }

 private:
  RestingParticles<P> resting_particles() const {
    return {{p_.slot.data(), nullptr, 0},
            p_.image.data(),
            p_.present().position.data(),
            resting(),
            p_.force.data(),
            p_.flux.data()};
  }
  void take_particles(const HostArrays& arrays, const Topology& topology) override {
    check_bodies(topology);
    p_.count = arrays.count;
    lists_end();
    const auto n = static_cast<std::size_t>(p_.count);
    allocate(n);
    bodies_.take(n, topology, frame_, stream_);
    if (p_.count == 0) return;
    if (charges_) charges_->take(p_.count, topology);
    p_.now = 0;
    const unsigned bad = enter_particles<P>(arrays, topology, frame_, p_, resting(), stream_);
    if (bad != kNoneBad) {
      p_.count = 0;
      refuse_particle(topology.tag[bad], arrays.position[bad]);
    }
    links_.take(n, topology, stream_);
    if (links_.any_bonds()) bonded_.reserve(n, kThreads / 4);
    choose_kernels();
  }
  void check_bodies(const Topology& topology) const {
    if (!topology.rigid) return;
    if (topology.rigid->excluded) refuse("rigid bodies whose pairs are excluded, on a GPU");
    if (extra_of(settings_) != Extra::none)
      refuse("rigid bodies on a GPU with other forces than those of plain DPD");
  }
  std::optional<Misplaced> replace(int, const std::uint32_t* tag, const Triple* position,
                                   const Triple* velocity) override {
    if (p_.count == 0) return {};
    ValuesFromHost<P> values(p_, p_.slot.data(), stream_);
    const unsigned bad = position ? values.set_positions(position, frame_, nullptr) : kNoneBad;
    values.set_values(velocity, resting());
    if (bad == kNoneBad) return {};
    const double* r = position[bad];
    return Misplaced{tag[bad], {r[0], r[1], r[2]}};
  }

  void allocate(std::size_t n) {
    cells_ = cells_of(settings_of_tilted_box(), p_.count, nullptr);
    find_bounding_spheres(cells_, 0);
    base_.cells = cells_;
    // Lanes are a function of N alone, because they fix the order of floating-point sums.
    p_.lanes = lanes_of(p_.count);
    if (n != p_.slot.size()) {
      for (State* state : {&p_.state[0], &p_.state[1]})
        allocate_each(n, state->position, state->velocity, state->shorts);
      allocate_each(n, p_.slot, p_.slot_there, p_.image, p_.force, p_.sphere, p_.number,
                    p_.staging);
      allocate_each(settings_.pairs.has_densities() ? n : 0, p_.density);
      allocate_each(has_scalars<P> ? n : 0, p_.flux);
      allocate_each(static_cast<std::size_t>(blocks()) * kStepSums, p_.partial);
      p_.sphere.clear(stream_);  // the first step looks, though lists are built after it anyway
      p_.list_capacity = 0;
    }
    sorter_.reserve(n, cells_, stream_);
    make_room(expected_entries(settings_, static_cast<double>(n)));
  }
  // Of a step.
  int blocks() const { return blocks_for(p_.count, p_.block()); }

  void make_room(int entries) {
    const int capacity = whole_groups(entries);
    if (capacity > p_.list_capacity) p_.allocate_lists(capacity, p_.count);
  }

  // ---- steps ----

  void take(std::int64_t steps, bool (*interrupted)()) override {
    if (p_.count == 0) {
      step_ += steps;
      return;
    }
    start_watching();
    if (!temperature_drops_.empty()) drops_.upload(temperature_drops_.data(), stream_);
    bonded_.forget(stream_);
    if (steps > 1 && !std::exchange(knows_interval_, true)) find_interval();
    if (lists_hold_ && dilation_ends_lists(step_ + 1)) {
      find_bounding_spheres(cells_, step_ + 1 - built_);
      lists_end();
    }
    if (!lists_hold_) set_expired(step_ + 1);
    Step<P> first = step_of(step_);
    first.ends_lists = first.ends_lists && lists_hold_;
    launch_first(first);
    if (bodies_.any()) bodies_.launch(first, BodyPhase::begin, frame_, stream_);
    p_.now ^= 1;
    if (!lists_hold_) build(step_ + 1);
    run_to(step_ + 1, step_ + steps, interrupted);
  }

  const DeviceParticles<P>& particles() const override { return p_; }
  typename P::Velocity* resting() const override { return p_.present().velocity.data(); }
  void choose_kernels() override {
    choose_plain(links_.any_specials());
    knows_interval_ = false;
  }

  void start_watching() {
    host_status_->started = step_;
    host_status_->expired = handled_ = -1;
    host_status_->wanted = 0;
    host_status_->lost = 0;
    host_status_->refused = 0;
    host_status_->overfull = 0;
    set_expired(kNever);
  }
  void set_expired(std::int64_t step) {
    const DeviceStatus control{step, 0, 0};
    device_status_.upload(&control, stream_);
  }

  Step<P> step_of(std::int64_t number) const {
    Step<P> s = step_to(p_.state[p_.now ^ 1], number, table_of(number));
    // The strain since the last build is known ahead: no particle has to leave its sphere for lists
    // to end.
    if (is_sheared()) s.ends_lists = lists_end_after(built_, number);
    s.bonds = links_.bonds();
    return s;
  }

  void launch_step(std::int64_t number, bool reading) {
    Step<P> s = step_of(number);
    // What a build wrote is read before the kernel waits for the one before it.
    const bool early = overlap_ && number != built_;
    bonded_.launch(s, bonded_terms(table_of(number)), 0, p_.block(), reading, stream_, early);
    if (charges_) {
      if (is_sheared()) charges_->set_tilt(this->tilt_of(number));
      charges_->locate(s.position, {s.status, number}, charges_->arrays().charges, reading);
      s.charged = charges_->launch(reading);
    }
    // The changes of the last step are left to change_velocities().
    const int change = reading || !changes_in_stride() ? -1 : only_change_of(number);
    const unsigned blocks = static_cast<unsigned>(this->blocks());
    if constexpr (!has_scalars<P>)
      if (settings_.pairs.has_densities()) {
        const auto kernel = density_kernel_of<P, AllParticles>(plain_, p_.lanes);
        kernel<<<blocks, kThreads, 0, stream_>>>(s, AllParticles{}, p_.density.data());
        check_launch();
        s.density = p_.density.data();
      }
    if constexpr (!has_scalars<P>)
      if (bodies_.any()) return launch_with_bodies(s, number, reading, early);
    if (change < 0) {
      const auto kernel =
          step_kernel_of<P, AllParticles>(extra_of(settings_), plain_, reading, p_.lanes);
      return launch_kernel(kernel, blocks, kThreads, 0, stream_, early, s, AllParticles{});
    }
    if constexpr (!has_scalars<P>) launch_with_change(s, number, change, early);
  }

  void launch_with_change(Step<P>& s, std::int64_t number, int change, bool early) {
    const auto k = static_cast<std::size_t>(change);
    const VelocityChange& made = settings_.velocity_changes[k];
    static_assert(VelocitySums::kKept >= 2 * kFarAhead);
    s.moments = velocity_sums_.of_step(
        number, made.measured, made.kind == VelocityChange::kStop ? Moments::kSums : 1, stream_);
    // The step ends at rest with the sums of m v^2 and m v; the next kernel computes the map from
    // them and begins the next step.
    const auto blocks = static_cast<unsigned>(this->blocks());
    launch_kernel(kernel_of_step<P, AllWithMoments>(plain_, false, p_.lanes), blocks, kThreads, 0,
                  stream_, early, s, AllWithMoments{});
    launch_each(p_.count, stream_, &drive_kernel<P>, s,
                Drive{made, moment_units_.scale(), target_of(k, number), drops_.data() + k});
  }

  // The step ends at rest, with all forces; then bodies and particles move on together.
  void launch_with_bodies(Step<P>& s, std::int64_t number, bool reading, bool early) {
    const auto blocks = static_cast<unsigned>(this->blocks());
    if (reading) {
      launch_kernel(kernel_of_step<P, AllParticles>(plain_, true, p_.lanes), blocks, kThreads, 0,
                    stream_, early, s, AllParticles{});
      return bodies_.launch(s, BodyPhase::rest, frame_, stream_);
    }
    s.moments = velocity_sums_.of_step(number, 0, 0, stream_);  // none
    launch_kernel(kernel_of_step<P, AllWithMoments>(plain_, false, p_.lanes), blocks, kThreads, 0,
                  stream_, early, s, AllWithMoments{});
    bodies_.launch(s, BodyPhase::middle, frame_, stream_);
  }

  // ---- all steps between two builds in one kernel ----

  // Whether such a kernel serves the particles and their forces.
  void find_interval() {
    intervals_.give_up();
    const bool simple = plain_ && extra_of(settings_) == Extra::none && !is_dilated() &&
                        !charges_ && !bodies_.any() && !links_.any_bonds() && !bonded_.wanted() &&
                        settings_.velocity_changes.empty() && settings_.body_forces.empty() &&
                        settings_.surfaces.empty() && tables().size() == 1;
    if constexpr (kHalfLists<P>)
      if (simple) intervals_.look(p_.count, p_.lanes);
  }

  // Steps from `begin` on until lists expire, but only those before the step that is returned.
  std::int64_t launch_interval(std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kMost = Intervals<P>::kMostSteps;
    static_assert(kMost > kFarAhead, "the next one must not be launched before this one ends");
    end = std::min(end, begin + kMost);
    if constexpr (kHalfLists<P>) {
      const State &here = p_.present(), &there = p_.state[p_.now ^ 1];
      // Steps go from one state to the other in turn, as in run_to().
      Interval a{step_of(begin),
                 {here.position.data(), there.position.data()},
                 {here.velocity.data(), there.velocity.data()},
                 {here.shorts.data(), there.shorts.data()}};
      a.seed = settings_.seed;
      a.draw = draw_of(begin);
      intervals_.launch(a, end - begin, stream_);
      ++counters_.intervals;
    }
    return end;
  }

  // ---- changes of velocities in stride ----

  bool changes_in_stride() const override {
    const Extra extra = extra_of(settings_);
    return (extra == Extra::none || extra == Extra::shear) && !has_scalars<P> && !bodies_.any();
  }
  // The host makes the change that the device could not make, which throws.
  [[noreturn]] void refuse_change(std::int64_t number) {
    const Moments sums = velocity_sums_.fetch(number, stream_);
    const auto k = static_cast<std::size_t>(only_change_of(number));
    map_of(settings_.velocity_changes[k], moment_units_.scale(), sums, target_of(k, number),
           temperature_drops_[k]);
    throw BadVelocityChange("a velocity change was impossible");
  }

  // Forces and motion of steps from..to. Kernels are launched ahead; when lists turn out to have
  // expired at some step, those from there on do nothing and are launched again.
  void run_to(std::int64_t from, std::int64_t to, bool (*interrupted)()) {
    const int parity = p_.now;  // of positions for step `from`
    const auto buffer_of = [&](std::int64_t step) {
      // Steps take positions from one of two states to the other, in turn.
      return static_cast<int>((step - from) & 1) ^ parity;
    };
    std::int64_t next = from;
    for (;;) {
      while (next <= to) {
        // Until `expected_` the lists probably remain valid, so that few launches are wasted.
        const bool many = p_.count >= (bonded_.wanted() ? kManyBonded : kMany) || charges_;
        const long long near = many ? kAheadOfMany : kAhead,
                        ahead = next < expected_ ? kFarAhead : near;
        // At most `ahead` steps are in the queue behind the one that the GPU has begun.
        const auto may_launch = [&] { return trouble() || host_status_->started >= next - ahead; };
        wait_alone(may_launch, stream_, limit_, "step", interrupted);
        if (trouble()) {
          next = repair(buffer_of);
          continue;
        }
        const bool whole = intervals_.serve() && next < to;
        if (interrupted && next < to && (whole || next % 16 == 0) && interrupted()) to = next;
        p_.now = buffer_of(next);
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
    p_.state[0].velocity.swap(p_.state[1].velocity);
    this->arrive(to);
    p_.now = buffer_of(to);
    lists_hold_ = true;
    if (!temperature_drops_.empty())
      stream_.fetch(drops_.data(), temperature_drops_.data(), temperature_drops_.size());
    read_sums(blocks(), links_.any_bonds());
    if (charges_) charges_->set_sums(energy_and_virial_);
    if (bodies_.any()) energy_and_virial_.constraints = bodies_.fetch(stream_);
  }

  void lists_end() {
    lists_hold_ = false;
    expected_ = -1;
  }

  bool trouble() const {
    return host_status_->expired > handled_ ||
           host_status_->wanted > static_cast<unsigned>(p_.list_capacity) || host_status_->lost ||
           host_status_->refused || host_status_->overfull;
  }

  std::int64_t repair(const auto& buffer_of) {
    // The pairs or ghosts of some block did not fit into shared memory.
    if (host_status_->overfull) {
      check(cudaStreamSynchronize(stream_), "step");
      host_status_->overfull = 0;
      --counters_.intervals;  // it has done nothing
      intervals_.give_up();   // until other particles or coefficients come
      set_expired(kNever);
      return intervals_.begin();
    }
    if (host_status_->refused) {
      check(cudaStreamSynchronize(stream_), "step");
      // The step whose change of velocities was impossible.
      step_ = host_status_->refused;
      p_.now = buffer_of(step_);
      lists_end();
      refuse_change(step_);
    }
    if (host_status_->lost) {
      check(cudaStreamSynchronize(stream_), "step");
      // A particle has gone too far, perhaps because a bond is broken: look_at_bonds() says so.
      step_ = host_status_->expired;
      p_.now = buffer_of(step_);
      lists_end();
      look_at_bonds();
      lose_particle(host_status_->lost);
    }
    if (host_status_->wanted > static_cast<unsigned>(p_.list_capacity)) {
      check(cudaStreamSynchronize(stream_), "step");
      const unsigned wanted = host_status_->wanted;
      host_status_->wanted = 0;
      // The same build is repeated, with an eighth more room than the longest list needs.
      make_room(static_cast<int>(wanted + wanted / 8));
      set_expired(built_);
    } else {
      const std::int64_t held = host_status_->expired - built_;
      find_bounding_spheres(cells_, held);
      built_ = host_status_->expired;
      // The next lists probably hold as long; the last steps are launched with more care.
      expected_ = built_ + held - 2;
    }
    p_.now = buffer_of(built_);
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

  // Cells and short positions for the box at a step.
  void fit_to_box(std::int64_t step) {
    const std::array<int, 3> count{cells_.here[0], cells_.here[1], cells_.here[2]};
    fit_cells(cells_, step, p_.count);
    if (!std::equal(count.begin(), count.end(), cells_.here))
      sorter_.reserve(static_cast<std::size_t>(p_.count), cells_, stream_);
    base_.cells = cells_;
    fit_shorts(base_, settings_);
  }
  // Sorts the particles and lists their neighbors; positions are those of step.
  void build(std::int64_t step) {
    handled_ = built_ = step;
    if (is_sheared()) {
      replace_box(step, [&](bool smaller) {
        change_tilts<P>(p_.count, settings_.shear, smaller, p_.slot, p_.image,
                        p_.present().position, stream_);
      });
      tilt_cells(cells_, step);
    }
    if (is_dilated()) fit_to_box(step);
    const State &here = p_.present(), &there = p_.state[p_.now ^ 1];
    sorter_.sort(p_.count, step, cells_, base_,
                 {{here.position.data(), here.velocity.data(), p_.slot.data()},
                  {{there.position.data(), there.velocity.data(), p_.slot_there.data()},
                   there.shorts.data(),
                   p_.sphere.data(),
                   nullptr},
                  links_.where()},
                 stream_);
    // Sorted from one state into the other, which becomes the present one.
    std::swap(p_.state[0], p_.state[1]);
    p_.slot.swap(p_.slot_there);
    // Only special neighbors need the tags of candidates.
    const auto kernel = links_.any_specials() ? &list_kernel<P, true> : &list_kernel<P, false>;
    ListArguments arguments{cells_,
                            !base_.motion.frame.tilted,
                            base_.status,
                            sorter_.range(),
                            p_.lists(),
                            links_.of(p_.slot.data()),
                            excluded_kinds(settings_.pairs),
                            p_.sphere.data()};
    arguments.shares = list_shares();
    kernel<<<list_grid(), kThreads, 0, stream_>>>(arguments, p_.present().velocity.data());
    check_launch();
    links_.follow(p_.count, p_.slot.data(), stream_);
    if (charges_) charges_->follow(p_.count, p_.present().velocity.data());
    ++counters_.builds;
  }

  DeviceParticles<P> p_;
  const double limit_ = Watchdog::timeout();  // without an answer of the GPU
  // Overlap of a step's kernel with the end of the one before it.
  const bool overlap_ = waits_for_former_kernel(
      step_kernel_of<P, AllParticles>(extra_of(settings_), false, false, 1));
  DeviceBuffer<DeviceStatus> device_status_;
  MappedMemory<HostStatus> host_status_;
  DeviceBuffer<double> drops_;  // by how much thermostats have lowered their temperatures
  Intervals<P> intervals_;
  DeviceBodies bodies_;
  bool knows_interval_ = false;
  Cells cells_;
  std::int64_t handled_ = -1, expected_ = -1;  // the latter: lists hold until then
  CellSorter<P> sorter_;
  SortedLinks links_;
  std::optional<DeviceCharges<P>> charges_;
  OnDevice::BetweenCalls between_calls_{*this};  // the last member
};

}  // namespace manymove::dpd
