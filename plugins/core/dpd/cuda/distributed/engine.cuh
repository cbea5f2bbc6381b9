// SPDX-License-Identifier: BSD-3-Clause
// The engine on the GPUs of several ranks.
//
// Lists are built by all ranks in the same steps, a number of steps apart that follows from how far
// particles came before and, shortly before the end, from how far they have come by then: no rank
// asks in between. If a particle did come too far, all ranks return to the state of the last build
// and take fewer steps, or to the state after it in which velocities or the series of values were
// changed, and build there; forces never come from lists in which a neighbor is missing.
//
// A rank's outer particles, those with ghosts among their neighbors or with copies elsewhere, come
// first in memory: their copies travel while the others move. Those that have outer neighbors are
// next, and the rest never has to do with outer ones within a step, so that the outer ones of the
// next step fill the GPU while the last of these are finished.
#pragma once

#include <algorithm>

#include "../device_engine.cuh"
#include "charge_exchange.cuh"
#include "ghosts.cuh"
#include "host_transfer.cuh"
#include "migration.cuh"
#include "rank_context.cuh"
#include "rank_lists.cuh"
#include "rebuild_vote.h"

namespace manymove::dpd {

template <Precision P>
class DistributedEngine final : public DeviceEngine<P> {
  using Base = DeviceEngine<P>;
  using Base::base_, Base::beyond_lists, Base::bonded_, Base::bonded_terms, Base::built_,
      Base::check_together, Base::choose_plain, Base::counters_, Base::dilation_ends_lists,
      Base::end_of_sheared_lists, Base::energy_and_virial_, Base::find_bounding_spheres,
      Base::frame_, Base::has_tilt_of, Base::is_dilated, Base::is_sheared, Base::launch_first,
      Base::lists_hold_, Base::look_at_bonds, Base::lose_particle, Base::plain_,
      Base::reach_farther, Base::read_sums, Base::refuse_particle, Base::replace_box,
      Base::settings_, Base::settings_of_tilted_box, Base::step_, Base::step_to, Base::stream_,
      Base::table_of, Base::take_box, Base::tilt_cells, Base::use;
  using typename Base::Misplaced, typename Base::State;
  static constexpr int kBuilt = ParticleStore<P>::kBuilt;

 public:
  // Collective.
  DistributedEngine(const Settings& settings, int device, Communicator& communicator)
      : Base(settings, device, &communicator),
        c_(settings_, settings_of_tilted_box(), communicator, stream_, base_),
        migration_(c_),
        ghosts_(c_),
        lists_(c_),
        transfer_(c_) {
    const DeviceGuard here = use();
    if (settings.charges.any()) charges_.emplace(settings_of_tilted_box(), c_);
    stream_.finish("start");
  }

  std::string transport() const override { return c_.transport->name(); }

  void download(const HostArrays& arrays) override {
    guarded([&] { transfer_.download(arrays, frame_); });
  }

  void set_origins(int count, const std::uint32_t* tag) override {
    guarded([&] { transfer_.set_origins(count, tag); });
  }

 private:
  void take_particles(const HostArrays& arrays, const Topology& topology) override {
    check_together([&] {
      if (topology.rigid) refuse("rigid bodies on several GPUs");
    });
    c_.streams.work = c_.streams.main;
    s_.hosts = s_.count = s_.slots = arrays.count;
    s_.ghosts = s_.outer = s_.near = s_.slots_left = 0;
    lists_hold_ = changed_ = false;
    s_.now = 0;
    c_.report.forget();
    all_ = static_cast<double>(c_.ranks.sum(s_.count));
    const int mean = static_cast<int>(all_ / c_.ranks.ranks());
    check_together([&] {
      s_.lanes = lanes_of(mean);
      lists_.set_cells(settings_of_tilted_box(), all_);
      s_.reserve(std::max(s_.count, mean), 0);
      s_.reserve_lists(expected_entries(settings_, all_));
    });
    if (charges_) check_together([&] { charges_->take(arrays.count, topology); });
    transfer_.take_links(topology);
    choose_kernels();
    check_together([&] {
      if (s_.count == 0) return;
      if (const int bad = transfer_.enter(arrays, topology, frame_); bad >= 0)
        refuse_particle(topology.tag[bad], arrays.position[bad]);
    });
  }
  // With new positions lists are rebuilt.
  std::optional<Misplaced> replace(int count, const std::uint32_t*, const double (*position)[3],
                                   const double (*velocity)[3]) override {
    c_.streams.work = c_.streams.main;
    changed_ = true;
    if (position) {
      lists_hold_ = false;
      c_.report.forget();
    }
    std::optional<Misplaced> misplaced;
    transfer_.set_particles(static_cast<std::size_t>(count), position, velocity, frame_, misplaced);
    return misplaced;
  }
  // A public call. Unless all ranks have agreed on an error, kernels may be left that wait for
  // ranks whose kernels do not come.
  void guarded(const std::function<void()>& task) override {
    const DeviceGuard here = use();
    try {
      task();
    } catch (const RankFailure&) {
      c_.give_up();
      throw;
    } catch (const Agreed&) {
      throw;
    } catch (...) {
      c_.give_up();
      throw;
    }
  }

  // ---- steps ----

  const DeviceParticles<P>& particles() const override { return s_; }
  typename P::Velocity* resting() const override { return s_.rest.data(); }
  void apply_map(const VelocityMap& map, std::uint32_t flag) override {
    changed_ = true;
    Base::apply_map(map, flag);
  }
  void parameters_change() override { changed_ = true; }
  void choose_kernels() override { choose_plain(s_.links.specials > 0); }

  void take(std::int64_t steps, bool (*interrupted)()) override {
    std::int64_t to = step_ + steps, next = step_ + 1;
    if (!lists_hold_) interval_ = 1;
    if (dilation_ends_lists(next)) build_at(next);
    bonded_.forget(c_.streams.main);
    keeps_start_ = changed_ && lists_hold_;
    if (keeps_start_) start_.keep(s_, c_.streams.main);
    start_moving();
    for (;;) {
      // Positions of step `next` are those of the present state.
      if (lists_hold_ && next == look_ + 1) decide(next);
      if (!lists_hold_ || next == until_) {
        bool stop = interrupted && next < to && interrupted();
        if (!vote(next, true, stop)) {
          next = again_;
          continue;
        }
        if (stop) to = next;
        build(next);
      }
      const bool reading = next == to;
      take_step(next, reading);
      if (!reading) {
        ++next;
        continue;
      }
      bool stop = false;
      if (vote(to, false, stop)) break;
      next = again_;
    }
    this->arrive(to);
    read_sums(blocks_of(0, s_.count), s_.links.bonds > 0);
    if (charges_) charges_->set_sums(energy_and_virial_);
  }

  const State& after() const { return s_.state[s_.now == 0 ? 1 : 0]; }
  void go_on() { s_.now = s_.now == 0 ? 1 : 0; }

  Step<P> arguments(std::int64_t number, int last, bool reading) const {
    Step<P> s = step_to(after(), number, table_of(number));
    s.count = last;
    s.bonds = s_.links.bonds > 0 ? s_.bonds() : Partners{};  // may have grown
    if (charges_) s.charged = charges_->forces();
    if (reading) s.next_velocity = s_.rest.data();
    return s;
  }

  // From rest at step_ to the positions of the next step.
  void start_moving() {
    Step<P> s = arguments(step_, s_.count, false);
    s.velocity = s_.rest.data();
    launch_first(s);
    follow();
    go_on();
    if (lists_hold_ && step_ + 1 != until_) refresh_ghosts();
  }

  // Each part waits for those of the last step that have its neighbors, or that read what it
  // writes. Far particles leave outer ones alone but for bonds, which may be of any length.
  void take_step(std::int64_t step, bool reading) {
    if (charges_) launch_charges(step, reading);
    if constexpr (!has_scalars<P>)
      if (settings_.pairs.has_densities()) return take_step_with_densities(step, reading);
    const bool bonds = s_.links.bonds > 0, overlap = c_.streams.overlap;
    const cudaStream_t main = c_.streams.main, first = c_.streams.ahead();
    // Who leaves before a build should be known early.
    const cudaStream_t outer = overlap && !bonds && step + 1 != until_ ? c_.streams.last : first;
    if (overlap) {
      ghosts_there_.hold(outer);
      far_done_.hold(first);
      (bonds ? ghosts_there_ : near_done_).hold(main);
      if (charges_)
        for (const cudaStream_t stream : {outer, first}) charged_.hold(stream);
    }
    // Whole blocks: those near ones that share a block with outer or far ones wait for both.
    const int block = s_.block(), outer_end = s_.outer / block * block,
              near_end = std::min(blocks_of(0, s_.near) * block, s_.count);
    launch_part(step, reading, 0, outer_end, outer);
    outer_done_.record(outer);
    launch_part(step, reading, outer_end, near_end, first);
    if (step == look_) look(first);
    near_done_.record(first);
    launch_part(step, reading, near_end, s_.count, main);
    far_done_.record(main);
    if (reading) return;
    go_on();
    if (step + 1 != until_) refresh_ghosts();
  }
  // Outer particles need the densities of ghosts, which travel while the others find theirs. No
  // other particle has ghosts among its neighbors.
  void take_step_with_densities(std::int64_t step, bool reading) {
    const bool overlap = c_.streams.overlap;
    const cudaStream_t main = c_.streams.main, first = c_.streams.ahead();
    const int outer_end = std::min(blocks_of(0, s_.outer) * s_.block(), s_.count);
    if (overlap) ghosts_there_.hold(main);  // after all that was in the other stream
    launch_densities(step, 0, outer_end, main);
    if (overlap) {
      outer_densities_.record(main);
      outer_densities_.hold(first);
    }
    launch_densities(step, outer_end, s_.count, main);
    densities_.record(main);
    ghosts_.share_densities(first);
    if (overlap) densities_.hold(first);
    launch_part(step, reading, 0, outer_end, first);
    outer_done_.record(first);
    if (step == look_) look(first);
    launch_part(step, reading, outer_end, s_.count, main);
    if (reading) return;
    go_on();
    if (step + 1 != until_) refresh_ghosts();
  }
  // All parts of the step wait for these forces, which wait for all parts of the last step.
  void launch_charges(std::int64_t step, bool reading) {
    join();
    if (is_sheared()) charges_->set_tilt(this->tilt_of(step));
    charges_->launch(s_.present().position.data(), {base_.status, step}, reading);
    charged_.record(c_.streams.main);
  }
  int blocks_of(int first, int last) const { return blocks_for(last - first, s_.block()); }

  // From a multiple of s_.block() on, so that the members of a block are those of
  // NeighborLists::tile.
  void launch_part(std::int64_t step, bool reading, int first, int last, cudaStream_t stream) {
    if (first == last) return;
    Step<P> s = arguments(step, last, reading);
    bonded_.launch(s, bonded_terms(table_of(step)), first, s_.block(), reading, stream);
    // The sums of each part follow those of the preceding blocks.
    s.partial += static_cast<std::size_t>(first / s_.block()) * kStepSums;
    s.density = s_.density.data();
    const auto kernel =
        step_kernel_of<P, ParticlesFrom>(extra_of(settings_), plain_, reading, s_.lanes);
    kernel<<<blocks_of(first, last), kThreads, 0, stream>>>(s, ParticlesFrom{first});
    check_launch();
  }

  void launch_densities(std::int64_t step, int first, int last, cudaStream_t stream) {
    if (first == last) return;
    const Step<P> s = arguments(step, last, false);
    const auto kernel = density_kernel_of<P, ParticlesFrom>(plain_, s_.lanes);
    kernel<<<blocks_of(first, last), kThreads, 0, stream>>>(s, ParticlesFrom{first},
                                                            s_.density.data());
    check_launch();
  }

  void refresh_ghosts() {
    const cudaStream_t stream = c_.streams.ahead();
    if (c_.streams.overlap) outer_done_.hold(stream);
    ghosts_.refresh(stream);
    ghosts_there_.record(stream);
  }

  // ---- when to rebuild: what all ranks decide together ----

  // Whether no rank's lists expired before `step`, or at it if no build follows. If one's did, all
  // are back at the last build, and the next one comes in time; or they are back at step_ without
  // lists, if velocities or the series were changed there after the last build. If a partner was
  // missing, they are at the last build without lists. again_ is the first step that is repeated.
  bool vote(std::int64_t step, bool before_build, bool& stop) {
    // In a flip of the box any particle may leave, when it has its place in the other box. The
    // cells of a box that changes are known in build() only.
    migrated_ = before_build && lists_hold_ && has_looked_ && has_tilt_of(step) && !is_dilated();
    if (migrated_) {
      c_.streams.work = c_.streams.ahead();
      if (c_.streams.overlap) outer_done_.hold(c_.streams.work);
      migration_.migrate(s_.outer);
      c_.streams.work = c_.streams.main;
    }
    join();
    if (migrated_)
      place(step);
    else if (before_build)
      take_flags();
    c_.report.answer();
    if (migrated_) migration_.sort();
    c_.streams.wait(c_.report.answered(), "step");
    const DeviceStatus& control = c_.report.answers().control;
    const RebuildFlags& flags = c_.report.answers().flags;
    const MissingPartners missing{{flags.missing[0], flags.missing[1]}};
    const RebuildVote most = of_all_ranks(
        c_.communicator(), {control.expired, ghosts_.largest_segment(), missing, control.lost,
                            flags.beyond, flags.strayed, control.wanted, flags.soonest, stop});
    const std::int64_t expired = most.expired;
    if (lists_hold_ && most.missing.any()) {
      reach_farther(most.missing, built_);
      know_more();
      return false;
    }
    if (lists_hold_ && most.wanted) {
      return_to_build(until_, control.wanted);
      return false;
    }
    if (most.lost && expired <= step) {
      step_ = expired;
      look_at_bonds();
      lose_particle(most.lost);
    }
    if (lists_hold_ && (before_build ? expired < step : expired <= step)) {
      return_to_build(expired, 0);
      return false;
    }
    if (!before_build) return true;
    // If one that was not asked has left, build() migrates once more and asks all.
    migrated_ = migrated_ && !most.strayed;
    if (most.beyond) {
      step_ = step;
      lose_particle(most.beyond);
    }
    if (lists_hold_ && !has_looked_) interval_ = steps_of_lists(step - built_, most.soonest);
    c_.transport->expect(static_cast<std::size_t>(most.segment));
    stop = most.stop != 0;
    return true;
  }

  // Whether a particle is outside the box, and when the first will be out of its sphere.
  void take_flags() {
    find_soonest({&c_.report.flags()->soonest, &c_.report.flags()->beyond}, c_.streams.main);
  }
  void find_soonest(const FirstToLeave& to, cudaStream_t stream) const {
    const float time_step = static_cast<float>(settings_.time_step);
    launch_each(s_.count, stream, &soonest_kernel<P>, s_.count, c_.cells, base_.motion.frame.open,
                s_.sphere.data(), time_step, s_.present().position.data(),
                s_.present().velocity.data(), to);
  }

  // Two steps before the next build: how long will all particles stay in their spheres? Hosts
  // exchange this while the GPU takes the step that follows.
  void look_before_build(std::int64_t earliest) {
    look_ = std::max(built_ + 1, until_ - 2);
    if (look_ < earliest || look_ + 1 >= until_) look_ = -1;
  }
  // In a stream that has waited for the positions of this step.
  void look(cudaStream_t stream) {
    // Later than any step, so that a minimum ignores it.
    check(cudaMemsetAsync(soonest_.data(), 0x7f, sizeof(unsigned), stream), "clear");
    find_soonest({soonest_.data(), nullptr}, stream);
    copy_out(&c_.report.answers().soonest, soonest_.data(), sizeof(unsigned), stream);
    looked_.record(stream);
  }
  void decide(std::int64_t next) {
    c_.streams.wait(cudaEvent_t(looked_), "step");
    // The minimum over all ranks is the negative of a maximum.
    std::int64_t sooner = -static_cast<std::int64_t>(c_.report.answers().soonest);
    c_.communicator().maximum(&sooner, 1);
    interval_ = steps_of_lists(look_ - built_, static_cast<unsigned>(-sooner));
    until_ = std::max(std::min(built_ + interval_, shear_until_), next);
    has_looked_ = true;
    look_before_build(next + 1);
  }

  // The next build is in this step, whatever was decided.
  void build_at(std::int64_t step) {
    until_ = step;
    look_ = -1;
    has_looked_ = false;
  }

  // wanted: entries that a list of this rank would have, if there was no room for them.
  void return_to_build(std::int64_t until, unsigned wanted) {
    build_at(until);
    c_.report.forget();
    again_ = built_;
    // Going back to the build would undo the change of velocities or of the series.
    if (keeps_start_ && built_ <= step_) {
      again_ = step_ + 1;
      start_.restore(s_, c_.streams.main);
      lists_hold_ = false;
      interval_ = 1;
      return start_moving();
    }
    c_.cells = built_cells_;
    s_.copy_images(s_.built_image, s_.image, c_.streams.main);
    // An eighth more than this build needs, since the next ones have more or fewer entries.
    if (wanted) s_.reserve_lists(static_cast<int>(wanted + wanted / 8));
    if (wanted || s_.lists_lost) {
      lists_.list(true);
      lists_.list(false);
    }
    s_.now = kBuilt;
    follow();
  }

  // After reach_farther(): repeats the last build, which was made in this call of take_steps().
  void know_more() {
    share_box();
    c_.report.forget();
    bonded_.forget(c_.streams.main);  // found by ranks that did not wait for the others
    s_.take_back_build(c_.streams.main);
    lists_hold_ = false;
    interval_ = 1;
    again_ = built_;
    follow();
  }

  // Cells and what ranks know of each other, for the box of the settings and the ranks' reach.
  void share_box() {
    c_.streams.finish_all();
    c_.ranks = c_.decomposition(settings_of_tilted_box(), c_.communicator(), beyond_lists());
    ghosts_.set_reach();
    lists_.set_cells(settings_of_tilted_box(), all_);
  }

  // What follows in streams.main comes after what is in the other ones.
  void join() {
    if (!c_.streams.overlap) return;
    for (const cudaStream_t other :
         {cudaStream_t(c_.streams.first), cudaStream_t(c_.streams.last)}) {
      joined_.record(other);
      joined_.hold(c_.streams.main);
    }
  }
  // The next step comes after what is in streams.main.
  void follow() {
    for (const Event* event : {&outer_done_, &near_done_, &far_done_, &ghosts_there_})
      event->record(c_.streams.main);
  }

  // ---- building lists ----

  void place(std::int64_t step) {
    find_bounding_spheres(c_.cells, lists_hold_ ? step - built_ : 0);
    if (is_sheared()) tilt_cells(c_.cells, step);
    migration_.place();
  }

  // Inner particles, whose lists need no ghosts, are listed while ghosts travel.
  void build(std::int64_t step) {
    if (!migrated_) {
      if (is_sheared())
        replace_box(step, [&](bool smaller) {
          change_tilts<P>(s_.count, settings_.shear, smaller, s_.slot, s_.image,
                          s_.present().position, c_.streams.main);
        });
      if (is_dilated()) {
        check_together([&] { take_box(step); });
        share_box();
        fit_shorts(base_, settings_);
      }
      migration_.migrate(s_.count);
      place(step);
      migration_.sort();
    }
    built_ = step;
    built_cells_ = c_.cells;
    c_.report.forget();
    migration_.settle(lists_.range);
    if (charges_) charges_->follow();
    joined_.record(c_.streams.main);
    lists_.list(true);
    c_.streams.work = c_.streams.ahead();
    joined_.hold(c_.streams.work);
    ghosts_.find(lists_hold_, lists_.ghost_range);
    if (charges_) charges_->count();
    lists_.list(false);
    s_.copy_images(s_.image, s_.built_image, c_.streams.work);
    c_.streams.work = c_.streams.main;
    join();
    lists_.find_partners(step);
    if (s_.links.bonds > 0)
      bonded_.reserve(static_cast<std::size_t>(s_.owned_capacity), kThreads / 4);
    follow();
    shear_until_ = is_sheared() ? end_of_sheared_lists(built_, kMostSteps) : kNever;
    until_ = std::min(step + interval_, shear_until_);
    has_looked_ = false;
    look_before_build(step);
    lists_hold_ = true;
    changed_ = false;  // steps are repeated from this one on
    ++counters_.builds;
  }

  RankContext<P> c_;
  ParticleStore<P>& s_ = c_.store;
  Migration<P> migration_;
  GhostExchange<P> ghosts_;
  RankLists<P> lists_;
  HostTransfer<P> transfer_;
  std::optional<ChargeExchange<P>> charges_;
  // Of the last step or refresh: what the next ones wait for.
  Event outer_done_, near_done_, far_done_, ghosts_there_, joined_, looked_;
  Event outer_densities_, densities_;  // of this step, of outer and of all particles
  Event charged_;                      // forces of charges of this step
  DeviceBuffer<unsigned> soonest_{1};
  double all_ = 0;            // particles of all ranks
  bool changed_ = false;      // velocities or the series, since the last build
  bool keeps_start_ = false;  // start_ is that of step_
  StartState<P> start_;
  bool migrated_ = false;                  // who leaves for the next build has
  bool has_looked_ = false;                // since the last build
  std::int64_t again_ = -1;                // as in vote()
  std::int64_t interval_ = 1, until_ = 0;  // steps from build to build; the next one
  std::int64_t shear_until_ = kNever;      // when shear ends the lists
  Cells built_cells_{};
  std::int64_t look_ = -1;  // step, if there will be one
  // Before memory is freed, which waits for kernels that may wait for other ranks.
  struct End {
    RankContext<P>& context;
    ~End() { context.give_up(); }
  } end_{c_};
  OnDevice::BetweenCalls between_calls_{*this};  // the last member
};

}  // namespace manymove::dpd
